//! A special value takes another code.

use super::super::site::{PRODUCTS, at, gemm_published, published};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{Chain, Publication};

/// A special value takes another code.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "special-values",
    case: "P4",
    name: "A special value takes another code",
    what: "NaN, -0, infinity or an overflow is published by another rule.",
    looks: "All differences belong to one class: signs of zero, NaN codes, or saturation; ordinary values are \
        equal.",
    why: "Conversion instructions keep NaN as 0x7f; a detour through integers loses the sign of zero; \
        overflow rules differ between formats.",
    confirm: "The table of classes names it: look at the bits of the first difference.",
    change: "Apply the publication's rules explicitly: NaN to 0x00, saturation at 0x7e, and -0 as the kernel's \
        epilogue says.",
    variants: &[
        Variant {
            id: "nan-kept",
            name: "NaN is published as 0x7f instead of +0",
            test: Test::Step(|plan, i| published(plan, i, |r| r.publication = Publication::NanKept)),
        },
        Variant {
            id: "minus-zero-lost",
            name: "-0 is published as +0",
            test: Test::Step(|plan, i| published(plan, i, |r| r.publication = Publication::PlusZero)),
        },
        Variant {
            id: "minus-zero-kept",
            name: "the matrix product's epilogue keeps a -0",
            test: Test::Step(|plan, i| gemm_published(plan, i, |r| r.publication = Publication::MinusZero)),
        },
        Variant {
            id: "overflow-to-nan",
            name: "magnitudes beyond 448 become the NaN code",
            test: Test::Step(|plan, i| published(plan, i, |r| r.publication = Publication::Unsaturated)),
        },
        Variant {
            id: "half-overflow-clamped",
            name: "half accumulators stop at 65504 instead of infinity",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.chain = Chain::Clamped;
                    r.weigh.chain = Chain::Clamped;
                })
            }),
        },
    ],
};
