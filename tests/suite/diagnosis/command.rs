//! `blockscope diagnose` on recordings, and how a search tells where it is and stops.

use super::NETWORK;
use blockscope::diagnosis::explain::{Segment, explain};
use blockscope::engine::{Control, EngineError};
use blockscope::plan::Plan;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::{Duration, Instant};

fn blockscope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_blockscope")).args(arguments).output().expect("the program starts")
}

#[test]
fn a_capture_is_diagnosed_and_a_digest_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, digests) = (folder.path().join("capture"), folder.path().join("digests.json"));
    let (capture, digests) = (capture.to_str().unwrap(), digests.to_str().unwrap());
    let run = ["run", "--engine", "cpu+mask-outside@2", "--until", "block-2", "--save-capture", capture];
    let made = blockscope(&[&run[..], &["--digests", digests]].concat());
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));

    let answer = blockscope(&["diagnose", "--subject", capture, "--until", "block-2", "--json"]);
    assert_eq!(answer.status.code(), Some(1), "{}", String::from_utf8_lossy(&answer.stderr));
    let json: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let findings = json["diagnosis"]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0]["tensor"], "block-2", "{findings:#?}");
    assert_eq!(findings[0]["tested"][0]["causes"][0], "mask-outside", "{findings:#?}");
    assert_eq!(json["reproduce"], "cpu+mask-outside@2/attended", "{json:#}");

    let refused = blockscope(&["diagnose", "--subject", digests, "--until", "block-2"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("a digest says that something differs and nothing more"), "{said}");
}

#[test]
fn a_search_tells_how_far_it_is_and_stops_when_asked() {
    let network = &*NETWORK;
    let step = network.plan.find_step("block-1/normalized").unwrap();
    let mut changed = Plan::clone(&network.plan);
    assert!(blockscope::diagnosis::find("squares-in-order").unwrap().1.apply(&mut changed, step), "it has a place");
    let (plan, model, known, between) = (&network.plan, &network.model, &network.tensors, &BTreeMap::new());
    let observed = network.observe(&changed, step);
    let segment = Segment { plan, model, steps: step..step + 1, known, between, observed };
    let told = Mutex::new(Vec::new());
    explain(&segment, &[], &Control::new(), &|done, all| told.lock().unwrap().push((done, all))).unwrap();
    let told = told.into_inner().unwrap();
    assert!(told.len() > 20 && told.iter().all(|(done, all)| done <= all), "{told:?}");
    let last = told[0].1;
    assert!(told.contains(&(0, last)) && told.contains(&(last, last)), "{told:?}");

    let control = Control::new();
    let stopped = explain(&segment, &[], &control, &|done, _| {
        if done == 5 {
            control.cancel();
        }
    });
    assert!(matches!(stopped, Err(EngineError::Cancelled)), "{stopped:?}");
}

/// Causes ride on a step's rules, and an exact step pays for them with one comparison, not one for each value.
#[test]
fn the_exact_path_pays_one_comparison_a_step() {
    let (steps, rounds) = (&NETWORK.plan.steps, 1000_u32);
    let start = Instant::now();
    let exact: usize = (0..rounds)
        .map(|_| std::hint::black_box(steps).iter().filter(|step| std::hint::black_box(&step.rules).is_exact()).count())
        .sum();
    let frame = start.elapsed() / rounds;
    println!("rules of {} steps checked in {frame:?}", steps.len());
    assert_eq!(exact, steps.len() * rounds as usize, "every step is exact");
    assert!(frame < Duration::from_millis(1), "a frame takes more than a thousand times as long: {frame:?}");
}
