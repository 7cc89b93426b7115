//! Reads a bundle: manifest, then every array, before anything of it is used.

use super::{BundleError, FORMAT, SCHEMA, parameters, rows, write};
use crate::geometry::{Geometry, Size};
use crate::model::fields::{self, Fields, shown, whole};
use crate::model::place::{self, clip};
use crate::model::{Model, Parameter, Problems};
use crate::plan::{Detail, Plan, Step};
use crate::tensor::npy::{self, NpyType};
use crate::tensor::{Bytes, Element, Tensor, TensorName};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A tensor larger than this is not made, whatever a manifest claims.
const LARGEST: usize = 4 << 30;

/// A bundle that was checked whole.
#[derive(Debug)]
pub struct Bundle {
    /// What was compared, as the writer spelt it.
    pub subject: String,
    /// What it was compared with.
    pub reference: String,
    /// Whose weights it holds.
    pub model_source: String,
    /// Their digest.
    pub model_digest: String,
    /// The network at the bundle's size.
    pub plan: Arc<Plan>,
    /// The kernels, in order.
    pub steps: Vec<usize>,
    /// What they read; tokens that the bundle does not hold are zero.
    pub inputs: BTreeMap<TensorName, Tensor>,
    /// Tokens that both results hold, ascending.
    pub rows: Vec<usize>,
    /// The expected results, likewise.
    pub expected: Vec<Tensor>,
    /// What the subject gave, in the same order.
    pub got: Vec<Tensor>,
    /// The kernels' parameters and nothing else; absent when they were left out.
    pub model: Option<Arc<Model>>,
}

impl Bundle {
    /// Opens and checks a folder.
    ///
    /// # Errors
    /// Lists everything that is wrong with it.
    pub fn open(path: &Path) -> Result<Self, BundleError> {
        let mut problems = Problems::default();
        let value = fields::load(&path.join("manifest.json"), &mut problems);
        let bundle = value.and_then(|value| read(path, &value, &mut problems));
        let refused = || BundleError::Refused { path: path.to_owned(), problems: problems.clone() };
        bundle.filter(|_| problems.is_empty()).ok_or_else(refused)
    }

    /// The steps themselves.
    pub fn kernels(&self) -> Vec<&Step> {
        self.steps.iter().map(|&i| &self.plan.steps[i]).collect()
    }
}

fn read(root: &Path, value: &Value, problems: &mut Problems) -> Option<Bundle> {
    let root_fields = Fields::of(value, "", problems)?;
    let format = root_fields.text("format", problems)?;
    if format != FORMAT {
        problems.add(format_args!("format: expected \"{FORMAT}\", found \"{}\"", clip(format)));
        return None;
    }
    let schema = root_fields.count("schema", problems)?;
    if schema != SCHEMA {
        problems.add(format_args!("schema: this program reads version {SCHEMA}, found {schema}; use a newer one"));
        return None;
    }
    let plan = Arc::new(Plan::new(geometry(&root_fields, problems)?, Detail::Needed));
    let reader = Reader { root, plan: &plan };
    let steps = reader.steps(&root_fields, problems);
    let inputs = reader.tensors(&root_fields, "inputs", problems);
    let expected = reader.tensors(&root_fields, "expected", problems);
    let got = reader.tensors(&root_fields, "got", problems);
    let mut text = |key| root_fields.text(key, problems).map(str::to_owned);
    let (subject, reference) = (text("subject"), text("reference"));
    let (model_source, model_digest) = (text("model"), text("modelDigest"));
    let steps = steps?;
    let kernels: Vec<&Step> = steps.iter().map(|&i| &plan.steps[i]).collect();
    let model = reader.model(&root_fields, &kernels, model_source.as_deref().unwrap_or_default(), problems);
    // What could not be read is missing below, which would be told a second time.
    if !problems.is_empty() {
        return None;
    }
    let rows = results(&kernels, &expected, &got, problems);
    inputs_suffice(&plan, &kernels, &rows, &inputs, problems);
    let tensor = |read: Read| read.tensor;
    Some(Bundle {
        subject: subject?,
        reference: reference?,
        model_source: model_source?,
        model_digest: model_digest?,
        steps,
        inputs: inputs.into_iter().map(|read| (read.tensor.name.clone(), read.tensor)).collect(),
        rows,
        expected: expected.into_iter().map(tensor).collect(),
        got: got.into_iter().map(tensor).collect(),
        model,
        plan: Arc::clone(&plan),
    })
}

/// A tensor with the tokens that its file holds.
struct Read {
    tensor: Tensor,
    rows: Vec<usize>,
}

fn geometry(root: &Fields<'_>, problems: &mut Problems) -> Option<Geometry> {
    let sides: Vec<usize> = root.list("size", problems)?.iter().filter_map(whole).collect();
    let &[width, height] = sides.as_slice() else {
        problems.add("size: expected [width, height]");
        return None;
    };
    problems.take(Geometry::new(Size::new(width, height)).map_err(|error| format!("size: {error}")))
}

/// Both results: the same tensors with the same tokens, all of them outputs of the last step.
fn results(kernels: &[&Step], expected: &[Read], got: &[Read], problems: &mut Problems) -> Vec<usize> {
    let outputs = kernels.last().map(|step| step.op.outputs()).unwrap_or_default();
    if expected.is_empty() {
        problems.add("expected: no result to reproduce");
    }
    for read in expected.iter().chain(got).filter(|read| !outputs.contains(&&read.tensor.name)) {
        problems.add(format_args!("\"{}\" is no output of the last step", read.tensor.name));
    }
    let names = |reads: &[Read]| reads.iter().map(|read| read.tensor.name.clone()).collect::<Vec<_>>();
    if names(expected) != names(got) {
        problems.add("expected and got: they must list the same tensors in the same order");
    }
    let rows = expected.first().map(|read| read.rows.clone()).unwrap_or_default();
    if expected.iter().chain(got).any(|read| read.rows != rows) {
        problems.add("expected and got: every tensor must hold the same rows");
    }
    rows
}

/// Every token that the kernels read for the results.
fn inputs_suffice(plan: &Plan, kernels: &[&Step], rows: &[usize], inputs: &[Read], problems: &mut Problems) {
    let written: BTreeSet<&TensorName> = kernels.iter().flat_map(|step| step.op.outputs()).collect();
    for (name, rows) in rows::needed(plan, kernels, rows).into_iter().filter(|(name, _)| !written.contains(name)) {
        match inputs.iter().find(|read| read.tensor.name == name) {
            None => problems.add(format_args!("inputs: \"{name}\" is read, and is not there")),
            Some(read) => {
                let missing = rows.iter().filter(|row| read.rows.binary_search(row).is_err()).count();
                if missing > 0 {
                    problems
                        .add(format_args!("inputs: \"{name}\" lacks {missing} of {} tokens that are read", rows.len()));
                }
            }
        }
    }
}

struct Reader<'a> {
    root: &'a Path,
    plan: &'a Plan,
}

impl Reader<'_> {
    fn steps(&self, root: &Fields<'_>, problems: &mut Problems) -> Option<Vec<usize>> {
        let mut steps = Vec::new();
        for (i, value) in root.list("steps", problems)?.iter().enumerate() {
            let Some(entry) = Fields::of(value, format!("steps[{i}]"), problems) else { continue };
            let Some(name) = entry.text("name", problems) else { continue };
            match self.plan.tensors.get(name).and_then(|info| info.step) {
                Some(step) => steps.push(step),
                None => problems.add(format_args!("steps[{i}].name: \"{}\" is no kernel of this network", clip(name))),
            }
        }
        if steps.is_empty() || !steps.is_sorted_by(|a, b| a < b) {
            problems.add("steps: expected at least one kernel, in the network's order");
            return None;
        }
        Some(steps)
    }

    fn tensors(&self, root: &Fields<'_>, key: &str, problems: &mut Problems) -> Vec<Read> {
        let mut all: Vec<Read> = Vec::new();
        for (i, value) in root.list(key, problems).unwrap_or(&[]).iter().enumerate() {
            let Some(entry) = Fields::of(value, format!("{key}[{i}]"), problems) else { continue };
            if let Some(read) = self.tensor(&entry, problems) {
                if all.iter().any(|other| other.tensor.name == read.tensor.name) {
                    problems.add(format_args!("{key}[{i}]: \"{}\" is listed twice", read.tensor.name));
                } else {
                    all.push(read);
                }
            }
        }
        all
    }

    /// A tensor of the plan out of its array, tokens that the array lacks as zeros.
    fn tensor(&self, entry: &Fields<'_>, problems: &mut Problems) -> Option<Read> {
        let name = entry.text("tensor", problems)?;
        let at = entry.place("tensor");
        let Some(info) = self.plan.tensors.get(name) else {
            problems.add(format_args!("{at}: \"{}\" is no tensor of this network", clip(name)));
            return None;
        };
        let shape = info.shape;
        let element = entry.text("element", problems)?;
        if element != shape.element.name() {
            let expected = shape.element.name();
            problems.add(format_args!("{at}: \"{name}\" is {expected}, found \"{}\"", clip(element)));
            return None;
        }
        for (key, expected) in
            [("width", shape.size.width), ("height", shape.size.height), ("channels", shape.channels)]
        {
            let found = entry.count(key, problems)?;
            if found != expected {
                problems.add(format_args!("{}: \"{name}\" has {expected}, found {found}", entry.place(key)));
                return None;
            }
        }
        if shape.bytes() > LARGEST {
            problems.add(format_args!("{at}: \"{name}\" of {shape} does not fit {} GiB", LARGEST >> 30));
            return None;
        }
        let rows = rows(entry, shape.tokens(), problems)?;
        let bytes = self.file(entry, problems)?;
        let array = problems.take(npy::parse(&bytes).map_err(|error| format!("{}: {error}", entry.place("file"))))?;
        let halves = shape.element == Element::F16 && array.kind == NpyType::U2;
        if (array.kind != write::kind(shape.element) && !halves) || array.shape != [rows.len(), shape.channels] {
            problems.add(format_args!(
                "{}: expected {element} of [{}, {}], found {:?} of {:?}",
                entry.place("file"),
                rows.len(),
                shape.channels,
                array.kind,
                array.shape
            ));
            return None;
        }
        let stride = shape.channels * shape.element.bytes();
        let bytes = Bytes::build(shape.bytes(), |out| {
            for (bytes, &row) in array.data.chunks_exact(stride).zip(&rows) {
                out[row * stride..][..stride].copy_from_slice(bytes);
            }
        });
        let tensor = Tensor::new(name.into(), shape, bytes).expect("built to its shape");
        Some(Read { tensor, rows })
    }

    /// A file's bytes, once its hash is right.
    fn file(&self, entry: &Fields<'_>, problems: &mut Problems) -> Option<Vec<u8>> {
        let (file, sha256) = (entry.text("file", problems), entry.sha256("sha256", problems));
        let (file, sha256) = (file?, sha256?);
        let path: PathBuf = problems.take(place::inside(self.root, file))?;
        let bytes = problems.take(std::fs::read(&path).map_err(|e| format!("file \"{file}\" cannot be read: {e}")))?;
        let found = crate::model::directory::hex(&bytes);
        if found != sha256 {
            problems.add(format_args!("file \"{file}\" has the wrong SHA-256: expected {sha256}, found {found}"));
            return None;
        }
        Some(bytes)
    }

    /// The kernels' parameters; `None` when they were left out.
    fn model(&self, root: &Fields<'_>, kernels: &[&Step], source: &str, problems: &mut Problems) -> Option<Arc<Model>> {
        match root.text("weights", problems)? {
            "included" => {}
            "left out" => return None,
            other => {
                problems.add(format_args!("weights: expected \"included\" or \"left out\", found \"{}\"", clip(other)));
                return None;
            }
        }
        let wanted: BTreeSet<Parameter> = kernels.iter().flat_map(|step| step.op.parameters()).collect();
        let mut files: Vec<(Parameter, Vec<u8>)> = Vec::new();
        for (i, value) in root.list("parameters", problems)?.iter().enumerate() {
            let Some(entry) = Fields::of(value, format!("parameters[{i}]"), problems) else { continue };
            let (block, kind) = (entry.count("block", problems), entry.text("kind", problems));
            let (Some(block), Some(kind)) = (block, kind) else { continue };
            let Some(parameter) = parameters::find(block, kind) else {
                problems.add(format_args!("parameters[{i}]: block {block} has no parameter \"{}\"", clip(kind)));
                continue;
            };
            files.extend(self.file(&entry, problems).map(|bytes| (parameter, bytes)));
        }
        for parameter in wanted.iter().filter(|parameter| !files.iter().any(|(found, _)| found == *parameter)) {
            problems.add(format_args!("parameters: \"{parameter}\" is read, and is not there"));
        }
        let mut arrays = Vec::new();
        for (parameter, bytes) in &files {
            let Some(array) = problems.take(npy::parse(bytes).map_err(|error| format!("{parameter}: {error}"))) else {
                continue;
            };
            let (kind, shape, _) = parameters::shape(*parameter);
            if array.kind == kind && array.shape == shape {
                arrays.push((*parameter, array));
            } else {
                let (found, extents) = (array.kind, array.shape);
                problems
                    .add(format_args!("{parameter}: expected {kind:?} of {shape:?}, found {found:?} of {extents:?}"));
            }
        }
        problems.is_empty().then(|| Arc::new(parameters::model(source.to_owned(), &arrays)))
    }
}

/// The tokens of `[first, end)` pairs: ascending, inside the tensor.
fn rows(entry: &Fields<'_>, tokens: usize, problems: &mut Problems) -> Option<Vec<usize>> {
    let mut rows: Vec<usize> = Vec::new();
    for pair in entry.list("rows", problems)? {
        let ends: Vec<usize> = pair.as_array().into_iter().flatten().filter_map(whole).collect();
        let last = rows.last().map_or(0, |last| last + 1);
        match ends.as_slice() {
            &[first, end] if last <= first && first < end && end <= tokens => rows.extend(first..end),
            _ => {
                let place = entry.place("rows");
                problems.add(format_args!(
                    "{place}: expected ascending [first, end) pairs below {tokens}, found {}",
                    shown(pair)
                ));
                return None;
            }
        }
    }
    Some(rows)
}
