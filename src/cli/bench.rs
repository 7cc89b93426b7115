//! `blockscope bench`: whole runs of the synthetic network, by kernel family, medians of several runs.

use super::{Exit, Failure, output, sources};
use crate::engine::runner::{self, Keep};
use crate::engine::{Control, EngineSpec};
use crate::frame;
use crate::geometry::Size;
use crate::model::synthetic;
use crate::plan::{Detail, Plan};
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

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
    /// Write the result as JSON; `-` for standard output.
    #[arg(long, value_name = "FILE|-")]
    json: Option<String>,
}

/// What one engine took: seconds of whole runs, and of each op in each run.
struct Measured {
    name: String,
    device: String,
    whole: Vec<f64>,
    ops: BTreeMap<&'static str, Vec<f64>>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(file) = arguments.json.as_deref().filter(|file| *file != "-") {
        output::check_writable(Path::new(file))?;
    }
    if arguments.runs == 0 {
        return Err(Failure::ask("--runs expects at least 1; found 0"));
    }
    let plan = Arc::new(Plan::new(sources::geometry(arguments.size)?, Detail::Needed));
    let products = products(&plan);
    let mut results = Vec::new();
    for spec in &arguments.engine {
        let measured = measure(spec, &plan, arguments.runs)?;
        if arguments.json.as_deref() != Some("-") {
            tell(&measured, &plan, &products);
        }
        results.push(value(&measured, &plan, &products));
    }
    if let Some(target) = &arguments.json {
        let (size, runs) = (plan.geometry.valid.to_string(), arguments.runs);
        let all = json!({ "size": size, "runs": runs, "products": plan.products(), "engines": results });
        output::text_to(target, &format!("{all:#}\n"))?;
    }
    Ok(Exit::Exact)
}

fn measure(spec: &EngineSpec, plan: &Arc<Plan>, runs: usize) -> Result<Measured, Failure> {
    let (mut engine, plan) = sources::open_engine(spec, plan)?;
    let info = engine.info();
    let model = Arc::new(synthetic::model(1));
    let features = frame::synthetic::features(&plan.geometry, 1);
    let mut measured = Measured { name: info.name, device: info.device, whole: Vec::new(), ops: BTreeMap::new() };
    engine.load(&plan, &model)?;
    for run in 0..=runs {
        engine.write(features.clone())?;
        let range = runner::until(&plan, None);
        let watch: &mut runner::Watch<'_> = &mut |_, _, _| Ok(());
        let outcome = runner::run(&mut *engine, &plan, range, &Keep::Nothing, &Control::new(), watch)?;
        if run == 0 {
            continue;
        }
        measured.whole.push(outcome.elapsed.as_secs_f64());
        let mut sums: BTreeMap<&'static str, f64> = BTreeMap::new();
        for (&step, time) in &outcome.times {
            *sums.entry(plan.steps[step].op.word()).or_default() += time.as_secs_f64();
        }
        for (op, seconds) in sums {
            measured.ops.entry(op).or_default().push(seconds);
        }
    }
    Ok(measured)
}

/// Products by op.
fn products(plan: &Plan) -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    for step in &plan.steps {
        *sums.entry(step.op.word()).or_default() += step.op.products(plan);
    }
    sums
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn rate(products: u64, seconds: f64) -> f64 {
    products as f64 / seconds.max(1e-9) / 1e9
}

fn tell(measured: &Measured, plan: &Plan, products: &BTreeMap<&'static str, u64>) {
    output::line(format_args!("{} ({}), size {} px", measured.name, measured.device, plan.geometry.valid));
    for (op, times) in &measured.ops {
        let seconds = median(times);
        let rate = match products[op] {
            0 => String::new(),
            count => format!("  {:8.2} G products/s", rate(count, seconds)),
        };
        output::line(format_args!("  {op:18} {:10.1} ms{rate}", seconds * 1e3));
    }
    let (whole, count) = (median(&measured.whole), plan.products());
    let rate = rate(count, whole);
    output::line(format_args!(
        "  {:18} {:10.1} ms  {rate:8.2} G products/s, median of {}",
        "whole network",
        whole * 1e3,
        measured.whole.len()
    ));
}

fn value(measured: &Measured, plan: &Plan, products: &BTreeMap<&'static str, u64>) -> Value {
    let op = |(op, times): (&&'static str, &Vec<f64>)| json!({ "op": op, "seconds": median(times), "products": products[op], "gProductsPerSecond": rate(products[op], median(times)) });
    let whole = median(&measured.whole);
    json!({
        "engine": measured.name, "device": measured.device, "seconds": whole,
        "gProductsPerSecond": rate(plan.products(), whole), "ops": measured.ops.iter().map(op).collect::<Vec<_>>(),
    })
}
