//! The rounding to a half is folded away.

use super::super::site::{ATTENTION, MERGE, NORMALIZE, POOL, at, gemm, partitioned, seeded, silu};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{Carry, Chain, Publication, SeedRule, SiluRule};

/// The rounding to a half is folded away.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "rounding-folded",
    case: "P1",
    name: "The rounding to a half is folded away",
    what: "A compiler treats f32(f16(x)) as x, so values that the network rounds to halves stay in f32.",
    looks: "Scattered differences of one code, everywhere in the tensor, in every channel and window alike; \
        about a quarter of raw half outputs are one step off.",
    why: "Shader compilers (a software Vulkan driver, an NVIDIA GLSL compiler inside expressions) drop a \
        pair of conversions that looks redundant.",
    confirm: "Run the half-probe of `blockscope devices`; the differences vanish when the conversion is done on \
        the bit pattern.",
    change: "Round on the bit pattern with integer operations, or store to a 16-bit buffer and load again \
        between the steps.",
    variants: &[
        Variant {
            id: "fold-groups",
            name: "accumulators stay in f32 between the groups of a matrix product",
            test: Test::Step(|plan, i| gemm(plan, i, |r| r.dot.chain = Chain::Singles)),
        },
        Variant {
            id: "fold-scores",
            name: "scores stay in f32 between their two groups",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.dot.chain = Chain::Singles)),
        },
        Variant {
            id: "fold-values",
            name: "weighted values stay in f32 between groups of keys",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.weigh.chain = Chain::Singles)),
        },
        Variant {
            id: "fold-silu",
            name: "the activation's polynomial stays in f32",
            test: Test::Step(|plan, i| silu(plan, i, |r| r.silu = SiluRule::Singles)),
        },
        Variant {
            id: "fold-norm",
            name: "the normalization stays in f32",
            test: Test::Step(|plan, i| at(plan, i, NORMALIZE, |r| r.carry = Carry::Singles)),
        },
        Variant {
            id: "fold-softmax",
            name: "the softmax's sum, reciprocal and product stay in f32",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.carry = Carry::Singles)),
        },
        Variant {
            id: "fold-pool",
            name: "the pool's sums stay in f32",
            test: Test::Step(|plan, i| at(plan, i, POOL, |r| r.carry = Carry::Singles)),
        },
        Variant {
            id: "fold-merge",
            name: "the merge's multiply-add stays in f32 until it is published",
            test: Test::Step(|plan, i| {
                at(plan, i, MERGE, |r| {
                    r.carry = Carry::Singles;
                    r.publication = Publication::FromSingle;
                })
            }),
        },
        Variant {
            id: "fold-partitions",
            name: "the parts of a split K are added in f32",
            test: Test::Step(|plan, i| partitioned(plan, i, |r| r.carry = Carry::Singles)),
        },
        Variant {
            id: "fold-seed",
            name: "the residual times its scale enters as f32",
            test: Test::Step(|plan, i| seeded(plan, i, |r| r.seed = SeedRule::Single)),
        },
    ],
};
