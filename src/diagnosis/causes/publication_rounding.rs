//! A publication rounds another way.

use super::super::site::{PRODUCTS, at, published};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{Chain, Publication};

/// A publication rounds another way.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "publication-rounding",
    case: "P3",
    name: "A publication rounds another way",
    what: "Values become E4M3 codes, or halves, by another rounding than to nearest, ties to even.",
    looks: "Differences of exactly one code: about half of the elements when truncated, one in a million when \
        the half in between is skipped.",
    why: "The conversion instruction of the target truncates, or converts f32 to 8 bits in one step.",
    confirm: "Publish all 65,536 halves on the target and compare with the table of the reference.",
    change: "Round to a half first, then to the code, to nearest with ties to even.",
    variants: &[
        Variant {
            id: "publish-toward-zero",
            name: "codes are rounded toward zero",
            test: Test::Step(|plan, i| published(plan, i, |r| r.publication = Publication::TowardZero)),
        },
        Variant {
            id: "publish-ties-away",
            name: "ties are rounded away from zero",
            test: Test::Step(|plan, i| published(plan, i, |r| r.publication = Publication::TiesAway)),
        },
        Variant {
            id: "publish-from-single",
            name: "codes are rounded from f32 without the half in between",
            test: Test::Step(|plan, i| published(plan, i, |r| r.publication = Publication::FromSingle)),
        },
        Variant {
            id: "halves-toward-zero",
            name: "accumulators are rounded to halves toward zero",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.chain = Chain::TowardZero;
                    r.weigh.chain = Chain::TowardZero;
                })
            }),
        },
    ],
};
