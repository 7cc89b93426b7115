//! A whole block of 32 channels in one kernel: six steps, of which only the last one's results reach memory.
//!
//! One window a workgroup, 16 queries a subgroup: what a product publishes is, where it lies in registers, the rows of
//! the next one (`shaders/block_matrix.comp`).

use super::constants::WindowAttentionPush;
use super::gemm::{element, halves};
use super::gemm_fast::half_rounding;
use super::gemm_matrix::staged_columns;
use super::kernel::{Binder, Dispatch};
use super::normalize_fast::head_scales;
use super::raw::VulkanError;
use super::shaders::BLOCK_MATRIX;
use crate::plan::ops::{Activation, Gemm, Normalize, NormalizeKind, WindowAttention};
use crate::plan::{Op, Plan, Step};
use crate::tensor::TensorName;

/// Channels of the blocks that fit a workgroup.
const CHANNELS: usize = 32;
/// Hidden channels of their feed-forward.
const HIDDEN: usize = 128;
/// The steps before the last.
pub(crate) const BEFORE: usize = 5;

/// The ops of a block, in order.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    expand: &'a Gemm,
    contract: &'a Gemm,
    qkv: &'a Gemm,
    normalize: &'a Normalize,
    attention: &'a WindowAttention,
    output: &'a Gemm,
}

/// Whether a product is one chain over `k` channels, and adds a seed where it should.
fn is_plain(op: &Gemm, k: usize, n: usize, seeded: bool) -> bool {
    (op.groups, op.k, op.n, op.partition, op.seed.is_some()) == (1, k, n, k, seeded)
}

impl<'a> Block<'a> {
    /// The block of six ops that feed each other, if the kernel knows it.
    pub(crate) fn of(ops: [&'a Op; BEFORE + 1]) -> Option<Self> {
        let [
            Op::Gemm(expand),
            Op::Gemm(contract),
            Op::Gemm(qkv),
            Op::Normalize(normalize),
            Op::WindowAttention(attention),
            Op::Gemm(output),
        ] = ops
        else {
            return None;
        };
        let shapes = is_plain(expand, CHANNELS, HIDDEN, false)
            && is_plain(contract, HIDDEN, CHANNELS, true)
            && is_plain(qkv, CHANNELS, 3 * CHANNELS, false)
            && is_plain(output, CHANNELS, CHANNELS, true)
            && (normalize.heads, normalize.kind, attention.heads) == (1, NormalizeKind::Window, 1);
        let feeds = |from: &Option<TensorName>, to: &TensorName| from.as_ref() == Some(to);
        let chained = feeds(&expand.published, &contract.input)
            && feeds(&contract.published, &qkv.input)
            && feeds(&qkv.raw, &normalize.input)
            && (&normalize.output, &attention.output) == (&attention.input, &output.input)
            && output.seed.as_ref().is_some_and(|seed| feeds(&contract.raw, &seed.residual));
        let nothing_else = expand.raw.is_none()
            && qkv.published.is_none()
            && normalize.raw.is_none()
            && attention.raw.is_none()
            && expand.activation == Activation::Silu
            && [contract, qkv, output].iter().all(|op| op.activation == Activation::None);
        (shapes && chained && nothing_else).then_some(Self { expand, contract, qkv, normalize, attention, output })
    }

    /// Whether a block ends with a step of the plan.
    pub(crate) fn ends_at(plan: &Plan, last: usize) -> bool {
        let steps = last.checked_sub(BEFORE).and_then(|first| plan.steps.get(first..=last));
        steps.is_some_and(|steps| Block::of(std::array::from_fn(|i| &steps[i].op)).is_some())
    }

    /// Whether a step is inside a block of the plan, before its last one.
    pub(crate) fn holds(plan: &Plan, step: &Step) -> bool {
        (step.index + 1..=step.index + BEFORE).any(|last| Self::ends_at(plan, last))
    }

    /// The block in one kernel; `None` where memory is too short for its weights as the kernel wants them.
    pub(crate) fn dispatches(&self, binder: &mut Binder<'_>) -> Result<Option<Vec<Dispatch>>, VulkanError> {
        let Self { expand, contract, qkv, normalize, attention, output } = self;
        let mut all = Vec::new();
        let mut weights = Vec::new();
        for op in [expand, contract, qkv, output] {
            let Some((columns, made)) = staged_columns(op, binder)? else { return Ok(None) };
            weights.push(columns);
            all.extend(made);
        }
        let [expanded, contracted, parts, projected] = weights.try_into().expect("four products");
        let mut scale = |op: &Gemm| {
            let scale = op.seed.as_ref().expect("is seeded").scale;
            binder.weights(&scale.to_string(), |model| halves(&model.halves(scale)))
        };
        let (ffn_scale, output_scale) = (scale(contract)?, scale(output)?);
        let prior = binder.weights(&attention.prior.to_string(), |model| halves(&model.prior(attention.prior)))?;
        let residual = &contract.seed.as_ref().expect("is seeded").residual;
        let kind = element(binder.shape(residual).element);
        let buffers = vec![
            binder.input(&expand.input),
            binder.input(residual),
            ffn_scale,
            expanded,
            contracted,
            parts,
            head_scales(normalize, binder)?,
            prior,
            output_scale,
            projected,
            binder.optional(output.published.as_ref())?,
            binder.optional(output.raw.as_ref())?,
        ];
        let plane = binder.plan.shape(&attention.output);
        let (size, tokens) = (plane.size, plane.tokens());
        let push = WindowAttentionPush::new(attention, size);
        let products = [expand, contract, qkv, output].iter().map(|op| tokens * op.k * op.n).sum::<usize>();
        let constants =
            vec![half_rounding(binder.info), kind, output.published.is_some().into(), output.raw.is_some().into()];
        let dispatch = Dispatch::new(&BLOCK_MATRIX, buffers, &push, [attention.grid(size).len() as u32, 1, 1]);
        all.push(dispatch.specialized(constants).costing((products + attention.products(size)) as u64));
        Ok(Some(all))
    }
}
