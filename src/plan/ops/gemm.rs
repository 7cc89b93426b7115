//! `C[row][n] = sum over k of A[row][k] * W[k][n]` in FP8, as chained fixed-point groups of 16.
//!
//! With `groups` above 1 the matrix is block-diagonal: group g reads input channels `g * k ..` and writes output
//! channels `g * n ..` (the experts' and branches' own matrices). The experts' first matrices share their input
//! and are one matrix here, their columns side by side.

use crate::model::Parameter;
use crate::tensor::TensorName;

/// An FP8 matrix product.
#[derive(Clone, Debug, PartialEq)]
pub struct Gemm {
    /// E4M3 `[tokens][groups * k]`.
    pub input: TensorName,
    /// The weights.
    pub weights: Parameter,
    /// Independent block-diagonal parts.
    pub groups: usize,
    /// Input channels of one part.
    pub k: usize,
    /// Output channels of one part.
    pub n: usize,
    /// Products of one partition of K, each started from zero and added in order by half adds; `k` for one chain.
    pub partition: usize,
    /// The first accumulator; zero without.
    pub seed: Option<Seed>,
    /// Applied to the half result before publication.
    pub activation: Activation,
    /// E4M3 output `[tokens][groups * n]`.
    pub published: Option<TensorName>,
    /// f16 output, before activation and publication.
    pub raw: Option<TensorName>,
}

/// `seed = f16(residual * scale)`, -0 used as +0.
#[derive(Clone, Debug, PartialEq)]
pub struct Seed {
    /// E4M3 or f16, `[tokens][groups * n]`.
    pub residual: TensorName,
    /// One half per output channel.
    pub scale: Parameter,
}

/// What happens to a result before it is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    None,
    /// The five half steps of silu.
    Silu,
}
