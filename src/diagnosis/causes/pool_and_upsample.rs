//! A pool or an upsampling is another operation.

use super::super::site::{MERGE, POOL, at};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{PoolRule, Upsample};

/// A pool or an upsampling is another operation.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "pool-and-upsample",
    case: "P7",
    name: "A pool or an upsampling is another operation",
    what: "The network averages 2x2 halves row by row and repeats pixels.",
    looks: "Pooled or merged tensors differ, with a period of two along x and y for the upsampling.",
    why: "A library's pooling or bilinear sampling was used.",
    confirm: "Look at one 2x2 block: which of the four values went in, and in which order.",
    change: "Average as ((a+b)+(c+d))*0.25 in half steps; upsample to nearest.",
    variants: &[
        Variant {
            id: "pool-columns",
            name: "the pool adds columns before rows",
            test: Test::Step(|plan, i| at(plan, i, POOL, |r| r.pool = PoolRule::Columns)),
        },
        Variant {
            id: "pool-corner",
            name: "the pool takes the first of the four",
            test: Test::Step(|plan, i| at(plan, i, POOL, |r| r.pool = PoolRule::Corner)),
        },
        Variant {
            id: "pool-largest",
            name: "the pool takes the largest of the four",
            test: Test::Step(|plan, i| at(plan, i, POOL, |r| r.pool = PoolRule::Largest)),
        },
        Variant {
            id: "upsample-bilinear",
            name: "the upsampling is bilinear",
            test: Test::Step(|plan, i| at(plan, i, MERGE, |r| r.upsample = Upsample::Bilinear)),
        },
    ],
};
