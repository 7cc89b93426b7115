//! Cosine normalization: raw halves of q, k and v to published E4M3, head by head.

use crate::model::Parameter;
use crate::tensor::TensorName;

/// Normalizes every head's q and k of every token and publishes v. Layout of both tensors: head h holds q at
/// channel 96h, k at 96h + 32, v at 96h + 64.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalize {
    /// f16 `[tokens][96 * heads]`.
    pub input: TensorName,
    /// One f32 per head.
    pub head_scale: Parameter,
    /// Number of heads.
    pub heads: usize,
    /// Which query scaling.
    pub kind: NormalizeKind,
    /// E4M3, same extent.
    pub output: TensorName,
    /// f16, the halves before publication; the network itself never reads them, only [events](crate::engine::events).
    pub raw: Option<TensorName>,
}

/// How queries are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormalizeKind {
    /// `(q * n) * scale`.
    Window,
    /// `((q * n) * sqrt(32)) * learned`.
    Vit,
}
