//! The bytes are of another element type.

use super::super::site::{published, raw};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{Publication, RawBits};

/// The bytes are of another element type.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "element-type",
    case: "P10",
    name: "The bytes are of another element type",
    what: "The same values in another 8- or 16-bit format.",
    looks: "Almost nothing is equal, but the code distance is nearly constant: one exponent for fnuz, a factor \
        of powers of two for bfloat16.",
    why: "AMD's E4M3 has a bias of 8, frameworks write bfloat16 under the name half, E5M2 has the same size.",
    confirm: "Read the dump as the other type: the values become plausible.",
    change: "Convert when dumping, or tell the import the type.",
    variants: &[
        Variant {
            id: "element-fnuz",
            name: "codes are E4M3 'fnuz' (bias 8, no -0)",
            test: Test::Step(|plan, i| published(plan, i, |r| r.publication = Publication::Fnuz)),
        },
        Variant {
            id: "element-e5m2",
            name: "codes are E5M2",
            test: Test::Step(|plan, i| published(plan, i, |r| r.publication = Publication::E5m2)),
        },
        Variant {
            id: "element-bf16",
            name: "halves are bfloat16",
            test: Test::Step(|plan, i| raw(plan, i, |r| r.raw = RawBits::Bfloat16)),
        },
    ],
};
