//! The softmax's sum is taken in another order.

use super::super::site::{ATTENTION, at};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::SoftmaxSum;

/// The softmax's sum is taken in another order.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "softmax-order",
    case: "P6",
    name: "The softmax's sum is taken in another order",
    what: "The 64 exponentials are added in another order or precision than the fixed tree of half adds.",
    looks: "Whole rows of a head move together by one code, where the half total rounds the other way.",
    why: "A subgroup reduction, a sequential loop, or an f32 accumulator.",
    confirm: "Compare the totals of one query in `blockscope attention`.",
    change: "Add in the fixed tree over physical keys, every add a half add.",
    variants: &[
        Variant {
            id: "softmax-in-order",
            name: "the denominator is added key after key",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.softmax = SoftmaxSum::InOrder)),
        },
        Variant {
            id: "softmax-neighbours",
            name: "the denominator is a tree of neighbouring keys",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.softmax = SoftmaxSum::Neighbours)),
        },
        Variant {
            id: "softmax-natural-keys",
            name: "the denominator's tree runs over keys in natural order",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.softmax = SoftmaxSum::NaturalKeys)),
        },
        Variant {
            id: "softmax-f32-sum",
            name: "the denominator is summed in f32",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.softmax = SoftmaxSum::Singles)),
        },
    ],
};
