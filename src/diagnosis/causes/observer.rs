//! Observing changes the result.

use super::super::Evidence;
use super::super::{Cause, Test, Variant};

/// Observing changes the result.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "observer",
    case: "P15",
    name: "Observing changes the result",
    what: "The head differs between a run with dumps and one without.",
    looks: "Every boundary of the recording is exact, the delivered image is not (or the reverse).",
    why: "One more store changes how a compiler fuses or which variant a driver picks.",
    confirm: "Compare the head with and without dumps.",
    change: "Record fewer tensors at a time, and check the head each time.",
    variants: &[Variant {
        id: "observer-effect",
        name: "the head differs with dumps on",
        test: Test::Evidence(Evidence::Observer),
    }],
};
