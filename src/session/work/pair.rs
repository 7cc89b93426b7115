//! The verdicts of one pair of sides.

use super::lock;
use crate::compare::{self, Comparison};
use crate::session::{Judgement, Verdict};
use crate::tensor::{Tensor, TensorName};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

/// Verdicts of a pair; kept when another pair is chosen.
#[derive(Debug)]
pub(crate) struct Pair {
    store: Mutex<Verdicts>,
}

/// What a [`Pair`] guards.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    /// Each side on its own result, by step.
    pub(crate) accumulated: Vec<Judgement>,
    /// The subject on the reference's inputs.
    pub(crate) isolated: Vec<Judgement>,
    /// Outputs of isolated runs that differ from the accumulated ones.
    pub(crate) tensors: BTreeMap<TensorName, Tensor>,
    /// Tensors that are the same on both sides.
    pub(crate) exact: BTreeMap<TensorName, bool>,
    /// Steps below this are judged.
    pub(crate) judged: usize,
    /// Of these, the ones to be judged once more: a watched subject's tensor came, or came again.
    pub(crate) again: BTreeSet<usize>,
}

impl Pair {
    /// A pair about which nothing is known yet.
    pub(crate) fn new(steps: usize) -> Self {
        let empty = || vec![Judgement::default(); steps];
        let verdicts = Verdicts { accumulated: empty(), isolated: empty(), ..Verdicts::default() };
        Self { store: Mutex::new(verdicts) }
    }

    /// The verdicts, for a moment.
    pub(crate) fn store(&self) -> MutexGuard<'_, Verdicts> {
        lock(&self.store)
    }
}

/// One verdict about several outputs of a step.
pub(crate) fn judge(pairs: &[(Tensor, Tensor)]) -> Judgement {
    let all: Vec<Comparison> = pairs.iter().map(|(s, r)| compare::compare(s, r)).collect();
    let worst = all.iter().map(|c| verdict(&c.verdict)).max_by_key(|v| severity(*v));
    let first = all.iter().find_map(|c| c.first);
    Judgement {
        verdict: worst.unwrap_or_default(),
        reason: all
            .iter()
            .find_map(|c| match &c.verdict {
                compare::Verdict::NotCompared(reason) => Some(reason.clone()),
                compare::Verdict::BitExact | compare::Verdict::SignOfZero | compare::Verdict::Differs => None,
            })
            .unwrap_or_default(),
        differing: all.iter().map(|c| c.counts.differing()).sum(),
        total: all.iter().map(|c| c.counts.total()).sum(),
        first: first.map(|d| (d.token, d.channel)),
        max_distance: first.map_or(0, |d| d.distance.unsigned_abs().min(u64::from(u32::MAX)) as u32),
    }
}

/// A verdict of `compare` without its reason.
pub(crate) fn verdict(verdict: &compare::Verdict) -> Verdict {
    match verdict {
        compare::Verdict::BitExact => Verdict::Exact,
        compare::Verdict::SignOfZero => Verdict::ZeroSign,
        compare::Verdict::Differs => Verdict::Differs,
        compare::Verdict::NotCompared(_) => Verdict::NotCompared,
    }
}

fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::NotCompared => 0,
        Verdict::Exact => 1,
        Verdict::ZeroSign => 2,
        Verdict::Differs => 3,
    }
}

/// A verdict that was not reached.
pub(crate) fn not_compared(reason: impl Into<String>) -> Judgement {
    Judgement { reason: reason.into(), ..Judgement::default() }
}
