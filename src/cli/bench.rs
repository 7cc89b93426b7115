//! `blockscope bench`: whole runs of the synthetic network by kernel family, medians of several runs, and the ground
//! they stand on: the model, its directory, the first boundary after the start, the comparison.

use super::memory::Memory;
use super::{Exit, Failure, output, sources};
use crate::compare::compare;
use crate::engine::measure::{self, Family, Machine, Measurement, StepTime};
use crate::engine::memory::Habit;
use crate::engine::spec::EngineKind;
use crate::engine::vulkan::raw::DeviceOptions;
use crate::engine::vulkan::responses::{self, Responses};
use crate::engine::{Control, EngineSpec, runner};
use crate::frame;
use crate::geometry::Size;
use crate::model::{Model, directory, synthetic};
use crate::plan::{Detail, Plan, names};
use crate::tensor::{Bytes, Element, Shape, Tensor};
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Side of the square tensor of codes that the comparison is timed on, with a differing code in every row.
const COMPARED: usize = 8192;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Valid size.
    #[arg(long, value_name = "WxH", default_value = "64x64")]
    size: Size,
    /// An engine to measure; may be given several times.
    #[arg(long, value_name = "E", default_value = "cpu")]
    engine: Vec<EngineSpec>,
    /// Runs of each engine, after one to warm up.
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    #[command(flatten)]
    memory: Memory,
    /// Tell every step's time too.
    #[arg(long)]
    steps: bool,
    /// Write the result as JSON; `-` for standard output.
    #[arg(long, value_name = "FILE|-")]
    json: Option<String>,
    /// Measure the window instead: own work per frame, gaps, first frame, waits for pictures.
    #[cfg(feature = "app")]
    #[arg(long, conflicts_with_all = ["engine", "runs", "size"])]
    ui: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let start = Instant::now();
    #[cfg(feature = "app")]
    if arguments.ui {
        return super::bench_ui::run(arguments.json.as_deref());
    }
    if let Some(file) = arguments.json.as_deref().filter(|file| *file != "-") {
        output::check_writable(Path::new(file))?;
    }
    if arguments.runs == 0 {
        return Err(Failure::ask("--runs expects at least 1; found 0"));
    }
    let plan = Arc::new(Plan::new(sources::geometry(arguments.size)?, Detail::Needed));
    let model = Arc::new(synthetic::model(1));
    let features = frame::synthetic::features(&plan.geometry, 1);
    let first = first_boundary(&plan, &model, &features, start)?;
    let quiet = arguments.json.as_deref() == Some("-");
    let machine = Machine::here();
    if !quiet {
        output::line(format_args!(
            "blockscope {}, {}, {} cores, {} threads, {}",
            env!("CARGO_PKG_VERSION"),
            machine.architecture,
            machine.cores,
            machine.threads,
            machine.features.join(" ")
        ));
    }
    let mut engines = Vec::new();
    for spec in &arguments.engine {
        let responses = match spec.kind {
            EngineKind::Vulkan { index, .. } => {
                let options =
                    DeviceOptions { wanted: index.map(|index| index.to_string()), ..DeviceOptions::default() };
                Some(responses::measure(&options, &plan, &model, &features)?)
            }
            EngineKind::Reference | EngineKind::Cpu(_) => None,
        };
        let (mut engine, plan) = sources::open_engine(spec, &plan)?;
        let steps = runner::until(&plan, None);
        let keeper = arguments.memory.keeper(&plan, &steps, &model, Habit::Steps { engines: 1 })?;
        engine.keep_within(&keeper);
        let control = Control::new();
        let mut found = measure::run(&mut *engine, &plan, &model, &features, arguments.runs, &control)?;
        found.engine = spec.to_string();
        if !quiet {
            tell(&found);
            responses.iter().for_each(tell_responses);
            let steps = if arguments.steps { &found.steps[..] } else { &[] };
            steps.iter().for_each(tell_step);
        }
        let facts: BTreeMap<String, String> = engine.facts().into_iter().collect();
        engines.push(engine_json(&found, responses.as_ref(), &facts));
    }
    drop(model);
    let ground = Ground::measure(first)?;
    if !quiet {
        ground.tell();
    }
    if let Some(target) = &arguments.json {
        let all = json!({
            "version": env!("CARGO_PKG_VERSION"), "machine": machine, "size": plan.geometry.valid.to_string(),
            "runs": arguments.runs, "products": plan.products(), "ground": ground.json(), "engines": engines,
        });
        output::text_to(target, &format!("{all:#}\n"))?;
    }
    Ok(Exit::Exact)
}

/// Seconds from the start to the first boundary, on the fastest engine, with nothing prepared.
fn first_boundary(plan: &Arc<Plan>, model: &Arc<Model>, features: &Tensor, start: Instant) -> Result<f64, Failure> {
    let mut engine = crate::engine::open(&EngineSpec::cpu())?;
    let last = plan.tensor(&names::block(0)).step;
    let watch: &mut runner::Watch<'_> = &mut |_, _, _| Ok(());
    let keep = runner::Keep::Nothing;
    let input = features.clone();
    runner::run_from_features(&mut *engine, (plan, model), input, last, &keep, &Control::new(), watch)?;
    Ok(start.elapsed().as_secs_f64())
}

/// What everything stands on. Times are in seconds.
struct Ground {
    first_boundary: f64,
    synthetic: f64,
    model_bytes: u64,
    load: f64,
    compared_bytes: u64,
    compare: f64,
}

impl Ground {
    fn measure(first_boundary: f64) -> Result<Self, Failure> {
        let start = Instant::now();
        let model = synthetic::model(2);
        model.complete();
        let synthetic = start.elapsed().as_secs_f64();
        let folder = tempfile::tempdir().map_err(|error| {
            Failure::ask(format_args!("the model directory to be loaded cannot be written: {error}"))
        })?;
        let path = folder.path().join("model");
        directory::write(&path, &model, Some(2)).map_err(Failure::ask)?;
        let model_bytes = model.bytes();
        drop(model);
        let start = Instant::now();
        directory::read(&path, &|_, _| {}).map_err(Failure::ask)?;
        let load = start.elapsed().as_secs_f64();
        let (subject, reference) = (codes(0x31), codes(0x32));
        let mut times: Vec<f64> = (0..5)
            .map(|_| {
                let start = Instant::now();
                std::hint::black_box(compare(&subject, &reference));
                start.elapsed().as_secs_f64()
            })
            .collect();
        let compare = measure::median(&mut times);
        let compared_bytes = (subject.bytes().len() + reference.bytes().len()) as u64;
        Ok(Self { first_boundary, synthetic, model_bytes, load, compared_bytes, compare })
    }

    fn tell(&self) {
        let line = |name: &str, seconds: f64, rest: String| {
            output::line(format_args!("  {name:30} {:10.1} ms{rest}", seconds * 1e3));
        };
        let rate = |bytes: u64, seconds: f64| format!("  {:8.2} GB/s", gigabytes(bytes, seconds));
        let mib = self.model_bytes >> 20;
        output::line("ground");
        line("start to first boundary", self.first_boundary, String::new());
        line("synthetic model", self.synthetic, rate(self.model_bytes, self.synthetic));
        line(&format!("model directory, {mib} MiB"), self.load, rate(self.model_bytes, self.load));
        line("comparison with classes", self.compare, rate(self.compared_bytes, self.compare));
    }

    fn json(&self) -> Value {
        json!({
            "firstBoundarySeconds": self.first_boundary, "syntheticModelSeconds": self.synthetic,
            "modelBytes": self.model_bytes, "modelLoadSeconds": self.load,
            "compareBytes": self.compared_bytes, "compareSeconds": self.compare,
            "compareGBPerSecond": gigabytes(self.compared_bytes, self.compare),
        })
    }
}

/// Codes that are the same but for one in each row.
fn codes(odd: u8) -> Tensor {
    let shape = Shape::new(Element::E4m3, Size::new(COMPARED, COMPARED), 1);
    let bytes = Bytes::build(shape.bytes(), |out| {
        out.iter_mut()
            .enumerate()
            .for_each(|(i, code)| *code = if i % COMPARED == 77 { odd } else { (i % 0x70) as u8 });
    });
    Tensor::new("compared".into(), shape, bytes).expect("built to its shape")
}

fn gigabytes(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / seconds.max(1e-9) / 1e9
}

fn tell(found: &Measurement) {
    output::line(format_args!("{} ({}), size {} px", found.engine, found.device, found.size));
    for family in &found.families {
        let rate = match family.products {
            0 => " ".repeat(23),
            _ => format!("  {:8.2} G products/s", family.products_per_second / 1e9),
        };
        let exact = if family.sample_is_exact { "" } else { ", and its sample DIFFERS" };
        let op = &family.op;
        let faster = match family.times_faster_than_reference {
            None => "  its first step in another kernel".to_owned(),
            Some(times) => format!("  {times:6.1} times the reference"),
        };
        output::line(format_args!("  {op:18} {:10.1} ms{rate}{faster}{exact}", family.seconds * 1e3));
    }
    output::line(format_args!(
        "  {:18} {:10.1} ms  {:8.2} G products/s, median of {}",
        "whole network",
        found.seconds * 1e3,
        found.products_per_second / 1e9,
        found.runs
    ));
    output::line(format_args!("  {:18} {:10.1} ms", "kernels alone", found.kernel_seconds * 1e3));
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let peak = found.peak_resident_bytes.map(|peak| format!(", {:.0} MiB resident at most", mib(peak)));
    output::line(format_args!(
        "  {:18} {:10.1} MiB{}",
        "boundaries kept",
        mib(found.held_bytes),
        peak.unwrap_or_default()
    ));
}

fn tell_responses(responses: &Responses) {
    let ms = |seconds: f64| seconds * 1e3;
    let start = if responses.warm { "warm" } else { "cold" };
    output::line(format_args!(
        "  {:18} {:10.1} ms  {start} pipeline cache",
        "first kernel",
        ms(responses.first_kernel)
    ));
    let (name, mib) = (&responses.boundary, responses.bytes as f64 / f64::from(1 << 20));
    let (whole, kernel) = (ms(responses.compare), ms(responses.compare_kernel));
    output::line(format_args!("  {:18} {whole:10.2} ms  {kernel:.3} in the kernel, {name}, {mib:.1} MiB", "compare"));
    let picture = ms(responses.picture);
    output::line(format_args!("  {:18} {picture:10.2} ms  beside the kernel's own time", "step to picture"));
}

fn tell_step(step: &StepTime) {
    let rate = step.products as f64 / step.seconds.max(1e-9) / 1e9;
    let (name, op) = (&step.step, &step.op);
    output::line(format_args!("    {name:28} {op:18} {:10.1} us  {rate:8.1} G products/s", step.seconds * 1e6));
}

fn engine_json(found: &Measurement, responses: Option<&Responses>, facts: &BTreeMap<String, String>) -> Value {
    let op = |family: &Family| {
        json!({
            "op": family.op, "steps": family.steps, "seconds": family.seconds, "products": family.products,
            "gProductsPerSecond": family.products_per_second / 1e9,
            "timesFasterThanReference": family.times_faster_than_reference, "sampleIsExact": family.sample_is_exact,
        })
    };
    json!({
        "engine": found.engine, "device": found.device, "seconds": found.seconds,
        "gProductsPerSecond": found.products_per_second / 1e9,
        "firstBoundarySeconds": found.first_boundary_seconds, "heldBytes": found.held_bytes,
        "peakResidentBytes": found.peak_resident_bytes, "kernelSeconds": found.kernel_seconds,
        "responses": responses, "facts": facts, "steps": found.steps,
        "ops": found.families.iter().map(op).collect::<Vec<_>>(),
    })
}
