//! The subject changes from run to run.

use super::super::Evidence;
use super::super::{Cause, Test, Variant};

/// The subject changes from run to run.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "unstable",
    case: "P14",
    name: "The subject changes from run to run",
    what: "The same kernel on the same input gives different bytes.",
    looks: "Rare differences that move, often confined to one head or one range of queries.",
    why: "A race between threads of a workgroup, a missing barrier, an uninitialised register.",
    confirm: "Repeat the kernel two to five times and compare the runs with each other.",
    change: "Add the barrier; never look for an arithmetic cause before the bytes are stable.",
    variants: &[Variant {
        id: "nondeterminism",
        name: "repeated runs differ",
        test: Test::Evidence(Evidence::Unstable),
    }],
};
