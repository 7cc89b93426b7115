//! A scale is left out, moved, merged or taken from another record.

use super::super::site::{NORMALIZE, at, exchanged, seeded, vit_norm};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{ScaleRule, SeedRule};

/// A scale is left out, moved, merged or taken from another record.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "scales",
    case: "P21",
    name: "A scale is left out, moved, merged or taken from another record",
    what: "Learned scales multiply queries and residuals one rounding at a time.",
    looks: "A constant factor between the two sides, or single codes where only a rounding moved.",
    why: "Scales were folded into neighbours, applied to keys, or read from the neighbouring record.",
    confirm: "Divide the two sides: the ratio per head or per channel is constant.",
    change: "Multiply in the network's order, each factor and product a half.",
    variants: &[
        Variant {
            id: "scale-missing",
            name: "the head's learned scale is left out",
            test: Test::Step(|plan, i| at(plan, i, NORMALIZE, |r| r.scale = ScaleRule::Missing)),
        },
        Variant {
            id: "scale-on-keys",
            name: "the head's learned scale multiplies keys",
            test: Test::Step(|plan, i| at(plan, i, NORMALIZE, |r| r.scale = ScaleRule::OnKeys)),
        },
        Variant {
            id: "scale-f32",
            name: "the head's learned scale is not rounded to a half",
            test: Test::Step(|plan, i| at(plan, i, NORMALIZE, |r| r.scale = ScaleRule::Single)),
        },
        Variant {
            id: "scales-merged",
            name: "factors of a query are multiplied into one first",
            test: Test::Step(|plan, i| at(plan, i, NORMALIZE, |r| r.scale = ScaleRule::Merged)),
        },
        Variant {
            id: "root-missing",
            name: "the ViT's sqrt(32) is left out",
            test: Test::Step(|plan, i| vit_norm(plan, i, |r| r.scale = ScaleRule::RootMissing)),
        },
        Variant {
            id: "skip-scale-missing",
            name: "the residual's scale is left out",
            test: Test::Step(|plan, i| seeded(plan, i, |r| r.seed = SeedRule::Unscaled)),
        },
        Variant {
            id: "skip-scale-exchanged",
            name: "the FFN's and the attention's skip scales are exchanged",
            test: Test::Step(exchanged),
        },
    ],
};
