//! Recordings against engines and against each other: which boundary differs, and which only inherits.

use blockscope::capture::Recording;
use blockscope::compare::parity::{self, Mode, Parity, Question, Side};
use blockscope::compare::{Comparison, Image, Pixels, Verdict};
use blockscope::diagnosis::Profile;
use blockscope::engine::{self, Control, EngineSpec, runner};
use blockscope::geometry::{Geometry, Size};
use blockscope::model::{Model, synthetic};
use blockscope::plan::{Detail, Plan};
use blockscope::report::{Report, compose};
use blockscope::tensor::{Digest, Tensor, TensorName};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The last boundary compared: five blocks, a pool and a transition.
const LAST: &str = "transition-4-5";

/// Saves a run of the first blocks; the folder that it lies in goes with it.
fn saved(engine: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let target = folder.path().join("capture");
    let text = target.display().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_blockscope"))
        .args(["run", "--engine", engine, "--until", LAST, "--save-capture", &text])
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (folder, target)
}

/// Changes one byte of a boundary's file, and its hash away.
fn change(capture: &Path, block: usize, byte: usize) {
    let file = capture.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&file).expect("read")).expect("JSON");
    let mut entries = manifest["blocks"].as_array_mut().expect("a list").iter_mut();
    let entry = entries.find(|entry| entry["block"] == block).expect("recorded").as_object_mut().expect("an object");
    entry.remove("sha256");
    let data = capture.join(entry["file"].as_str().expect("a name"));
    fs::write(file, manifest.to_string()).expect("written");
    let mut bytes = fs::read(&data).expect("read");
    bytes[byte] ^= 0x01;
    fs::write(data, bytes).expect("written");
}

fn record(path: &Path) -> (Side, Recording) {
    let recording = Recording::open(path).expect("a capture");
    (Side::Recorded(Box::new(recording.clone())), recording)
}

/// Asks about a recording as the subject.
fn ask(subject: &Path, reference: Option<&Path>, mode: Mode) -> Parity {
    let (mut subject, recording) = record(subject);
    let plan = Arc::new(Plan::new(recording.geometry, Detail::Needed));
    let model: Arc<Model> = Arc::new(synthetic::model(1));
    let live = || Side::Live(engine::open(&EngineSpec::cpu()).expect("the cpu engine"), Arc::clone(&plan));
    let mut reference = reference.map_or_else(live, |path| record(path).0);
    let question = Question {
        plan: &plan,
        model: &model,
        features: Some(recording.features().expect("recorded")),
        steps: runner::until(&plan, plan.find_step(LAST)),
        mode,
        control: &Control::new(),
    };
    parity::ask(&mut subject, &mut reference, &question, &mut |_, _| ()).expect("answered")
}

/// Names of the boundaries that differ by one of the two answers.
fn differing(parity: &Parity, isolated: bool) -> Vec<&str> {
    let answer = |row: &parity::Row| if isolated { row.isolated.clone() } else { row.accumulated.clone() };
    let differs = |c: Comparison| c.verdict.is_difference();
    parity.rows.iter().filter(|row| answer(row).is_some_and(differs)).map(|row| row.name.as_str()).collect()
}

#[test]
fn a_recording_with_one_wrong_block_is_wrong_there_alone_in_isolation() {
    let changes = "cpu+mask-outside@2".parse::<EngineSpec>().expect("a spec");
    Profile::new(&changes.changes).expect("a known cause");
    let (_folder, capture) = saved("cpu+mask-outside@2");
    let found = ask(&capture, None, Mode::Both);
    let accumulated = differing(&found, false);
    assert_eq!(accumulated, ["block-2", "block-3", "block-4", "pooled-4-5", "transition-4-5"], "the rest inherits");
    assert_eq!(differing(&found, true), ["block-2"], "run from its own inputs, only the wrong block differs");
    assert!(found.rows.iter().flat_map(parity::Row::answers).all(Comparison::is_compared), "all was compared");
}

#[test]
fn one_changed_byte_is_found_where_it_is() {
    let (_folder, capture) = saved("cpu");
    change(&capture, 2, 1234);
    let found = ask(&capture, None, Mode::Both);
    assert_eq!(differing(&found, false), ["block-2"], "all others are what the engine makes");
    let row = found.rows.iter().find(|row| row.name.as_str() == "block-2").expect("asked about");
    let answer = row.isolated.as_ref().expect("asked for");
    let first = answer.first.as_ref().expect("a difference");
    assert_eq!((answer.differing_bytes, first.token, first.channel), (1, 1234 / 32, 1234 % 32), "one byte, and which");
    // The block behind it does not follow from the changed one: in isolation it differs too, and nothing later does.
    assert_eq!(differing(&found, true), ["block-2", "block-3"], "the changed block and its reader");
}

#[test]
fn two_recordings_are_compared_without_an_engine() {
    let ((_a, exact), (_b, other)) = (saved("cpu"), saved("cpu"));
    let same = ask(&other, Some(&exact), Mode::Both);
    assert_eq!((same.tally().1, differing(&same, false).len()), (0, 0), "the same");
    let alone = same.rows.iter().filter_map(|row| row.isolated.as_ref());
    assert!(
        alone.clone().count() > 5
            && alone.into_iter().all(|c| matches!(&c.verdict, Verdict::NotCompared(why) if why.contains("recordings"))),
        "no engine runs a step alone, and that is said"
    );
    change(&other, 1, 7);
    assert_eq!(differing(&ask(&other, Some(&exact), Mode::Accumulated), false), ["block-1"], "one differs");
    let run = |mode: &str| {
        let (subject, reference) = (other.display().to_string(), exact.display().to_string());
        let sides = ["parity", "--subject", &subject, "--reference", &reference, "--mode", mode, "--until", LAST];
        Command::new(env!("CARGO_BIN_EXE_blockscope")).args(sides).output().expect("starts").status.code()
    };
    assert_eq!((run("both"), run("accumulated")), (Some(1), Some(1)), "one differs");
    assert_eq!(run("isolated"), Some(2), "nothing can be compared in isolation");
}

#[test]
fn an_interrupted_run_leaves_nothing_under_the_captures_name() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let target = folder.path().join("capture");
    let text = target.display().to_string();
    let mut run = Command::new(env!("CARGO_BIN_EXE_blockscope"))
        .args(["run", "--save-capture", &text])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let lines = BufReader::new(run.stdout.take().expect("piped")).lines();
    let first = lines.map_while(Result::ok).find(|line| line.starts_with("block-0 "));
    assert!(!target.exists(), "not there while the run goes on");
    run.kill().expect("killed");
    run.wait().expect("ended");
    assert!(first.is_some(), "the first boundary was told of");
    assert!(!target.exists(), "and not there after it was killed");
}

/// A run of which nothing but the output image is recorded.
struct Painted(Result<Image, String>);

impl parity::Recorded for Painted {
    fn has(&self, _: &TensorName) -> bool {
        false
    }

    fn tensor(&self, _: &TensorName) -> Result<Tensor, String> {
        Err("only the image was recorded".to_owned())
    }

    fn digest(&self, name: &TensorName) -> Result<Digest, String> {
        self.tensor(name).map(|tensor| tensor.digest())
    }

    fn output(&self) -> Option<Result<Image, String>> {
        Some(self.0.clone())
    }
}

#[test]
fn recorded_output_images_are_compared_behind_the_last_boundary() {
    let plan = Arc::new(Plan::new(Geometry::new(Size::new(64, 64)).unwrap(), Detail::Needed));
    let model = Arc::new(synthetic::model(1));
    let image = |byte: u8| {
        let mut codes = vec![7; 64 * 64 * 4];
        codes[4 * 65 + 2] = byte;
        Ok(Image { size: Size::new(64, 64), pixels: Pixels::Codes(codes) })
    };
    let ask = |subject: Result<Image, String>, reference, end| {
        let side = |image| Side::Recorded(Box::new(Painted(image)));
        let (mut subject, mut reference, control) = (side(subject), side(reference), Control::new());
        let (plan, model, mode) = (&plan, &model, Mode::Both);
        let question = Question { plan, model, features: None, steps: 0..end, mode, control: &control };
        parity::ask(&mut subject, &mut reference, &question, &mut |_, _| {}).unwrap()
    };
    let all = plan.steps.len();
    let answer = ask(image(9), image(7), all);
    let row = answer.rows.last().unwrap();
    let found = row.accumulated.as_ref().unwrap();
    assert_eq!((row.name.as_str(), &found.verdict), ("output", &Verdict::Differs), "{row:?}");
    let first = found.first.unwrap();
    assert_eq!((first.x, first.y, first.channel, first.distance), (1, 1, 2, 2), "{first:?}");
    assert_eq!((answer.tally(), answer.first_kernel()), ((1, 1), None), "it counts, and is no kernel");
    assert_eq!(ask(image(7), image(7), all).tally(), (1, 0), "equal");
    assert_eq!(ask(Err("the file vanished".to_owned()), image(7), all).tally(), (0, 0), "unreadable");
    assert!(ask(image(9), image(7), all - 1).rows.iter().all(|row| row.name.as_str() != "output"), "not reached");
    let mut report = Report::new("a", "b");
    compose::rows(&mut report, &plan, &answer);
    assert_eq!(report.rows.last().map(|row| row.op.as_str()), Some("compose"), "in reports too");
}
