//! A file is stale or belongs to something else.

use super::super::Evidence;
use super::super::{Cause, Test, Variant};

/// A file is stale or belongs to something else.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "stale-file",
    case: "P17",
    name: "A file is stale or belongs to something else",
    what: "The recording's bytes are another boundary's, or another run's.",
    looks: "A boundary equals the reference of another one, or two boundaries have one digest.",
    why: "A dump was overwritten by an earlier stop, or an old executable ran.",
    confirm: "Compare digests and times of everything in the record.",
    change: "Write each dump under its own name, beside its digest and the build that made it.",
    variants: &[Variant {
        id: "dump-of-another-boundary",
        name: "the tensor is the reference's tensor of another boundary",
        test: Test::Evidence(Evidence::OtherTensor),
    }],
};
