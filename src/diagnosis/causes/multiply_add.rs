//! A multiply-add rounds a different number of times.

use super::super::site::{FUSED, at, fused};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::MultiplyAdd;

/// A multiply-add rounds a different number of times.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "multiply-add",
    case: "P7",
    name: "A multiply-add rounds a different number of times",
    what: "hfma rounds the exact value once; ports round it twice or compute product and sum apart.",
    looks: "Very rare single-code differences for the double rounding; a few per cent for the unfused form.",
    why: "a*b + c written in f32 and converted, or a compiler that does not contract.",
    confirm: "The differing values lie next to a tie of the half grid.",
    change: "Use a true half fma, or round to odd before the last rounding.",
    variants: &[
        Variant {
            id: "fma-rounded-twice",
            name: "the multiply-add goes through f32 and rounds twice",
            test: Test::Step(|plan, i| at(plan, i, FUSED, |r| r.multiply_add = MultiplyAdd::RoundedTwice)),
        },
        Variant {
            id: "fma-unfused",
            name: "product and sum are rounded apart",
            test: Test::Step(|plan, i| fused(plan, i, |r| r.multiply_add = MultiplyAdd::Unfused)),
        },
    ],
};
