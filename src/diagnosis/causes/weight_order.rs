//! Weights are read in another order.

use super::super::site::{batched, gemm, other_columns};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::WeightOrder;

/// Weights are read in another order.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "weight-order",
    case: "P22",
    name: "Weights are read in another order",
    what: "FP8 matrices lie in fragment order with permuted channels; ports read them otherwise.",
    looks: "Nothing agrees behind the first matrix; activations decay to 1e-10 within a few blocks.",
    why: "The packed format was taken for row-major, or its permutation was not undone.",
    confirm: "Test on the first FFN of block 1: its input is exact, its output is not.",
    change: "Follow the fragment index, and undo the permutation inside every 32 channels.",
    variants: &[
        Variant {
            id: "weights-row-major",
            name: "fragment order is read as row-major",
            test: Test::Step(|plan, i| gemm(plan, i, |r| r.weights = WeightOrder::RowMajor)),
        },
        Variant {
            id: "weights-stored-channels",
            name: "the channel permutation is not undone",
            test: Test::Step(|plan, i| gemm(plan, i, |r| r.weights = WeightOrder::StoredChannels)),
        },
        Variant {
            id: "weights-other-columns",
            name: "fragments are read with another matrix's number of columns",
            test: Test::Step(|plan, i| other_columns(plan, i, |r| r.weights = WeightOrder::OtherColumns)),
        },
        Variant {
            id: "experts-reversed",
            name: "the matrices of experts or branches are read last to first",
            test: Test::Step(|plan, i| batched(plan, i, |r| r.weights = WeightOrder::ReversedGroups)),
        },
    ],
};
