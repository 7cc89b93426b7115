//! Model directories: the synthetic one is byte-identical to the published generator's, and damaged ones are refused.

use blockscope::model::{self, ModelError, Parameter, ParameterKind, directory, layout, synthetic};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The synthetic directory of seed 1, written once a run (below `target/`, so that runs do not pile up).
fn written() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("synthetic-1");
        fs::remove_dir_all(&directory).or_else(|e| if directory.exists() { Err(e) } else { Ok(()) }).expect("removed");
        directory::write(&directory, &synthetic::model(1), Some(1)).expect("written");
        directory
    })
}

/// A directory of its own that shares the stage files, with its manifest edited.
fn edited(edit: impl FnOnce(&mut Value)) -> tempfile::TempDir {
    let copy = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    fs::create_dir_all(copy.path().join("model/stages")).expect("folders");
    for stage in 0..layout::STAGES.len() {
        let file = format!("model/stages/s{stage:02}.bin");
        fs::hard_link(written().join(&file), copy.path().join(&file)).expect("linked");
    }
    let text = fs::read(written().join("manifest.json")).expect("the manifest");
    let mut manifest: Value = serde_json::from_slice(&text).expect("JSON");
    edit(&mut manifest);
    fs::write(copy.path().join("manifest.json"), manifest.to_string()).expect("written");
    copy
}

/// The problems of a directory that must be refused.
fn refused(path: &Path) -> String {
    match model::open(&path.display().to_string()) {
        Err(error @ ModelError::Refused { .. }) => error.to_string(),
        other => panic!("expected a refusal, found {other:?}"),
    }
}

#[test]
fn stages_of_seed_1_have_the_published_hashes() {
    let info = directory::info(written()).expect("a manifest");
    let published = include_str!("../data/stage-hashes-seed1.txt");
    let lines: Vec<String> = info.stages.iter().map(|s| format!("{} {} {}", s.id, s.bytes, s.sha256)).collect();
    assert_eq!(lines, published.lines().collect::<Vec<_>>(), "id, bytes, SHA-256");
    assert_eq!(
        (info.records.len(), info.format.as_deref()),
        (153, Some("three-dlss-nr synthetic v1")),
        "records, format"
    );
}

#[test]
fn a_written_model_reads_back_as_itself() {
    let read = model::open(&written().display().to_string()).expect("read");
    let made = synthetic::model(1);
    for record in layout::records() {
        assert!(read.record(&record.name) == made.record(&record.name), "{}", record.name);
    }
    assert_eq!(read.digest(), made.digest(), "digest");
    assert!(read.findings().is_empty(), "a synthetic model has no odd weights");
}

#[test]
fn specs_are_opened_or_refused_with_what_they_should_be() {
    assert_eq!(model::open("synthetic").expect("opened").source, "synthetic:1", "default seed");
    for bad in ["synthetic:", "synthetic:-1", "synthetic:4294967296", "synthetic:x", "/no/such/place", "Synthetic"] {
        let error = model::open(bad).expect_err(bad).to_string();
        assert!(error.contains(bad) && error.contains("synthetic:SEED"), "{error}");
    }
}

#[test]
fn every_problem_of_a_manifest_is_in_one_message() {
    let copy = edited(|m| {
        m["totals"]["blockCount"] = json!(70);
        m["tensors"][0]["name"] = json!("block0.layer9.layer");
        m["tensors"][2] = m["tensors"][1].clone();
        m["tensors"][3]["stageOffset"] = m["tensors"][4]["stageOffset"].clone();
        m["tensors"][5]["stageOffset"] = json!(u64::MAX);
        m["tensors"][6]["byteLength"] = json!(u64::MAX);
        m["tensors"][7]["stageOffset"] = json!(-1);
        m["tensors"][8]["stage"] = json!("s99");
        m["tensors"][9]["block"] = json!("nine");
        m["tensors"][10] = json!(7);
        m["stages"][0]["file"] = json!("../model/stages/s00.bin");
        m["stages"][1]["file"] = json!("/etc/passwd");
        m["stages"][2]["sha256"] = json!("abc");
    });
    let error = refused(copy.path());
    for part in [
        "blockCount: expected 71, found 70",
        "\"block0.layer9.layer\" is no record",
        "\"block1.layer0.layer\" is listed twice",
        "\"block2.layer0.layer\" is missing",
        "overlap in stage",
        "leaves its stage",
        "found 18446744073709551615",
        "a whole number of 0 or more, found -1",
        "unknown stage \"s99\"",
        "tensors[9].block: expected a whole number",
        "tensors[10]: expected an object, found 7",
        "path \"../model/stages/s00.bin\" is refused",
        "path \"/etc/passwd\" is refused",
        "64 hexadecimal digits",
    ] {
        assert!(error.contains(part), "\"{part}\" is missing from:\n{error}");
    }
}

#[test]
fn damaged_stage_files_are_refused() {
    let replace = |name: &str, bytes: &[u8]| {
        let copy = edited(|_| {});
        let file = copy.path().join("model/stages").join(name);
        fs::remove_file(&file).expect("removed");
        fs::write(file, bytes).expect("written");
        refused(copy.path())
    };
    let bytes = fs::read(written().join("model/stages/s00.bin")).expect("a stage");
    assert!(replace("s00.bin", &bytes[1..]).contains("truncated: expected 106416 bytes, found 106415"), "short");
    assert!(replace("s00.bin", &[&bytes[..], b"x"].concat()).contains("too long"), "long");
    let mut flipped = bytes.clone();
    flipped[77] ^= 1;
    assert!(replace("s00.bin", &flipped).contains("wrong SHA-256"), "flipped");
    let copy = edited(|_| {});
    fs::remove_file(copy.path().join("model/stages/s03.bin")).expect("removed");
    assert!(refused(copy.path()).contains("stages/s03.bin\" cannot be read"), "missing");
}

#[cfg(unix)]
#[test]
fn symbolic_links_must_stay_inside() {
    let copy = edited(|_| {});
    let file = copy.path().join("model/stages/s00.bin");
    fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink(written().join("model/stages/s00.bin"), &file).expect("linked");
    assert!(refused(copy.path()).contains("symbolic link leads out"), "a link out of the directory");
}

#[test]
fn manifests_that_are_no_manifests_are_refused() {
    for (text, part) in [
        ("", "not JSON"),
        ("[]", "expected an object, found a list"),
        ("{", "not JSON"),
        ("{}", "totals: expected an object, found nothing"),
        (&"[".repeat(100_000), "not JSON"),
        (r#"{"totals":{"blockCount":71},"stages":{},"tensors":"x"}"#, "stages: expected a list"),
    ] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join("manifest.json"), text).expect("written");
        let error = refused(directory.path());
        assert!(error.contains(part), "{part}: {error}");
    }
    let empty = tempfile::tempdir().expect("a temporary directory");
    assert!(refused(empty.path()).contains("manifest.json: cannot be read"), "no manifest");
}

#[test]
fn nan_codes_among_the_weights_are_a_finding() {
    let made = synthetic::model(1);
    let parameter = Parameter::new(12, ParameterKind::Qkv);
    let (name, region) = layout::find(parameter).expect("block 12 has it");
    let record = |r: &layout::RecordLayout| (r.name.clone(), made.record(&r.name).expect("there").to_vec());
    let mut records: std::collections::BTreeMap<_, _> = layout::records().iter().map(record).collect();
    let bytes = records.get_mut(&name).expect("there");
    bytes[region.offset + 5] = 0x7f;
    bytes[region.offset + 99] = 0xff;
    let records = records.into_iter().map(|(name, bytes)| (name, bytes.into())).collect();
    let findings = model::Model::from_records("changed".to_owned(), records).findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].nan_codes, findings[0].first), (2, region.offset + 5), "{}", findings[0]);
}

/// The generator cuts its weights to 0x51; a model of somebody else may hold any code, and no engine cuts it.
#[test]
fn weights_beyond_the_generators_largest_are_used_as_they_are() {
    use blockscope::engine::{Control, EngineSpec, open, reference};
    use blockscope::tensor::{Bytes, Tensor};
    let plan = blockscope::plan::Plan::new(
        blockscope::geometry::Geometry::new(blockscope::geometry::Size::new(64, 64)).expect("a size that runs"),
        blockscope::plan::Detail::Raw,
    );
    let (plan, made) = (std::sync::Arc::new(plan), synthetic::model(1));
    let (record, region) = layout::find(Parameter::new(1, ParameterKind::Qkv)).expect("block 1 has it");
    let with = |code: u8| {
        let bytes = |r: &layout::RecordLayout| {
            let mut bytes = made.record(&r.name).expect("there").to_vec();
            if r.name == record {
                bytes[region.offset..][..region.contents.bytes()].fill(code);
            }
            (r.name.clone(), bytes.into())
        };
        std::sync::Arc::new(model::Model::from_records(
            "changed".to_owned(),
            layout::records().iter().map(bytes).collect(),
        ))
    };
    let step = &plan.steps[plan.find_step("block-1/qkv").expect("a step")];
    let input = step.op.inputs()[0].clone();
    let shape = plan.shape(&input);
    // One code of 1/64 a row: the products are the weights' own values, scaled.
    let bytes = Bytes::build(shape.bytes(), |out| out.chunks_exact_mut(32).for_each(|row| row[0] = 0x08));
    let tensor = Tensor::new(input.clone(), shape, bytes).expect("its shape");
    let mut values = Vec::new();
    for code in [0x51, 0x7e, 0x7f] {
        let model = with(code);
        let mut engine = open(&EngineSpec::cpu()).expect("the cpu engine");
        engine.load(&plan, &model).expect("loads");
        engine.write(tensor.clone()).expect("its shape");
        engine.run(step, &Control::new()).expect("runs");
        let found = engine.read(step.name()).expect("computed");
        let tensors = [(input.clone(), tensor.clone())].into();
        let sources = reference::Sources { plan: &plan, model: &model, tensors: &tensors };
        let rows = reference::run_rows(step, sources, &[0, 77], &Control::new()).expect("runs");
        assert_eq!(rows[0].1, [found.row(0), found.row(77)].concat(), "code {code:#x}");
        values.push(found.value(0, 0));
    }
    assert_eq!(values, [9.0 / 64.0, 448.0 / 64.0, 0.0], "the cut's own value, the largest, and NaN as +0");
}

#[test]
fn nothing_is_overwritten_and_nothing_half_is_left() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let target = directory.path().join("m");
    fs::create_dir(&target).expect("a folder");
    fs::write(target.join("mine.txt"), "mine").expect("a file");
    let model = synthetic::model(2);
    assert!(matches!(directory::write(&target, &model, Some(2)), Err(ModelError::Exists { .. })), "not empty");
    fs::remove_file(target.join("mine.txt")).expect("removed");
    directory::write(&target, &model, Some(2)).expect("an empty folder may be filled");
    let left: Vec<_> = fs::read_dir(directory.path()).expect("listed").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["m"], "only the model");
}
