//! `blockscope parity --watch DIR`: the dumps of a running port, compared as they come.
//!
//! The reference runs first. Each tensor is compared with it on arrival; when all boundaries are there, or nothing
//! came for a while, or on Ctrl-C, the whole is asked as for a recording, with its isolated answers and its exit code.

use super::progress::Progress;
use super::sources::Sides;
use super::{Failure, interrupt, output};
use crate::capture::Recording;
use crate::capture::import::Mapping;
use crate::capture::watch::{Arrival, Watch};
use crate::compare::compare;
use crate::compare::parity::Side;
use crate::engine::runner::{self, Keep};
use crate::plan::names;
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the folder is looked at.
const PERIOD: Duration = Duration::from_millis(150);
/// All of the reference's tensors are kept up to this many bytes; beyond, its boundaries.
const KEEP_ALL: usize = 1 << 30;

/// What is watched, and for how long.
pub(super) struct Question<'a> {
    pub(super) folder: &'a Path,
    pub(super) map: Option<&'a Path>,
    pub(super) idle: Duration,
    pub(super) last: Option<usize>,
    pub(super) quiet: bool,
}

/// Watches until all is there; the subject of `sides` becomes what came.
pub(super) fn collect(question: &Question<'_>, sides: &mut Sides) -> Result<(), Failure> {
    let mapping = question.map.map_or_else(|| Ok(Mapping::default()), |path| Mapping::open(path).map_err(Failure::ask));
    let mapping = mapping?;
    let plan = Arc::clone(&sides.loaded.plan);
    if let Some(expected) = mapping.size().filter(|size| *size != plan.geometry.valid) {
        let found = plan.geometry.valid;
        return Err(Failure::ask(format_args!("expected the mapping's size {expected}, found {found}; give --size")));
    }
    let expected = expected(question, sides)?;
    // Ctrl-C ends the watching, and what came is compared.
    let watching = interrupt::job();
    let steps = runner::until(&plan, question.last);
    let missing = |came: &BTreeMap<TensorName, Tensor>| {
        let within = |name: &&TensorName| plan.tensor(name).step.is_some_and(|step| steps.contains(&step));
        plan.published().filter(within).filter(|name| !came.contains_key(*name)).count()
    };
    if !question.quiet {
        output::line(format_args!(
            "watching {}, {} boundaries expected; ends when all are there, after {} s without a new one, or on Ctrl-C",
            question.folder.display(),
            missing(&BTreeMap::new()),
            question.idle.as_secs()
        ));
    }
    let mut watch = Watch::new(question.folder, plan.geometry, mapping);
    let mut came: BTreeMap<TensorName, Tensor> = BTreeMap::new();
    let mut last = Instant::now();
    while missing(&came) > 0 && last.elapsed() < question.idle && !watching.is_cancelled() {
        for arrival in watch.poll(&|name| expected.get(name).cloned()) {
            last = Instant::now();
            if !question.quiet {
                output::line(line(&arrival, &expected));
            }
            if let Arrival::Tensor { tensor, .. } = arrival {
                came.insert(tensor.name.clone(), tensor);
            }
        }
        std::thread::sleep(PERIOD);
    }
    if !question.quiet && missing(&came) > 0 {
        let why = if watching.is_cancelled() { "stopped" } else { "nothing new came" };
        output::line(format_args!("{why}: {} tensors are there, {} boundaries are not", came.len(), missing(&came)));
    }
    let there = |name: &TensorName| came.contains_key(name);
    let absent = plan.boundaries.iter().filter(|name| !there(name));
    let omitted = absent.map(|name| (name.clone(), "it was not dumped".to_owned())).collect();
    let source = question.folder.display().to_string();
    let record = Recording::of(source, plan.geometry, came.into_values().collect(), omitted);
    sides.subject = Side::Recorded(Box::new(record));
    Ok(())
}

fn line(arrival: &Arrival, expected: &BTreeMap<TensorName, Tensor>) -> String {
    match arrival {
        Arrival::Refused { key, reason } => format!("refused  {key}: {reason}"),
        Arrival::Tensor { key, tensor, again, .. } => {
            let again = if *again { ", written again" } else { "" };
            let verdict = match expected.get(&tensor.name) {
                Some(expected) => compare(tensor, expected).to_string(),
                None => "not compared on arrival (of a large frame the reference keeps its boundaries only)".to_owned(),
            };
            format!("{:16} {verdict} ({key}{again})", tensor.name.as_str())
        }
    }
}

/// What the reference has for every tensor that may come.
fn expected(question: &Question<'_>, sides: &mut Sides) -> Result<BTreeMap<TensorName, Tensor>, Failure> {
    let (plan, model) = (&sides.loaded.plan, &sides.loaded.model);
    let mut expected: BTreeMap<TensorName, Tensor> = match &mut sides.reference {
        Side::Recorded(record) => {
            plan.tensors.keys().filter_map(|name| Some((name.clone(), record.tensor(name).ok()?))).collect()
        }
        Side::Live(engine, own) => {
            let features =
                sides.features.clone().ok_or_else(|| Failure::ask("the reference has no input to run on"))?;
            let all: usize = plan.tensors.values().map(|info| info.shape.bytes()).sum();
            let keep = if all <= KEEP_ALL { Keep::All } else { Keep::Boundaries };
            let control = interrupt::job();
            let steps = runner::until(own, question.last);
            let progress = Progress::start(&control, own.steps[steps].iter().map(|step| step.op.products(own)).sum());
            let watch: &mut runner::Watch<'_> = &mut |_, step, _| {
                progress.at(step.block);
                Ok(())
            };
            runner::run_from_features(&mut **engine, (own, model), features, question.last, &keep, &control, watch)?
                .tensors
        }
    };
    if let Some(features) = &sides.features {
        expected.insert(names::features(), features.clone());
    }
    Ok(expected)
}
