//! What is tried: variants switched on at steps of a segment, one or two at once.

use crate::diagnosis::Variant;
use crate::plan::Plan;
use std::ops::Range;

/// A candidate: variants with the steps they are switched on at, and the plan that results.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) parts: Vec<(&'static Variant, usize)>,
    pub(super) plan: Plan,
    /// The first step of the segment that is not the exact one.
    pub(super) first: usize,
}

impl Candidate {
    pub(super) fn single(plan: &Plan, steps: &Range<usize>, variant: &'static Variant, step: usize) -> Option<Self> {
        let mut changed = plan.clone();
        if !variant.apply(&mut changed, step) {
            return None;
        }
        let first = steps.clone().find(|&i| changed.steps[i] != plan.steps[i])?;
        Some(Self { parts: vec![(variant, step)], plan: changed, first })
    }

    /// Both causes at once, if the order in which they are switched on does not matter.
    pub(super) fn pair(a: &Self, b: &Self, steps: &Range<usize>) -> Option<Self> {
        let join = |first: &Self, second: &Self| {
            let mut plan = first.plan.clone();
            second.parts.iter().all(|&(variant, step)| variant.apply(&mut plan, step)).then_some(plan)
        };
        let (plan, other) = (join(a, b)?, join(b, a)?);
        let same = |x: &Plan, y: &Plan| x.steps[steps.clone()] == y.steps[steps.clone()];
        let useful = same(&plan, &other) && !same(&plan, &a.plan) && !same(&plan, &b.plan);
        let first = a.first.min(b.first);
        useful.then(|| Self { parts: [a.parts.clone(), b.parts.clone()].concat(), plan, first })
    }

    pub(super) fn profile(&self, plan: &Plan) -> String {
        let part = |&(variant, step): &(&Variant, usize)| {
            let step = &plan.steps[step];
            format!("{}@{}/{}", variant.id, step.block, step.kernel)
        };
        self.parts.iter().map(part).collect::<Vec<_>>().join("+")
    }
}
