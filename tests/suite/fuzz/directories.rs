//! Whole capture directories on disk: manifests, paths and files damaged together.

use super::edit::{damage, damaged, edited, edits};
use super::fuzz_slowly;
use blockscope::capture::{Recording, Writer};
use blockscope::geometry::{Geometry, Size};
use blockscope::plan::{Detail, Plan};
use blockscope::tensor::{Bytes, Tensor};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;

#[test]
fn a_capture_directory_is_refused_or_everything_in_it_can_be_read() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let target = folder.path().join("capture");
    let plan = Plan::new(Geometry::new(Size::new(64, 64)).expect("a size that runs"), Detail::Raw);
    let mut writer = Writer::create(&target, plan.geometry).expect("a free place");
    let size = Size::new(64, 64);
    let picture = blockscope::frame::Picture { size, pixels: vec![[0.5; 3]; size.tokens()] };
    writer.proxy(&picture, &blockscope::frame::Conditions::default()).expect("written");
    let name = "block-31";
    let shape = plan.shape(&name.into());
    let tensor = Tensor::new(name.into(), shape, Bytes::build(shape.bytes(), |_| ())).expect("fits");
    writer.add(&tensor).expect("written");
    writer.finish("not asked for", None).expect("finished");
    let manifest: Value =
        serde_json::from_slice(&fs::read(target.join("manifest.json")).expect("there")).expect("JSON");
    let block = target.join(manifest["blocks"][0]["file"].as_str().expect("a file"));
    let bytes = fs::read(&block).expect("there");
    let without_hash = |hash: bool| {
        let mut manifest = manifest.clone();
        if !hash {
            manifest["blocks"][0]["sha256"] = json!(null);
        }
        manifest
    };
    fuzz_slowly("capture directories", 300, &(edits(), damage(1), any::<bool>()), |(edits, damage, hash)| {
        let edited = edited(&without_hash(hash), &edits);
        fs::write(target.join("manifest.json"), edited.to_string()).expect("written");
        fs::write(&block, damaged(&bytes, &damage)).expect("written");
        let Ok(recording) = Recording::open(&target) else { return Ok(false) };
        for name in recording.names() {
            let tensor = recording.tensor(name).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(tensor.bytes().len(), tensor.shape.bytes(), "{}", name);
        }
        let features = recording.features().map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(features.shape.size, recording.geometry.field, "features of the field");
        Ok(true)
    });
}
