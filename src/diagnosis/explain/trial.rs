//! Trying candidates: level by level, on ever more rows, fewer candidates each time.

use super::candidate::Candidate;
use super::sample::{BUDGETS, Samples, WHOLE, spread};
use super::{Segment, Tested};
use crate::diagnosis::Variant;
use crate::engine::cpu::Cpu;
use crate::engine::{Control, EngineError, cpu, reference};
use crate::plan::{Plan, Step};
use crate::tensor::{Bytes, Tensor, TensorName};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Candidates that reach each sample after the first.
const SURVIVORS: [usize; 2] = [32, 8];
/// Candidates that are tried on the whole tensor when none is exact.
const CLOSEST: usize = 2;
/// Products that all pairs together may cost on the first sample, and pairs at most.
const PAIRS: (u64, usize) = (6_000_000_000, 1500);
/// Closest candidates that are paired with all others, and rows looked at where they fail.
const LEADERS: usize = 3;
const RESIDUAL: usize = 8;
/// Products that looking for others with the same bytes may cost, once one reproduces the whole tensor.
const TIES: u64 = 600_000_000;
/// An exact step runs whole on the fast kernels when more than one row in so many is asked of it.
const FASTER: usize = 100;

/// Candidates with what they did, best first.
pub(super) type Scored = Vec<(Candidate, Tested)>;

/// What all trials of a segment share.
pub(super) struct Search<'a> {
    segment: &'a Segment<'a>,
    control: &'a Control,
    progress: &'a (dyn Fn(usize, usize) + Sync),
    samples: Samples,
    /// Runs the exact steps behind a changed one.
    fast: Cpu,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        segment: &'a Segment<'a>,
        control: &'a Control,
        progress: &'a (dyn Fn(usize, usize) + Sync),
    ) -> Result<Self, EngineError> {
        let fast = Cpu::new(cpu::Level::best())?;
        Ok(Self { segment, control, progress, samples: Samples::new(segment), fast })
    }

    /// One variant at one step, wherever it has a place.
    pub(super) fn singles(&self, variants: impl Iterator<Item = &'static Variant>) -> Vec<Candidate> {
        let steps = &self.segment.steps;
        variants
            .flat_map(|v| steps.clone().filter_map(move |i| Candidate::single(self.segment.plan, steps, v, i)))
            .collect()
    }

    /// Pairs, when no single candidate is enough: first the closest with all others on the rows where they fail, then
    /// any two that explain something.
    pub(super) fn pairs(&self, scored: &Scored, ranked: &Scored) -> Result<(Scored, usize), EngineError> {
        let mut tried = 0;
        for (closest, _) in ranked.iter().take(LEADERS) {
            let rest = self.failing(closest, &self.samples.rows(BUDGETS[2]))?;
            let pairs: Vec<Candidate> =
                scored.iter().filter_map(|(other, _)| Candidate::pair(closest, other, &self.segment.steps)).collect();
            tried += pairs.len();
            let found = self.refine(self.first(pairs, &rest)?, &rest)?;
            if found.first().is_some_and(|(_, tested)| tested.exact()) {
                return Ok((found, tried));
            }
        }
        let acts = |tested: &Tested| tested.explained + tested.newly_wrong > 0;
        let active: Vec<&Candidate> = scored.iter().filter(|(_, t)| acts(t)).map(|(c, _)| c).collect();
        let promising = scored.iter().filter(|(_, tested)| tested.explained > 0).count();
        let mut places: Vec<(usize, usize)> =
            (0..promising.min(active.len())).flat_map(|a| (a + 1..active.len()).map(move |b| (a, b))).collect();
        places.sort_by_key(|&(a, b)| (a + b, a));
        let rows = self.samples.rows(BUDGETS[0]);
        let cost = rows.len() as u64 * self.samples.per_row;
        let most = (PAIRS.0 / cost.max(1)).min(PAIRS.1 as u64) as usize;
        let pairs = places.into_iter().filter_map(|(a, b)| Candidate::pair(active[a], active[b], &self.segment.steps));
        let pairs: Vec<Candidate> = pairs.take(most).collect();
        tried += pairs.len();
        Ok((self.refine(self.first(pairs, &rows)?, &[])?, tried))
    }

    /// A few rows that a candidate does not reproduce.
    fn failing(&self, candidate: &Candidate, rows: &[usize]) -> Result<Vec<usize>, EngineError> {
        let Some(got) = self.run(candidate, rows)? else { return Ok(Vec::new()) };
        let wrong = |i: usize, row: usize| {
            self.segment.observed.iter().any(|(subject, _)| {
                let stride = subject.row(0).len();
                got.get(&subject.name).is_some_and(|bytes| bytes[i * stride..][..stride] != *subject.row(row))
            })
        };
        let all: Vec<usize> = rows.iter().enumerate().filter(|&(i, &row)| wrong(i, row)).map(|(_, &row)| row).collect();
        Ok(spread(&all, RESIDUAL).collect())
    }

    /// All candidates on a small sample.
    pub(super) fn first(&self, candidates: Vec<Candidate>, rows: &[usize]) -> Result<Scored, EngineError> {
        let (done, all) = (AtomicUsize::new(0), candidates.len());
        (self.progress)(0, all);
        let scored = candidates.into_par_iter().filter_map(|candidate| {
            let tested = self.test(&candidate, rows);
            (self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, all);
            tested.map(|tested| tested.map(|tested| (candidate, tested))).transpose()
        });
        Ok(sorted(scored.collect::<Result<Scored, _>>()?))
    }

    /// The useful ones on larger samples, `more` rows always among them; the best of these on the whole tensor.
    fn refine(&self, scored: Scored, more: &[usize]) -> Result<Scored, EngineError> {
        let mut kept: Scored = scored.into_iter().filter(|(_, tested)| tested.explained > 0).collect();
        for (budget, survivors) in BUDGETS[1..].iter().zip(SURVIVORS) {
            kept.truncate(survivors);
            let rows: BTreeSet<usize> = self.samples.rows(*budget).into_iter().chain(more.iter().copied()).collect();
            let rows: Vec<usize> = rows.into_iter().collect();
            let again = kept.into_par_iter().map(|(candidate, before)| {
                // A better look that is not possible keeps the first one.
                let tested = self.test(&candidate, &rows)?.unwrap_or(before);
                Ok((candidate, tested))
            });
            kept = sorted(again.collect::<Result<_, EngineError>>()?);
        }
        self.confirm(kept)
    }

    /// The whole tensor: for the exact ones until one stays exact, and for its ties while that is cheap; else for the
    /// closest.
    fn confirm(&self, mut kept: Scored) -> Result<Scored, EngineError> {
        let any = kept.first().is_some_and(|(_, tested)| tested.exact());
        let rows = self.samples.rows(WHOLE[usize::from(!any)]);
        let cost = rows.len() as u64 * self.samples.per_row;
        let (mut settled, mut spent) = (false, 0);
        for (i, (candidate, tested)) in kept.iter_mut().enumerate() {
            let wanted = if any { tested.exact() } else { i < CLOSEST };
            if !wanted || tested.whole {
                settled |= wanted && tested.exact();
                continue;
            }
            if settled {
                spent += cost;
                if spent > TIES {
                    break;
                }
            }
            if let Some(again) = self.test(candidate, &rows)? {
                *tested = again;
            }
            settled |= tested.exact();
        }
        Ok(sorted(kept))
    }

    /// Candidates on the first sample, and ranked on all others.
    pub(super) fn rank(&self, candidates: Vec<Candidate>) -> Result<(Scored, Scored), EngineError> {
        let scored = self.first(candidates, &self.samples.rows(BUDGETS[0]))?;
        let ranked = self.refine(scored.clone(), &[])?;
        Ok((scored, ranked))
    }

    /// One candidate on some rows; `None` where it cannot run (a source that is not known).
    fn test(&self, candidate: &Candidate, rows: &[usize]) -> Result<Option<Tested>, EngineError> {
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

    /// The candidate's bytes at rows of the observed tensors, demand-driven from the first changed step on.
    fn run(&self, candidate: &Candidate, rows: &[usize]) -> Result<Option<BTreeMap<TensorName, Vec<u8>>>, EngineError> {
        let (plan, own) = (&candidate.plan, &self.segment.steps);
        let kept = |step: &Step| step.op.outputs().into_iter().all(|name| self.segment.between.contains_key(name));
        let exact = own.clone().take_while(|&i| i < candidate.first && kept(&plan.steps[i])).count();
        let steps = &plan.steps[own.start + exact..own.end];
        let Some(demands) = self.demands(candidate, steps, rows) else { return Ok(None) };
        let written: BTreeSet<&TensorName> = steps.iter().flat_map(|s| s.op.outputs()).collect();
        let mut inside: BTreeMap<TensorName, Tensor> = BTreeMap::new();
        let mut results = BTreeMap::new();
        let observed: BTreeSet<&TensorName> = self.segment.observed.iter().map(|(_, r)| &r.name).collect();
        for (step, demand) in steps.iter().zip(demands).filter(|(_, demand)| !demand.is_empty()) {
            if self.control.is_cancelled() {
                return Err(EngineError::Cancelled);
            }
            // Clones share their bytes: only the names are copied.
            let find = |name: &TensorName| match written.contains(name) {
                true => inside.get(name),
                false => self.segment.between.get(name).or_else(|| self.segment.known.get(name)),
            };
            let names = step.op.inputs().into_iter();
            let tensors: BTreeMap<TensorName, Tensor> =
                names.filter_map(|name| find(name).map(|tensor| (name.clone(), tensor.clone()))).collect();
            let sources = reference::Sources { plan, model: self.segment.model, tensors: &tensors };
            let unchanged = *step == self.segment.plan.steps[step.index];
            if unchanged && demand.len() * FASTER > plan.shape(step.name()).tokens() {
                let outputs = step.op.outputs().into_iter().zip(self.fast.outputs(step, sources, self.control)?);
                inside.extend(outputs.map(|(name, bytes)| {
                    let tensor = Tensor::new(name.clone(), plan.shape(name), bytes).expect("kernels fill their shape");
                    (name.clone(), tensor)
                }));
                continue;
            }
            for (name, bytes) in reference::run_rows(step, sources, &demand, self.control)? {
                if observed.contains(&name) && demand == rows {
                    results.insert(name.clone(), bytes.clone());
                }
                if steps.len() > 1 {
                    let tensor = patched(name, plan, self.segment.between, &demand, &bytes);
                    inside.insert(tensor.name.clone(), tensor);
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

    /// The rows that each step must compute for some rows of the observed tensors; `None` where a source is unknown.
    fn demands(&self, candidate: &Candidate, steps: &[Step], rows: &[usize]) -> Option<Vec<Vec<usize>>> {
        let plan = &candidate.plan;
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
                let known = self.segment.known.contains_key(&name) || self.segment.between.contains_key(&name);
                if written.contains(&name) {
                    needed.entry(name).or_default().extend(rows);
                } else if !known && !rows.is_empty() {
                    return None;
                }
            }
            demands.push(rows);
        }
        demands.reverse();
        Some(demands)
    }
}

/// A tensor with some rows of its own; the others are the exact ones where these are known, else zero, and nothing
/// that is looked at depends on them.
fn patched(
    name: TensorName,
    plan: &Plan,
    exact: &BTreeMap<TensorName, Tensor>,
    rows: &[usize],
    bytes: &[u8],
) -> Tensor {
    let shape = plan.shape(&name);
    let stride = shape.channels * shape.element.bytes();
    let bytes = Bytes::build(shape.bytes(), |out| {
        if let Some(exact) = exact.get(&name).filter(|exact| exact.shape == shape) {
            out.copy_from_slice(exact.bytes());
        }
        for (bytes, &row) in bytes.chunks_exact(stride).zip(rows) {
            out[row * stride..][..stride].copy_from_slice(bytes);
        }
    });
    Tensor::new(name, shape, bytes).expect("built to its shape")
}

/// Exact ones first, then by what they explain beyond what they break; equals keep the catalogue's order. What was
/// looked at on fewer rows is compared by its share.
fn sorted(mut scored: Scored) -> Scored {
    scored.sort_by(|(_, a), (_, b)| {
        let key = |tested: &Tested| (!tested.exact(), Reverse(tested.whole && tested.exact()));
        key(a).cmp(&key(b)).then(b.gain().total_cmp(&a.gain()))
    });
    scored
}
