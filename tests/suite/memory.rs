//! Budgets: what does not fit lies on disk and comes back with the same bytes; what cannot be kept is an error.

use blockscope::engine::cpu::{Cpu, Level};
use blockscope::engine::runner::{self, Keep};
use blockscope::engine::{Control, Engine, EngineError, reference::Reference};
use blockscope::frame;
use blockscope::geometry::{Geometry, Size};
use blockscope::model::synthetic;
use blockscope::plan::{Detail, Plan};
use blockscope::tensor::Keeper;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

fn blockscope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_blockscope")).args(arguments).output().expect("the program starts")
}

/// A run of the first steps with every boundary kept by a keeper: their digests.
fn digests(engine: &mut dyn Engine, keeper: &Arc<Keeper>, last: &str) -> Result<Vec<String>, EngineError> {
    let geometry = Geometry::new(Size::new(64, 64)).expect("a size that runs");
    let plan = Arc::new(Plan::new(geometry, Detail::Needed));
    let model = Arc::new(synthetic::model(1));
    let features = frame::synthetic::features(&plan.geometry, 1);
    engine.keep_within(keeper);
    let last = plan.find_step(last);
    let control = Control::new();
    let watch: &mut runner::Watch<'_> = &mut |_, _, _| Ok(());
    let outcome =
        runner::run_from_features(engine, (&plan, &model), features, last, &Keep::Boundaries, &control, watch)?;
    Ok(outcome.digests(&plan).into_iter().map(|(name, digest)| format!("{name} {digest}")).collect())
}

#[test]
fn a_spilled_run_has_the_same_bytes_on_every_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let cpu = || Cpu::new(Level::best()).expect("there is a best level");
    let free = Arc::new(Keeper::unlimited());
    let expected = digests(&mut cpu(), &free, "block-5").expect("runs");
    assert_eq!(free.spilled(), 0, "an unlimited keeper keeps all in memory");
    assert!(expected.len() > 7, "{expected:?}");
    for budget in [0, 4 << 20] {
        let keeper = Arc::new(Keeper::new(budget, folder.path().to_owned()));
        assert_eq!(digests(&mut cpu(), &keeper, "block-5").expect("runs"), expected, "budget {budget}");
        assert!(keeper.spilled() > 8 << 20, "{} bytes spilled of budget {budget}", keeper.spilled());
    }
    let keeper = Arc::new(Keeper::new(0, folder.path().to_owned()));
    let few = digests(&mut Reference::new(), &keeper, "block-0").expect("runs");
    assert_eq!((few.len(), few.first()), (1, expected.first()), "the reference too");
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "nothing is left behind");
}

#[test]
fn a_run_that_cannot_spill_ends_with_the_folder_and_what_was_wanted() {
    let gone = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no such folder");
    let keeper = Arc::new(Keeper::new(0, gone));
    let error = digests(&mut Cpu::new(Level::best()).expect("a level"), &keeper, "block-0").expect_err("no folder");
    assert!(matches!(error, EngineError::Spill(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("bytes wanted") && text.contains("no such folder"), "{text}");
}

#[test]
fn budgets_are_checked_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("capture").display().to_string();
    let run = ["run", "--until", "block-0", "--save-capture", &capture];
    let sides = ["--subject", "cpu", "--reference", "cpu"];
    let out = folder.path().join("report").display().to_string();
    for (command, options, said) in [
        (&run[..], &["--memory", "1MiB"][..], "needs at least"),
        (&run, &["--memory", "4GiB", "--spill", "/nowhere/at/all"], "path /nowhere/at/all"),
        (&run, &["--memory", "plenty"], "expected bytes such as 4GiB"),
        (&run, &["--spill", "/tmp"], "--memory"),
        (&[&["parity"][..], &sides].concat(), &["--memory", "300MiB"], "needs at least"),
        (&[&["diagnose"][..], &sides].concat(), &["--memory", "300MiB"], "needs at least"),
        (&[&["report", "--out", &out][..], &sides].concat(), &["--memory", "300MiB"], "needs at least"),
    ] {
        let output = blockscope(&[command, options].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?} {options:?}: {error}");
        assert!(error.contains(said), "{command:?} {options:?}: {error}");
    }
    assert!(!Path::new(&capture).exists(), "nothing was made");
}

/// What the budget promises, as the system counts it: the largest resident size of the whole process.
#[cfg(target_os = "linux")]
#[test]
fn a_run_stays_within_its_budget() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let capture = folder.path().join("capture").display().to_string();
    let run = ["run", "--size", "256x256", "--until", "transition-4-5", "--save-capture", &capture, "--json"];
    let output =
        blockscope(&[&run[..], &["--memory", "500MiB", "--spill", &folder.path().display().to_string()]].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (peak, budget) = (value["peakResidentBytes"].as_u64().expect("Linux tells"), 500 << 20);
    assert!(peak > 50 << 20 && peak < budget, "{peak} bytes of {budget}");
}
