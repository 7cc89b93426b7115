//! The normalization's sum of squares or root differs.

use super::super::site::{NORMALIZE, at};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{Length, Squares};

/// The normalization's sum of squares or root differs.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "norm-order",
    case: "P6",
    name: "The normalization's sum of squares or root differs",
    what: "Squares are added in another order, or the reciprocal length is rounded or scaled otherwise.",
    looks: "All 32 channels of a head's query or key move together; values are equal.",
    why: "A sequential loop instead of the tree, separate square root and reciprocal, a mean instead of a \
        sum.",
    confirm: "The v part of 'normalized' agrees, q and k do not.",
    change: "Square in pairs (c, c+16), add with strides 8, 4, 2, 1, and round f16(1/sqrt) once.",
    variants: &[
        Variant {
            id: "squares-in-order",
            name: "squares are added one after the other",
            test: Test::Step(|plan, i| at(plan, i, NORMALIZE, |r| r.squares = Squares::InOrder)),
        },
        Variant {
            id: "squares-neighbours",
            name: "squares are added as a tree of neighbours",
            test: Test::Step(|plan, i| at(plan, i, NORMALIZE, |r| r.squares = Squares::Neighbours)),
        },
        Variant {
            id: "root-rounded",
            name: "the root is rounded to a half before its reciprocal",
            test: Test::Step(|plan, i| at(plan, i, NORMALIZE, |r| r.length = Length::HalfSteps)),
        },
        Variant {
            id: "length-of-mean",
            name: "the length is the root of the mean of squares",
            test: Test::Step(|plan, i| at(plan, i, NORMALIZE, |r| r.length = Length::Mean)),
        },
    ],
};
