//! The ops of the network: one closed enum, one file each.
//!
//! The same stem names an op in `plan/ops`, `engine/reference`, `engine/cpu`, `engine/vulkan` and `shaders`; a
//! test demands it.

mod convert;
mod gemm;
mod gemm_half;
mod global_attention;
mod merge;
mod normalize;
mod pool;
mod window_attention;

pub use convert::Convert;
pub use gemm::{Activation, Gemm, Seed};
pub use gemm_half::GemmHalf;
pub use global_attention::GlobalAttention;
pub use merge::Merge;
pub use normalize::{Normalize, NormalizeKind};
pub use pool::Pool;
pub use window_attention::WindowAttention;

use super::Plan;
use crate::model::Parameter;
use crate::tensor::TensorName;

/// What a step computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// f32 features to halves.
    Convert(Convert),
    /// FP8 matrix product with seed, activation and publication.
    Gemm(Gemm),
    /// f16 matrix product: the input adapter and the head.
    GemmHalf(GemmHalf),
    /// Cosine normalization of queries and keys, publication of values.
    Normalize(Normalize),
    /// Attention inside shifted 8x8 windows.
    WindowAttention(WindowAttention),
    /// Attention over all tokens of level 5.
    GlobalAttention(GlobalAttention),
    /// 2x2 average.
    Pool(Pool),
    /// Skip connection with a 2x nearest upsampling.
    Merge(Merge),
}

impl Op {
    /// The op's one word, the stem of its files.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Convert(_) => "convert",
            Self::Gemm(_) => "gemm",
            Self::GemmHalf(_) => "gemm_half",
            Self::Normalize(_) => "normalize",
            Self::WindowAttention(_) => "window_attention",
            Self::GlobalAttention(_) => "global_attention",
            Self::Pool(_) => "pool",
            Self::Merge(_) => "merge",
        }
    }

    /// The tensors read.
    pub fn inputs(&self) -> Vec<&TensorName> {
        match self {
            Self::Convert(op) => vec![&op.input],
            Self::Gemm(op) => std::iter::once(&op.input).chain(op.seed.as_ref().map(|s| &s.residual)).collect(),
            Self::GemmHalf(op) => vec![&op.input],
            Self::Normalize(op) => vec![&op.input],
            Self::WindowAttention(op) => vec![&op.input],
            Self::GlobalAttention(op) => vec![&op.input],
            Self::Pool(op) => vec![&op.input],
            Self::Merge(op) => vec![&op.skip, &op.low],
        }
    }

    /// The tensors read, then those written.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorName> {
        self.inputs().into_iter().chain(self.outputs())
    }

    /// The tensors written, the step's own name first.
    pub fn outputs(&self) -> Vec<&TensorName> {
        match self {
            Self::Convert(op) => vec![&op.output],
            Self::Gemm(op) => op.published.iter().chain(&op.raw).collect(),
            Self::GemmHalf(op) => op.published.iter().chain(&op.raw).chain(&op.single).collect(),
            Self::Normalize(op) => std::iter::once(&op.output).chain(&op.raw).collect(),
            Self::WindowAttention(op) => std::iter::once(&op.output).chain(&op.raw).collect(),
            Self::GlobalAttention(op) => std::iter::once(&op.output).chain(&op.raw).collect(),
            Self::Pool(op) => std::iter::once(&op.output).chain(&op.raw).collect(),
            Self::Merge(op) => op.published.iter().chain(&op.raw).collect(),
        }
    }

    /// The halves before publication of an op that the network itself never asks for them; engines on devices do
    /// not write these.
    pub fn unpublished(&self) -> Option<&TensorName> {
        match self {
            Self::Normalize(op) => op.raw.as_ref(),
            Self::WindowAttention(op) => op.raw.as_ref(),
            Self::GlobalAttention(op) => op.raw.as_ref(),
            Self::Pool(op) => op.raw.as_ref(),
            Self::Convert(_) | Self::Gemm(_) | Self::GemmHalf(_) | Self::Merge(_) => None,
        }
    }

    /// The parameters read.
    pub fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Gemm(op) => std::iter::once(op.weights).chain(op.seed.as_ref().map(|seed| seed.scale)).collect(),
            Self::GemmHalf(op) => vec![op.weights],
            Self::Normalize(op) => vec![op.head_scale],
            Self::WindowAttention(op) => vec![op.prior],
            Self::Merge(op) => std::iter::once(op.skip_scale).chain(op.low_scale).collect(),
            Self::Convert(_) | Self::GlobalAttention(_) | Self::Pool(_) => Vec::new(),
        }
    }

    /// Multiply-accumulates, whole windows and padded keys counted as executed.
    pub fn products(&self, plan: &Plan) -> u64 {
        let products = match self {
            Self::Gemm(op) => plan.shape(&op.input).tokens() * op.groups * op.k * op.n,
            Self::GemmHalf(op) => plan.shape(&op.input).tokens() * op.k * op.n,
            Self::WindowAttention(op) => op.products(plan.shape(&op.input).size),
            Self::GlobalAttention(op) => op.products(plan.shape(&op.input).tokens()),
            Self::Convert(_) | Self::Normalize(_) | Self::Pool(_) | Self::Merge(_) => 0,
        };
        products as u64
    }
}
