//! The walk over an engine: every step on the exact inputs, so that one bad kernel lights one step.

use super::doubt;
use super::walk::{Divergence, Walk};
use super::{Doubt, Stage};
use crate::engine::{Control, Engine, EngineError, reference};
use crate::model::Model;
use crate::plan::{Plan, Role};
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows per step of the exact engine that are checked against the scalar reference.
const CHECKED_ROWS: usize = 2;
/// How often a divergent step is repeated, where that is quick.
const REPEATS: usize = 3;
/// A step that takes longer is repeated once.
const SLOW: Duration = Duration::from_secs(1);

impl Walk<'_> {
    /// Every step of an engine on exact inputs.
    pub(super) fn engine(
        &mut self,
        exact: &mut dyn Engine,
        subject: &mut dyn Engine,
        plan: &Arc<Plan>,
        features: Tensor,
        steps: Range<usize>,
    ) -> Result<(), EngineError> {
        let own = Arc::clone(&self.plan);
        exact.load(&own, &self.model)?;
        subject.load(plan, &self.model)?;
        exact.write(features.clone())?;
        self.holds_input(subject, &features)?;
        self.known.insert(features.name.clone(), features);
        let count = steps.len();
        let mut block = 0;
        for i in steps {
            let step = &own.steps[i];
            if step.block != block {
                block = step.block;
                let dead = |name: &TensorName| own.tensors.get(name).is_some_and(|t| t.role == Role::Intermediate);
                let gone: Vec<TensorName> = self.known.keys().filter(|name| dead(name)).cloned().collect();
                for name in gone {
                    // The raw merges in front of blocks 66 and 70 are read inside their block only.
                    self.known.remove(&name);
                    exact.release(&name);
                }
            }
            (self.progress)(Stage::Comparing(step.name().clone(), i, count));
            exact.run(step, self.control)?;
            let mut outputs = Vec::new();
            for name in step.op.outputs() {
                outputs.push(exact.read(name)?);
            }
            self.check_rows(i, &outputs)?;
            let start = Instant::now();
            let once = self.subject_outputs(subject, plan, i)?;
            let slow = start.elapsed() > SLOW;
            let observed: Vec<(Tensor, Tensor)> = once.into_iter().zip(outputs.iter().cloned()).collect();
            if observed.iter().any(|(s, r)| s.bytes() != r.bytes()) {
                let mut stable = true;
                for _ in 0..if slow { 1 } else { REPEATS } {
                    let again = self.subject_outputs(subject, plan, i)?;
                    stable &= observed.iter().zip(&again).all(|((a, _), b)| a.bytes() == b.bytes());
                }
                self.repeats.look(step.name().as_str(), stable);
                let between = BTreeMap::new();
                self.find(Divergence { steps: i..i + 1, observed, between, stable: Some(stable) })?;
            } else {
                self.agree(i, observed.len());
            }
            self.known.extend(outputs.into_iter().map(|t| (t.name.clone(), t)));
            if self.is_full() {
                break;
            }
        }
        Ok(())
    }

    /// Whether the subject holds the input that it was given, lane by lane.
    fn holds_input(&mut self, subject: &mut dyn Engine, features: &Tensor) -> Result<(), EngineError> {
        subject.write(features.clone())?;
        let doubt = match subject.read(&features.name) {
            Ok(held) => doubt::lanes(&held, features, "the subject's"),
            Err(error) => Doubt::unknown("inputs", format!("the subject's input could not be read back: {error}")),
        };
        self.diagnosis.doubts.push(doubt);
        Ok(())
    }

    /// The subject's outputs of one step, on the exact inputs.
    fn subject_outputs(&self, subject: &mut dyn Engine, plan: &Plan, i: usize) -> Result<Vec<Tensor>, EngineError> {
        let step = &plan.steps[i];
        for name in step.op.inputs() {
            if let Some(tensor) = self.known.get(name) {
                subject.write(tensor.clone())?;
            }
        }
        subject.run(step, self.control)?;
        let outputs = self.plan.steps[i].op.outputs().into_iter().map(|name| subject.read(name)).collect();
        for name in step.op.tensors() {
            subject.release(name);
        }
        outputs
    }

    /// Checks the exact engine on a few rows of a step that it ran from `known`.
    pub(super) fn check_rows(&mut self, i: usize, outputs: &[Tensor]) -> Result<(), EngineError> {
        let checked = checked_rows((&self.plan, &self.model), &self.known, i, outputs, self.control)?;
        checked.into_iter().for_each(|holds| self.rows.look(self.plan.steps[i].name().as_str(), holds));
        Ok(())
    }
}

/// Whether sampled rows of a step's outputs are the scalar reference's.
pub(super) fn checked_rows(
    (plan, model): (&Plan, &Model),
    tensors: &BTreeMap<TensorName, Tensor>,
    i: usize,
    outputs: &[Tensor],
    control: &Control,
) -> Result<Vec<bool>, EngineError> {
    let tokens = outputs[0].shape.tokens();
    let rows: Vec<usize> = (1..=CHECKED_ROWS).map(|k| tokens * k / (CHECKED_ROWS + 1)).collect();
    let scalar = reference::run_rows(&plan.steps[i], reference::Sources { plan, model, tensors }, &rows, control)?;
    let mut holds = Vec::new();
    for ((_, bytes), tensor) in scalar.iter().zip(outputs) {
        let stride = tensor.row(0).len();
        holds.extend(bytes.chunks_exact(stride).zip(&rows).map(|(bytes, &row)| bytes == tensor.row(row)));
    }
    Ok(holds)
}
