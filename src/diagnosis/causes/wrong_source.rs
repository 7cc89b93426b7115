//! A kernel reads another tensor.

use super::super::site::{READERS, at, merge_skip, state_early, unseeded};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::Reads;

/// A kernel reads another tensor.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "wrong-source",
    case: "P12",
    name: "A kernel reads another tensor",
    what: "The arithmetic is right, one of the inputs is not.",
    looks: "18-25 % of bytes equal where 61-69 % are expected; or an output that does not depend on the input \
        at all.",
    why: "Off-by-one in the list of skips, a buffer that was never bound, a ring buffer overwritten too \
        early.",
    confirm: "Feed another frame: a zero buffer gives the same output.",
    change: "Decoder skips are blocks 22, 14, 8, 4 (and 30 and 0); bind and keep each until its reader has run.",
    variants: &[
        Variant {
            id: "skip-one-early",
            name: "the decoder's skip is taken one block early",
            test: Test::Step(merge_skip),
        },
        Variant {
            id: "input-one-early",
            name: "the kernel reads the state of one block earlier",
            test: Test::Step(state_early),
        },
        Variant {
            id: "input-zero",
            name: "the kernel's input is a buffer of zeros",
            test: Test::Step(|plan, i| at(plan, i, READERS, |r| r.reads = Reads::Zero)),
        },
        Variant { id: "residual-missing", name: "the residual is left out", test: Test::Step(unseeded) },
    ],
};
