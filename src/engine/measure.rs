//! How fast an engine is: medians per op over whole runs, and its ratio to the reference on sampled rows.
//!
//! The library half of `blockscope bench`: it measures and prints nothing.

use super::reference::{self, Sources};
use super::{Control, Engine, EngineError};
use crate::model::Model;
use crate::plan::{Plan, Role, Step};
use crate::tensor::Tensor;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows of one step of each op that the reference computes too.
const SAMPLE: usize = 1024;

/// What a measurement found. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The engine.
    pub engine: String,
    /// What it ran on.
    pub device: String,
    /// This machine's processor.
    pub machine: Machine,
    /// The requested size, `WIDTHxHEIGHT`.
    pub size: String,
    /// Multiply-accumulates of the whole network.
    pub products: u64,
    /// Whole runs; times are medians over them.
    pub runs: usize,
    /// Wall time of the whole network.
    pub seconds: f64,
    /// Time of all kernels together: on a device, without what lies between them.
    pub kernel_seconds: f64,
    /// Multiply-accumulates a second over the whole network.
    pub products_per_second: f64,
    /// From the start to the first boundary of the first run, weights unpacked on the way.
    pub first_boundary_seconds: f64,
    /// One entry for each op, in the order in which they first run.
    pub families: Vec<Family>,
    /// Every step, in order.
    pub steps: Vec<StepTime>,
    /// Bytes of the tensors held at the end of a run: every boundary.
    pub held_bytes: u64,
    /// The process's largest resident size so far, where the system tells.
    pub peak_resident_bytes: Option<u64>,
}

/// The processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Instruction set.
    pub architecture: String,
    /// Vector extensions that matter here and that it has.
    pub features: Vec<String>,
    /// Cores that this process may use.
    pub cores: usize,
    /// Threads that engines use.
    pub threads: usize,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// Its name.
    pub step: String,
    /// Its op's word.
    pub op: String,
    /// The kernel's time.
    pub seconds: f64,
    /// Its multiply-accumulates.
    pub products: u64,
}

/// All steps of one op.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// The op's word.
    pub op: String,
    /// How many steps.
    pub steps: usize,
    /// Their multiply-accumulates.
    pub products: u64,
    /// Their time in one run.
    pub seconds: f64,
    /// Multiply-accumulates a second; 0 for an op without any.
    pub products_per_second: f64,
    /// The reference's time for the op's first step over the engine's, scaled up from sampled rows.
    pub times_faster_than_reference: Option<f64>,
    /// Whether the sampled rows have the reference's bytes.
    pub sample_is_exact: bool,
}

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        let mut features = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            macro_rules! detect {
                ($($name:tt)*) => { $(if is_x86_feature_detected!($name) { features.push($name.to_owned()); })* };
            }
            detect!("sse4.2" "avx" "f16c" "fma" "avx2" "sha");
            detect!("avx512f" "avx512bw" "avx512dq" "avx512vl" "avx512vbmi" "avx512vnni" "avx512fp16");
        }
        #[cfg(target_arch = "aarch64")]
        features.push("neon".to_owned());
        let architecture = std::env::consts::ARCH.to_owned();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { architecture, features, cores, threads: rayon::current_num_threads() }
    }
}

/// Runs the whole network `runs` times (at least once) on an engine, after one run to warm up that counts for the
/// first boundary only. Every boundary is kept to the end of a run, everything else until its last reader has run.
///
/// # Errors
/// When a step fails, or the control cancels.
pub fn run(
    engine: &mut dyn Engine,
    plan: &Arc<Plan>,
    model: &Arc<Model>,
    features: &Tensor,
    runs: usize,
    control: &Control,
) -> Result<Measurement, EngineError> {
    let runs = runs.max(1);
    let last_reads = plan.last_reads();
    let mut families: Vec<Sampled> = Vec::new();
    let (mut totals, mut first_boundary, mut held) = (Vec::new(), 0.0, 0);
    let mut each: Vec<Vec<f64>> = vec![Vec::new(); plan.steps.len()];
    for round in 0..=runs {
        engine.load(plan, model)?;
        engine.write(features.clone())?;
        let mut spent = BTreeMap::<&str, Duration>::new();
        let (mut total, mut seen_boundary) = (Duration::ZERO, false);
        for step in &plan.steps {
            let start = Instant::now();
            let kernel = engine.run(step, control)?.duration;
            let wall = start.elapsed();
            total += wall;
            *spent.entry(step.op.word()).or_default() += kernel;
            if round > 0 {
                each[step.index].push(kernel.as_secs_f64());
            }
            if !seen_boundary && step.op.outputs().iter().any(|name| plan.tensor(name).role == Role::Boundary) {
                seen_boundary = true;
                first_boundary = if round == 0 { total.as_secs_f64() } else { first_boundary };
            }
            let ran = (!kernel.is_zero()).then_some(wall);
            if round > 0 && !families.iter().any(|family| family.word == step.op.word()) {
                families.push(Sampled::of(engine, plan, model, step, ran, control)?);
            }
            release(engine, plan, step, &last_reads);
        }
        if round > 0 {
            totals.push(total.as_secs_f64());
            for family in &mut families {
                family.seconds.push(spent[family.word].as_secs_f64());
            }
        }
        let kept = plan.tensors.iter().filter(|(_, info)| info.role != Role::Intermediate);
        held = kept.map(|(_, info)| info.shape.bytes() as u64).sum();
    }
    let (info, seconds, products) = (engine.info(), median(&mut totals), plan.products());
    let mut steps = Vec::new();
    for (step, times) in plan.steps.iter().zip(&mut each) {
        let (step, op, products) = (step.name().to_string(), step.op.word().to_owned(), step.op.products(plan));
        steps.push(StepTime { step, op, seconds: median(times), products });
    }
    Ok(Measurement {
        kernel_seconds: steps.iter().map(|step| step.seconds).sum(),
        steps,
        engine: info.name,
        device: info.device,
        machine: Machine::here(),
        size: plan.geometry.valid.to_string(),
        products,
        runs,
        seconds,
        products_per_second: products as f64 / seconds,
        first_boundary_seconds: first_boundary,
        families: families.into_iter().map(|family| family.finish(plan)).collect(),
        held_bytes: held,
        peak_resident_bytes: peak_resident(),
    })
}

/// Forgets the intermediates whose last reader was this step, and those that nobody reads.
fn release(engine: &mut dyn Engine, plan: &Plan, step: &Step, last_reads: &BTreeMap<crate::tensor::TensorName, usize>) {
    for name in step.op.tensors() {
        let read_later = last_reads.get(name).is_some_and(|&last| last > step.index);
        if plan.tensor(name).role == Role::Intermediate && !read_later {
            engine.release(name);
        }
    }
}

/// One op's times, and what a sample of its first step said.
struct Sampled {
    word: &'static str,
    seconds: Vec<f64>,
    times_faster: Option<f64>,
    exact: bool,
}

impl Sampled {
    /// Lets the reference compute rows of a step that the engine has just run in `wall`; `None` where it was put off.
    fn of(
        engine: &mut dyn Engine,
        plan: &Plan,
        model: &Model,
        step: &Step,
        wall: Option<Duration>,
        control: &Control,
    ) -> Result<Self, EngineError> {
        let inputs = step.op.inputs().into_iter().map(|name| Ok((name.clone(), engine.read(name)?)));
        let tensors: BTreeMap<_, _> = inputs.collect::<Result<_, EngineError>>()?;
        let tokens = plan.shape(step.name()).tokens();
        let rows: Vec<usize> = (0..tokens).step_by(tokens.div_ceil(SAMPLE).max(1)).collect();
        let start = Instant::now();
        // Its products are not the run's: a control of its own, but cancelled with the run.
        let own = Control::new();
        if control.is_cancelled() {
            own.cancel();
        }
        let sample = reference::run_rows(step, Sources { plan, model, tensors: &tensors }, &rows, &own)?;
        let reference = start.elapsed().as_secs_f64() * tokens as f64 / rows.len() as f64;
        let mut exact = true;
        for (name, expected) in sample {
            let found = engine.read(&name)?;
            let width = found.row(0).len();
            exact &= rows.iter().zip(expected.chunks_exact(width)).all(|(&row, expected)| found.row(row) == expected);
        }
        let times_faster = wall.map(|wall| reference / wall.as_secs_f64().max(1e-9));
        Ok(Self { word: step.op.word(), seconds: Vec::new(), times_faster, exact })
    }

    fn finish(mut self, plan: &Plan) -> Family {
        let steps = plan.steps.iter().filter(|step| step.op.word() == self.word);
        let (count, products) = steps.fold((0, 0), |(n, sum), step| (n + 1, sum + step.op.products(plan)));
        let seconds = median(&mut self.seconds);
        Family {
            op: self.word.to_owned(),
            steps: count,
            products,
            seconds,
            products_per_second: products as f64 / seconds.max(1e-9),
            times_faster_than_reference: self.times_faster,
            sample_is_exact: self.exact,
        }
    }
}

/// The middle value of at least one; the mean of the middle two of an even number.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], values[middle]) } else { values[middle] }
}

/// The process's largest resident size so far, where the system tells.
pub fn peak_resident() -> Option<u64> {
    proc_bytes("/proc/self/status", "VmHWM")
}

/// Bytes that a line `key: N kB` of a file below `/proc` tells, where there is one.
pub fn proc_bytes(file: &str, key: &str) -> Option<u64> {
    kilobytes(&std::fs::read_to_string(file).ok()?, key)
}

fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0, "odd");
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5, "even");
    }

    #[test]
    fn kilobytes_are_read_by_their_whole_key() {
        let text = "MemFree:   11 kB\nMemAvailable:  12 kB\nHugePages_Total:  3\nBad: x kB\n";
        assert_eq!(kilobytes(text, "MemAvailable"), Some(12 * 1024), "found");
        for absent in ["Mem", "HugePages_Total", "Bad", "VmHWM"] {
            assert_eq!(kilobytes(text, absent), None, "{absent}");
        }
    }
}
