//! One shape of a kernel is wrong.

use super::super::Evidence;
use super::super::{Cause, Test, Variant};

/// One shape of a kernel is wrong.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "one-shape",
    case: "P19",
    name: "One shape of a kernel is wrong",
    what: "All kernels of one shape differ, all others of the same kind are exact.",
    looks: "The divergent steps share their K, N or number of rows.",
    why: "A library picks another algorithm at one size, or has a bug there.",
    confirm: "List the shapes of the divergent steps beside those of the exact ones.",
    change: "Pad to another shape, or pin the algorithm.",
    variants: &[Variant {
        id: "shape-specific",
        name: "only steps of one shape differ",
        test: Test::Evidence(Evidence::OneShape),
    }],
};
