//! The published digests at 64x64: 83 boundaries and 686 kernels' tensors, at the best level and at AVX2.

use blockscope::engine::cpu::{Cpu, Level};
use blockscope::engine::{Control, Engine as _};
use blockscope::frame::synthetic::features;
use blockscope::geometry::{Geometry, Size};
use blockscope::model::synthetic;
use blockscope::plan::{Detail, Plan};
use blockscope::tensor::{Digest, TensorName};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The plan's name of a kernel's tensor in the digests file: blocks whose input or output is another tensor's.
fn plan_name(plan: &Plan, block: usize, kernel: &str) -> TensorName {
    let inside = TensorName::new(format!("block-{block}/{kernel}"));
    if plan.tensors.contains_key(&inside) {
        return inside;
    }
    let boundary = |block: usize| TensorName::new(format!("block-{block}"));
    match (kernel, block) {
        ("output", _) => boundary(block),
        ("output_raw", 70) => "post block raw".into(),
        ("input", 70) => "post merge".into(),
        ("input_raw", 70) => "post merge raw".into(),
        ("input", 1 | 5 | 9 | 15 | 23 | 31) => TensorName::new(format!("transition-{}-{block}", block - 1)),
        ("input", _) => boundary(block - 1),
        _ => panic!("block {block} has no tensor {kernel}"),
    }
}

/// What the published files say, by the plan's names.
fn published(plan: &Plan) -> BTreeMap<TensorName, Vec<Digest>> {
    let read = |text: &str| -> Value { serde_json::from_str(text).expect("digest files are JSON") };
    let digest = |value: &Value| Digest::parse(value.as_str().expect("a text")).expect("16 digits");
    let mut all: BTreeMap<TensorName, Vec<Digest>> = BTreeMap::new();
    let boundaries = read(include_str!("../data/digests-64x64.json"));
    for (name, value) in boundaries["tensors"].as_object().expect("tensors") {
        all.entry(name.as_str().into()).or_default().push(digest(value));
    }
    let kernels = read(include_str!("../data/intermediate-digests-64x64.json"));
    for (block, tensors) in kernels.as_object().expect("blocks") {
        let block = block["block-".len()..].parse().expect("a block's number");
        for (kernel, entry) in tensors.as_object().expect("kernels") {
            all.entry(plan_name(plan, block, kernel)).or_default().push(digest(&entry["digest"]));
        }
    }
    assert_eq!(all.values().map(Vec::len).sum::<usize>(), 83 + 686, "entries");
    all
}

/// Runs the whole network and compares every tensor that has a published digest.
fn check(level: Level) {
    let geometry = Geometry::new(Size::new(64, 64)).expect("64x64 is a size");
    let plan = Arc::new(Plan::new(geometry, Detail::Raw));
    let model = Arc::new(synthetic::model(1));
    let published = published(&plan);
    let mut engine = Cpu::new(level).expect("the level was chosen because it is there");
    engine.load(&plan, &model).expect("loads");
    engine.write(features(&plan.geometry, 1)).expect("the features fit");
    let control = Control::new();
    let mut wrong = Vec::new();
    for step in &plan.steps {
        engine.run(step, &control).expect("runs");
        for name in step.op.outputs() {
            let Some(expected) = published.get(name) else { continue };
            let found = engine.read(name).expect("was just written").digest();
            wrong.extend(expected.iter().filter(|&&e| e != found).map(|e| format!("{name}: {e}, found {found}")));
        }
    }
    assert_eq!(control.done(), plan.products(), "progress counts every product");
    assert!(wrong.is_empty(), "{level}: {} digests differ, first {}", wrong.len(), wrong[0]);
    let compared: usize = published.values().map(Vec::len).sum();
    println!("{level}: {compared} digests");
}

#[test]
fn all_published_digests_at_the_best_level() {
    check(Level::best());
}

#[test]
fn all_published_digests_at_avx2() {
    match Level::best() {
        Level::Avx2 => println!("avx2 is the best level here: the other test runs it"),
        Level::Avx512 => check(Level::Avx2),
        Level::Scalar => println!("skipped: this processor has no AVX2"),
    }
}
