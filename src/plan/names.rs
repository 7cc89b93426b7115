//! Tensor names, fixed once.

use crate::tensor::TensorName;

pub use crate::frame::FEATURES;

/// The ViT's first state; a boundary of ours that no other implementation publishes.
pub const TRANSITION_30_31: &str = "transition-30-31";
/// The published merge in front of block 70.
pub const POST_MERGE: &str = "post merge";
/// The raw half merge in front of block 70.
pub const POST_MERGE_RAW: &str = "post merge raw";
/// Block 70's raw half output.
pub const POST_BLOCK_RAW: &str = "post block raw";
/// The network's output.
pub const HEAD: &str = "head";

/// The input features.
pub fn features() -> TensorName {
    FEATURES.into()
}

/// The boundary behind a block. Block 70's published output has a name of its own kind: nothing reads it.
pub fn block(block: usize) -> TensorName {
    TensorName::new(format!("block-{block}"))
}

/// A kernel's tensor inside a block.
pub fn inside(block: usize, kernel: &str) -> TensorName {
    TensorName::new(format!("block-{block}/{kernel}"))
}

/// The pooled boundary between an encoder stage and the next.
pub fn pooled(last: usize) -> TensorName {
    TensorName::new(format!("pooled-{last}-{}", last + 1))
}

/// The transition between an encoder stage and the next.
pub fn transition(last: usize) -> TensorName {
    TensorName::new(format!("transition-{last}-{}", last + 1))
}
