//! `blockscope run`: run the network, or its first steps, and save what was asked for.
//!
//! Boundaries are digested and written while the run goes on, so that a large frame needs no memory for them.

use super::progress::Progress;
use super::sources::{self, Loaded, Sources};
use super::{Exit, Failure, output};
use crate::engine::runner::{self, Keep};
use crate::engine::{Control, EngineInfo, EngineSpec};
use crate::frame;
use crate::plan::{Detail, Plan, Role, names};
use crate::tensor::{Digest, Element, Tensor, TensorName, npy, run_digest};
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    sources: Sources,
    /// The engine: reference, cpu[:scalar|avx2|avx512], vulkan[:INDEX][:stepped|fused|coopmat].
    #[arg(long, value_name = "E", default_value = "cpu")]
    engine: EngineSpec,
    /// The last step to run: a tensor's name or a step's index.
    #[arg(long, value_name = "STEP")]
    until: Option<String>,
    /// Save the run as a capture directory: the features and every boundary.
    #[arg(long, value_name = "DIR")]
    save_capture: Option<PathBuf>,
    /// With --save-capture: also every kernel's tensor of these blocks, such as 0,5-8.
    #[arg(long, value_name = "BLOCKS", requires = "save_capture")]
    kernels: Option<String>,
    /// Write the composed image as PNG.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the digests as JSON; `-` for standard output.
    #[arg(long, value_name = "FILE|-")]
    digests: Option<String>,
    /// Write a tensor, boundary or intermediate, as .npy.
    #[arg(long, value_name = "NAME=FILE")]
    dump: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One boundary as it came out.
struct Boundary {
    name: TensorName,
    digest: Digest,
    time: Duration,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.json && arguments.digests.as_deref() == Some("-") {
        return Err(Failure::ask("--json and --digests - both want standard output; give --digests a file"));
    }
    let loaded = arguments.sources.load(Detail::Raw)?;
    let (mut engine, plan) = sources::open_engine(&arguments.engine, &loaded.plan)?;
    let last = arguments.until.as_deref().map(|text| sources::step(&plan, text)).transpose()?;
    let range = runner::until(&plan, last);
    let dumps = dumps(&plan, &arguments.dump, range.end)?;
    let files = [arguments.output.as_deref(), arguments.digests.as_deref().filter(|t| *t != "-").map(Path::new)];
    for file in files.into_iter().flatten().chain(dumps.values().map(PathBuf::as_path)) {
        output::check_writable(file)?;
    }
    if arguments.output.is_some() && range.end < plan.steps.len() {
        return Err(Failure::ask("--output needs the whole network; leave out --until"));
    }
    let control = Control::new();
    let products = plan.steps[range.clone()].iter().map(|step| step.op.products(&plan)).sum();
    let quiet = arguments.json || arguments.digests.as_deref() == Some("-");
    let info = engine.info();
    if !quiet {
        output::line(format_args!(
            "engine {} ({}), model {}, input {}, size {} px, {:.1} G products",
            info.name,
            info.device,
            loaded.model.source,
            loaded.input.source,
            plan.geometry.valid,
            products as f64 / 1e9
        ));
    }
    let progress = Progress::start(&control, products);
    let (mut boundaries, mut head, mut failure, mut spent) = (Vec::new(), None, None, Duration::ZERO);
    let features = loaded.input.features.clone();
    let outcome = runner::run_from_features(
        &mut *engine,
        (&plan, &loaded.model),
        features,
        last,
        &Keep::Nothing,
        &control,
        &mut |engine, step, report| {
            progress.at(step.block);
            spent += report.duration;
            for name in step.op.outputs() {
                let boundary = plan.tensor(name).role == Role::Boundary;
                let dump = dumps.get(name);
                if !boundary && dump.is_none() {
                    continue;
                }
                let tensor = engine.read(name)?;
                if let Some(path) = dump {
                    failure = failure.take().or(output::save(path, &npy_of(&tensor)).err());
                }
                if boundary {
                    let done =
                        Boundary { name: name.clone(), digest: tensor.digest(), time: std::mem::take(&mut spent) };
                    if !quiet {
                        progress.line(text_of(&plan, &done));
                    }
                    boundaries.push(done);
                }
                if name.as_str() == names::HEAD {
                    head = Some(tensor);
                }
            }
            Ok(())
        },
    )?;
    drop(progress);
    if let Some(failure) = failure {
        return Err(failure);
    }
    if let (Some(path), Some(head)) = (&arguments.output, &head) {
        let composed = frame::compose(&plan.geometry, &loaded.input.features, head, None);
        output::save(path, &composed.to_png().map_err(|e| Failure::Fault(e.to_string()))?)?;
    }
    if let Some(target) = &arguments.digests {
        output::text_to(target, &format!("{:#}\n", digests_json(&loaded, &plan, &boundaries)))?;
    }
    if arguments.json {
        output::json(&run_json(&loaded, &plan, &info, &boundaries, &outcome));
    } else if !quiet {
        let seconds = outcome.elapsed.as_secs_f64();
        let rate = outcome.products as f64 / seconds / 1e9;
        output::line(format_args!(
            "{} steps in {seconds:.2} s, {rate:.2} G products/s, digest of {} boundaries {}",
            outcome.times.len(),
            published(&plan, &boundaries).len(),
            run_digest(published(&plan, &boundaries).iter().map(|b| b.digest)),
        ));
    }
    Ok(Exit::Exact)
}

/// The tensors to dump, and where to.
fn dumps(plan: &Plan, texts: &[String], end: usize) -> Result<BTreeMap<TensorName, PathBuf>, Failure> {
    let parse = |text: &String| {
        let (name, file) = text.split_once('=').filter(|(_, file)| !file.is_empty()).ok_or_else(|| {
            Failure::ask(format_args!("--dump expects NAME=FILE, such as block-12/qkv=qkv.npy; found \"{text}\""))
        })?;
        let name = sources::tensor(plan, name)?;
        if plan.tensor(&name).step.is_none_or(|step| step >= end) {
            return Err(Failure::ask(format_args!("--dump {name}: --until ends before this tensor is computed")));
        }
        Ok((name, PathBuf::from(file)))
    };
    texts.iter().map(parse).collect()
}

/// A tensor as .npy: `[height][width][channels]`, E4M3 as u8 codes.
fn npy_of(tensor: &Tensor) -> Vec<u8> {
    let kind = match tensor.shape.element {
        Element::E4m3 => npy::NpyType::U1,
        Element::F16 => npy::NpyType::F2,
        Element::F32 => npy::NpyType::F4,
    };
    let size = tensor.shape.size;
    npy::write(kind, &[size.height, size.width, tensor.shape.channels], tensor.bytes())
}

fn text_of(plan: &Plan, boundary: &Boundary) -> String {
    let (name, digest) = (boundary.name.as_str(), boundary.digest);
    let shape = plan.shape(&boundary.name).to_string();
    format!("{name:16} {shape:22} {digest}  {:8.1} ms", boundary.time.as_secs_f64() * 1e3)
}

/// The boundaries that other implementations publish, in their order.
fn published<'a>(plan: &Plan, boundaries: &'a [Boundary]) -> Vec<&'a Boundary> {
    plan.published().filter_map(|name| boundaries.iter().find(|b| b.name == *name)).collect()
}

/// The digests in the format of the published ones.
fn digests_json(loaded: &Loaded, plan: &Plan, boundaries: &[Boundary]) -> Value {
    let published = published(plan, boundaries);
    let tensors: serde_json::Map<String, Value> =
        published.iter().map(|b| (b.name.to_string(), json!(b.digest.to_string()))).collect();
    let size = plan.geometry.valid;
    let mut value = json!({
        "size": [size.width, size.height], "model": loaded.model.source, "features": loaded.input.source,
        "tensors": tensors,
    });
    if published.len() == plan.published().count() {
        value["all"] = json!(run_digest(published.iter().map(|b| b.digest)).to_string());
    }
    value
}

fn run_json(
    loaded: &Loaded,
    plan: &Plan,
    info: &EngineInfo,
    boundaries: &[Boundary],
    outcome: &runner::Outcome,
) -> Value {
    let boundary = |b: &Boundary| {
        let shape = plan.shape(&b.name);
        json!({
            "name": b.name.as_str(), "digest": b.digest.to_string(), "element": shape.element.name(),
            "width": shape.size.width, "height": shape.size.height, "channels": shape.channels,
            "milliseconds": b.time.as_secs_f64() * 1e3,
        })
    };
    json!({
        "engine": info.name, "device": info.device, "exact": info.exact,
        "model": loaded.model.source, "input": loaded.input.source,
        "size": plan.geometry.valid.to_string(), "field": plan.geometry.field.to_string(),
        "steps": outcome.times.len(), "products": outcome.products, "seconds": outcome.elapsed.as_secs_f64(),
        "boundaries": boundaries.iter().map(boundary).collect::<Vec<_>>(),
    })
}
