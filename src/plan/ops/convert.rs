//! `half = f16(features)`: the network's input, rounded to halves.

use crate::tensor::TensorName;

/// f32 `[field][16]` to f16 `[field][16]`, rounded to nearest.
#[derive(Clone, Debug, PartialEq)]
pub struct Convert {
    /// f32.
    pub input: TensorName,
    /// f16.
    pub output: TensorName,
}
