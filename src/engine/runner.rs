//! Runs a plan on an engine, from the features or from any kept state, until a step.
//!
//! The runner decides what lives how long: a tensor that no later step reads is released from the engine unless it
//! is to be kept. Whoever watches gets every step with the engine that just ran it, and reads what it needs there.
//!
//! **Invariants**
//! * A tensor is released only after its last reader in the range has run.
//! * Nothing is read back from a device unless it is kept, or the watcher reads it.

use super::{Control, Engine, EngineError, StepReport};
use crate::plan::{Plan, Role, Step};
use crate::tensor::{Digest, Tensor, TensorName};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Which tensors a run keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Nothing; the watcher reads what it wants.
    Nothing,
    /// The named boundaries.
    Boundaries,
    /// Boundaries and every kernel's tensor.
    All,
    /// These.
    Named(BTreeSet<TensorName>),
}

impl Keep {
    /// Whether a tensor of the plan is kept.
    pub fn keeps(&self, plan: &Plan, name: &TensorName) -> bool {
        match self {
            Self::Nothing => false,
            Self::Boundaries => plan.tensors.get(name).is_some_and(|info| info.role == Role::Boundary),
            Self::All => true,
            Self::Named(names) => names.contains(name),
        }
    }
}

/// Everything that a step read and wrote, from the engine that has just run it.
///
/// # Errors
/// Those of the engine.
pub fn read_around(engine: &mut dyn Engine, step: &Step) -> Result<BTreeMap<TensorName, Tensor>, EngineError> {
    step.op.tensors().map(|name| Ok((name.clone(), engine.read(name)?))).collect()
}

/// What a run left behind.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The tensors kept.
    pub tensors: BTreeMap<TensorName, Tensor>,
    /// Kernel time of every step that ran, by index.
    pub times: BTreeMap<usize, Duration>,
    /// Wall time of the whole run.
    pub elapsed: Duration,
    /// Products computed.
    pub products: u64,
}

impl Outcome {
    /// Digests of the boundaries kept, in the plan's order.
    pub fn digests(&self, plan: &Plan) -> Vec<(TensorName, Digest)> {
        let kept: Vec<&Tensor> = plan.boundaries.iter().filter_map(|name| self.tensors.get(name)).collect();
        kept.into_par_iter().map(|tensor| (tensor.name.clone(), tensor.digest())).collect()
    }
}

/// Called after each step, with the engine that holds its outputs.
pub type Watch<'a> = dyn FnMut(&mut dyn Engine, &Step, StepReport) -> Result<(), EngineError> + 'a;

/// The steps up to a step, itself included; all of them without one.
pub fn until(plan: &Plan, last: Option<usize>) -> Range<usize> {
    0..last.map_or(plan.steps.len(), |last| (last + 1).min(plan.steps.len()))
}

/// The tensors that must be there before a range of steps runs: read inside, written before it.
pub fn needed(plan: &Plan, range: &Range<usize>) -> Vec<TensorName> {
    let before = |name: &TensorName| plan.tensor(name).step.is_none_or(|step| step < range.start);
    let reads = plan.steps[range.clone()].iter().flat_map(|step| step.op.inputs());
    let names: BTreeSet<&TensorName> = reads.filter(|name| before(name)).collect();
    names.into_iter().cloned().collect()
}

/// Runs a range of steps. The engine is loaded with the plan and holds what [`needed`] lists.
///
/// # Errors
/// Those of the engine and of the watcher; the run stops at the first.
pub fn run(
    engine: &mut dyn Engine,
    plan: &Plan,
    range: Range<usize>,
    keep: &Keep,
    control: &Control,
    watch: &mut Watch<'_>,
) -> Result<Outcome, EngineError> {
    let start = Instant::now();
    let mut outcome = Outcome::default();
    let last_reads = last_reads(plan, &range);
    for step in &plan.steps[range] {
        if control.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        let report = engine.run(step, control)?;
        outcome.times.insert(step.index, report.duration);
        outcome.products += step.op.products(plan);
        for &name in step.op.outputs().iter().filter(|name| keep.keeps(plan, name)) {
            outcome.tensors.insert(name.clone(), engine.read(name)?);
        }
        watch(engine, step, report)?;
        let dead = |name: &&&TensorName| last_reads.get(**name).is_none_or(|&last| last <= step.index);
        for name in step.op.inputs().iter().chain(&step.op.outputs()).filter(dead) {
            engine.release(name);
        }
    }
    outcome.elapsed = start.elapsed();
    Ok(outcome)
}

/// Loads an engine and runs it from features until a step.
///
/// # Errors
/// As [`run`].
pub fn run_from_features(
    engine: &mut dyn Engine,
    (plan, model): (&std::sync::Arc<Plan>, &std::sync::Arc<crate::model::Model>),
    features: Tensor,
    last: Option<usize>,
    keep: &Keep,
    control: &Control,
    watch: &mut Watch<'_>,
) -> Result<Outcome, EngineError> {
    engine.load(plan, model)?;
    engine.write(features)?;
    run(engine, plan, until(plan, last), keep, control, watch)
}

/// For each tensor, the last step of a range that reads it.
fn last_reads<'a>(plan: &'a Plan, range: &Range<usize>) -> BTreeMap<&'a TensorName, usize> {
    let steps = &plan.steps[range.clone()];
    steps.iter().flat_map(|step| step.op.inputs().into_iter().map(move |name| (name, step.index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::reference::Reference;
    use crate::frame;
    use crate::geometry::{Geometry, Size};
    use crate::model::synthetic;
    use crate::plan::Detail;
    use std::sync::Arc;

    fn plan() -> Arc<Plan> {
        let geometry = Geometry::new(Size::new(64, 64)).unwrap();
        Arc::new(Plan::new(geometry, Detail::Needed))
    }

    #[test]
    fn a_range_needs_what_it_reads_and_does_not_write() {
        let plan = plan();
        let all = until(&plan, None);
        assert_eq!(needed(&plan, &all), [crate::plan::names::features()], "the whole network");
        let first = plan.find_step("block-56/transition").unwrap();
        let names: Vec<String> = needed(&plan, &(first..first + 2)).iter().map(ToString::to_string).collect();
        assert_eq!(names, ["block-14", "block-55"], "skip and state");
    }

    #[test]
    fn a_cancelled_run_ends_before_its_first_step() {
        let plan = plan();
        let model = Arc::new(synthetic::model(1));
        let features = frame::synthetic::features(&plan.geometry, 1);
        let control = Control::new();
        control.cancel();
        let mut engine = Reference::new();
        let run = run_from_features(
            &mut engine,
            (&plan, &model),
            features,
            Some(3),
            &Keep::All,
            &control,
            &mut |_, step, _| panic!("step {} ran", step.index),
        );
        assert!(matches!(run, Err(EngineError::Cancelled)), "{run:?}");
    }

    #[test]
    fn kept_tensors_are_read_and_others_released_behind_their_last_reader() {
        let plan = plan();
        let model = Arc::new(synthetic::model(1));
        let features = frame::synthetic::features(&plan.geometry, 1);
        let (mut engine, mut steps) = (Reference::new(), 0);
        let outcome = run_from_features(
            &mut engine,
            (&plan, &model),
            features,
            Some(1),
            &Keep::Named(BTreeSet::from(["block-0/input".into()])),
            &Control::new(),
            &mut |_, _, _| {
                steps += 1;
                Ok(())
            },
        )
        .unwrap();
        assert_eq!((steps, outcome.times.len()), (2, 2), "convert and adapter");
        assert!(outcome.tensors.keys().map(TensorName::as_str).eq(["block-0/input"]), "{outcome:?}");
        assert!(engine.read(&"block-0/features_half".into()).is_err(), "released behind its last reader");
    }
}
