//! Captures: what is written reads back as itself, and what is wrong is refused whole, with everything listed.

use blockscope::capture::{self, CaptureError, Recording, Writer};
use blockscope::frame::{self, Conditions, input};
use blockscope::geometry::{Geometry, Size};
use blockscope::numerics::f16;
use blockscope::plan::{Detail, Plan, names};
use blockscope::tensor::{Bytes, Shape, Tensor, TensorName, npy};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn plan() -> Plan {
    Plan::new(Geometry::new(Size::new(64, 64)).expect("a size that runs"), Detail::Raw)
}

/// A tensor of the plan with bytes that depend on its name.
fn made(plan: &Plan, name: &str) -> Tensor {
    let name: TensorName = name.into();
    let shape: Shape = plan.shape(&name);
    let salt = name.as_str().bytes().fold(7_usize, |sum, b| sum * 31 % 65_521 + usize::from(b));
    let bytes: Vec<u8> = (0..shape.bytes()).map(|i| (((i + salt) * 2_654_435_761) >> 9) as u8 & 0x37).collect();
    Tensor::new(name, shape, Bytes::copy(&bytes)).expect("bytes of the shape")
}

const SAVED: [&str; 7] =
    ["features", "block-12", "transition-4-5", "head", "pooled-8-9", "block-40/qkv", "post merge raw"];

/// A capture of [`SAVED`] in a folder of its own.
fn saved() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let (target, plan) = (folder.path().join("capture"), plan());
    let mut writer = Writer::create(&target, plan.geometry).expect("a free place");
    SAVED.iter().for_each(|name| writer.add(&made(&plan, name)).expect("written"));
    writer.finish("not asked for", Some(json!({ "device": "a test" }))).expect("finished");
    (folder, target)
}

fn edit(target: &Path, edit: impl FnOnce(&mut Value)) {
    let file = target.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&file).expect("read")).expect("JSON");
    edit(&mut manifest);
    fs::write(file, manifest.to_string()).expect("written");
}

fn refusal(target: &Path) -> String {
    match Recording::open(target) {
        Err(error @ CaptureError::Refused { .. }) => error.to_string(),
        other => panic!("expected a refusal, found {other:?}"),
    }
}

#[test]
fn a_saved_capture_is_what_was_saved() {
    let (_folder, target) = saved();
    let (recording, plan) = (Recording::open(&target).expect("valid"), plan());
    assert!(recording.names().map(TensorName::as_str).collect::<Vec<_>>().len() == SAVED.len(), "all of them");
    for name in SAVED {
        let (found, expected) = (recording.tensor(&name.into()).expect(name), made(&plan, name));
        assert!(found.shape == expected.shape && found.bytes() == expected.bytes(), "{name}");
    }
    assert_eq!(recording.features().expect("recorded").digest(), made(&plan, "features").digest(), "features");
    assert_eq!(recording.metadata.as_ref().expect("kept")["device"], "a test", "metadata");
    let missing = recording.tensor(&"block-13".into()).expect_err("not saved").to_string();
    assert!(missing.contains("not asked for"), "the recording's own reason: {missing}");
    let other = recording.tensor(&"block-3/qkv".into()).expect_err("not saved").to_string();
    assert!(other.contains("does not have it"), "{other}");
}

#[test]
fn nothing_is_left_of_an_unfinished_capture_and_nothing_is_overwritten() {
    let (folder, target) = saved();
    let other = folder.path().join("other");
    let mut writer = Writer::create(&other, plan().geometry).expect("a free place");
    writer.add(&made(&plan(), "block-12")).expect("written");
    drop(writer);
    let empty = Writer::create(&other, plan().geometry).expect("a free place");
    assert!(empty.finish("", None).expect_err("nothing in it").to_string().contains("nothing to save"), "empty");
    assert!(matches!(Writer::create(&target, plan().geometry), Err(CaptureError::Exists { .. })), "taken");
    let left: Vec<_> = fs::read_dir(folder.path()).expect("listed").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["capture"], "only the finished one");
}

#[test]
fn every_problem_of_a_capture_is_in_one_message() {
    let (_folder, target) = saved();
    edit(&target, |m| {
        m["checks"] = json!(["boundaries", "output", "speed"]);
        m["proxy"] = json!({ "file": "x", "width": 64, "height": 64 });
        m["blocks"][0]["width"] = json!(45);
        let again = m["blocks"][0].clone();
        m["blocks"].as_array_mut().expect("a list").extend([again, json!({ "block": 71, "file": "x" }), json!(3)]);
        m["transitions"][0]["id"] = json!("5-6");
        m["intermediates"][0]["dtype"] = json!("f64");
        m["omittedBoundaries"]["block-3"] = json!("");
        m["omittedBoundaries"]["block-99"] = json!("no such");
        m["omittedBoundaries"]["block-12"] = json!("but it is there");
        m["omittedBoundaries"].as_object_mut().expect("an object").remove("block-20");
    });
    let error = refusal(&target);
    for part in [
        "checks: \"output\" is declared, but has no reference",
        "there is a reference for \"head\", but no check uses it",
        "found \"speed\"",
        "\"inputFeatures\" or \"proxy\", found both",
        "blocks[0].width: \"block-12\" has 44, found 45",
        "\"block-12\" is recorded twice",
        "blocks[2].block: expected 0 to 69, found 71",
        "blocks[3]: expected an object, found 3",
        "transitions[0].id: expected 0-1",
        "intermediates[0].dtype",
        "omittedBoundaries.block-3: expected a reason",
        "\"block-99\" is no boundary",
        "omittedBoundaries.block-12: it is recorded, and omitted",
        "boundary \"block-20\" is neither recorded nor omitted",
    ] {
        assert!(error.contains(part), "\"{part}\" is missing from:\n{error}");
    }
}

#[test]
fn damaged_files_and_paths_that_leave_are_refused() {
    let (_folder, target) = saved();
    let file = target.join("boundaries/block-12.e4m3");
    let bytes = fs::read(&file).expect("read");
    fs::write(&file, &bytes[1..]).expect("written");
    assert!(refusal(&target).contains("truncated: expected 225280 bytes, found 225279"), "short");
    fs::write(&file, [&bytes[1..], b"x"].concat()).expect("written");
    assert!(refusal(&target).contains("wrong SHA-256"), "changed");
    fs::write(&file, &bytes).expect("written");
    Recording::open(&target).expect("whole again");
    edit(&target, |m| {
        m["blocks"][0]["file"] = json!("../../secret");
        m["transitions"][0]["file"] = json!("/etc/passwd");
        m["referenceHead"]["file"] = json!("missing.f32");
    });
    let error = refusal(&target);
    for part in ["\"../../secret\" is refused", "\"/etc/passwd\" is refused", "\"missing.f32\" cannot be read"] {
        assert!(error.contains(part), "\"{part}\" is missing from:\n{error}");
    }
    edit(&target, |m| m["fullDimensions"] = json!([320, 320]));
    assert!(refusal(&target).contains("the field of 64x64 is 336x320, found 320x320"), "field");
    edit(&target, |m| m["sourceDimensions"] = json!([16, 16]));
    assert!(refusal(&target).contains("sourceDimensions: size 16x16 is refused"), "size");
}

#[test]
fn older_captures_are_read_with_a_note() {
    let (_folder, target) = saved();
    edit(&target, |m| {
        let manifest = m.as_object_mut().expect("an object");
        for key in ["checks", "omittedBoundaries", "recordedBy", "intermediates"] {
            manifest.remove(key);
        }
        manifest["blocks"][0].as_object_mut().expect("an object").remove("sha256");
    });
    let recording = Recording::open(&target).expect("valid");
    assert!(recording.notes[0].contains("older capture"), "{:?}", recording.notes);
    assert!(recording.has("block-12") && !recording.has("block-13"), "what is there");
}

#[test]
fn a_capture_of_an_image_gives_its_features_and_its_output_back() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let (target, plan) = (folder.path().join("capture"), plan());
    let pixels = (0..64 * 64).map(|i| frame::synthetic::proxy(i % 64, i / 64, 64, 64)).collect();
    let picture = frame::Picture { size: Size::new(64, 64), pixels };
    let conditions = Conditions { seed: 9, style: 3.0, auto_mask: true, ..Conditions::default() };
    let features = input::features(&plan.geometry, &picture, &conditions, None);
    let head = made(&plan, names::HEAD);
    let composed = frame::compose(&plan.geometry, &features, &head, None);
    let mut writer = Writer::create(&target, plan.geometry).expect("a free place");
    writer.proxy(&picture, &conditions).expect("written");
    writer.output(&composed).expect("written");
    writer.add(&head).expect("written");
    writer.finish("", None).expect("finished");
    let recording = Recording::open(&target).expect("valid");
    assert_eq!(recording.features().expect("made").digest(), features.digest(), "features");
    let output = recording.output.as_ref().expect("recorded");
    let bytes = output.read().expect("read");
    let halves = bytes.chunks_exact(4).map(|b| f16::from_f32(f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
    assert!(!output.is_u8 && halves.eq(composed.pixels.iter().flatten().copied()), "output");
    let opened = capture::input::open(&target.display().to_string(), None, &Conditions::default()).expect("an input");
    assert_eq!(opened.features.digest(), features.digest(), "as an input");
}

/// `blockscope import` of a capture writes it anew, its output image in the form that it was recorded in.
#[test]
fn a_copied_capture_keeps_its_output_image() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (plan, size) = (plan(), Size::new(64, 64));
    for (name, is_u8, bytes) in [("codes", true, 64 * 64 * 4), ("colours", false, 64 * 64 * 16)] {
        let mut writer = Writer::create(&at(name), plan.geometry).expect("a free place");
        let picture = frame::Picture { size, pixels: vec![[0.25, 0.5, 1.0]; 64 * 64] };
        writer.proxy(&picture, &Conditions::default()).expect("written");
        writer.image(size, is_u8, &vec![0; bytes]).expect("written");
        writer.finish("not asked for", None).expect("finished");
        let copy = at(&format!("copy of {name}"));
        let done = std::process::Command::new(env!("CARGO_BIN_EXE_blockscope"))
            .arg("import")
            .arg(at(name))
            .arg("--out")
            .arg(&copy)
            .output()
            .expect("the program starts");
        assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
        let output = Recording::open(&copy).expect("a capture").output.expect("it has its image");
        assert_eq!((output.size, output.is_u8, output.read().unwrap()), (size, is_u8, vec![0; bytes]), "{name}");
    }
}

#[test]
fn digest_files_are_recordings_of_digests() {
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/digests-64x64.json");
    let recording = Recording::open(&published).expect("valid");
    assert!(recording.is_digests(), "only digests");
    assert_eq!(recording.digest(&"block-12".into()).expect("there").to_string(), "85946bba024e6d51", "block 12");
    assert!(recording.tensor(&"block-12".into()).is_err() && recording.features().is_err(), "no bytes");
    let digests: BTreeMap<_, _> =
        recording.names().map(|name| (name.clone(), recording.digest(name).expect("there"))).collect();
    let text = capture::write_digests(&plan(), &digests, "synthetic seed 1", "synthetic seed 1");
    let original: Value = serde_json::from_slice(&fs::read(&published).expect("read")).expect("JSON");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), original, "written as published");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let damaged = folder.path().join("d.json");
    fs::write(&damaged, text.replacen("69527d6cce3e10cf", "69527d6cce3e10ce", 1)).expect("written");
    assert!(refusal(&damaged).contains("all: the digests make"), "a digest that does not fit the whole");
    fs::write(&damaged, text.replacen("69527d6cce3e10cf", "xyz", 1).replacen("block-5\"", "block-5x\"", 1))
        .expect("written");
    let error = refusal(&damaged);
    assert!(error.contains("16 hexadecimal digits") && error.contains("\"block-5x\" is no tensor"), "{error}");
}

#[test]
fn inputs_are_images_and_features_of_the_right_size() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let open = |name: &str, size| capture::input::open(&path(name), size, &Conditions::default());
    let pixel = |x: u32, y: u32| image::Rgb([x as u8 * 3, y as u8 * 5, 77]);
    image::RgbImage::from_fn(40, 48, pixel).save(path("a.png")).expect("saved");
    let input = open("a.png", None).expect("an image");
    assert_eq!(input.geometry.valid, Size::new(40, 48), "its own size");
    let centred = frame::centre(f32::from(3_u16 * 7) / 255.0).to_f32();
    assert_eq!(input.features.value(5 * input.geometry.field.width + 7, 4), centred, "red of (7, 5)");
    let resized = open("a.png", Some(Size::new(64, 64))).expect("resized");
    assert!(resized.notes[0].contains("40x48 was resized to 64x64"), "{:?}", resized.notes);
    image::ImageBuffer::from_fn(33, 33, |x, _| image::Luma([x as u16 * 1000])).save(path("g.png")).expect("saved");
    assert_eq!(
        open("g.png", None).expect("16-bit grayscale").features.value(2, 5),
        frame::centre(2000.0 / 65_535.0).to_f32(),
        "grey"
    );
    image::RgbaImage::from_pixel(33, 40, image::Rgba([9, 8, 7, 0])).save(path("t.png")).expect("saved");
    assert_eq!(
        open("t.png", None).expect("transparent").features.value(0, 4),
        frame::centre(9.0 / 255.0).to_f32(),
        "alpha ignored"
    );
    image::RgbImage::new(1, 40).save(path("thin.png")).expect("saved");
    let thin = open("thin.png", None).expect_err("one pixel wide").to_string();
    assert!(thin.contains("the image is 1x40; each side"), "{thin}");
    let png = fs::read(path("a.png")).expect("read");
    fs::write(path("cut.png"), &png[..png.len() / 2]).expect("written");
    fs::write(path("junk.jpg"), b"not an image").expect("written");
    for name in ["cut.png", "junk.jpg"] {
        let error = open(name, None).expect_err(name).to_string();
        assert!(error.contains("cannot be decoded") && error.contains(name), "{error}");
    }
    let features = frame::synthetic::features(&plan().geometry, 1);
    let array = npy::write(npy::NpyType::F4, &[320, 336, 16], features.bytes());
    fs::write(path("f.npy"), array).expect("written");
    fs::write(path("f.f32"), features.bytes()).expect("written");
    for name in ["f.npy", "f.f32"] {
        assert!(open(name, None).expect_err("no size").to_string().contains("--size"), "{name}");
        assert_eq!(open(name, Some(Size::new(64, 64))).expect(name).features.digest(), features.digest(), "{name}");
        let other = open(name, Some(Size::new(512, 512))).expect_err("another size").to_string();
        assert!(other.contains("field 576x512, that is 18874368 bytes"), "{other}");
    }
    assert!(open("none.png", None).expect_err("missing").to_string().contains("no such file"), "missing");
}
