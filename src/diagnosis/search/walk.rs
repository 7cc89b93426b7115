//! What the walks over an engine and over a recording share: what is known, what was found, what was doubted.

use super::doubt::Checked;
use super::{Diagnosis, Doubt, Finding, Question, Stage};
use crate::compare::Verdict;
use crate::diagnosis::explain::{Explained, Explanation, Segment, explain};
use crate::diagnosis::{Pattern, Variant, find};
use crate::engine::{Control, EngineError};
use crate::geometry::WindowGrid;
use crate::model::Model;
use crate::plan::{Op, Plan};
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A search under way.
pub(super) struct Walk<'a> {
    pub(super) plan: Arc<Plan>,
    pub(super) model: Arc<Model>,
    pub(super) control: &'a Control,
    pub(super) progress: &'a (dyn Fn(Stage) + Sync),
    pub(super) diagnosis: Diagnosis,
    /// Variants that explained something exactly.
    confirmed: Vec<&'static Variant>,
    /// Exact and divergent steps by op and shape.
    shapes: BTreeMap<(&'static str, String), (usize, usize)>,
    /// Exact tensors still of use: all boundaries, and the current block's.
    pub(super) known: BTreeMap<TensorName, Tensor>,
    limit: usize,
    /// Rows of the exact engine checked against the scalar reference.
    pub(super) rows: Checked,
    /// Divergent steps that were repeated; the failed ones moved.
    pub(super) repeats: Checked,
    /// Divergent tensors looked at for another layout.
    layouts: Checked,
}

/// A divergent segment, before it is explained.
pub(super) struct Divergence {
    /// Its steps.
    pub(super) steps: Range<usize>,
    /// What the subject gave and what is exact.
    pub(super) observed: Vec<(Tensor, Tensor)>,
    /// Exact tensors between its steps, as far as they were kept.
    pub(super) between: BTreeMap<TensorName, Tensor>,
    /// Whether repeating gave the same bytes; `None` where nothing can be repeated.
    pub(super) stable: Option<bool>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(question: &Question<'_>, control: &'a Control, progress: &'a (dyn Fn(Stage) + Sync)) -> Self {
        Self {
            plan: Arc::clone(&question.plan),
            model: Arc::clone(&question.model),
            control,
            progress,
            diagnosis: Diagnosis::default(),
            confirmed: Vec::new(),
            shapes: BTreeMap::new(),
            known: BTreeMap::new(),
            limit: question.limit.max(1),
            rows: Checked::default(),
            repeats: Checked::default(),
            layouts: Checked::default(),
        }
    }

    /// Whether enough was found.
    pub(super) fn is_full(&self) -> bool {
        self.diagnosis.findings.len() >= self.limit
    }
}

impl Walk<'_> {
    pub(super) fn agree(&mut self, step: usize, tensors: usize) {
        self.diagnosis.exact += tensors;
        self.shapes.entry(shape_of(&self.plan, step)).or_default().0 += 1;
    }

    /// Explains one divergent segment.
    pub(super) fn find(&mut self, divergence: Divergence) -> Result<(), EngineError> {
        let Divergence { steps, observed, between, stable } = divergence;
        let plan = Arc::clone(&self.plan);
        let last = &plan.steps[steps.end - 1];
        self.shapes.entry(shape_of(&plan, last.index)).or_default().1 += 1;
        let name = last.name().clone();
        let (model, known, between) = (&*self.model, &self.known, &between);
        let segment = Segment { plan: &plan, model, steps: steps.clone(), known, between, observed };
        let progress = |done, all| (self.progress)(Stage::Testing(name.clone(), done, all));
        let explanation = match stable {
            Some(false) => Explanation::untested(&segment),
            _ => explain(&segment, &self.confirmed, self.control, &progress)?,
        };
        let worst = explanation.comparisons.iter().position(|c| c.verdict != Verdict::BitExact).unwrap_or(0);
        let comparison = &explanation.comparisons[worst];
        if let Verdict::NotCompared(reason) = &comparison.verdict {
            self.diagnosis.not_compared.push((comparison.name.to_string(), reason.clone()));
            return Ok(());
        }
        let memory = |id: &&'static str| find(id).is_some_and(|(cause, _)| ["P9", "P10"].contains(&cause.case));
        let laid_out =
            explanation.tested.first().filter(|t| t.exact()).and_then(|t| t.causes.iter().find(|id| memory(id)));
        self.layouts.look(name.as_str(), laid_out.is_none());
        if explanation.explained == Explained::Exactly {
            let causes = explanation.tested[0].causes.clone();
            let again = |f: &&mut Finding| f.cause().is_some_and(|cause| cause.causes == causes);
            if let Some(before) = self.diagnosis.findings.iter_mut().find(again) {
                before.also.push(name.to_string());
                return Ok(());
            }
            self.confirmed.extend(causes.iter().filter_map(|id| find(id)).map(|(_, variant)| variant));
        }
        let (subject, exact) = &segment.observed[worst];
        let grid = window_grid(&plan, last.block);
        let pattern = Pattern::of(subject, exact, &comparison.counts, grid.as_ref());
        let kernels: Vec<&str> = plan.steps[steps].iter().map(|step| step.kernel).collect();
        let finding = Finding {
            tensor: comparison.name.to_string(),
            block: last.block,
            kernel: kernels.join(", "),
            explained: explanation.explained,
            tested: explanation.tested,
            tried: explanation.tried,
            differing: comparison.counts.differing(),
            elements: comparison.counts.total(),
            first: comparison.first.map(|d| (d.x, d.y, d.channel, d.subject_bits, d.reference_bits)),
            pattern,
            also: Vec::new(),
            stable,
        };
        self.diagnosis.findings.push(finding);
        Ok(())
    }

    /// What only the whole walk can say.
    pub(super) fn finish(&mut self) {
        let doubts = [self.rows.rows(), self.repeats.stability(), self.layouts.layout(), self.one_shape()];
        self.diagnosis.doubts.extend(doubts.into_iter().flatten());
    }

    /// Whether only steps of one shape differ.
    fn one_shape(&self) -> Option<Doubt> {
        let divergent: Vec<_> = self.shapes.iter().filter(|(_, (_, bad))| *bad > 0).collect();
        let [((word, shape), (0, bad))] = divergent[..] else { return None };
        let others = self.shapes.iter().any(|((w, s), (good, _))| w == word && s != shape && *good > 0);
        let unexplained = self.diagnosis.findings.iter().any(|f| f.explained != Explained::Exactly);
        let text = format!("all {bad} steps of {word} {shape} differ and no step of another shape does");
        (*bad > 1 && others && unexplained).then(|| Doubt::fails("shape", Some("shape-specific"), text))
    }
}

/// What a library would choose an algorithm by.
fn shape_of(plan: &Plan, step: usize) -> (&'static str, String) {
    let step = &plan.steps[step];
    let rows = plan.shape(step.name()).tokens();
    let shape = match &step.op {
        Op::Gemm(op) => format!("{} x {}x{}, {rows} rows", op.groups, op.k, op.n),
        Op::GemmHalf(op) => format!("{}x{}, {rows} rows", op.k, op.n),
        _ => plan.shape(step.name()).to_string(),
    };
    (step.op.word(), shape)
}

/// The window grid of a block.
pub fn window_grid(plan: &Plan, block: usize) -> Option<WindowGrid> {
    plan.steps.iter().filter(|step| step.block == block).find_map(|step| match &step.op {
        Op::WindowAttention(op) => Some(op.grid(plan.shape(&op.input).size)),
        _ => None,
    })
}
