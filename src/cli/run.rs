//! `blockscope run`: run the network, or its first steps, and save what was asked for.
//!
//! Boundaries are digested and written while the run goes on, so that a large frame needs no memory for them.

use super::events::Recorder;
use super::memory::Memory;
use super::progress::Progress;
use super::sources::{self, Loaded, Sources};
use super::{Exit, Failure, interrupt, output};
use crate::capture::{Writer, write_digests};
use crate::engine::memory::Habit;
use crate::engine::runner::{self, Keep};
use crate::engine::{Engine, EngineError, EngineInfo, EngineSpec, StepReport, measure};
use crate::frame;
use crate::plan::{Detail, Plan, Role, Step, names};
use crate::tensor::{Digest, Tensor, TensorName, npy, run_digest};
use clap::Args;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    sources: Sources,
    /// The engine: reference, cpu, cpu:scalar, cpu:avx2, vulkan, vulkan:INDEX, vulkan:fused, vulkan:coopmat.
    #[arg(long, value_name = "E", default_value = "cpu")]
    engine: EngineSpec,
    /// The last step to run: a tensor's name or a step's index.
    #[arg(long, value_name = "STEP")]
    until: Option<String>,
    /// Save the run as a capture directory: its input (an image, else the features) and every boundary.
    #[arg(long, value_name = "DIR")]
    save_capture: Option<PathBuf>,
    /// With --save-capture: only these boundaries, such as transition-8-9,block-9,head.
    #[arg(long, value_name = "NAMES", requires = "save_capture")]
    boundaries: Option<String>,
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
    #[command(flatten)]
    memory: Memory,
    /// Write the events of every step as JSON: NaN published as +0, -0, saturation, overflow, subnormals, ties; `-`
    /// for standard output.
    #[arg(long, value_name = "FILE|-")]
    events: Option<String>,
    /// With --events: places written of each kind and step.
    #[arg(long, value_name = "N", default_value_t = 100, requires = "events")]
    event_places: usize,
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
    let piped = [arguments.digests.as_deref(), arguments.events.as_deref()].map(|target| target == Some("-"));
    match (arguments.json, piped) {
        (true, [true, _]) | (_, [true, true]) => {
            return Err(Failure::ask(
                "--json, --digests - and --events - all want standard output; give --digests a file",
            ));
        }
        (true, [_, true]) => {
            return Err(Failure::ask("--json and --events - both want standard output; give --events a file"));
        }
        (_, _) => {}
    }
    // Raw tensors take memory: they are made where somebody may want one.
    let inside = arguments.kernels.is_some() || arguments.dump.iter().any(|dump| dump.contains('/'));
    let mut loaded = arguments.sources.load(if inside { Detail::Raw } else { Detail::Needed })?;
    let (mut engine, plan) = sources::open_engine(&arguments.engine, &loaded.plan)?;
    let last = arguments.until.as_deref().map(|text| sources::step(&plan, text)).transpose()?;
    let range = runner::until(&plan, last);
    let dumps = dumps(&plan, &arguments.dump, range.end)?;
    let file = |target: &'_ Option<String>| target.as_deref().filter(|t| *t != "-").map(PathBuf::from);
    let targets = [file(&arguments.digests), file(&arguments.events)];
    let files = [arguments.output.as_deref(), targets[0].as_deref(), targets[1].as_deref()];
    for file in files.into_iter().flatten().chain(dumps.values().map(PathBuf::as_path)) {
        output::check_writable(file)?;
    }
    if arguments.output.is_some() && range.end < plan.steps.len() {
        return Err(Failure::ask("--output needs the whole network; leave out --until"));
    }
    let keeper = arguments.memory.keeper(&plan, &range, &loaded.model, Habit::Steps { engines: 1 })?;
    engine.keep_within(&keeper);
    loaded.input.features = keeper.keep(loaded.input.features).map_err(EngineError::from)?;
    let quiet = arguments.json || piped != [false; 2];
    // From here on an interrupted run takes its unfinished capture away with it.
    let control = interrupt::job();
    let mut recorder = arguments.events.as_deref().map(|target| Recorder::new(target, arguments.event_places));
    let mut saver = Saver::create(arguments, &plan, &loaded, dumps, (range.end, quiet))?;
    let info = engine.info();
    let facts = engine.facts();
    let products = plan.steps[range].iter().map(|step| step.op.products(&plan)).sum();
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
    let outcome = runner::run_from_features(
        &mut *engine,
        (&plan, &loaded.model),
        loaded.input.features.clone(),
        last,
        &Keep::Nothing,
        &control,
        &mut |engine, step, report| {
            saver.step(engine, step, report, &progress)?;
            let observe = |recorder: &mut Recorder<'_>| recorder.step(engine, step, (&plan, &loaded.model));
            recorder.as_mut().map_or(Ok(()), observe)
        },
    );
    drop(progress);
    if let Some(failure) = saver.failure.take() {
        return Err(failure);
    }
    let outcome = outcome?;
    let boundaries = saver.finish(arguments, &loaded, &info, &facts)?;
    if let Some(recorder) = recorder {
        recorder.finish(&plan)?;
    }
    if let Some(target) = &arguments.digests {
        output::text_to(target, &digests_text(&loaded, &plan, &boundaries))?;
    }
    if arguments.json {
        output::json(&run_json(&loaded, &plan, &info, &boundaries, &outcome));
    } else if !quiet {
        let seconds = outcome.elapsed.as_secs_f64();
        let rate = outcome.products as f64 / seconds / 1e9;
        let published = published(&plan, &boundaries);
        output::line(format_args!(
            "{} steps in {seconds:.2} s, {rate:.2} G products/s, digest of {} boundaries {}",
            outcome.times.len(),
            published.len(),
            run_digest(published.iter().map(|b| b.digest)),
        ));
    }
    Ok(Exit::Exact)
}

/// Takes what was asked for out of the run while it goes on.
struct Saver<'a> {
    plan: &'a Plan,
    dumps: BTreeMap<TensorName, PathBuf>,
    capture: Option<Writer>,
    /// The boundaries that the capture takes; all of them when nothing was chosen.
    chosen: Option<BTreeSet<TensorName>>,
    kernels: BTreeSet<usize>,
    quiet: bool,
    boundaries: Vec<Boundary>,
    head: Option<Tensor>,
    spent: Duration,
    failure: Option<Failure>,
}

impl<'a> Saver<'a> {
    fn create(
        arguments: &Arguments,
        plan: &'a Plan,
        loaded: &Loaded,
        dumps: BTreeMap<TensorName, PathBuf>,
        (end, quiet): (usize, bool),
    ) -> Result<Self, Failure> {
        let kernels = arguments.kernels.as_deref().map_or(Ok(BTreeSet::new()), blocks)?;
        let chosen = arguments.boundaries.as_deref().map(|text| boundaries(plan, text, end)).transpose()?;
        let mut capture = match &arguments.save_capture {
            Some(path) => Some(Writer::create(path, plan.geometry).map_err(Failure::ask)?),
            None => None,
        };
        if let Some(capture) = &mut capture {
            match &loaded.input.picture {
                Some((picture, conditions)) => capture.proxy(picture, conditions),
                None => capture.add(&loaded.input.features),
            }
            .map_err(Failure::ask)?;
            loaded.input.features.rest();
        }
        let (boundaries, head, spent, failure) = (Vec::new(), None, Duration::ZERO, None);
        Ok(Self { plan, dumps, capture, chosen, kernels, quiet, boundaries, head, spent, failure })
    }

    fn step(
        &mut self,
        engine: &mut dyn Engine,
        step: &Step,
        report: StepReport,
        progress: &Progress,
    ) -> Result<(), EngineError> {
        progress.at(step.block);
        self.spent += report.duration;
        for name in step.op.outputs() {
            let boundary = self.plan.tensor(name).role == Role::Boundary;
            let chosen = self.chosen.as_ref().map_or(boundary, |chosen| chosen.contains(name));
            let recorded = self.capture.is_some() && (chosen || self.kernels.contains(&step.block) && !boundary);
            if !boundary && !recorded && !self.dumps.contains_key(name) {
                continue;
            }
            let tensor = engine.read(name)?;
            if let Err(failure) = self.save(&tensor, recorded) {
                // The run ends at once; the message is told behind it.
                self.failure = Some(failure);
                return Err(EngineError::Cancelled);
            }
            if boundary {
                let time = std::mem::take(&mut self.spent);
                let done = Boundary { name: name.clone(), digest: tensor.digest(), time };
                if !self.quiet {
                    progress.line(text_of(self.plan, &done));
                }
                self.boundaries.push(done);
            }
            tensor.rest();
            if name.as_str() == names::HEAD {
                self.head = Some(tensor);
            }
        }
        Ok(())
    }

    fn save(&mut self, tensor: &Tensor, recorded: bool) -> Result<(), Failure> {
        if let Some(path) = self.dumps.get(&tensor.name) {
            output::save(path, &npy::of(tensor))?;
        }
        if let (Some(capture), true) = (&mut self.capture, recorded) {
            capture.add(tensor).map_err(Failure::ask)?;
        }
        Ok(())
    }

    /// Composes the image and closes the capture.
    fn finish(
        mut self,
        arguments: &Arguments,
        loaded: &Loaded,
        info: &EngineInfo,
        facts: &[(String, String)],
    ) -> Result<Vec<Boundary>, Failure> {
        let composed =
            self.head.as_ref().map(|head| frame::compose(&self.plan.geometry, &loaded.input.features, head, None));
        if let (Some(path), Some(composed)) = (&arguments.output, &composed) {
            output::save(path, &composed.to_png().map_err(|e| Failure::Fault(e.to_string()))?)?;
        }
        if let Some(mut capture) = self.capture.take() {
            if let Some(composed) = &composed {
                capture.output(composed).map_err(Failure::ask)?;
            }
            let facts: Map<String, Value> = facts.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            let about = json!({
                "program": concat!("blockscope ", env!("CARGO_PKG_VERSION")), "engine": arguments.engine.to_string(),
                "device": info.device, "exact": info.exact && arguments.engine.changes.is_empty(), "facts": facts,
                "model": loaded.model.source,
                "modelDigest": loaded.model.digest().to_string(), "input": loaded.input.source,
            });
            let reason = match (&arguments.boundaries, &arguments.until) {
                (Some(_), _) => "left out of this capture: not among the boundaries that were asked for".to_owned(),
                (None, Some(step)) => format!("the run ended at {step}"),
                (None, None) => "not recorded".to_owned(),
            };
            capture.finish(&reason, Some(about)).map_err(Failure::ask)?;
        }
        Ok(self.boundaries)
    }
}

/// Boundaries such as `transition-8-9,block-9`.
fn boundaries(plan: &Plan, text: &str, end: usize) -> Result<BTreeSet<TensorName>, Failure> {
    let boundary = |part: &str| {
        let name = sources::tensor(plan, part.trim())?;
        let info = plan.tensor(&name);
        if info.role != Role::Boundary {
            let text = "is no boundary; --kernels records what lies inside blocks";
            return Err(Failure::ask(format_args!("--boundaries: {name} {text}")));
        }
        if info.step.is_none_or(|step| step >= end) {
            return Err(Failure::ask(format_args!("--boundaries: --until ends before {name} is computed")));
        }
        Ok(name)
    };
    text.split(',').map(boundary).collect()
}

/// Blocks such as `0,5-8`.
fn blocks(text: &str) -> Result<BTreeSet<usize>, Failure> {
    let wrong = || Failure::ask(format_args!("expected blocks of 0 to 70, such as 0,5-8; found \"{text}\""));
    let block = |text: &str| text.trim().parse::<usize>().ok().filter(|&b| b <= 70).ok_or_else(wrong);
    let mut all = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        all.extend(block(first)?..=block(last)?);
    }
    Ok(all)
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
fn digests_text(loaded: &Loaded, plan: &Plan, boundaries: &[Boundary]) -> String {
    let digests = boundaries.iter().map(|b| (b.name.clone(), b.digest)).collect();
    write_digests(plan, &digests, &loaded.model.source, &loaded.input.source)
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
        "peakResidentBytes": measure::peak_resident(),
        "boundaries": boundaries.iter().map(boundary).collect::<Vec<_>>(),
    })
}
