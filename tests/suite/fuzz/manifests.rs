//! Model manifests, capture manifests of both forms, digest files, and the records that a manifest promises.

use super::edit::{damage, damaged, edited, edits};
use super::fuzz;
use blockscope::capture;
use blockscope::geometry::{Geometry, Size};
use blockscope::model::{Contents, Model, Parameter, directory, layout, synthetic};
use blockscope::plan::{Detail, Plan};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A valid manifest of a model.
fn model_manifest() -> Value {
    let mut ends = [0_usize; layout::STAGES.len()];
    let tensors: Vec<Value> = layout::records()
        .iter()
        .map(|record| {
            let offset = ends[record.stage].next_multiple_of(16);
            ends[record.stage] = offset + record.length;
            json!({
                "name": record.name, "block": record.block, "layer": record.layer, "parameter": record.parameter,
                "stage": format!("s{}", record.stage), "stageOffset": offset, "byteLength": record.length,
            })
        })
        .collect();
    let stage = |(i, end): (usize, &usize)| json!({ "id": format!("s{i}"), "file": format!("{i}.bin"), "packedByteLength": end, "sha256": "0".repeat(64) });
    let stages: Vec<Value> = ends.iter().enumerate().map(stage).collect();
    json!({ "totals": { "blockCount": 71 }, "stages": stages, "tensors": tensors })
}

/// A valid manifest of a capture: boundaries, transitions, a kernel's tensor, head and output; in the old form
/// without what newer ones add.
fn capture_manifest([proxy, old]: [bool; 2]) -> Value {
    let plan = Plan::new(Geometry::new(Size::new(64, 64)).expect("a size that runs"), Detail::Raw);
    let entry = |name: &str, key: &str, id: Value| {
        let shape = plan.shape(&name.into());
        json!({
            key: id, "width": shape.size.width, "height": shape.size.height, "channels": shape.channels,
            "file": format!("{name}.bin"),
        })
    };
    let mut kernel = entry("block-12/qkv", "name", json!("block-12/qkv"));
    kernel["dtype"] = json!("f16");
    let mut manifest = json!({
        "sourceDimensions": [64, 64], "fullDimensions": [336, 320],
        "blocks": [entry("block-12", "block", json!(12)), entry("block-13", "block", json!(13))],
        "transitions": [entry("transition-4-5", "id", json!("4-5"))],
        "referenceHead": { "file": "head.f32" },
        "nativeOutput": { "file": "output.u8", "width": 64, "height": 64 },
    });
    if proxy {
        manifest["proxy"] = json!({ "file": "proxy.f32", "width": 64, "height": 64 });
        manifest["conditioning"] = json!({ "style": 3.5, "localTone": 1.0, "skinStructure": -1.0, "paperWhite": 2.0 });
        manifest["seed"] = json!(7);
        manifest["autoMask"] = json!(1);
    } else {
        manifest["inputFeatures"] = json!({ "file": "features.f32" });
    }
    if !old {
        manifest["checks"] = json!(["boundaries", "head", "output"]);
        manifest["nativeOutput"]["dtype"] = json!("u8");
        manifest["intermediates"] = json!([kernel]);
        let there = ["block-12", "block-13", "transition-4-5"];
        let rest = capture::carried(&plan).filter(|name| !there.contains(&name.as_str()));
        manifest["omittedBoundaries"] = rest.map(|name| (name.to_string(), json!("too large"))).collect();
        manifest["recordedBy"] = json!({ "program": "a test" });
    }
    manifest
}

/// One of some valid files, changed as JSON and then as bytes.
fn changed(valid: Vec<Value>) -> impl Strategy<Value = Vec<u8>> {
    let valid = Arc::new(valid);
    let bytes = prop_oneof![2 => Just(Vec::new()), 1 => damage(3)];
    (any::<Index>(), edits(), bytes).prop_map(move |(which, edits, damage)| {
        let text = edited(which.get(&valid), &edits).to_string();
        damaged(text.as_bytes(), &damage)
    })
}

#[test]
fn a_model_manifest_is_refused_or_describes_a_whole_model() {
    fuzz("model manifests", &changed(vec![model_manifest()]), |bytes| {
        let Ok(info) = directory::parse(&bytes) else { return Ok(false) };
        let mut places: Vec<_> = info.records.iter().map(|r| (r.stage, r.offset, r.offset + r.bytes)).collect();
        places.sort_unstable();
        prop_assert!(places.iter().all(|&(stage, _, end)| end <= info.stages[stage].bytes), "inside their stages");
        prop_assert!(places.windows(2).all(|p| p[0].0 != p[1].0 || p[0].2 <= p[1].1), "none overlaps another");
        let names: BTreeSet<&str> = info.records.iter().map(|r| r.name.as_str()).collect();
        prop_assert_eq!(names.len(), layout::records().len(), "every record once");
        Ok(true)
    });
}

#[test]
fn any_bytes_of_a_record_are_weights() {
    let base = synthetic::model(1);
    let all: BTreeMap<String, Arc<[u8]>> = layout::records()
        .iter()
        .map(|r| (r.name.clone(), Arc::from(base.record(&r.name).expect("every record is there"))))
        .collect();
    let small: Vec<&layout::RecordLayout> = layout::records().iter().filter(|r| r.length < 30_000).collect();
    fuzz("records", &(select(small), damage(6), any::<bool>()), |(record, damage, whole)| {
        let bytes = damaged(&all[&record.name], &damage);
        if whole && bytes.len() != record.length {
            return Ok(false);
        }
        // A reader cuts a record out of its stage at the length that the layout has.
        let bytes: Vec<u8> = bytes.into_iter().chain(std::iter::repeat(0x7f)).take(record.length).collect();
        let mut records = all.clone();
        records.insert(record.name.clone(), bytes.into());
        let model = Model::from_records("fuzzed".to_owned(), records);
        for region in &record.regions {
            let parameter = Parameter::new(record.block, region.kind);
            match region.contents {
                Contents::Fp8 { groups, k, n } => {
                    let matrix = model.matrix(parameter);
                    prop_assert_eq!(matrix.codes.len(), groups * k * n, "codes");
                    prop_assert!(matrix.codes.iter().all(|code| code & 0x7f != 0x7f), "NaN codes became +0");
                }
                Contents::HalfMatrix { k, n } => prop_assert_eq!(model.matrix_f16(parameter).len(), k * n, "halves"),
                Contents::Halves(n) => prop_assert_eq!(model.halves(parameter).len(), n, "halves"),
                Contents::Prior { heads } => prop_assert_eq!(model.prior(parameter).len(), heads * 4096, "prior"),
                Contents::HeadScales(n) => prop_assert_eq!(model.floats(parameter).len(), n, "singles"),
            }
        }
        Ok(true)
    });
}

#[test]
fn a_capture_manifest_is_refused_or_claims_what_can_be() {
    let valid = [[false, false], [true, false], [false, true], [true, true]].map(capture_manifest);
    for manifest in &valid {
        let claims = capture::claims(manifest.to_string().as_bytes());
        assert!(claims.as_ref().is_ok_and(|c| c.len() >= 6), "valid before it is damaged: {claims:?}");
    }
    fuzz("capture manifests", &changed(valid.to_vec()), |bytes| {
        let Ok(claims) = capture::claims(&bytes) else { return Ok(false) };
        prop_assert!(!claims.is_empty(), "a capture has files");
        prop_assert!(claims.iter().all(|claim| claim.bytes > 0 && claim.bytes <= 1 << 40), "{claims:?}");
        Ok(true)
    });
}

#[test]
fn a_digest_file_is_refused_or_names_tensors_of_its_size() {
    let published: Value = serde_json::from_str(include_str!("../../data/digests-64x64.json")).expect("JSON");
    let mut few = published.clone();
    few["tensors"].as_object_mut().expect("tensors").retain(|name, _| name.starts_with("block-3"));
    few.as_object_mut().expect("an object").remove("all");
    fuzz("digest files", &changed(vec![published, few]), |bytes| {
        let Ok(recording) = capture::parse_digests("fuzzed", &bytes) else { return Ok(false) };
        let plan = Plan::new(recording.geometry, Detail::Raw);
        prop_assert!(recording.names().all(|name| plan.tensors.contains_key(name)), "known names");
        prop_assert!(recording.is_digests() && recording.names().next().is_some(), "digests only, and some");
        Ok(true)
    });
}

#[test]
fn raw_bytes_are_no_manifest() {
    let bytes = proptest::collection::vec(any::<u8>(), 0..200);
    let json = prop_oneof![
        3 => bytes,
        2 => (0_usize..4000).prop_map(|n| "[".repeat(n).into_bytes()),
        2 => (0_usize..4000).prop_map(|n| "{\"stages\":".repeat(n).into_bytes()),
        // The one thing that is taken, so that the target is known to look.
        1 => Just(model_manifest().to_string().into_bytes()),
    ];
    fuzz("raw manifests", &json, |bytes| {
        prop_assert!(capture::claims(&bytes).is_err() && capture::parse_digests("x", &bytes).is_err(), "no recording");
        Ok(directory::parse(&bytes).is_ok())
    });
}
