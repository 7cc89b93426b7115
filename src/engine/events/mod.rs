//! What happens inside a kernel that its output's bytes alone do not tell: NaN published as +0, -0, saturation,
//! overflow, subnormals, ties.
//!
//! [`of_step`] takes a step and what it read, has the kernel give the halves before publication (the `raw` output
//! of an op, the very halves that the kernel publishes), and judges every half with its code. A whole step runs on
//! the cpu engine; chosen rows, and changed rules, run on the reference's scalar rows.
//!
//! ```text
//! nan         the half is NaN, published as +0
//! minus-zero  the code is 0x80
//! saturation  the half is above 464, so that it rounds beyond 448
//! overflow    the half is infinite, or one that it was summed up from (a division by zero is none)
//! subnormal   the code is a subnormal; of a raw output, the half
//! tie         the half lies in the middle between two codes
//! ```
//!
//! **Invariants**
//! * Counts are exact, and places are the first of each kind in the order of tokens and channels.
//! * Events are about the elements that a step writes. The softmax's weights, published inside a kernel, are not
//!   counted.
//! * An overflow that no half before publication shows ([`mod@hidden`]) is looked for under the network's own rules
//!   only; where it belongs to a whole vector it is counted once, at the vector's first channel.

mod classify;
mod halves;
mod hidden;
mod kind;
mod tally;

pub use kind::{Kind, Kinds};

use super::reference::{Sources, check_inputs};
use super::{Control, EngineError};
use crate::geometry::Size;
use crate::numerics::cosine::HEAD;
use crate::numerics::f16;
use crate::plan::{Op, Step};
use crate::tensor::TensorName;
use classify::Finish;
use serde::Serialize;
use std::collections::BTreeMap;
use tally::Tally;

/// Places kept of each kind.
pub const PLACES: usize = 10_000;

/// One event with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Token of the step's plane.
    pub token: usize,
    /// Channel of the tensor.
    pub channel: usize,
    /// What happened.
    pub kind: Kind,
    /// Head, where the kernel has heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<usize>,
    /// Bits of the half before publication.
    pub half: u16,
    /// The code published; absent for a raw output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u8>,
}

/// The events of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    /// The step.
    pub step: usize,
    /// The tensor that they are about: the published output, or the raw one where nothing is published.
    pub tensor: TensorName,
    /// Its plane.
    pub size: Size,
    /// Elements looked at.
    pub elements: u64,
    /// True totals; kinds that did not happen are absent.
    pub counts: BTreeMap<Kind, u64>,
    /// The first [`PLACES`] of each kind, by token and channel.
    pub places: Vec<Place>,
    /// For each token of the plane, what happened there.
    pub tokens: Vec<Kinds>,
    /// Elements of the stored output that these halves do not give, if the sources held it: the events are then
    /// those of the network's own arithmetic, not of whatever computed the tensor.
    pub unlike: u64,
}

impl Events {
    /// How often something happened.
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// All events of one element.
    pub fn at(&self, token: usize, channel: usize) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(move |place| (place.token, place.channel) == (token, channel))
    }
}

/// The events of a step, from what it read: of all rows, or of some (sorted, each once).
///
/// # Errors
/// When an input is missing, or the control cancels.
pub fn of_step(
    step: &Step,
    sources: Sources<'_>,
    rows: Option<&[usize]>,
    control: &Control,
) -> Result<Events, EngineError> {
    check_inputs("events", step, sources)?;
    let mut tally = Tally::new(step, sources);
    halves::each_part(step, sources, rows, control, &mut |part| {
        tally.add(&part);
        if step.rules.is_exact() {
            let places = hidden::overflows(step, sources, &part, control)?;
            tally.overflowed(&part, &places);
        }
        if control.is_cancelled() { Err(EngineError::Cancelled) } else { Ok(()) }
    })?;
    Ok(tally.finish())
}

/// What happened to one half that was published as a code.
pub fn of_published(half: f16, code: u8) -> Kinds {
    classify::published(half, code)
}

/// The tensor that a step's events are about, and how its halves become codes.
fn observed(op: &Op) -> (&TensorName, Finish) {
    use crate::plan::ops::Activation;
    let published = |published: &Option<TensorName>, finish| if published.is_some() { finish } else { Finish::Raw };
    let finish = match op {
        Op::Convert(_) => Finish::Raw,
        Op::Gemm(op) if op.activation == Activation::Silu => published(&op.published, Finish::Silu),
        Op::Gemm(op) => published(&op.published, Finish::Gemm),
        Op::GemmHalf(op) => published(&op.published, Finish::Plain),
        Op::Merge(op) => published(&op.published, Finish::Plain),
        Op::Normalize(_) | Op::WindowAttention(_) | Op::GlobalAttention(_) | Op::Pool(_) => Finish::Plain,
    };
    (op.outputs()[0], finish)
}

/// The head that a channel of a step's output belongs to.
fn head(step: &Step, channel: usize) -> Option<usize> {
    match &step.op {
        Op::Normalize(_) => Some(channel / (3 * HEAD)),
        Op::Gemm(_) if step.kernel == "qkv" => Some(channel / (3 * HEAD)),
        Op::WindowAttention(_) | Op::GlobalAttention(_) => Some(channel / HEAD),
        Op::Convert(_) | Op::Gemm(_) | Op::GemmHalf(_) | Op::Pool(_) | Op::Merge(_) => None,
    }
}

#[cfg(test)]
mod tests;
