//! The activation is another function.

use super::super::site::silu;
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::SiluRule;

/// The activation is another function.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "activation-function",
    case: "P7",
    name: "The activation is another function",
    what: "The network's silu is a polynomial in five half steps with a gain of about 1.79.",
    looks: "Every activation differs, by a factor or only beyond 4.",
    why: "A library silu was used, or the clamp was applied to the last product too.",
    confirm: "Publish silu of all 65,536 halves on the target and compare with the table.",
    change: "Use the five half steps, or a table of 65,536 entries.",
    variants: &[
        Variant {
            id: "silu-true",
            name: "x * sigmoid(x) instead of the polynomial",
            test: Test::Step(|plan, i| silu(plan, i, |r| r.silu = SiluRule::True)),
        },
        Variant {
            id: "silu-clamped",
            name: "the last product takes the clamped argument",
            test: Test::Step(|plan, i| silu(plan, i, |r| r.silu = SiluRule::ClampedProduct)),
        },
        Variant {
            id: "silu-missing",
            name: "the activation is left out",
            test: Test::Step(|plan, i| silu(plan, i, |r| r.silu = SiluRule::Missing)),
        },
    ],
};
