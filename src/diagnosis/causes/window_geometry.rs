//! Windows, phases or edges are placed another way.

use super::super::site::{GLOBAL, WINDOW, at, phase, restarted, shifted};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{Outside, Padding, Shift};

/// Windows, phases or edges are placed another way.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "window-geometry",
    case: "P11",
    name: "Windows, phases or edges are placed another way",
    what: "The window grid is shifted otherwise, or tokens outside the field are treated otherwise.",
    looks: "Differences along window borders or only in windows at the edge of the field; the interior agrees \
        when only the edge rule differs.",
    why: "Swin code masks or wraps; the phase restarts in the decoder; x and y or a sign were exchanged.",
    confirm: "Fold the differences by window position: the pattern shows the shift.",
    change: "Advance the phase at every window block of a level, on through the decoder; keep outside tokens as \
        zero vectors that weigh in.",
    variants: &[
        Variant {
            id: "phase-missing",
            name: "no window is ever shifted",
            test: Test::Step(|plan, i| phase(plan, i, |_, _| 0)),
        },
        Variant {
            id: "phase-two",
            name: "only two phases, (0,0) and (4,4), alternate",
            test: Test::Step(|plan, i| phase(plan, i, |phase, _| phase % 2)),
        },
        Variant {
            id: "phase-restarted",
            name: "the decoder restarts the phase",
            test: Test::Step(|plan, i| phase(plan, i, restarted)),
        },
        Variant {
            id: "shift-negated",
            name: "the shift has the wrong sign (never visible: -4 and 4 are one grid of windows of 8)",
            test: Test::Step(|plan, i| shifted(plan, i, |r| r.shift = Shift::Negated)),
        },
        Variant {
            id: "shift-swapped",
            name: "the shift's x and y are exchanged",
            test: Test::Step(|plan, i| shifted(plan, i, |r| r.shift = Shift::Swapped)),
        },
        Variant {
            id: "mask-outside",
            name: "tokens outside the field are masked out of the softmax",
            test: Test::Step(|plan, i| at(plan, i, WINDOW, |r| r.outside = Outside::Masked)),
        },
        Variant {
            id: "outside-clamped",
            name: "tokens outside the field repeat the edge",
            test: Test::Step(|plan, i| at(plan, i, WINDOW, |r| r.outside = Outside::Clamped)),
        },
        Variant {
            id: "outside-wrapped",
            name: "tokens outside the field come from the opposite side",
            test: Test::Step(|plan, i| at(plan, i, WINDOW, |r| r.outside = Outside::Wrapped)),
        },
        Variant {
            id: "padding-kept",
            name: "the ViT's padding keys stay in the denominator",
            test: Test::Step(|plan, i| at(plan, i, GLOBAL, |r| r.padding = Padding::Kept)),
        },
        Variant {
            id: "padding-masked",
            name: "the ViT's padding keys are left out one by one instead of subtracted",
            test: Test::Step(|plan, i| at(plan, i, GLOBAL, |r| r.padding = Padding::Masked)),
        },
    ],
};
