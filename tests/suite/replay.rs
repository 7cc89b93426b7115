//! Repro bundles: written from a divergence, replayed alone, cropped, refused when damaged.

use crate::schema;
use blockscope::engine::{Control, EngineSpec, open};
use blockscope::geometry::{Geometry, Size};
use blockscope::model::synthetic;
use blockscope::plan::{Detail, Plan};
use blockscope::report::Material;
use blockscope::report::bundle::{self, Bundle, Labels, replay};
use blockscope::tensor::{Bytes, Tensor, npy};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, LazyLock};

fn blockscope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_blockscope")).args(arguments).output().expect("the program starts")
}

fn status(output: &Output) -> Option<i32> {
    output.status.code()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A divergence in one kernel, reported once: with its weights, and without.
static WRITTEN: LazyLock<(tempfile::TempDir, Output)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let report = |bundle: &str, more: &[&str]| {
        let (out, bundle) = (at("report"), at(bundle));
        let what = ["report", "--subject", "cpu+mask-outside@2", "--reference", "cpu", "--until", "block-2"];
        let rest = ["--no-causes", "--format", "json", "--out", &out, "--bundle", &bundle];
        blockscope(&[&what[..], &rest, more].concat())
    };
    let output = report("whole", &[]);
    assert_eq!(status(&output), Some(1), "{}", err(&output));
    let other = report("bare", &["--without-weights"]);
    assert_eq!(status(&other), Some(1), "{}", err(&other));
    (folder, output)
});

fn path(name: &str) -> PathBuf {
    WRITTEN.0.path().join(name)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A copy of the bundle to damage.
fn copy() -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        for entry in fs::read_dir(path("whole").join(&inner)).unwrap() {
            let inner = inner.join(entry.unwrap().file_name());
            if path("whole").join(&inner).is_dir() {
                fs::create_dir_all(to.path().join(&inner)).unwrap();
                open.push(inner);
            } else {
                fs::copy(path("whole").join(&inner), to.path().join(&inner)).unwrap();
            }
        }
    }
    to
}

#[test]
fn a_bundle_is_replayed_alone_and_tells_who_is_right() {
    let bundle = path("whole").display().to_string();
    let output = blockscope(&["replay", &bundle, "--json"]);
    assert_eq!(status(&output), Some(0), "the reference reproduces what was expected: {}", err(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["kernels"], serde_json::json!(["block-2/attended"]), "{json}");
    let reference = &json["replays"][0];
    assert_eq!(reference["expected"]["reproduced"], true, "{reference}");
    assert_eq!(reference["got"]["reproduced"], false, "{reference}");
    assert_eq!(reference["got"]["first"]["tensor"], "block-2/attended", "{reference}");

    let output = blockscope(&["replay", &bundle, "--json", "--engine", "cpu+mask-outside@2", "--engine", "cpu"]);
    assert_eq!(status(&output), Some(1), "one engine does not give what was expected: {}", err(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (changed, exact) = (&json["replays"][1], &json["replays"][2]);
    assert_eq!((&changed["got"]["reproduced"], &changed["expected"]["reproduced"]), (&true.into(), &false.into()));
    assert_eq!((&exact["got"]["reproduced"], &exact["expected"]["reproduced"]), (&false.into(), &true.into()));
}

#[test]
fn the_manifest_fits_its_schema_and_every_array_is_plain_npy() {
    for name in ["whole", "bare"] {
        let manifest: Value = serde_json::from_str(&text(&path(name).join("manifest.json"))).unwrap();
        assert_eq!(schema::problems(schema::BUNDLE, &manifest), Vec::<String>::new(), "{name}");
        for entry in ["inputs", "expected", "got"].iter().flat_map(|key| manifest[*key].as_array().unwrap()) {
            let file = fs::read(path(name).join(entry["file"].as_str().unwrap())).unwrap();
            let array = npy::parse(&file).unwrap();
            assert_eq!(Some(array.shape[1] as u64), entry["channels"].as_u64(), "{entry}");
        }
    }
}

#[test]
fn weights_are_announced_loudly_or_left_out() {
    let note = err(&WRITTEN.1);
    assert!(note.contains("holds weights") && note.contains("--without-weights"), "{note}");
    let readme = text(&path("whole").join("README.md"));
    assert!(readme.contains("WARNING") && readme.contains("holds weights of the model"), "{readme}");
    assert!(path("whole").join("parameters").is_dir(), "included");
    assert!(!path("bare").join("parameters").exists(), "left out");
    let bare = path("bare").display().to_string();
    let asked = blockscope(&["replay", &bare]);
    assert_eq!((status(&asked), err(&asked).contains("--model")), (Some(2), true), "{}", err(&asked));
    let wrong = blockscope(&["replay", &bare, "--model", "synthetic:2"]);
    assert_eq!((status(&wrong), err(&wrong).contains("digest")), (Some(2), true), "{}", err(&wrong));
    let right = blockscope(&["replay", &bare, "--model", "synthetic:1"]);
    assert_eq!(status(&right), Some(0), "{}", err(&right));
}

#[test]
fn a_damaged_bundle_is_refused_with_everything_that_is_wrong() {
    let damaged = copy();
    let manifest: Value = serde_json::from_str(&text(&damaged.path().join("manifest.json"))).unwrap();
    let file = |key: &str| damaged.path().join(manifest[key][0]["file"].as_str().unwrap());
    let mut bytes = fs::read(file("got")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(file("got"), bytes).unwrap();
    fs::remove_file(file("inputs")).unwrap();
    fs::write(file("parameters"), b"no array").unwrap();
    let output = blockscope(&["replay", &damaged.path().display().to_string()]);
    let said = err(&output);
    assert_eq!(status(&output), Some(2), "{said}");
    for part in ["wrong SHA-256", "cannot be read", "parameters"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for (from, to, part) in [
        ("\"schema\": 1", "\"schema\": 2", "version 1, found 2"),
        ("block-2/attended", "block-2/attacked", "no kernel"),
        ("\"size\": [", "\"size\": [ 9,", "size"),
        ("\"rows\": [", "\"rows\": [ [5, 2],", "ascending"),
        ("repro bundle", "lunch box", "format"),
    ] {
        let damaged = copy();
        let path = damaged.path().join("manifest.json");
        fs::write(&path, text(&path).replacen(from, to, 1)).unwrap();
        let said = Bundle::open(damaged.path()).unwrap_err().to_string();
        assert!(said.contains(part), "{from} to {to}: {said}");
    }
    assert!(Bundle::open(Path::new("/nowhere")).is_err(), "nothing there");
    assert_eq!(status(&blockscope(&["replay", "/nowhere"])), Some(2), "nothing there");
}

/// A divergence at a size whose tensors are cropped.
fn large() -> (Material, Arc<blockscope::model::Model>) {
    let plan = Arc::new(Plan::new(Geometry::new(Size::new(512, 512)).unwrap(), Detail::Needed));
    let model = Arc::new(synthetic::model(1));
    let step = plan.find_step("block-0/attended").unwrap();
    let name = plan.steps[step].op.inputs()[0].clone();
    let shape = plan.shape(&name);
    let codes = Bytes::build(shape.bytes(), |out| {
        for (i, code) in out.iter_mut().enumerate() {
            let draw = (i as u32).wrapping_mul(747_796_405).rotate_left(9).wrapping_mul(2_891_336_453);
            *code = (draw >> 24) as u8 & 0xbf;
        }
    });
    let input = Tensor::new(name.clone(), shape, codes).unwrap();
    let mut engine = open(&EngineSpec::cpu()).unwrap();
    engine.load(&plan, &model).unwrap();
    engine.write(input.clone()).unwrap();
    engine.run(&plan.steps[step], &Control::new()).unwrap();
    let expected = engine.read(plan.steps[step].name()).unwrap();
    let changed = Bytes::build(expected.bytes().len(), |out| {
        out.copy_from_slice(expected.bytes());
        out[100_000 * expected.shape.channels + 7] ^= 0x80;
    });
    let got = Tensor::new(expected.name.clone(), expected.shape, changed).unwrap();
    let inputs = BTreeMap::from([(name, input)]);
    (Material { own: Some(Arc::clone(&plan)), plan, steps: vec![step], inputs, observed: vec![(got, expected)] }, model)
}

#[test]
fn a_large_frame_is_cropped_to_whole_windows_and_still_replays() {
    let (material, model) = large();
    let folder = tempfile::tempdir().unwrap();
    let labels = Labels { subject: "made by hand", reference: "cpu", conclusion: "One byte differs." };
    let write = |name: &str| {
        let target = folder.path().join(name);
        bundle::write(&target, &material, &model, labels, true).unwrap();
        target
    };
    let (first, second) = (write("first"), write("second"));
    for file in ["manifest.json", "README.md", "inputs/block-0-normalized.npy", "got/block-0-attended.npy"] {
        assert_eq!(fs::read(first.join(file)).unwrap(), fs::read(second.join(file)).unwrap(), "{file}");
    }
    assert!(matches!(bundle::write(&first, &material, &model, labels, true), Err(bundle::BundleError::Exists { .. })));
    let bundle = Bundle::open(&first).unwrap();
    let tokens = material.observed[0].1.shape.tokens();
    assert!(bundle.rows.len() < tokens && bundle.rows.contains(&100_000), "{} of {tokens}", bundle.rows.len());
    let model = bundle.model.clone().expect("included");
    let replayed = replay::by_reference(&bundle, &model, &Control::new()).unwrap();
    assert!(replayed.expected.reproduced(), "{replayed:?}");
    let first = replayed.got.first.expect("one byte differs");
    assert_eq!((replayed.got.differing, first.token, first.channel), (1, 100_000, 7), "{first:?}");
}
