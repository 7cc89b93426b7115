//! The observer's own effect: does the head change when every tensor is read on the way?
//!
//! One more store can change how a compiler fuses or which kernel a driver picks; then a dump shows a network that
//! nobody delivers. The engine runs twice on its own results, once read at every step and once only at the end.

use super::Doubt;
use crate::engine::{Control, Engine, EngineError, runner};
use crate::model::Model;
use crate::plan::{Plan, Role, Step};
use crate::tensor::{Digest, Tensor};
use std::sync::Arc;

/// Runs an engine to the end (or to a step) with and without reading on the way, and compares what it ends with.
///
/// # Errors
/// Those of the engine, and a cancelled control.
pub fn observe(
    engine: &mut dyn Engine,
    (plan, model): (&Arc<Plan>, &Arc<Model>),
    features: &Tensor,
    until: Option<usize>,
    control: &Control,
) -> Result<Doubt, EngineError> {
    let steps = runner::until(plan, until);
    let last = steps.end.saturating_sub(1);
    let mut ends: Vec<Vec<Digest>> = Vec::new();
    for dumps in [true, false] {
        let mut end = Vec::new();
        let mut watch = |engine: &mut dyn Engine, step: &Step, _| {
            for name in step.op.outputs() {
                let wanted = step.index == last || dumps && plan.tensors.contains_key(name);
                if wanted {
                    let tensor = engine.read(name)?;
                    if step.index == last {
                        end.push(tensor.digest());
                    }
                }
            }
            Ok(())
        };
        let keep = runner::Keep::Nothing;
        runner::run_from_features(engine, (plan, model), features.clone(), until, &keep, control, &mut watch)?;
        ends.push(end);
    }
    let name = plan.steps[last].name();
    let boundary = if plan.tensor(name).role == Role::Boundary { "boundary" } else { "tensor" };
    Ok(match ends[0] == ends[1] {
        true => Doubt::holds(
            "observer",
            format!("the {boundary} \"{name}\" is the same with every tensor read on the way and without"),
        ),
        false => Doubt::fails(
            "observer",
            Some("observer-effect"),
            format!(
                "the {boundary} \"{name}\" differs between a run with every tensor read on the way and one without: looking changes the result"
            ),
        ),
    })
}
