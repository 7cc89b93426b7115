//! Products or residuals are added in another order.

use super::super::site::{LINEAR, at, partition, seeded};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{KOrder, SeedRule};

/// Products or residuals are added in another order.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "order-of-products",
    case: "P6",
    name: "Products or residuals are added in another order",
    what: "K is walked in another order, cut into other parts, or the residual joins elsewhere.",
    looks: "Raw half outputs differ by one or two steps; the longer K is, the more.",
    why: "Split-K of a library, a loop that was reversed or tiled, a residual added in the epilogue.",
    confirm: "The share of differing bytes changes with K: short products agree.",
    change: "Walk K upwards in groups of 16, start from the residual, and cut K only where the network does.",
    variants: &[
        Variant {
            id: "k-reversed",
            name: "K is walked downwards",
            test: Test::Step(|plan, i| at(plan, i, LINEAR, |r| r.dot.order = KOrder::Reversed)),
        },
        Variant {
            id: "residual-at-end",
            name: "the residual is added at the end instead of seeding the sum",
            test: Test::Step(|plan, i| seeded(plan, i, |r| r.seed = SeedRule::AtEnd)),
        },
        Variant {
            id: "split-k-ignored",
            name: "one chain over all of K where the network cuts it",
            test: Test::Step(|plan, i| partition(plan, i, |op| (op.partition < op.k).then_some(op.k))),
        },
        Variant {
            id: "split-k-applied",
            name: "K is cut into halves where the network has one chain",
            test: Test::Step(|plan, i| {
                partition(plan, i, |op| (op.partition == op.k && op.k >= 64).then_some(op.k / 2))
            }),
        },
        Variant {
            id: "split-k-other",
            name: "K is cut into parts of half the network's size",
            test: Test::Step(|plan, i| partition(plan, i, |op| (op.partition < op.k).then_some(op.partition / 2))),
        },
    ],
};
