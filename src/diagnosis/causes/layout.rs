//! The tensor lies in memory in another order.

use super::super::site::laid_out;
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::Layout;

/// The tensor lies in memory in another order.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "layout",
    case: "P9",
    name: "The tensor lies in memory in another order",
    what: "The values are right, their places are not: the dump was written in another layout than it is read \
        in.",
    looks: "About 1.3 % equal bytes and equal histograms of codes; a shear for a wrong pitch; periods of 4 or \
        8 for tiles and windows.",
    why: "Kernels keep tensors in tiles or channel blocks, and the dump is raw memory.",
    confirm: "The two tensors hold the same codes the same number of times.",
    change: "Convert when dumping, or tell the import the layout (`--map`).",
    variants: &[
        Variant {
            id: "layout-tiles-4",
            name: "tokens lie in 4x4 tiles",
            test: Test::Step(|plan, i| {
                laid_out(
                    plan,
                    i,
                    |shape| shape.size.width % 4 == 0 && shape.size.height % 4 == 0,
                    |r| r.layout = Layout::Tiles4,
                )
            }),
        },
        Variant {
            id: "layout-windows-8",
            name: "tokens lie in 8x8 windows",
            test: Test::Step(|plan, i| {
                laid_out(
                    plan,
                    i,
                    |shape| shape.size.width % 8 == 0 && shape.size.height % 8 == 0,
                    |r| r.layout = Layout::Windows8,
                )
            }),
        },
        Variant {
            id: "layout-channels-first",
            name: "channels lie outermost",
            test: Test::Step(|plan, i| laid_out(plan, i, |_| true, |r| r.layout = Layout::ChannelsFirst)),
        },
        Variant {
            id: "layout-blocks-16",
            name: "channels lie in blocks of 16",
            test: Test::Step(|plan, i| {
                laid_out(
                    plan,
                    i,
                    |shape| shape.channels % 16 == 0 && shape.channels > 16,
                    |r| r.layout = Layout::Blocks16,
                )
            }),
        },
        Variant {
            id: "layout-head-major",
            name: "channels lie in blocks of 32: head-major",
            test: Test::Step(|plan, i| {
                laid_out(
                    plan,
                    i,
                    |shape| shape.channels % 32 == 0 && shape.channels > 32,
                    |r| r.layout = Layout::Blocks32,
                )
            }),
        },
        Variant {
            id: "layout-transposed",
            name: "columns of tokens lie outermost",
            test: Test::Step(|plan, i| laid_out(plan, i, |_| true, |r| r.layout = Layout::Transposed)),
        },
        Variant {
            id: "layout-pitch",
            name: "rows are padded to a multiple of 64 tokens and read as packed",
            test: Test::Step(|plan, i| {
                laid_out(plan, i, |shape| shape.size.width % 64 != 0, |r| r.layout = Layout::Pitch64)
            }),
        },
        Variant {
            id: "layout-fragment-channels",
            name: "channels of every 32 lie in fragment order",
            test: Test::Step(|plan, i| {
                laid_out(plan, i, |shape| shape.channels % 32 == 0, |r| r.layout = Layout::FragmentChannels)
            }),
        },
    ],
};
