//! Part of an output is never written.

use super::super::site::{ALL, at, wide};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::Coverage;

/// Part of an output is never written.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "unwritten-output",
    case: "P13",
    name: "Part of an output is never written",
    what: "A regular part of the tensor keeps what was there before: zeros, or stale bytes.",
    looks: "One region is all zeros: half of the channels, the last channels, the last tokens.",
    why: "The grid of workgroups is too small, or the last partial tile is skipped.",
    confirm: "Fill the buffer with a sentinel before the kernel runs; the sentinel survives.",
    change: "Round the number of workgroups up, and test odd sizes.",
    variants: &[
        Variant {
            id: "unwritten-half",
            name: "the second half of the channels is never written",
            test: Test::Step(|plan, i| at(plan, i, ALL, |r| r.coverage = Coverage::FirstHalf)),
        },
        Variant {
            id: "unwritten-channels",
            name: "the last 16 channels are never written",
            test: Test::Step(|plan, i| wide(plan, i, |r| r.coverage = Coverage::ButLastChannels)),
        },
        Variant {
            id: "unwritten-tokens",
            name: "the last tile of 64 tokens is never written",
            test: Test::Step(|plan, i| at(plan, i, ALL, |r| r.coverage = Coverage::ButLastTokens)),
        },
    ],
};
