//! A value is published that should stay raw, or the reverse.

use super::super::site::{ATTENTION, GLOBAL, HALF_READERS, at, ffn_skip, pool_published, skip};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{Reads, ScoreRule, WeightRule};

/// A value is published that should stay raw, or the reverse.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "publication-points",
    case: "P8",
    name: "A value is published that should stay raw, or the reverse",
    what: "A kernel reads the E4M3 tensor where the network reads the raw halves, or the other way round.",
    looks: "Differences in all channels of the tensor behind the skip; the tensors before it are exact.",
    why: "Wide and narrow blocks follow different rules, and one was copied to the other.",
    confirm: "Compare the seed of one value in `blockscope explain`.",
    change: "In 32-channel blocks the skips are raw halves, in wider ones published codes; pools and the head \
        read raw halves.",
    variants: &[
        Variant {
            id: "skip-raw",
            name: "the attention's skip is the raw FFN result in a wide block",
            test: Test::Step(|plan, i| skip(plan, i, true)),
        },
        Variant {
            id: "skip-published",
            name: "the attention's skip is the published FFN result in a 32-channel block",
            test: Test::Step(|plan, i| skip(plan, i, false)),
        },
        Variant {
            id: "ffn-skip-published",
            name: "the FFN's skip is the published state in block 0, 66 or 70",
            test: Test::Step(ffn_skip),
        },
        Variant {
            id: "pool-from-published",
            name: "the pool reads the published block",
            test: Test::Step(pool_published),
        },
        Variant {
            id: "raw-read-published",
            name: "raw halves are rounded to E4M3 before they are used",
            test: Test::Step(|plan, i| at(plan, i, HALF_READERS, |r| r.reads = Reads::Published)),
        },
        Variant {
            id: "scores-published",
            name: "scores are rounded to E4M3 before the exponential",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.scores = ScoreRule::Published)),
        },
        Variant {
            id: "weights-unpublished",
            name: "the softmax's weights stay halves",
            test: Test::Step(|plan, i| at(plan, i, ATTENTION, |r| r.share = WeightRule::Halves)),
        },
        Variant {
            id: "vit-weights-normalized",
            name: "the ViT's weights are divided by the total before they are published",
            test: Test::Step(|plan, i| at(plan, i, GLOBAL, |r| r.share = WeightRule::Normalized)),
        },
    ],
};
