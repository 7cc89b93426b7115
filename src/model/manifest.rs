//! `manifest.json` of a model directory: which stage file holds which record, and where.
//!
//! Parsing checks everything that needs no stage file: counts, names, ranges, overlaps.

use super::fields::{Fields, Problems};
use super::layout;
use super::place::clip;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// One stage file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its id: `s00` in the synthetic model.
    pub id: String,
    /// Its path below `model/`.
    pub file: String,
    /// Its length in bytes.
    pub bytes: usize,
    /// Its SHA-256, lower case.
    pub sha256: String,
}

/// Where one record lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The record's name.
    pub name: String,
    /// Index into the manifest's stages.
    pub stage: usize,
    /// First byte inside the stage.
    pub offset: usize,
    /// Length in bytes.
    pub bytes: usize,
}

/// A manifest that describes a whole model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) format: Option<String>,
    pub(super) stages: Vec<Stage>,
    pub(super) records: Vec<Place>,
}

/// Reads a manifest. What it returns is whole only when no problem was added.
pub(super) fn parse(value: &Value, problems: &mut Problems) -> Option<Manifest> {
    let root = Fields::of(value, "", problems)?;
    if let Some(totals) = root.object("totals", problems) {
        match totals.count("blockCount", problems) {
            Some(layout::BLOCKS) | None => {}
            Some(found) => problems.add(format_args!("totals.blockCount: expected {}, found {found}", layout::BLOCKS)),
        }
    }
    let (stages, wrong) = stages(&root, problems);
    let records = records(&root, (&stages, &wrong), problems);
    let format = root.optional_text("format", problems).map(str::to_owned);
    Some(Manifest { format, stages, records })
}

/// The stages, and the ids of those whose entries are wrong: records in them have no problem of their own.
fn stages<'a>(root: &Fields<'a>, problems: &mut Problems) -> (Vec<Stage>, BTreeSet<&'a str>) {
    let mut stages: Vec<Stage> = Vec::new();
    let mut wrong = BTreeSet::new();
    let mut files = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for (i, value) in root.list("stages", problems).unwrap_or(&[]).iter().enumerate() {
        let Some(entry) = Fields::of(value, format!("stages[{i}]"), problems) else { continue };
        let (id, file) = (entry.text("id", problems), entry.text("file", problems));
        let (bytes, sha256) = (entry.count("packedByteLength", problems), entry.sha256("sha256", problems));
        let (Some(id), Some(file), Some(bytes), Some(sha256)) = (id, file, bytes, sha256) else {
            wrong.extend(id);
            continue;
        };
        if !ids.insert(id) {
            problems.add(format_args!("stages[{i}].id: \"{}\" is already the id of another stage", clip(id)));
        }
        if !files.insert(file) {
            problems.add(format_args!("stages[{i}].file: \"{}\" is already the file of another stage", clip(file)));
        }
        stages.push(Stage { id: id.to_owned(), file: file.to_owned(), bytes, sha256 });
    }
    (stages, wrong)
}

fn records(root: &Fields<'_>, (stages, wrong): (&[Stage], &BTreeSet<&str>), problems: &mut Problems) -> Vec<Place> {
    let known: BTreeMap<&str, &layout::RecordLayout> = layout::records().iter().map(|r| (r.name.as_str(), r)).collect();
    let mut seen = BTreeSet::new();
    let mut places = Vec::new();
    let Some(list) = root.list("tensors", problems) else { return places };
    for (i, value) in list.iter().enumerate() {
        let Some(entry) = Fields::of(value, format!("tensors[{i}]"), problems) else { continue };
        let Some(name) = entry.text("name", problems) else { continue };
        let Some(record) = known.get(name) else {
            problems.add(format_args!("tensors[{i}].name: \"{}\" is no record of this network", clip(name)));
            continue;
        };
        if !seen.insert(record.name.as_str()) {
            problems.add(format_args!("tensors[{i}].name: \"{name}\" is listed twice"));
            continue;
        }
        check_identity(&entry, record, problems);
        places.extend(place(&entry, record, (stages, wrong), problems));
    }
    for name in known.keys().filter(|name| !seen.contains(*name)) {
        problems.add(format_args!("tensors: record \"{name}\" is missing"));
    }
    check_overlaps(&places, stages, problems);
    places
}

/// Block, layer and parameter must repeat what the name says.
fn check_identity(entry: &Fields<'_>, record: &layout::RecordLayout, problems: &mut Problems) {
    for (key, expected) in [("block", record.block), ("layer", record.layer)] {
        if let Some(found) = entry.count(key, problems).filter(|&found| found != expected) {
            problems.add(format_args!("{}: \"{}\" needs {expected}, found {found}", entry.place(key), record.name));
        }
    }
    if let Some(found) = entry.optional_text("parameter", problems).filter(|&found| found != record.parameter) {
        let (at, expected) = (entry.place("parameter"), record.parameter);
        problems.add(format_args!("{at}: \"{}\" needs \"{expected}\", found \"{}\"", record.name, clip(found)));
    }
}

fn place(
    entry: &Fields<'_>,
    record: &layout::RecordLayout,
    (stages, wrong): (&[Stage], &BTreeSet<&str>),
    problems: &mut Problems,
) -> Option<Place> {
    let (stage, offset) = (entry.text("stage", problems), entry.count("stageOffset", problems));
    let bytes = entry.count("byteLength", problems);
    let (name, stage, offset, bytes) = (&record.name, stage?, offset?, bytes?);
    if bytes != record.length {
        let at = entry.place("byteLength");
        problems.add(format_args!("{at}: \"{name}\" needs {} bytes, found {bytes}", record.length));
        return None;
    }
    let Some(index) = stages.iter().position(|s| s.id == stage) else {
        if wrong.contains(stage) {
            return None;
        }
        problems.add(format_args!("{}: \"{name}\" lies in unknown stage \"{}\"", entry.place("stage"), clip(stage)));
        return None;
    };
    let end = offset.checked_add(bytes);
    if end.is_none_or(|end| end > stages[index].bytes) {
        let length = stages[index].bytes;
        problems.add(format_args!(
            "record \"{name}\" leaves its stage \"{stage}\": offset {offset} plus {bytes} bytes, but the stage has {length}"
        ));
        return None;
    }
    Some(Place { name: name.clone(), stage: index, offset, bytes })
}

fn check_overlaps(places: &[Place], stages: &[Stage], problems: &mut Problems) {
    let mut sorted: Vec<&Place> = places.iter().collect();
    sorted.sort_by_key(|place| (place.stage, place.offset, place.bytes));
    for pair in sorted.windows(2) {
        let [a, b] = pair else { continue };
        if a.stage == b.stage && a.offset + a.bytes > b.offset {
            let stage = &stages[a.stage].id;
            problems.add(format_args!("records \"{}\" and \"{}\" overlap in stage \"{stage}\"", a.name, b.name));
        }
    }
}

/// The manifest of a directory with the published stages: `stages` gives file, length and hash of each.
pub(super) fn write(stages: &[Stage], offsets: &BTreeMap<&str, usize>, seed: Option<u32>) -> Value {
    let stages: Vec<Value> = stages
        .iter()
        .map(|s| json!({ "id": s.id, "file": s.file, "packedByteLength": s.bytes, "sha256": s.sha256 }))
        .collect();
    let tensors: Vec<Value> = layout::records()
        .iter()
        .map(|r| {
            json!({
                "name": r.name, "block": r.block, "layer": r.layer, "parameter": r.parameter,
                "stage": stage_id(r.stage), "stageOffset": offsets[r.name.as_str()], "byteLength": r.length,
            })
        })
        .collect();
    let mut manifest = serde_json::Map::new();
    if let Some(seed) = seed {
        manifest.insert("format".to_owned(), json!(super::synthetic::FORMAT));
        manifest.insert("seed".to_owned(), json!(seed));
    }
    manifest.insert("totals".to_owned(), json!({ "blockCount": layout::BLOCKS, "tensorCount": tensors.len() }));
    manifest.insert("stages".to_owned(), Value::Array(stages));
    manifest.insert("tensors".to_owned(), Value::Array(tensors));
    Value::Object(manifest)
}

/// `s00` to `s10`.
pub(super) fn stage_id(stage: usize) -> String {
    format!("s{stage:02}")
}
