//! The exponential is another function.

use super::super::site::{ATTENTION, GLOBAL, at};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{Divide, ExponentialRule};

/// The exponential is another function.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "exponential-function",
    case: "P7",
    name: "The exponential is another function",
    what: "The network's exponential is a bit trick on halves; ports use a true one, subtract the maximum, or \
        spell the constants otherwise.",
    looks: "Weights differ by up to 6 % in a pattern that follows the score, not the place.",
    why: "A library softmax was used, or constants were copied in their f32 spelling.",
    confirm: "Compare the exponentials of one query in `blockscope attention`.",
    change: "Compute x = f16(slope*s + offset) with the half constants, clamp, shift the bits.",
    variants: &[
        Variant {
            id: "true-exp",
            name: "a true exponential",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.exponential = ExponentialRule::True)),
        },
        Variant {
            id: "max-subtracted",
            name: "a true exponential of the score minus the row's maximum",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.exponential = ExponentialRule::MaxSubtracted)),
        },
        Variant {
            id: "exp-f32-constants",
            name: "the ViT's constants in their f32 spelling",
            test: Test::Step(|plan, i| at(plan, i, GLOBAL, |r| r.exponential = ExponentialRule::SingleConstants)),
        },
        Variant {
            id: "exp-half-steps",
            name: "the product is rounded to a half before the add",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.exponential = ExponentialRule::HalfSteps)),
        },
        Variant {
            id: "exp-unclamped",
            name: "the clamps are left out",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.exponential = ExponentialRule::Unclamped)),
        },
        Variant {
            id: "softmax-divided",
            name: "weights are divided by the total instead of multiplied by its half reciprocal",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.divide = Divide::Division)),
        },
    ],
};
