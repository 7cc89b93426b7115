//! The whole network at 64x64 against published digests, and every kernel inside it against an independent
//! implementation's.
//!
//! `digests-64x64.json`: the 83 boundaries that other implementations published for the synthetic model and frame
//! of seed 1. `intermediate-digests-64x64.json`: 686 tensors inside the blocks.

use blockscope::engine::cpu::{Cpu, Level};
use blockscope::engine::{Control, Engine};
use blockscope::frame;
use blockscope::geometry::Geometry;
use blockscope::model::synthetic;
use blockscope::plan::{Detail, Plan, names};
use blockscope::tensor::{Digest, run_digest};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

fn json(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The digest of every tensor of a run at 64x64, raw tensors included.
fn run(level: Level) -> (Plan, BTreeMap<String, Digest>) {
    let geometry = Geometry::new("64x64".parse().unwrap()).unwrap();
    let plan = Arc::new(Plan::new(geometry, Detail::Raw));
    let mut engine = Cpu::new(level).unwrap();
    engine.load(&plan, &Arc::new(synthetic::model(1))).unwrap();
    engine.write(frame::synthetic::features(&plan.geometry, 1)).unwrap();
    let mut digests = BTreeMap::new();
    let last_reads = plan.last_reads();
    for step in &plan.steps {
        engine.run(step, &Control::new()).unwrap();
        for name in step.op.outputs() {
            digests.insert(name.to_string(), engine.read(name).unwrap().digest());
        }
        for name in step.op.inputs() {
            if last_reads.get(name) == Some(&step.index) {
                engine.release(name);
            }
        }
    }
    drop(engine);
    (Arc::into_inner(plan).expect("the engine is gone"), digests)
}

#[test]
fn every_tensor_of_the_network_has_its_published_digest() {
    let levels: Vec<Level> = Level::available().filter(|&level| level > Level::Scalar).collect();
    println!("levels with kernels of their own on this machine: {levels:?}");
    assert!(!levels.is_empty() || cfg!(not(target_arch = "x86_64")), "CI runs on a processor with AVX2");
    for level in levels {
        let (plan, digests) = run(level);
        let published = json("digests-64x64.json");
        let tensors = published["tensors"].as_object().unwrap();
        assert_eq!(tensors.len(), 83, "published boundaries");
        let wrong: Vec<&String> = tensors
            .iter()
            .filter(|(name, d)| digests[*name].to_string() != d.as_str().unwrap())
            .map(|(n, _)| n)
            .collect();
        assert!(wrong.is_empty(), "{level}: boundaries with other bytes, in order: {wrong:?}");
        let all = run_digest(plan.published().map(|name| digests[name.as_str()]));
        assert_eq!(all.to_string(), published["all"].as_str().unwrap(), "{level}: digest of the run");
        assert_eq!(inside(&plan, &digests), 686, "{level}: tensors inside the blocks");
    }
}

/// Compares every tensor inside the blocks; returns how many there were.
fn inside(plan: &Plan, digests: &BTreeMap<String, Digest>) -> usize {
    let expected = json("intermediate-digests-64x64.json");
    let mut compared = 0;
    for (block, tensors) in expected.as_object().unwrap() {
        let number: usize = block.trim_start_matches("block-").parse().unwrap();
        for (kernel, facts) in tensors.as_object().unwrap() {
            let name = our_name(plan, number, kernel);
            assert_eq!(digests[&name].to_string(), facts["digest"].as_str().unwrap(), "{block}/{kernel} is our {name}");
            compared += 1;
        }
    }
    compared
}

/// Our name for a block's tensor: its input is what the block before handed over, its output is its boundary.
fn our_name(plan: &Plan, block: usize, kernel: &str) -> String {
    let inside = names::inside(block, kernel).to_string();
    if plan.tensors.contains_key(inside.as_str()) {
        return inside;
    }
    match (kernel, block) {
        ("input", 1 | 5 | 9 | 15 | 23 | 31) => names::transition(block - 1).to_string(),
        ("input", 70) => names::POST_MERGE.to_owned(),
        ("input_raw", 70) => names::POST_MERGE_RAW.to_owned(),
        ("output_raw", 70) => names::POST_BLOCK_RAW.to_owned(),
        ("input", _) => names::block(block - 1).to_string(),
        _ => names::block(block).to_string(),
    }
}
