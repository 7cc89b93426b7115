//! Global attention of the ViT: every token of level 5 attends to all, keys padded to a multiple of 64.

use crate::numerics::cosine::HEAD;
use crate::numerics::softmax::KEYS;
use crate::tensor::TensorName;

/// Global attention of all heads, without a prior.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalAttention {
    /// Normalized q, k, v: E4M3 `[tokens][96 * heads]`.
    pub input: TensorName,
    /// Number of heads.
    pub heads: usize,
    /// E4M3 `[tokens][32 * heads]`.
    pub output: TensorName,
    /// f16, the halves before publication; the network itself never reads them, only [events](crate::engine::events).
    pub raw: Option<TensorName>,
}

impl GlobalAttention {
    /// Keys with padding.
    pub fn padded(tokens: usize) -> usize {
        tokens.next_multiple_of(KEYS)
    }

    /// Products as executed, padding keys included.
    pub fn products(&self, tokens: usize) -> usize {
        self.heads * tokens * Self::padded(tokens) * HEAD * 2
    }
}
