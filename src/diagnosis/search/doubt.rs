//! What is doubted before any cause is tested: the inputs lane by lane, the exact engine, the subject's stability,
//! the layout. In about one case of ten the reference, the dump or the comparison is the wrong side.

use crate::frame::LANES;
use crate::tensor::Tensor;

/// Tensors named in a doubt at most.
const NAMED: usize = 3;

/// Something that was doubted first.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Doubt {
    /// What: `reference`, `inputs`, `stability`, `layout`, `files`, `inherited`, `observer`, `shape`.
    pub what: &'static str,
    /// Whether it holds; `None` where it cannot be checked.
    pub holds: Option<bool>,
    /// In a sentence.
    pub text: String,
    /// The catalogue's id of what was found, where it has one.
    pub evidence: Option<&'static str>,
}

impl Doubt {
    pub(super) fn holds(what: &'static str, text: impl Into<String>) -> Self {
        Self { what, holds: Some(true), text: text.into(), evidence: None }
    }

    pub(super) fn fails(what: &'static str, evidence: Option<&'static str>, text: impl Into<String>) -> Self {
        Self { what, holds: Some(false), text: text.into(), evidence }
    }

    pub(super) fn unknown(what: &'static str, text: impl Into<String>) -> Self {
        Self { what, holds: None, text: text.into(), evidence: None }
    }
}

/// Things looked at, and the first that failed.
#[derive(Clone, Debug, Default)]
pub(super) struct Checked {
    looked: usize,
    failed: usize,
    names: Vec<String>,
}

impl Checked {
    pub(super) fn look(&mut self, name: &str, holds: bool) {
        self.looked += 1;
        if !holds {
            self.failed += 1;
            if self.names.len() < NAMED && self.names.last().is_none_or(|last| last != name) {
                self.names.push(name.to_owned());
            }
        }
    }

    fn named(&self) -> String {
        let names = self.names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        if self.failed > self.names.len() { format!("{names} and others") } else { names }
    }

    /// Nothing where nothing was looked at, else what holds or what fails.
    fn doubt(
        &self,
        what: &'static str,
        evidence: Option<&'static str>,
        holds: impl FnOnce() -> String,
        fails: impl FnOnce() -> String,
    ) -> Option<Doubt> {
        match (self.looked, self.failed) {
            (0, _) => None,
            (_, 0) => Some(Doubt::holds(what, holds())),
            _ => Some(Doubt::fails(what, evidence, fails())),
        }
    }

    /// Rows of the exact engine against the scalar reference.
    pub(super) fn rows(&self) -> Option<Doubt> {
        let (rows, wrong) = (self.looked, self.failed);
        let text = format!("{rows} sampled rows of the exact engine were computed again by the scalar reference");
        self.doubt(
            "reference",
            None,
            || format!("{text}, 0 differ"),
            || format!("{text}, {wrong} differ, at {}: the exact engine itself is wrong there", self.named()),
        )
    }

    /// Divergent steps of the subject, repeated on the same inputs.
    pub(super) fn stability(&self) -> Option<Doubt> {
        let (steps, moved) = (self.looked, self.failed);
        self.doubt(
            "stability",
            Some("nondeterminism"),
            || format!("repeating gave the same bytes each time, at {}", counted(steps, "divergent step")),
            || {
                let steps = counted(steps, "divergent step");
                format!("repeating gives other bytes at {moved} of {steps}: {}", self.named())
            },
        )
    }

    /// Divergent tensors that are the exact one in another layout or element type.
    pub(super) fn layout(&self) -> Option<Doubt> {
        let tensors = self.looked;
        self.doubt(
            "layout",
            None,
            || {
                let tensors = counted(tensors, "divergent tensor");
                format!("of {tensors}, none is the exact one in another order or element type")
            },
            || format!("the values are right but lie in another order or element type: {}", self.named()),
        )
    }
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Two inputs, lane by lane: whose are they, and how do they differ.
pub(super) fn lanes(found: &Tensor, given: &Tensor, whose: &str) -> Doubt {
    if found.shape != given.shape {
        let text = format!("{whose} input features are {}, expected {}", found.shape, given.shape);
        return Doubt::fails("inputs", None, text);
    }
    let tokens = given.shape.tokens();
    let column = |tensor: &Tensor, lane: usize| (0..tokens).map(|t| tensor.bits(t, lane)).collect::<Vec<u32>>();
    let (ours, theirs): (Vec<_>, Vec<_>) = (0..LANES).map(|lane| (column(given, lane), column(found, lane))).unzip();
    let differing: Vec<usize> = (0..LANES).filter(|&lane| ours[lane] != theirs[lane]).collect();
    if differing.is_empty() {
        return Doubt::holds("inputs", format!("all 16 lanes of {whose} input features are the given ones"));
    }
    let zero = |lane: usize| theirs[lane].iter().all(|bits| bits << 1 == 0);
    let tell = |&lane: &usize| {
        let other = (0..LANES).find(|&k| k != lane && ours[k] == theirs[lane] && theirs[lane] != ours[lane]);
        let count = ours[lane].iter().zip(&theirs[lane]).filter(|(a, b)| a != b).count();
        match other {
            _ if zero(lane) => format!("lane {lane} is zero"),
            Some(k) => format!("lane {lane} holds what lane {k} should"),
            None => format!("lane {lane} differs in {count} of {tokens} pixels"),
        }
    };
    let all = |lanes: std::ops::RangeInclusive<usize>| differing.iter().all(|lane| lanes.contains(lane));
    let evidence = match () {
        () if all(0..=2) && differing.iter().all(|&lane| zero(lane)) => Some("noise-missing"),
        () if all(7..=9) && differing.iter().all(|&lane| theirs[lane] == theirs[lane - 3]) => Some("history-copied"),
        () if all(7..=9) && differing.iter().all(|&lane| zero(lane)) => Some("history-missing"),
        () if all(11..=14) && differing.iter().all(|&lane| zero(lane)) => Some("tone-zero"),
        () => None,
    };
    let told = differing.iter().map(tell).collect::<Vec<_>>().join(", ");
    Doubt::fails("inputs", evidence, format!("{whose} input features are not the given ones: {told}"))
}
