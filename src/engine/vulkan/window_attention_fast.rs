//! Window attention with the dot products of the fast GEMM: one workgroup for one window (x) and head (y).

use super::constants::WindowAttentionPush;
use super::gemm::halves;
use super::gemm_fast::{half_rounding, large_enough, rounds_toward_zero};
use super::kernel::{Binder, Dispatch, Variant};
use super::raw::{Slice, VulkanError};
use super::shaders::{Shader, WINDOW_ATTENTION_FAST};
use crate::plan::Op;
use crate::plan::ops::WindowAttention;

/// For devices that round toward zero on demand.
pub(super) static TOWARD_ZERO: Variant = Variant {
    name: "window_attention_fast",
    op: "window_attention",
    exact: true,
    shaders: &[&WINDOW_ATTENTION_FAST[0]],
    fits: rounds_toward_zero,
    proven: |_| Ok(()),
    takes: |_, _| true,
    dispatches: |op, binder| stepped(op, binder, &WINDOW_ATTENTION_FAST[0]),
};

/// For all others.
pub(super) static ANY: Variant = Variant {
    name: "window_attention_any",
    op: "window_attention",
    exact: true,
    shaders: &[&WINDOW_ATTENTION_FAST[1]],
    fits: large_enough,
    proven: |_| Ok(()),
    takes: |_, _| true,
    dispatches: |op, binder| stepped(op, binder, &WINDOW_ATTENTION_FAST[1]),
};

/// The dispatch of a kernel that reads normalized codes.
pub(super) fn stepped(op: &Op, binder: &mut Binder<'_>, shader: &'static Shader) -> Result<Vec<Dispatch>, VulkanError> {
    let Op::WindowAttention(op) = op else { unreachable!("variants of this op get no other") };
    let (input, scale) = (binder.input(&op.input), binder.nothing()?);
    attention(op, binder, shader, input, scale)
}

/// The dispatch from a given input: normalized codes, or raw halves with the heads' scales.
pub(super) fn attention(
    op: &WindowAttention,
    binder: &mut Binder<'_>,
    shader: &'static Shader,
    input: Slice,
    scale: Slice,
) -> Result<Vec<Dispatch>, VulkanError> {
    let size = binder.plan.shape(&op.output).size;
    let prior = binder.weights(&op.prior.to_string(), |model| halves(&model.prior(op.prior)))?;
    let buffers = vec![input, prior, scale, binder.output(&op.output)?];
    let push = WindowAttentionPush::new(op, size);
    let groups = [op.grid(size).len() as u32, op.heads as u32, 1];
    let dispatch = Dispatch::new(shader, buffers, &push, groups).specialized(vec![half_rounding(binder.info)]);
    Ok(vec![dispatch.costing(op.products(size) as u64)])
}
