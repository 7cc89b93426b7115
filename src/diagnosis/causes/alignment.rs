//! Terms of a group are aligned another way.

use super::super::site::{PRODUCTS, at};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{Align, SharedExponent};

/// Terms of a group are aligned another way.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "alignment",
    case: "P5",
    name: "Terms of a group are aligned another way",
    what: "The shared exponent, or the truncation to it, follows another rule.",
    looks: "Raw half outputs differ by one step here and there; published codes rarely; negative products \
        only, when the shift floors.",
    why: "An arithmetic right shift floors instead of truncating; the exponent is taken from the product \
        instead of the operands.",
    confirm: "Compare the truncated terms of one group, shown by `blockscope explain`.",
    change: "Truncate toward zero (divide, do not shift), and add the operands' exponents with their floor.",
    variants: &[
        Variant {
            id: "align-floor",
            name: "terms are floored instead of truncated",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.align = Align::Floor;
                    r.weigh.align = Align::Floor;
                })
            }),
        },
        Variant {
            id: "align-nearest",
            name: "terms are rounded to the nearest unit",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.align = Align::Nearest;
                    r.weigh.align = Align::Nearest;
                })
            }),
        },
        Variant {
            id: "exponent-of-product",
            name: "the shared exponent is that of the largest product",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.exponent = SharedExponent::Product;
                    r.weigh.exponent = SharedExponent::Product;
                })
            }),
        },
        Variant {
            id: "exponent-without-floor",
            name: "subnormal operands count at their own exponent",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.exponent = SharedExponent::Unfloored;
                    r.weigh.exponent = SharedExponent::Unfloored;
                })
            }),
        },
    ],
};
