//! The frame's input lanes differ.

use super::super::site::frame;
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::FrameRule;

/// The frame's input lanes differ.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "frame-inputs",
    case: "P16",
    name: "The frame's input lanes differ",
    what: "The network is right; what it was fed is not.",
    looks: "Differences in some of the 16 lanes of the features only, over the whole frame or outside the \
        valid rectangle.",
    why: "Another noise seed, history copied or missing, tone and structure left at zero, style not divided \
        by 128, padding repeated instead of mirrored.",
    confirm: "Compare the 16 lanes one by one, before anything else.",
    change: "Follow the table of lanes; start comparisons from recorded features.",
    variants: &[
        Variant {
            id: "noise-missing",
            name: "noise lanes are zero",
            test: Test::Step(|plan, i| frame(plan, i, |r| r.frame = FrameRule::NoiseMissing)),
        },
        Variant {
            id: "noise-mirrored",
            name: "noise is taken at the mirrored coordinate",
            test: Test::Step(|plan, i| frame(plan, i, |r| r.frame = FrameRule::NoiseMirrored)),
        },
        Variant {
            id: "history-missing",
            name: "history lanes are zero",
            test: Test::Step(|plan, i| frame(plan, i, |r| r.frame = FrameRule::HistoryMissing)),
        },
        Variant {
            id: "history-copied",
            name: "history lanes repeat the present",
            test: Test::Step(|plan, i| frame(plan, i, |r| r.frame = FrameRule::HistoryCopied)),
        },
        Variant {
            id: "tone-zero",
            name: "tone and structure lanes are zero",
            test: Test::Step(|plan, i| frame(plan, i, |r| r.frame = FrameRule::ToneZero)),
        },
        Variant {
            id: "style-unscaled",
            name: "style is not divided by 128",
            test: Test::Step(|plan, i| frame(plan, i, |r| r.frame = FrameRule::StyleUnscaled)),
        },
        Variant {
            id: "edge-repeated",
            name: "edge pixels are repeated outside the frame instead of mirrored",
            test: Test::Step(|plan, i| frame(plan, i, |r| r.frame = FrameRule::EdgeRepeated)),
        },
        Variant {
            id: "features-toward-zero",
            name: "features are rounded to halves toward zero",
            test: Test::Step(|plan, i| frame(plan, i, |r| r.frame = FrameRule::TowardZero)),
        },
    ],
};
