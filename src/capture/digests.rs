//! Digest files: a run as the digests of its boundaries, in the published JSON format.

use super::{CaptureError, RecordedInput, Recording, Stored};
use crate::geometry::{Geometry, Size};
use crate::model::fields::{self, Fields, Problems, shown, whole};
use crate::model::place::clip;
use crate::plan::{Detail, Plan};
use crate::tensor::{Digest, TensorName, run_digest};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Opens and checks a digest file.
pub(super) fn open(path: &Path) -> Result<Recording, CaptureError> {
    let mut problems = Problems::default();
    let value = fields::load(path, &mut problems);
    let source = path.display().to_string();
    let recording = value.and_then(|value| recording(&value, source, &mut problems));
    recording.filter(|_| problems.is_empty()).ok_or_else(|| CaptureError::Refused { path: path.to_owned(), problems })
}

/// The recording that the bytes of a digest file are; `source` is its name in messages.
///
/// # Errors
/// Every problem of it.
pub fn parse_digests(source: &str, bytes: &[u8]) -> Result<Recording, Problems> {
    let mut problems = Problems::default();
    let value = fields::parse(source, bytes, &mut problems);
    let recording = value.and_then(|value| recording(&value, source.to_owned(), &mut problems));
    recording.filter(|_| problems.is_empty()).ok_or(problems)
}

fn recording(value: &Value, source: String, problems: &mut Problems) -> Option<Recording> {
    let root = Fields::of(value, "", problems)?;
    let list = root.list("size", problems)?;
    let sides: Vec<usize> = list.iter().filter_map(whole).collect();
    let &[width, height] = sides.as_slice() else {
        problems.add(format_args!("size: expected [width, height], found {}", shown(&Value::from(list))));
        return None;
    };
    let geometry = problems.take(Geometry::new(Size::new(width, height)).map_err(|e| format!("size: {e}")))?;
    let plan = Plan::new(geometry, Detail::Raw);
    let mut tensors = BTreeMap::new();
    for (name, value) in root.object("tensors", problems)?.entries() {
        let digest = value.as_str().and_then(Digest::parse);
        match (plan.tensors.contains_key(name.as_str()), digest) {
            (true, Some(digest)) => {
                tensors.insert(TensorName::new(name), Stored::Digest(digest));
            }
            (false, _) => problems.add(format_args!("tensors: \"{}\" is no tensor of this network", clip(name))),
            (true, None) => {
                problems.add(format_args!("tensors.{name}: expected 16 hexadecimal digits, found {}", shown(value)));
            }
        }
    }
    if tensors.is_empty() {
        problems.add("tensors: expected at least one digest, found none");
    }
    check_all(&root, &plan, &tensors, problems);
    let text = |key: &str| root.get(key).map(|value| (key.to_owned(), value.clone()));
    let metadata: Map<String, Value> = ["model", "features"].into_iter().filter_map(text).collect();
    let unknown = "a digest file has no input; name one with --input".to_owned();
    Some(Recording {
        source,
        geometry,
        notes: Vec::new(),
        metadata: Some(Value::Object(metadata)),
        output: None,
        input: RecordedInput::Unknown(unknown),
        tensors,
        omitted: BTreeMap::new(),
    })
}

/// `all` must be the digest of the digests, when every published boundary is there.
fn check_all(root: &Fields<'_>, plan: &Plan, tensors: &BTreeMap<TensorName, Stored>, problems: &mut Problems) {
    let Some(stated) = root.optional_text("all", problems) else { return };
    let digest = |name: &TensorName| match tensors.get(name) {
        Some(Stored::Digest(digest)) => Some(*digest),
        _ => None,
    };
    let Some(digests) = plan.published().map(digest).collect::<Option<Vec<Digest>>>() else { return };
    let found = run_digest(digests);
    if Digest::parse(stated) != Some(found) {
        problems.add(format_args!("all: the digests make {found}, found \"{}\"", clip(stated)));
    }
}

/// The text of a digest file. `all` is there when every published boundary is.
pub fn write_digests(plan: &Plan, digests: &BTreeMap<TensorName, Digest>, model: &str, features: &str) -> String {
    let published: Vec<(&TensorName, Digest)> =
        plan.published().filter_map(|name| digests.get(name).map(|&digest| (name, digest))).collect();
    let all = (published.len() == plan.published().count()).then(|| run_digest(published.iter().map(|p| p.1)));
    let tensors: Map<String, Value> =
        published.iter().map(|(name, digest)| (name.to_string(), json!(digest.to_string()))).collect();
    let size = plan.geometry.valid;
    let mut root = Map::new();
    root.insert("size".to_owned(), json!([size.width, size.height]));
    root.insert("model".to_owned(), json!(model));
    root.insert("features".to_owned(), json!(features));
    root.insert("tensors".to_owned(), Value::Object(tensors));
    if let Some(all) = all {
        root.insert("all".to_owned(), json!(all.to_string()));
    }
    format!("{:#}\n", Value::Object(root))
}
