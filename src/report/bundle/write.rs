//! Writes a bundle into a draft beside its target, which is renamed when it is whole.

use super::{BundleError, FORMAT, SCHEMA, parameters, readme, rows};
use crate::model::directory::hex;
use crate::model::{Model, Parameter};
use crate::plan::{Op, Step};
use crate::report::Material;
use crate::tensor::npy::{self, NpyType};
use crate::tensor::{Element, Tensor};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What a bundle says about where it came from.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// The subject, as a command line spells it.
    pub subject: &'a str,
    /// The reference.
    pub reference: &'a str,
    /// One paragraph for the README.
    pub conclusion: &'a str,
}

/// Writes the bundle of a divergence; with `weights` it holds the kernel's parameters.
///
/// # Errors
/// When the target is taken, or cannot be written.
pub fn write(
    target: &Path,
    material: &Material,
    model: &Model,
    labels: Labels<'_>,
    weights: bool,
) -> Result<(), BundleError> {
    let fail = |source| BundleError::Write { path: target.to_owned(), source };
    if target.is_file() || fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(BundleError::Exists { path: target.to_owned() });
    }
    let parent = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(fail)?;
    let draft = tempfile::Builder::new().prefix(".bundle-").tempdir_in(parent).map_err(fail)?;
    let store = |file: &str, bytes: &[u8]| -> Result<String, BundleError> {
        let path = draft.path().join(file);
        fs::create_dir_all(path.parent().expect("a file has a folder")).map_err(fail)?;
        fs::write(&path, bytes).map_err(fail)?;
        Ok(hex(bytes))
    };
    let entry = |folder: &str, tensor: &Tensor, rows: &BTreeSet<usize>| -> Result<Value, BundleError> {
        let file = format!("{folder}/{}.npy", tensor.name.as_str().replace(['/', ' '], "-"));
        let shape = tensor.shape;
        let data: Vec<u8> = rows.iter().flat_map(|&row| tensor.row(row)).copied().collect();
        let sha256 = store(&file, &npy::write(kind(shape.element), &[rows.len(), shape.channels], &data))?;
        Ok(json!({
            "tensor": tensor.name.as_str(), "file": file, "sha256": sha256, "element": shape.element.name(),
            "width": shape.size.width, "height": shape.size.height, "channels": shape.channels,
            "rows": rows::ranges(rows.iter().copied()),
        }))
    };

    let plan = &material.plan;
    let steps: Vec<&Step> = material.steps.iter().map(|&i| &plan.steps[i]).collect();
    let kept = rows::chosen(material);
    let mut needed = rows::needed(plan, &steps, &kept);
    if let Some(own) = &material.own {
        // The subject may read other tensors, or other tokens.
        let steps: Vec<&Step> = material.steps.iter().map(|&i| &own.steps[i]).collect();
        for (name, rows) in rows::needed(own, &steps, &kept) {
            needed.entry(name).or_default().extend(rows);
        }
    }
    let (nothing, kept): (BTreeSet<usize>, BTreeSet<usize>) = (BTreeSet::new(), kept.into_iter().collect());
    let inputs = material.inputs.values().map(|t| entry("inputs", t, needed.get(&t.name).unwrap_or(&nothing)));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let expected = material.observed.iter().map(|(_, r)| entry("expected", r, &kept)).collect::<Result<Vec<_>, _>>()?;
    let got = material.observed.iter().map(|(s, _)| entry("got", s, &kept)).collect::<Result<Vec<_>, _>>()?;
    let mut all: BTreeMap<Parameter, Value> = BTreeMap::new();
    for parameter in steps.iter().flat_map(|step| step.op.parameters()) {
        let (_, shape, axes) = parameters::shape(parameter);
        let name = parameter.to_string();
        let file = format!("parameters/{name}.npy");
        let sha256 = if weights { Some(store(&file, &parameters::export(model, parameter))?) } else { None };
        let value = json!({
            "name": name, "block": parameter.block, "kind": format!("{:?}", parameter.kind),
            "file": sha256.is_some().then_some(file), "sha256": sha256, "shape": shape, "axes": axes,
        });
        all.insert(parameter, value);
    }
    let geometry = plan.geometry;
    let side = |size: crate::geometry::Size| json!([size.width, size.height]);
    let manifest = json!({
        "format": FORMAT, "schema": SCHEMA, "program": concat!("blockscope ", env!("CARGO_PKG_VERSION")),
        "subject": labels.subject, "reference": labels.reference,
        "model": model.source, "modelDigest": model.digest().to_string(),
        "size": side(geometry.valid), "field": side(geometry.field),
        "steps": steps.iter().map(|step| step_json(step)).collect::<Vec<_>>(),
        "inputs": inputs, "expected": expected, "got": got,
        "weights": if weights { "included" } else { "left out" },
        "parameters": all.into_values().collect::<Vec<_>>(),
    });
    store("README.md", readme::text(material, labels, weights, &manifest).as_bytes())?;
    store("manifest.json", format!("{manifest:#}\n").as_bytes())?;
    crate::model::publish_directory(draft, target).map_err(fail)
}

/// The array type of an element format.
pub(super) fn kind(element: Element) -> NpyType {
    match element {
        Element::E4m3 => NpyType::U1,
        Element::F16 => NpyType::F2,
        Element::F32 => NpyType::F4,
    }
}

fn step_json(step: &Step) -> Value {
    let names = |names: Vec<&crate::tensor::TensorName>| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let attributes = match &step.op {
        Op::Gemm(op) => json!({
            "groups": op.groups, "k": op.k, "n": op.n, "partition": op.partition,
            "seed": op.seed.as_ref().map(|seed| seed.residual.as_str()),
            "activation": format!("{:?}", op.activation).to_lowercase(),
        }),
        Op::GemmHalf(op) => json!({ "k": op.k, "n": op.n }),
        Op::Normalize(op) => json!({ "heads": op.heads, "kind": format!("{:?}", op.kind).to_lowercase() }),
        Op::WindowAttention(op) => json!({ "heads": op.heads, "phase": op.phase.0, "shift": op.phase.shift() }),
        Op::GlobalAttention(op) => json!({ "heads": op.heads }),
        Op::Merge(op) => json!({ "skip": op.skip.as_str(), "low": op.low.as_str() }),
        Op::Convert(_) | Op::Pool(_) => json!({}),
    };
    json!({
        "name": step.name().as_str(), "block": step.block, "kernel": step.kernel, "op": step.op.word(),
        "inputs": names(step.op.inputs()), "outputs": names(step.op.outputs()),
        "parameters": step.op.parameters().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "attributes": attributes,
    })
}
