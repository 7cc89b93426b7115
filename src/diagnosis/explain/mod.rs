//! One divergent segment against all causes: which of them, switched on, reproduces the subject's bytes.
//!
//! A *segment* is what lies between known inputs and an observed output: one kernel where both sides can be
//! stepped, the kernels between two boundaries for a recording. Every variant is tried at every step of it where it
//! has a place: first on a sample of rows that differ and rows that are equal, the survivors on a larger one, the
//! best on the whole tensor. When no single cause is enough, pairs of the promising ones are tried.

mod candidate;
mod sample;
mod trial;

use super::{Variant, variants};
use crate::compare::{self, Comparison, Verdict};
use crate::engine::{Control, EngineError};
use crate::model::Model;
use crate::plan::Plan;
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;
use std::ops::Range;
use trial::Search;

/// Pairs shown at most.
const SHOWN: usize = 4;

/// A share of the differing bytes below which a cause that explains something explains nothing in words.
const WEAK: f64 = 0.1;
/// Ties named at most.
const TIES: usize = 3;

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
    /// Exact tensors of the segment's own steps, as far as they were kept: what a changed step need not compute.
    pub between: &'a BTreeMap<TensorName, Tensor>,
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

    /// The names of the causes, with their ids.
    pub fn named(&self) -> String {
        format!("{} [{}]", self.names(), self.causes.join(" + "))
    }

    /// The names of the causes.
    pub fn names(&self) -> String {
        let names = self.causes.iter().map(|id| super::find(id).map_or(*id, |(_, variant)| variant.name));
        names.collect::<Vec<_>>().join(", and ")
    }

    /// Bytes explained beyond those broken.
    fn score(&self) -> i64 {
        self.explained as i64 - self.newly_wrong as i64
    }

    /// The score as a share of what differs, which samples of different sizes have in common.
    fn gain(&self) -> f64 {
        self.score() as f64 / self.differing.max(1) as f64
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

/// What was found about a divergence, in words: the best cause and what it explains, and who else gives the same
/// bytes. Without a full stop.
pub fn verdict(explained: Explained, tested: &[Tested], tried: usize) -> String {
    match (tested.first(), explained) {
        (Some(best), Explained::Exactly) => {
            let whole = if best.whole { "" } else { " of a sample" };
            let told = format!("{}; 100 % of the differences{whole} explained, 0 new", best.named());
            let ties: Vec<String> = ties(tested).map(|tie| tie.causes.join(" + ")).collect();
            match ties.len() {
                0 => told,
                1..=TIES => format!("{told}; a tie, the same bytes come from {}", ties.join(", ")),
                n => {
                    format!("{told}; a tie, the same bytes come from {} and {} more", ties[..TIES].join(", "), n - TIES)
                }
            }
        }
        (Some(best), Explained::Partly) if best.share() < WEAK => format!(
            "none of the known causes ({tried} tried); the nearest, {}, explains {} and breaks {} bytes",
            best.causes.join(" + "),
            compare::percent(best.share()),
            best.newly_wrong
        ),
        (Some(best), Explained::Partly) => format!(
            "not fully explained; closest: {}, {} explained, {} bytes newly wrong",
            best.named(),
            compare::percent(best.share()),
            best.newly_wrong
        ),
        _ => format!("none of the known causes ({tried} tried)"),
    }
}

/// Behind an exact best one: others that give every byte of the whole tensor too, so that nobody can tell which it was.
pub fn ties(tested: &[Tested]) -> impl Iterator<Item = &Tested> {
    let sure = |tested: &Tested| tested.exact() && tested.whole;
    let any = tested.first().is_some_and(sure);
    tested.iter().skip(1).filter(move |tested| any && sure(tested))
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

impl Explanation {
    /// The comparison alone: where testing causes makes no sense.
    pub fn untested(segment: &Segment<'_>) -> Self {
        let comparisons = segment.observed.iter().map(|(s, r)| compare::compare(s, r)).collect();
        Self { explained: Explained::NotAtAll, tested: Vec::new(), tried: 0, comparisons }
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
    let mut explanation = Explanation::untested(segment);
    let comparable = |c: &Comparison| !matches!(c.verdict, Verdict::NotCompared(_));
    if !explanation.comparisons.iter().all(comparable) {
        return Ok(explanation);
    }
    let search = Search::new(segment, control, progress)?;
    let hinted = search.singles(hints.iter().copied());
    if !hinted.is_empty() {
        explanation.tried += hinted.len();
        let exact: Vec<Tested> = search.rank(hinted)?.1.into_iter().map(|(_, t)| t).filter(Tested::exact).collect();
        if !exact.is_empty() {
            return Ok(Explanation { explained: Explained::Exactly, tested: exact, ..explanation });
        }
    }
    let singles = search.singles(variants().map(|(_, variant)| variant));
    explanation.tried += singles.len();
    let (scored, ranked) = search.rank(singles)?;
    explanation.tested = ranked.iter().map(|(_, tested)| tested.clone()).collect();
    if !explanation.tested.first().is_some_and(Tested::exact) {
        let (pairs, tried) = search.pairs(&scored, &ranked)?;
        explanation.tried += tried;
        let best = explanation.tested.first().map_or(0.0, Tested::gain);
        let better = pairs.into_iter().map(|(_, tested)| tested).filter(|t| t.exact() || t.gain() > best);
        let better: Vec<Tested> = better.take(SHOWN).collect();
        explanation.tested.splice(0..0, better);
    }
    explanation.explained = match explanation.tested.first() {
        Some(best) if best.exact() => Explained::Exactly,
        Some(best) if best.score() > 0 => Explained::Partly,
        _ => Explained::NotAtAll,
    };
    Ok(explanation)
}
