//! A decoder's skip connection: `fma(skip, skip_scale, upsample(low))`.

use crate::model::Parameter;
use crate::tensor::TensorName;

/// Joins a skip with the plane below, upsampled 2x nearest: output (x, y) reads low (x/2, y/2).
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// E4M3 on this plane.
    pub skip: TensorName,
    /// One half per channel.
    pub skip_scale: Parameter,
    /// The plane below: f16, or E4M3 together with `low_scale`.
    pub low: TensorName,
    /// At the post merge the low side is `low * low_scale`, rounded to a half first.
    pub low_scale: Option<Parameter>,
    /// E4M3 output by `publish` (a -0 keeps its sign: this is no GEMM epilogue).
    pub published: Option<TensorName>,
    /// f16 output.
    pub raw: Option<TensorName>,
}
