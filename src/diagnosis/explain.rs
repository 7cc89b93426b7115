//! One divergent segment against all causes: which of them, switched on, reproduces the subject's bytes.
//!
//! A *segment* is what lies between known inputs and an observed output: one kernel where both sides can be
//! stepped, the kernels between two boundaries for a recording. Every variant is tried at every step of it where it
//! has a place: first on a sample of rows that differ and rows that are equal, the survivors on a larger one, the
//! best on the whole tensor. When no single cause is enough, pairs of the promising ones are tried.

use super::{Variant, variants};
use crate::compare::{self, Comparison, Verdict};
use crate::engine::{Control, EngineError, reference};
use crate::model::Model;
use crate::plan::Plan;
use crate::tensor::{Bytes, Tensor, TensorName};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Products that one candidate may cost on the first sample, on the second, and on the whole tensor.
const BUDGETS: [u64; 3] = [1_500_000, 8_000_000, 2_500_000_000];
/// Candidates that reach the second sample, and the whole tensor.
const SURVIVORS: [usize; 2] = [16, 4];
/// Single causes that are tried in pairs.
const PAIRED: usize = 14;

/// What is to be explained.
#[derive(Debug)]
pub struct Segment<'a> {
    /// The plan of the exact network.
    pub plan: &'a Plan,
    /// Its weights.
    pub model: &'a Model,
    /// Steps of the segment.
    pub steps: Range<usize>,
    /// Every tensor known before the segment.
    pub known: &'a BTreeMap<TensorName, Tensor>,
    /// What the subject gave and what the exact network gives.
    pub observed: Vec<(Tensor, Tensor)>,
}

/// One cause, or two together, and what they did.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Tested {
    /// Ids of the variants.
    pub causes: Vec<&'static str>,
    /// The engine changes that switch them on, as a command line spells them.
    pub profile: String,
    /// Bytes that differ between subject and exact network, among those looked at.
    pub differing: u64,
    /// Of these, bytes that the causes reproduce.
    pub explained: u64,
    /// Equal bytes that the causes break.
    pub newly_wrong: u64,
    /// Whether the whole tensor was looked at.
    pub whole: bool,
}

impl Tested {
    /// Whether every byte of the subject is reproduced.
    pub fn exact(&self) -> bool {
        self.explained == self.differing && self.newly_wrong == 0
    }

    /// Share of the differing bytes explained, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.differing == 0 { 0.0 } else { self.explained as f64 / self.differing as f64 }
    }

    fn score(&self) -> i64 {
        self.explained as i64 - self.newly_wrong as i64
    }
}

/// The answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Explained {
    /// The first of the tested reproduces every byte.
    Exactly,
    /// The first of the tested explains some bytes and breaks fewer.
    Partly,
    /// None of the known causes.
    NotAtAll,
}

/// Everything found about one segment.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The answer.
    pub explained: Explained,
    /// Causes that explain something, best first.
    pub tested: Vec<Tested>,
    /// How many candidates were tried: variants times steps, and pairs.
    pub tried: usize,
    /// The comparison of each observed tensor.
    pub comparisons: Vec<Comparison>,
}

/// A candidate: variants with the steps they are switched on at, and the plan that results.
#[derive(Clone)]
struct Candidate {
    parts: Vec<(&'static Variant, usize)>,
    plan: Plan,
}

impl Candidate {
    fn single(plan: &Plan, steps: &Range<usize>, variant: &'static Variant, step: usize) -> Option<Self> {
        let mut changed = plan.clone();
        if !variant.apply(&mut changed, step) || changed.steps[steps.clone()] == plan.steps[steps.clone()] {
            return None;
        }
        Some(Self { parts: vec![(variant, step)], plan: changed })
    }

    /// Both causes at once, if the order in which they are switched on does not matter.
    fn pair(a: &Self, b: &Self, steps: &Range<usize>) -> Option<Self> {
        let join = |first: &Self, second: &Self| {
            let mut plan = first.plan.clone();
            second.parts.iter().all(|&(variant, step)| variant.apply(&mut plan, step)).then_some(plan)
        };
        let (plan, other) = (join(a, b)?, join(b, a)?);
        let same = |x: &Plan, y: &Plan| x.steps[steps.clone()] == y.steps[steps.clone()];
        let useful = same(&plan, &other) && !same(&plan, &a.plan) && !same(&plan, &b.plan);
        useful.then(|| Self { parts: [a.parts.clone(), b.parts.clone()].concat(), plan })
    }

    fn profile(&self, plan: &Plan) -> String {
        let part = |&(variant, step): &(&Variant, usize)| {
            let step = &plan.steps[step];
            format!("{}@{}/{}", variant.id, step.block, step.kernel)
        };
        self.parts.iter().map(part).collect::<Vec<_>>().join("+")
    }
}

/// Explains a segment. `hints` are variants confirmed before: they are tried first, and end the search if exact.
///
/// # Errors
/// When the control cancels, or an input is missing.
pub fn explain(
    segment: &Segment<'_>,
    hints: &[&'static Variant],
    control: &Control,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Explanation, EngineError> {
    let comparisons: Vec<Comparison> = segment.observed.iter().map(|(s, r)| compare::compare(s, r)).collect();
    let mut explanation = Explanation { explained: Explained::NotAtAll, tested: Vec::new(), tried: 0, comparisons };
    let comparable = |c: &Comparison| !matches!(c.verdict, Verdict::NotCompared(_));
    if !explanation.comparisons.iter().all(comparable) {
        return Ok(explanation);
    }
    let search = Search::new(segment, control);
    let hinted = search.singles(hints.iter().copied());
    if !hinted.is_empty() {
        explanation.tried += hinted.len();
        let exact: Vec<Tested> = search.rank(hinted)?.into_iter().map(|(_, t)| t).filter(Tested::exact).collect();
        if !exact.is_empty() {
            return Ok(Explanation { explained: Explained::Exactly, tested: exact, ..explanation });
        }
    }
    let singles = search.singles(variants().map(|(_, variant)| variant));
    explanation.tried += singles.len();
    progress(0, singles.len());
    let scored = search.first(singles)?;
    progress(scored.len(), scored.len());
    let ranked = search.refine(scored.clone())?;
    explanation.tested = ranked.iter().map(|(_, tested)| tested.clone()).collect();
    if !explanation.tested.first().is_some_and(Tested::exact) {
        let pairs = search.pairs(&scored);
        explanation.tried += pairs.len();
        let best = explanation.tested.first().map_or(0, Tested::score);
        let pairs = search.first(pairs)?;
        let better = search.refine(pairs)?.into_iter().map(|(_, t)| t).filter(|t| t.exact() || t.score() > best);
        let better: Vec<Tested> = better.take(SURVIVORS[1]).collect();
        explanation.tested.splice(0..0, better);
    }
    explanation.explained = match explanation.tested.first() {
        Some(best) if best.exact() => Explained::Exactly,
        Some(best) if best.score() > 0 => Explained::Partly,
        _ => Explained::NotAtAll,
    };
    Ok(explanation)
}

type Scored = Vec<(Candidate, Tested)>;

struct Search<'a> {
    segment: &'a Segment<'a>,
    control: &'a Control,
    /// Sampled rows of each budget; the same rows of every observed tensor.
    samples: [Vec<usize>; 3],
}

impl<'a> Search<'a> {
    fn new(segment: &'a Segment<'a>, control: &'a Control) -> Self {
        let products: u64 = segment.plan.steps[segment.steps.clone()].iter().map(|s| s.op.products(segment.plan)).sum();
        let tokens = segment.observed.first().map_or(1, |(s, _)| s.shape.tokens());
        let per_row = (products / tokens as u64).max(2_000);
        let (differing, equal): (Vec<usize>, Vec<usize>) = (0..tokens)
            .partition(|&row| segment.observed.iter().any(|(s, r)| row < s.shape.tokens() && s.row(row) != r.row(row)));
        let samples = BUDGETS.map(|budget| {
            let rows = (budget / per_row).clamp(6, tokens as u64) as usize;
            if rows >= tokens {
                return (0..tokens).collect();
            }
            let mut sample: BTreeSet<usize> = spread(&differing, rows * 2 / 3).collect();
            sample.extend(spread(&equal, rows - sample.len().min(rows)));
            sample.into_iter().collect()
        });
        Self { segment, control, samples }
    }

    fn singles(&self, variants: impl Iterator<Item = &'static Variant>) -> Vec<Candidate> {
        let steps = &self.segment.steps;
        variants
            .flat_map(|v| steps.clone().filter_map(move |i| Candidate::single(self.segment.plan, steps, v, i)))
            .collect()
    }

    /// Pairs of the promising with all.
    fn pairs(&self, scored: &Scored) -> Vec<Candidate> {
        let promising = scored.iter().take(PAIRED);
        promising
            .enumerate()
            .flat_map(|(i, (a, _))| scored.iter().skip(i + 1).map(move |(b, _)| (a, b)))
            .filter_map(|(a, b)| Candidate::pair(a, b, &self.segment.steps))
            .collect()
    }

    /// All candidates on the first sample, best first.
    fn first(&self, candidates: Vec<Candidate>) -> Result<Scored, EngineError> {
        let scored = candidates.into_par_iter().filter_map(|candidate| match self.test(&candidate, 0) {
            Ok(Some(tested)) => Some(Ok((candidate, tested))),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        });
        Ok(sorted(scored.collect::<Result<Scored, _>>()?))
    }

    /// The best on the second sample, the best of these on the whole tensor.
    fn refine(&self, scored: Scored) -> Result<Scored, EngineError> {
        let useful = scored.into_iter().filter(|(_, tested)| tested.explained > 0);
        let mut kept: Scored = useful.take(SURVIVORS[0]).collect();
        for level in [1, 2] {
            // Where something is exact, only that deserves the whole tensor.
            let exact = kept.iter().filter(|(_, tested)| tested.exact()).count();
            let few = if exact > 0 { exact.min(SURVIVORS[1]) } else { SURVIVORS[1].min(kept.len()) };
            let (best, rest) = if level == 1 { (kept.len(), 0) } else { (few, kept.len()) };
            let rest: Scored = if rest > best { kept.split_off(best) } else { Vec::new() };
            let again = kept.into_iter().map(|(candidate, before)| {
                // A better look that is not possible keeps the first one.
                let tested = self.test(&candidate, level)?.unwrap_or(before);
                Ok((candidate, tested))
            });
            kept = sorted(again.collect::<Result<_, EngineError>>()?);
            kept.extend(rest);
        }
        Ok(kept)
    }

    fn rank(&self, candidates: Vec<Candidate>) -> Result<Scored, EngineError> {
        self.refine(self.first(candidates)?)
    }

    /// One candidate on one sample; `None` where it cannot run (a source that is not known).
    fn test(&self, candidate: &Candidate, level: usize) -> Result<Option<Tested>, EngineError> {
        let rows = &self.samples[level];
        let Some(got) = self.run(candidate, rows)? else { return Ok(None) };
        let mut tested = Tested {
            causes: candidate.parts.iter().map(|(variant, _)| variant.id).collect(),
            profile: candidate.profile(self.segment.plan),
            differing: 0,
            explained: 0,
            newly_wrong: 0,
            whole: self.segment.observed.iter().all(|(s, _)| s.shape.tokens() == rows.len()),
        };
        for (subject, exact) in &self.segment.observed {
            let Some(bytes) = got.get(&exact.name) else { continue };
            let stride = exact.row(0).len();
            for (got, &row) in bytes.chunks_exact(stride).zip(rows) {
                for ((g, s), r) in got.iter().zip(subject.row(row)).zip(exact.row(row)) {
                    tested.differing += u64::from(s != r);
                    tested.explained += u64::from(s != r && g == s);
                    tested.newly_wrong += u64::from(s == r && g != s);
                }
            }
        }
        Ok(Some(tested))
    }

    /// The candidate's bytes at rows of the observed tensors, demand-driven through the segment.
    fn run(&self, candidate: &Candidate, rows: &[usize]) -> Result<Option<BTreeMap<TensorName, Vec<u8>>>, EngineError> {
        let plan = &candidate.plan;
        let steps = &plan.steps[self.segment.steps.clone()];
        let written: BTreeSet<&TensorName> = steps.iter().flat_map(|s| s.op.outputs()).collect();
        let mut needed: BTreeMap<TensorName, BTreeSet<usize>> = BTreeMap::new();
        for (_, exact) in &self.segment.observed {
            needed.entry(exact.name.clone()).or_default().extend(rows);
        }
        let mut demands = Vec::new();
        for step in steps.iter().rev() {
            let outputs = step.op.outputs();
            let rows: BTreeSet<usize> =
                outputs.iter().filter_map(|&name| needed.get(name)).flatten().copied().collect();
            let rows: Vec<usize> = rows.into_iter().collect();
            for (name, rows) in reference::rows_needed(step, plan, &rows) {
                if written.contains(&name) {
                    needed.entry(name).or_default().extend(rows);
                } else if !self.segment.known.contains_key(&name) {
                    return Ok(None);
                }
            }
            demands.push(rows);
        }
        let mut inside: BTreeMap<TensorName, Tensor> = BTreeMap::new();
        let mut results = BTreeMap::new();
        let observed: BTreeSet<&TensorName> = self.segment.observed.iter().map(|(_, r)| &r.name).collect();
        for (step, demand) in steps.iter().zip(demands.into_iter().rev()).filter(|(_, demand)| !demand.is_empty()) {
            if self.control.is_cancelled() {
                return Err(EngineError::Cancelled);
            }
            // Clones share their bytes: only the names are copied.
            let names = step.op.inputs().into_iter();
            let tensors: BTreeMap<TensorName, Tensor> = names
                .filter_map(|n| inside.get(n).or_else(|| self.segment.known.get(n)).map(|t| (n.clone(), t.clone())))
                .collect();
            let sources = reference::Sources { plan, model: self.segment.model, tensors: &tensors };
            for (name, bytes) in reference::run_rows(step, sources, &demand, self.control)? {
                if observed.contains(&name) && demand == rows {
                    results.insert(name.clone(), bytes.clone());
                }
                if steps.len() > 1 {
                    inside.insert(name.clone(), sparse(name, plan, &demand, &bytes));
                }
            }
        }
        for name in observed {
            if !results.contains_key(name) {
                let Some(tensor) = inside.get(name) else { return Ok(None) };
                results.insert(name.clone(), rows.iter().flat_map(|&row| tensor.row(row)).copied().collect());
            }
        }
        Ok(Some(results))
    }
}

/// A tensor of which only some rows are known; the others are zero and never read.
fn sparse(name: TensorName, plan: &Plan, rows: &[usize], bytes: &[u8]) -> Tensor {
    let shape = plan.shape(&name);
    let stride = shape.channels * shape.element.bytes();
    let bytes = Bytes::build(shape.bytes(), |out| {
        for (bytes, &row) in bytes.chunks_exact(stride).zip(rows) {
            out[row * stride..][..stride].copy_from_slice(bytes);
        }
    });
    Tensor::new(name, shape, bytes).expect("built to its shape")
}

/// Exact ones first, then by what they explain beyond what they break; equals keep the catalogue's order.
fn sorted(mut scored: Scored) -> Scored {
    scored.sort_by_key(|(_, tested)| (!tested.exact(), std::cmp::Reverse(tested.score())));
    scored
}

/// About `n` elements of a list, evenly spread, the first and the last among them.
fn spread(list: &[usize], n: usize) -> impl Iterator<Item = usize> + '_ {
    let n = n.min(list.len());
    (0..n).map(move |i| if n == 1 { list[0] } else { list[i * (list.len() - 1) / (n - 1)] })
}
