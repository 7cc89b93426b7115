//! Subnormals are flushed to zero.

use super::super::site::{PRODUCTS, READERS, STEPS, at, gemm, published};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{Carry, Chain, Publication, Reads, WeightOrder};

/// Subnormals are flushed to zero.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "subnormals-flushed",
    case: "P2",
    name: "Subnormals are flushed to zero",
    what: "Values below the smallest normal of their format count as zeros.",
    looks: "Only outputs fed by subnormal weights or activations differ, by small amounts; the rest is equal.",
    why: "Flush-to-zero is the default of many GPU compilers and of -ffast-math.",
    confirm: "Look at the operands of a differing value with `blockscope explain`: one of them is a subnormal.",
    change: "Switch denormal preservation on (SPV_KHR_float_controls), or decode by table.",
    variants: &[
        Variant {
            id: "flush-activations",
            name: "subnormal activations are read as zeros",
            test: Test::Step(|plan, i| at(plan, i, READERS, |r| r.reads = Reads::Flushed)),
        },
        Variant {
            id: "flush-weights",
            name: "subnormal weights are read as zeros",
            test: Test::Step(|plan, i| gemm(plan, i, |r| r.weights = WeightOrder::Flushed)),
        },
        Variant {
            id: "flush-codes",
            name: "subnormal codes are published as zeros",
            test: Test::Step(|plan, i| published(plan, i, |r| r.publication = Publication::Flushed)),
        },
        Variant {
            id: "flush-accumulators",
            name: "subnormal half accumulators become zeros",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.chain = Chain::Flushed;
                    r.weigh.chain = Chain::Flushed;
                })
            }),
        },
        Variant {
            id: "flush-half-steps",
            name: "subnormal results of half operations become zeros",
            test: Test::Step(|plan, i| at(plan, i, STEPS, |r| r.carry = Carry::Flushed)),
        },
    ],
};
