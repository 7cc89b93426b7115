//! Attention inside shifted 8x8 windows: scores on a learned prior, bit-trick exponential, fixed-order softmax.

use crate::geometry::{Phase, Size, WindowGrid, window};
use crate::model::Parameter;
use crate::numerics::cosine::HEAD;
use crate::tensor::TensorName;

/// Window attention of all heads. Tokens outside the field are zero vectors that still enter the denominator.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowAttention {
    /// Normalized q, k, v: E4M3 `[tokens][96 * heads]`.
    pub input: TensorName,
    /// f16 `[head][query][key]`, both in physical order.
    pub prior: Parameter,
    /// Number of heads.
    pub heads: usize,
    /// The block's phase: the shift of the window grid.
    pub phase: Phase,
    /// E4M3 `[tokens][32 * heads]`.
    pub output: TensorName,
    /// f16, the halves before publication; the network itself never reads them, only [events](crate::engine::events).
    pub raw: Option<TensorName>,
}

impl WindowAttention {
    /// The windows of this op on its plane.
    pub fn grid(&self, size: Size) -> WindowGrid {
        WindowGrid::new(size, self.phase)
    }

    /// Products as executed: whole windows, scores and weighted values.
    pub fn products(&self, size: Size) -> usize {
        self.grid(size).len() * self.heads * window::TOKENS * window::TOKENS * HEAD * 2
    }
}
