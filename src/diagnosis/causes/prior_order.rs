//! The attention prior or the values are read in another order.

use super::super::site::{WINDOW, at, heads};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{PriorRule, ValueOrder};

/// The attention prior or the values are read in another order.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "prior-order",
    case: "P20",
    name: "The attention prior or the values are read in another order",
    what: "Prior and values belong to physical keys; ports read them in natural, transposed or storage order.",
    looks: "Most of the attended tensor differs, in all windows alike, with larger distances where the prior \
        varies.",
    why: "Three orders meet in one kernel, and a square matrix hides a transposition.",
    confirm: "Compare the scores of one query: they differ by differences of prior entries.",
    change: "Queries are natural and read the prior's row of their physical index; keys, values and weights are \
        physical.",
    variants: &[
        Variant {
            id: "prior-natural-keys",
            name: "the prior is read with natural keys",
            test: Test::Step(|plan, i| at(plan, i, WINDOW, |r| r.prior = PriorRule::NaturalKeys)),
        },
        Variant {
            id: "prior-natural-queries",
            name: "the prior is read with natural queries",
            test: Test::Step(|plan, i| at(plan, i, WINDOW, |r| r.prior = PriorRule::NaturalQueries)),
        },
        Variant {
            id: "prior-transposed",
            name: "the prior is read with queries and keys exchanged",
            test: Test::Step(|plan, i| at(plan, i, WINDOW, |r| r.prior = PriorRule::Transposed)),
        },
        Variant {
            id: "prior-storage-order",
            name: "the prior is read in storage order",
            test: Test::Step(|plan, i| at(plan, i, WINDOW, |r| r.prior = PriorRule::StorageOrder)),
        },
        Variant {
            id: "prior-missing",
            name: "the prior is left out",
            test: Test::Step(|plan, i| at(plan, i, WINDOW, |r| r.prior = PriorRule::Missing)),
        },
        Variant {
            id: "prior-at-end",
            name: "the prior is added after the product instead of seeding it",
            test: Test::Step(|plan, i| at(plan, i, WINDOW, |r| r.prior = PriorRule::AtEnd)),
        },
        Variant {
            id: "prior-first-head",
            name: "every head reads the first head's prior",
            test: Test::Step(|plan, i| heads(plan, i, |r| r.prior = PriorRule::FirstHead)),
        },
        Variant {
            id: "values-natural-order",
            name: "values lie in natural order",
            test: Test::Step(|plan, i| at(plan, i, WINDOW, |r| r.values = ValueOrder::Natural)),
        },
    ],
};
