//! `manifest.json` of a capture: what it claims, with everything that is wrong with the claim.

use crate::frame::Conditions;
use crate::geometry::{Geometry, Size};
use crate::model::fields::{self, Fields, Problems, shown, whole};
use crate::model::place::clip;
use crate::plan::{Detail, Plan, names};
use crate::tensor::{Element, Shape, TensorName};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A file that the manifest names, and what it must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its path inside the directory, as written: not yet checked to stay there.
    pub file: String,
    /// Its length in bytes, which follows from the sizes.
    pub bytes: usize,
    /// Its SHA-256 in lower case, where the manifest states one.
    pub sha256: Option<String>,
}

/// An RGBA f32 image in front of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Proxy {
    /// Its file.
    pub file: String,
    /// Its size: that of the source.
    pub size: Size,
    /// What the features are conditioned on.
    pub conditions: Conditions,
}

/// The final image that the run's own program made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OutputClaim {
    pub(super) claim: Claim,
    pub(super) size: Size,
    pub(super) is_u8: bool,
}

/// A manifest as read.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) geometry: Geometry,
    pub(super) notes: Vec<String>,
    pub(super) tensors: BTreeMap<TensorName, (Shape, Claim)>,
    pub(super) proxy: Option<(Proxy, Claim)>,
    pub(super) output: Option<OutputClaim>,
    pub(super) omitted: BTreeMap<TensorName, String>,
    pub(super) metadata: Option<Value>,
}

/// Every file that the bytes of a manifest claim; nothing on disk is looked at.
///
/// # Errors
/// Every problem of the manifest.
pub fn claims(bytes: &[u8]) -> Result<Vec<Claim>, Problems> {
    let mut problems = Problems::default();
    let value = fields::parse("manifest.json", bytes, &mut problems);
    let manifest = value.and_then(|value| parse(&value, &mut problems)).filter(|_| problems.is_empty());
    let manifest = manifest.ok_or(problems)?;
    let tensors = manifest.tensors.into_values().map(|(_, claim)| claim);
    let proxy = manifest.proxy.map(|(_, claim)| claim);
    Ok(tensors.chain(proxy).chain(manifest.output.map(|output| output.claim)).collect())
}

/// Reads a manifest. What it returns is whole only when no problem was added.
pub(super) fn parse(value: &Value, problems: &mut Problems) -> Option<Manifest> {
    let root = Fields::of(value, "", problems)?;
    let geometry = geometry(&root, problems)?;
    let mut reader = Reader {
        plan: Plan::new(geometry, Detail::Raw),
        notes: Vec::new(),
        tensors: BTreeMap::new(),
        omitted: BTreeMap::new(),
    };
    let proxy = reader.input(&root, problems);
    reader.blocks(&root, problems);
    reader.intermediates(&root, problems);
    if let Some(entry) = root.optional_object("referenceHead", problems) {
        reader.claim(&entry, &names::HEAD.into(), problems);
    }
    let output = output(&root, geometry, problems);
    if output.as_ref().is_some_and(|o| !o.is_u8) && proxy.is_none() {
        problems.add("nativeOutput: a f32 output needs \"proxy\" as the input, and there is none");
    }
    reader.checks(&root, output.is_some(), problems);
    let metadata = root.get("recordedBy").cloned();
    let Reader { notes, tensors, omitted, .. } = reader;
    Some(Manifest { geometry, notes, tensors, proxy, output, omitted, metadata })
}

fn pair(root: &Fields<'_>, key: &str, problems: &mut Problems) -> Option<Size> {
    let list = root.list(key, problems)?;
    let sides: Vec<usize> = list.iter().filter_map(whole).collect();
    match (sides.as_slice(), list.len()) {
        (&[width, height], 2) => Some(Size::new(width, height)),
        _ => {
            problems.add(format_args!("{key}: expected [width, height], found {}", shown(&Value::from(list))));
            None
        }
    }
}

fn geometry(root: &Fields<'_>, problems: &mut Problems) -> Option<Geometry> {
    let (source, full) = (pair(root, "sourceDimensions", problems), pair(root, "fullDimensions", problems));
    let geometry = problems.take(Geometry::new(source?).map_err(|e| format!("sourceDimensions: {e}")))?;
    if let Some(full) = full.filter(|&full| full != geometry.field) {
        let (valid, field) = (geometry.valid, geometry.field);
        problems.add(format_args!("fullDimensions: the field of {valid} is {field}, found {full}"));
        return None;
    }
    full.map(|_| geometry)
}

fn output(root: &Fields<'_>, geometry: Geometry, problems: &mut Problems) -> Option<OutputClaim> {
    let entry = root.optional_object("nativeOutput", problems)?;
    let (file, size) = (entry.text("file", problems), size(&entry, problems));
    let (file, size) = (file?, size?);
    let is_u8 = match entry.optional_text("dtype", problems) {
        Some("f32") => false,
        Some("u8") => true,
        // Older captures say it in the file's name.
        None => file.contains(".u8"),
        Some(other) => {
            problems.add(format_args!("nativeOutput.dtype: expected \"f32\" or \"u8\", found \"{}\"", clip(other)));
            return None;
        }
    };
    if size != geometry.valid {
        problems.add(format_args!("nativeOutput: expected the source's size {}, found {size}", geometry.valid));
        return None;
    }
    let bytes = size.tokens() * if is_u8 { 4 } else { 16 };
    Some(OutputClaim { claim: claim(&entry, file, bytes, problems), size, is_u8 })
}

fn size(entry: &Fields<'_>, problems: &mut Problems) -> Option<Size> {
    let (width, height) = (entry.count("width", problems), entry.count("height", problems));
    Some(Size::new(width?, height?))
}

fn claim(entry: &Fields<'_>, file: &str, bytes: usize, problems: &mut Problems) -> Claim {
    let sha256 = entry.get("sha256").and_then(|_| entry.sha256("sha256", problems));
    Claim { file: file.to_owned(), bytes, sha256 }
}

struct Reader {
    plan: Plan,
    notes: Vec<String>,
    tensors: BTreeMap<TensorName, (Shape, Claim)>,
    omitted: BTreeMap<TensorName, String>,
}

impl Reader {
    /// A file for a tensor of the plan; sizes that the entry states must be the plan's.
    fn claim(&mut self, entry: &Fields<'_>, name: &TensorName, problems: &mut Problems) {
        let Some(file) = entry.text("file", problems) else { return };
        let shape = self.plan.shape(name);
        let expected = [("width", shape.size.width), ("height", shape.size.height), ("channels", shape.channels)];
        let stated = expected.iter().filter(|(key, _)| entry.get(key).is_some());
        for &(key, expected) in stated.collect::<Vec<_>>() {
            if let Some(found) = entry.count(key, problems).filter(|&found| found != expected) {
                problems.add(format_args!("{}: \"{name}\" has {expected}, found {found}", entry.place(key)));
            }
        }
        let claim = claim(entry, file, shape.bytes(), problems);
        if self.tensors.insert(name.clone(), (shape, claim)).is_some() {
            problems.add(format_args!("{}: \"{name}\" is recorded twice", entry.place("file")));
        }
    }

    fn input(&mut self, root: &Fields<'_>, problems: &mut Problems) -> Option<(Proxy, Claim)> {
        let features = root.optional_object("inputFeatures", problems);
        let proxy = root.optional_object("proxy", problems);
        match (features, proxy) {
            (Some(entry), None) => {
                self.claim(&entry, &names::features(), problems);
                None
            }
            (None, Some(entry)) => {
                let (file, size) = (entry.text("file", problems), size(&entry, problems));
                let (file, size) = (file?, size?);
                let valid = self.plan.geometry.valid;
                if size != valid {
                    problems.add(format_args!("proxy: expected the source's size {valid}, found {size}"));
                    return None;
                }
                let conditions = conditions(root, problems);
                let claim = claim(&entry, file, size.tokens() * 16, problems);
                Some((Proxy { file: file.to_owned(), size, conditions }, claim))
            }
            (Some(_), Some(_)) => {
                problems.add("expected either \"inputFeatures\" or \"proxy\", found both");
                None
            }
            (None, None) => {
                problems.add("expected either \"inputFeatures\" or \"proxy\", found neither");
                None
            }
        }
    }

    fn blocks(&mut self, root: &Fields<'_>, problems: &mut Problems) {
        for (i, value) in root.optional_list("blocks", problems).iter().enumerate() {
            let Some(entry) = Fields::of(value, format!("blocks[{i}]"), problems) else { continue };
            let Some(block) = entry.count("block", problems) else { continue };
            if block > 69 {
                problems.add(format_args!("blocks[{i}].block: expected 0 to 69, found {block}"));
                continue;
            }
            self.claim(&entry, &names::block(block), problems);
        }
        for (i, value) in root.optional_list("transitions", problems).iter().enumerate() {
            let Some(entry) = Fields::of(value, format!("transitions[{i}]"), problems) else { continue };
            let Some(id) = entry.text("id", problems) else { continue };
            let name = TensorName::new(format!("transition-{id}"));
            if !super::carried(&self.plan).any(|carried| *carried == name) {
                let known = "0-1, 4-5, 8-9, 14-15 or 22-23";
                problems.add(format_args!("transitions[{i}].id: expected {known}, found \"{}\"", clip(id)));
                continue;
            }
            self.claim(&entry, &name, problems);
        }
    }

    fn intermediates(&mut self, root: &Fields<'_>, problems: &mut Problems) {
        for (i, value) in root.optional_list("intermediates", problems).iter().enumerate() {
            let Some(entry) = Fields::of(value, format!("intermediates[{i}]"), problems) else { continue };
            let (name, dtype) = (entry.text("name", problems), entry.text("dtype", problems));
            let (Some(name), Some(dtype)) = (name, dtype) else { continue };
            let Some(info) = self.plan.tensors.get(name) else {
                problems.add(format_args!("intermediates[{i}].name: \"{}\" is no tensor of this network", clip(name)));
                continue;
            };
            let element: Element = info.shape.element;
            if element.name() != dtype {
                let expected = element.name();
                problems
                    .add(format_args!("intermediates[{i}].dtype: \"{name}\" is {expected}, found \"{}\"", clip(dtype)));
                continue;
            }
            self.claim(&entry, &name.into(), problems);
        }
    }

    /// Declared checks against references, and every carried boundary referenced or excused.
    fn checks(&mut self, root: &Fields<'_>, has_output: bool, problems: &mut Problems) {
        if let Some(omitted) = root.optional_object("omittedBoundaries", problems) {
            for (name, reason) in omitted.entries() {
                match (reason.as_str().map(str::trim), self.plan.tensors.contains_key(name.as_str())) {
                    (_, false) => problems.add(format_args!("omittedBoundaries: \"{}\" is no boundary", clip(name))),
                    (None | Some(""), _) => {
                        problems
                            .add(format_args!("omittedBoundaries.{name}: expected a reason, found {}", shown(reason)));
                    }
                    (Some(_), _) if self.tensors.contains_key(name.as_str()) => {
                        problems.add(format_args!("omittedBoundaries.{name}: it is recorded, and omitted"));
                    }
                    (Some(reason), _) => {
                        self.omitted.insert(name.as_str().into(), reason.to_owned());
                    }
                }
            }
        }
        let carried: BTreeSet<TensorName> = super::carried(&self.plan).cloned().collect();
        let references = [
            ("boundaries", carried.iter().any(|name| self.tensors.contains_key(name))),
            ("head", self.tensors.contains_key(names::HEAD)),
            ("output", has_output),
        ];
        if root.get("checks").is_none() {
            self.notes.push("an older capture without \"checks\": everything that is there is compared".to_owned());
            if references.iter().all(|(_, present)| !present) {
                problems.add("the capture has no reference: neither boundaries, nor a head, nor an output");
            }
            return;
        }
        let checks = declared(root, problems);
        for (check, present) in references {
            match (checks.contains(check), present) {
                (true, false) => problems.add(format_args!("checks: \"{check}\" is declared, but has no reference")),
                (false, true) => {
                    problems.add(format_args!("checks: there is a reference for \"{check}\", but no check uses it"));
                }
                _ => {}
            }
        }
        for name in carried.iter().filter(|n| !self.tensors.contains_key(*n) && !self.omitted.contains_key(*n)) {
            problems.add(format_args!("boundary \"{name}\" is neither recorded nor omitted with a reason"));
        }
    }
}

fn declared<'a>(root: &Fields<'a>, problems: &mut Problems) -> BTreeSet<&'a str> {
    let list = root.list("checks", problems).unwrap_or(&[]);
    if list.is_empty() {
        problems.add("checks: expected at least one of \"boundaries\", \"head\", \"output\"");
    }
    let mut checks = BTreeSet::new();
    for value in list {
        match value.as_str() {
            Some(check @ ("boundaries" | "head" | "output")) => {
                checks.insert(check);
            }
            _ => problems
                .add(format_args!("checks: expected \"boundaries\", \"head\" or \"output\", found {}", shown(value))),
        }
    }
    checks
}

/// `conditioning`, `seed` and `autoMask` beside a proxy; what is absent has its default.
fn conditions(root: &Fields<'_>, problems: &mut Problems) -> Conditions {
    let mut conditions = Conditions::default();
    if root.get("seed").is_some() {
        match root.count("seed", problems).map(u32::try_from) {
            Some(Ok(seed)) => conditions.seed = seed,
            Some(Err(_)) => problems.add("seed: expected a whole number below 2^32"),
            None => {}
        }
    }
    conditions.auto_mask = match root.get("autoMask") {
        None => false,
        Some(Value::Bool(on)) => *on,
        Some(_) => root.optional_number("autoMask", problems).is_some_and(|n| n > 0.0),
    };
    let Some(entry) = root.optional_object("conditioning", problems) else { return conditions };
    let mut number = |keys: [&str; 2], target: &mut f32| {
        if let Some(value) = keys.iter().find_map(|key| entry.optional_number(key, problems)) {
            *target = value as f32;
        }
    };
    number(["style", "style"], &mut conditions.style);
    number(["localTone", "tone"], &mut conditions.tone);
    number(["localStructure", "structure"], &mut conditions.structure);
    number(["skinStructure", "skin"], &mut conditions.skin_structure);
    number(["paperWhite", "paper"], &mut conditions.paper_white);
    conditions
}
