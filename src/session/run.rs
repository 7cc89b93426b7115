//! What is known about a run: which steps each side has computed, both verdicts, times and events.
//!
//! A snapshot: workers publish into their own store, [`Session::poll`](super::Session::poll) copies what changed
//! here, and panels read it without a lock.

use super::EventKind;
use super::words::words;
use std::collections::BTreeMap;
use std::time::Duration;

words! {
    /// One side of a comparison.
    Side {
        #[default] Subject = "subject", "The side under test";
        Reference = "reference", "The side that is right";
    }
}

words! {
    /// The verdict about one tensor.
    Verdict {
        Exact = "exact", "Bit-exact";
        ZeroSign = "zero-sign", "Equal up to the sign of zero";
        Differs = "differs", "Differs";
        #[default] NotCompared = "not-compared", "Not compared";
    }
}

/// A verdict with its numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why nothing was compared; empty otherwise.
    pub reason: String,
    /// Elements that differ, signs of zero included.
    pub differing: u64,
    /// Elements compared.
    pub total: u64,
    /// The first differing element: token and channel.
    pub first: Option<(usize, usize)>,
    /// Largest distance in codes.
    pub max_distance: u32,
}

impl Judgement {
    /// Share of elements that differ, 0..=1.
    pub fn share(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.differing as f64 / self.total as f64 }
    }
}

/// What one side did with one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SideState {
    /// Nothing yet.
    #[default]
    Waiting,
    /// Running now.
    Running,
    /// Computed, or loaded from a recording.
    Done {
        /// The kernel's own time; zero for a recording.
        duration: Duration,
    },
    /// A recording that does not hold this step.
    Absent,
    /// It failed.
    Failed(String),
}

impl SideState {
    /// Whether the step's tensors are there.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done { .. })
    }
}

/// What is known about one step of the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepState {
    /// The subject.
    pub subject: SideState,
    /// The reference.
    pub reference: SideState,
    /// Each side on its own previous result.
    pub accumulated: Judgement,
    /// The subject on the reference's inputs.
    pub isolated: Judgement,
    /// Events of the subject, by kind.
    pub events: BTreeMap<EventKind, u64>,
}

impl StepState {
    /// A side's state.
    pub fn side(&self, side: Side) -> &SideState {
        match side {
            Side::Subject => &self.subject,
            Side::Reference => &self.reference,
        }
    }
}

/// A run in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// What runs, for people: `block 12, qkv`.
    pub what: String,
    /// Steps finished and asked for.
    pub steps: (usize, usize),
    /// Whether it was asked for by stepping, so that further steps queue.
    pub stepping: bool,
    /// Share of the work done, 0..=1.
    pub share: f32,
    /// Products per second so far.
    pub rate: f64,
    /// Time left, once a rate is known.
    pub left: Option<Duration>,
}

/// What is known about the current pair's run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// One entry per step of the plan.
    pub steps: Vec<StepState>,
    /// The step that the transport stands at: the next one to run. `steps.len()` at the end.
    pub playhead: usize,
    /// What runs now.
    pub activity: Option<Activity>,
    /// The first step whose isolated verdict is not exact.
    pub first_isolated: Option<usize>,
    /// The first step whose accumulated verdict is not exact.
    pub first_accumulated: Option<usize>,
}
