//! The command line end to end: exit codes, JSON, captures, and bad input that changes nothing.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn blockscope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_blockscope")).args(arguments).output().expect("the program starts")
}

fn status(output: &Output) -> i32 {
    output.status.code().expect("it was not killed")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("only JSON on standard output: {e}"))
}

/// The first few steps, small enough for every engine.
const SHORT: &str = "transition-0-1";

#[test]
fn bad_questions_end_with_2_and_say_what_was_expected() {
    for (arguments, said) in [
        (&["run", "--size", "1x1"][..], "refused"),
        (&["run", "--size", "30x30"], "refused"),
        (&["run", "--size", "0x64"], "out of range"),
        (&["run", "--size=-1x64"], "expected a size"),
        (&["run", "--size", "100000x100000"], "out of range"),
        (&["run", "--engine", "gpu"], "no engine is called"),
        (&["run", "--engine", "cpu+"], "empty cause"),
        (&["run", "--until", "nowhere"], "expected a step"),
        (&["run", "--dump", "head"], "NAME=FILE"),
        (&["run", "--dump", "nothing=x.npy"], "no tensor"),
        (&["run", "--until", "block-0", "--dump", "head=x.npy"], "ends before"),
        (&["run", "--output", "/nowhere/at/all.png"], "cannot write"),
        (&["run", "--save-capture", "/proc/nowhere/capture"], "cannot"),
        (&["run", "--model", "nowhere"], "expected \"synthetic\""),
        (&["run", "--input", "nowhere.png"], "no such file"),
        (&["run", "--json", "--digests", "-"], "standard output"),
        (&["model", "check", "nowhere"], "problem"),
        (&["model", "info", "nowhere"], "problem"),
        (&["parity", "--subject", "cpu", "--reference", "./nowhere"], "no such recording"),
        (&["explain", "--tensor", "features", "--at", "0,0"], "input"),
        (&["explain", "--tensor", "block-0", "--at", "0,99"], "channel of 0 to 31"),
        (&["attention", "--block", "39"], "39 has none"),
        (&["attention", "--block", "0", "--head", "7"], "heads 0 to 0"),
        (&["frobnicate"], "unrecognized subcommand"),
    ] {
        let output = blockscope(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}: {}", err(&output));
        assert!(err(&output).contains(said), "{arguments:?}: {}", err(&output));
    }
}

#[test]
fn help_and_version_are_answers() {
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"]] {
        let output = blockscope(arguments);
        assert_eq!((status(&output), err(&output).is_empty()), (0, true), "{arguments:?}");
    }
}

#[test]
fn the_plan_is_one_line_a_step_and_json_of_the_same() {
    let text = out(&blockscope(&["plan"]));
    let value = json(&blockscope(&["plan", "--json"]));
    let steps = value["steps"].as_array().expect("steps").len();
    assert_eq!(text.lines().count(), steps + 2, "a line a step, a head and a sum");
}

#[test]
fn engines_agree_with_exit_0_and_only_json_is_printed() {
    let output =
        blockscope(&["parity", "--subject", "cpu", "--reference", "reference", "--until", SHORT, "--json", "-"]);
    assert_eq!(status(&output), 0, "{}", err(&output));
    let value = json(&output);
    let verdicts = value["rows"].as_array().expect("rows").iter().map(|row| &row["isolated"]["verdict"]);
    assert!(verdicts.clone().count() > 5 && verdicts.into_iter().all(|v| v == "bit-exact"), "{value:#}");
}

#[test]
fn a_saved_capture_equals_its_run_and_a_changed_byte_ends_with_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (capture, digests, dump) = (path("capture"), path("digests.json"), format!("block-0={}", path("b.npy")));
    let run = ["run", "--until", SHORT, "--save-capture", &capture, "--digests", &digests, "--dump", &dump];
    assert_eq!(status(&blockscope(&run)), 0, "the run");
    assert!(Path::new(&path("b.npy")).is_file(), "the dump");
    for reference in [&capture, &digests] {
        let output = blockscope(&["parity", "--subject", "cpu", "--reference", reference, "--until", SHORT]);
        assert_eq!(status(&output), 0, "{reference}: {}{}", out(&output), err(&output));
    }
    assert_eq!(status(&blockscope(&run)), 2, "an existing capture is not overwritten");
    let text = std::fs::read_to_string(&digests).expect("digests");
    let wrong = path("wrong.json");
    std::fs::write(&wrong, text.replacen("69527d6cce3e10cf", "69527d6cce3e10ce", 1)).expect("a changed digest");
    let output = blockscope(&["parity", "--subject", "cpu", "--reference", &wrong, "--until", SHORT]);
    assert_eq!(status(&output), 1, "{}", out(&output));
    assert!(out(&output).contains("first divergent boundary block-0"), "{}", out(&output));
}

#[test]
fn explain_reproduces_what_it_explains() {
    for (tensor, at) in [("block-0/ffn", "5:7,100"), ("block-0/normalized", "40,33"), ("block-0", "1000,3")] {
        let output = blockscope(&["explain", "--tensor", tensor, "--at", at, "--json"]);
        assert_eq!(status(&output), 0, "{tensor}: {}", err(&output));
        assert_eq!(json(&output)["reproduces"], true, "{tensor}");
    }
}

#[test]
fn attention_tells_of_tokens_outside_the_field() {
    let output = blockscope(&["attention", "--block", "2", "--window", "0,0", "--query", "63", "--json"]);
    assert_eq!(status(&output), 0, "{}", err(&output));
    let value = json(&output);
    let outside = value["keys"].as_array().expect("keys").iter().filter(|key| key["token"].is_null()).count();
    assert_eq!((outside, value["adds"].as_array().map(Vec::len)), (48, Some(63)), "phase 1 and the fixed order");
}

/// Ctrl-C while a capture is written: the run ends soon, and its draft goes with it.
#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_no_draft_behind() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let hidden = || {
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with('.')).count()
    };
    // The scalar engine takes minutes: it is still at work when it is interrupted.
    let child = Command::new(env!("CARGO_BIN_EXE_blockscope"))
        .args(["run", "--engine", "reference", "--save-capture"])
        .arg(folder.path().join("capture"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    let start = std::time::Instant::now();
    while hidden() == 0 {
        assert!(start.elapsed().as_secs() < 60, "a draft appears");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(signal.success(), "the signal was sent");
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "{}", err(&ended));
    assert!(err(&ended).contains("cancelled"), "{}", err(&ended));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}
