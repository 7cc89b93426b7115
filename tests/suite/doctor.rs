//! The doctor: everything is fine on a sound machine, and a wrong engine is told.

use blockscope::diagnosis::trust::{Check, Outcome, is_fine};
use serde_json::Value;
use std::process::Command;

#[test]
fn a_sound_machine_is_fine_and_says_what_was_checked() {
    let output = Command::new(env!("CARGO_BIN_EXE_blockscope")).args(["doctor", "--quick", "--json"]).output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).expect("only JSON on standard output");
    assert_eq!((output.status.code(), &json["fine"]), (Some(0), &true.into()), "{json:#}");
    let outcome = |subject: &str, what: &str| {
        let checks = json["checks"].as_array().unwrap();
        let found = checks.iter().find(|c| c["subject"] == subject && c["what"] == what);
        found.unwrap_or_else(|| panic!("{subject}: {what} in {json:#}"))["outcome"].clone()
    };
    assert_eq!(outcome("cpu:scalar", "hostile cases"), "fine");
    for what in ["published digests", "repetition", "observer"] {
        assert_eq!(outcome("cpu", what), "fine", "{what}");
    }
    for check in json["checks"].as_array().unwrap() {
        let remedy = check["outcome"] == "failed";
        assert_eq!(check["remedy"].is_string(), remedy, "what to do is said exactly where something failed: {check}");
    }
}

#[test]
fn skipped_checks_do_not_fail_and_failed_ones_do() {
    let check = |outcome| Check {
        subject: "x".to_owned(),
        what: "y",
        outcome,
        text: String::new(),
        remedy: None,
        seconds: 0.0,
    };
    assert!(is_fine(&[check(Outcome::Fine), check(Outcome::Skipped), check(Outcome::Note)]), "nothing failed");
    assert!(!is_fine(&[check(Outcome::Fine), check(Outcome::Failed)]), "one failed");
}
