//! An f16 matrix product in chained groups of 8: the input adapter (16 -> 32) and the head (32 -> 4).

use crate::model::Parameter;
use crate::tensor::TensorName;

/// An f16 matrix product from a zero accumulator.
#[derive(Clone, Debug, PartialEq)]
pub struct GemmHalf {
    /// f16 `[tokens][k]`.
    pub input: TensorName,
    /// The weights.
    pub weights: Parameter,
    /// Input channels.
    pub k: usize,
    /// Output channels.
    pub n: usize,
    /// E4M3 output by `publish` (a -0 keeps its sign).
    pub published: Option<TensorName>,
    /// f16 output.
    pub raw: Option<TensorName>,
    /// f32 output: the half result widened.
    pub single: Option<TensorName>,
}
