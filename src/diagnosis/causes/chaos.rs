//! The difference is inherited, not made here.

use super::super::Evidence;
use super::super::{Cause, Test, Variant};

/// The difference is inherited, not made here.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "chaos",
    case: "P18",
    name: "The difference is inherited, not made here",
    what: "A late boundary drifts although every kernel is right in isolation.",
    looks: "Accumulated verdicts differ from some boundary on, isolated ones are exact.",
    why: "A change of 1e-6 at the input moves the head by about 10 %.",
    confirm: "Compare in isolated mode, and against a reference with a reordered sum: the noise floor.",
    change: "Nothing here; look at the first divergent kernel in isolated mode.",
    variants: &[Variant {
        id: "inherited",
        name: "the step is exact on the reference's inputs",
        test: Test::Evidence(Evidence::Inherited),
    }],
};
