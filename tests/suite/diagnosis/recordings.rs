//! Recordings: the first divergent boundary, explained from the recording's own previous one, on to the end.

use super::{NETWORK, doubt};
use blockscope::diagnosis::search::Run;
use blockscope::diagnosis::{Diagnosis, Explained};
use blockscope::engine::{EngineSpec, open};
use blockscope::tensor::{Bytes, Tensor, TensorName};
use std::collections::BTreeMap;

type Record = BTreeMap<TensorName, Tensor>;

fn ask(record: Record, features: Option<Tensor>, until: &str) -> Diagnosis {
    let mut exact = open(&EngineSpec::cpu()).unwrap();
    let side = Run::Recording(Box::new(move |name| record.get(name).cloned()));
    NETWORK.ask(side, features, until, exact.as_mut())
}

fn causes(answer: &Diagnosis) -> Vec<(&str, Vec<&str>)> {
    answer.findings.iter().map(|f| (f.tensor.as_str(), f.cause().map_or(Vec::new(), |c| c.causes.clone()))).collect()
}

fn named(name: &str, tensor: &Tensor) -> Tensor {
    Tensor::new(name.into(), tensor.shape, Bytes::copy(tensor.bytes())).unwrap()
}

#[test]
fn each_divergent_boundary_is_explained_from_the_recordings_own_previous_one() {
    let record = NETWORK.record("cpu+mask-outside@2+squares-in-order@4", "block-4");
    let answer = ask(record, Some(NETWORK.features()), "block-4");
    assert_eq!(
        causes(&answer),
        [("block-2", vec!["mask-outside"]), ("block-4", vec!["squares-in-order"])],
        "{:#?}",
        answer.findings.iter().map(blockscope::diagnosis::Finding::sentence).collect::<Vec<_>>()
    );
    let inherited = doubt(&answer, "inherited");
    assert_eq!((inherited.evidence, inherited.holds), (Some("inherited"), Some(true)), "{inherited:?}");
    assert!(inherited.text.contains("\"block-3\""), "{inherited:?}");
    assert_eq!(answer.exact, 4, "blocks 0, 1, 3 and transition-0-1");
    assert_eq!(doubt(&answer, "reference").holds, Some(true), "{:?}", answer.doubts);
}

#[test]
fn an_exact_recording_is_clean_and_one_without_input_says_what_it_cannot_tell() {
    let record = NETWORK.record("cpu", "block-2");
    let clean = ask(record.clone(), Some(NETWORK.features()), "block-2");
    assert!(clean.findings.is_empty() && clean.not_compared.is_empty(), "{clean:?}");
    assert!(clean.doubts.iter().all(|d| d.holds != Some(false)), "{:?}", clean.doubts);
    let blind = ask(record, None, "block-2");
    assert_eq!(doubt(&blind, "inputs").holds, None, "{:?}", blind.doubts);
    assert_eq!((blind.exact, blind.not_compared.len()), (2, 2), "{:?}", blind.not_compared);
    assert!(blind.not_compared[0].1.contains("\"features\""), "{:?}", blind.not_compared);
}

#[test]
fn a_recording_of_another_input_inherits_and_its_lanes_are_named() {
    let mut record = NETWORK.record("cpu", "block-2");
    let mut bytes = NETWORK.features().bytes().to_vec();
    bytes.chunks_exact_mut(64).for_each(|pixel| pixel[..12].fill(0));
    let other = Tensor::new("features".into(), NETWORK.features().shape, Bytes::copy(&bytes)).unwrap();
    record.insert("features".into(), other);
    let answer = ask(record, Some(NETWORK.features()), "block-2");
    let inputs = doubt(&answer, "inputs");
    assert_eq!((inputs.holds, inputs.evidence), (Some(false), Some("noise-missing")), "{inputs:?}");
    // Block 0 was not made from these features; everything behind it follows from block 0.
    assert_eq!(answer.findings.first().map(|f| f.tensor.as_str()), Some("block-0"), "{:?}", answer.findings);
    assert_eq!(doubt(&answer, "inherited").evidence, Some("inherited"), "{:?}", answer.doubts);
}

#[test]
fn a_damaged_dump_is_told_from_a_wrong_run() {
    let mut record = NETWORK.record("cpu", "block-3");
    let tensor = &record[&TensorName::from("block-1")];
    let mut bytes = tensor.bytes().to_vec();
    bytes.iter_mut().step_by(97).for_each(|byte| *byte ^= 0x11);
    let damaged = Tensor::new(tensor.name.clone(), tensor.shape, Bytes::copy(&bytes)).unwrap();
    record.insert("block-1".into(), damaged);
    let answer = ask(record, Some(NETWORK.features()), "block-3");
    let names: Vec<&str> = answer.findings.iter().map(|f| f.tensor.as_str()).collect();
    assert_eq!((names, answer.exact), (vec!["block-1"], 4), "what was made from the right tensor is exact");
    let files = doubt(&answer, "files");
    assert!(files.holds == Some(false) && files.text.contains("\"block-2\", made from it, is exact"), "{files:?}");
}

#[test]
fn a_tiled_dump_and_a_stale_one_are_told_before_arithmetic() {
    let mut record = NETWORK.record("cpu", "block-3");
    let exact = &record[&TensorName::from("block-1")];
    let (width, channels) = (exact.shape.size.width, exact.shape.channels);
    let mut tiled = Vec::new();
    for place in 0..exact.shape.tokens() {
        let (tile, inside) = (place / 16, place % 16);
        let (x, y) = (tile % (width / 4) * 4 + inside % 4, tile / (width / 4) * 4 + inside / 4);
        tiled.extend_from_slice(&exact.bytes()[(y * width + x) * channels..][..channels]);
    }
    let tiled = Tensor::new("block-1".into(), exact.shape, Bytes::copy(&tiled)).unwrap();
    let stale = named("block-3", &record[&TensorName::from("block-2")]);
    record.insert("block-3".into(), stale);
    let good = record.insert("block-1".into(), tiled);
    let answer = ask(record, Some(NETWORK.features()), "block-3");
    assert!(good.is_some(), "block-1 was recorded");
    let first = &answer.findings[0];
    assert_eq!((first.tensor.as_str(), first.explained), ("block-1", Explained::Exactly), "{}", first.sentence());
    let layout = doubt(&answer, "layout");
    assert_eq!(layout.holds, Some(false), "{layout:?}");
    assert!(layout.text.contains("block-1"), "{layout:?}");
    let files = doubt(&answer, "files");
    assert_eq!(files.evidence, Some("dump-of-another-boundary"), "{files:?}");
    assert!(files.text.contains("block-3") && files.text.contains("block-2"), "{files:?}");
}
