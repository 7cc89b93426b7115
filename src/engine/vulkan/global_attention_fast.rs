//! Global attention with the dot products of the fast GEMM: one workgroup for 64 queries (x) of one head (y).

use super::constants::GlobalAttentionFastPush;
use super::gemm_fast::{half_rounding, large_enough, rounds_toward_zero};
use super::kernel::{Binder, Dispatch, Variant};
use super::raw::VulkanError;
use super::shaders::{GLOBAL_ATTENTION_FAST, Shader};
use crate::numerics::softmax::KEYS;
use crate::numerics::{exponential, f16};
use crate::plan::Op;
use crate::plan::ops::GlobalAttention;

/// For devices that round toward zero on demand.
pub(super) static TOWARD_ZERO: Variant = Variant {
    name: "global_attention_fast",
    op: "global_attention",
    exact: true,
    shaders: &[&GLOBAL_ATTENTION_FAST[0]],
    fits: rounds_toward_zero,
    proven: |_| Ok(()),
    takes: |_, _| true,
    dispatches: |op, binder| dispatches(op, binder, &GLOBAL_ATTENTION_FAST[0]),
};

/// For all others.
pub(super) static ANY: Variant = Variant {
    name: "global_attention_any",
    op: "global_attention",
    exact: true,
    shaders: &[&GLOBAL_ATTENTION_FAST[1]],
    fits: large_enough,
    proven: |_| Ok(()),
    takes: |_, _| true,
    dispatches: |op, binder| dispatches(op, binder, &GLOBAL_ATTENTION_FAST[1]),
};

fn dispatches(op: &Op, binder: &mut Binder<'_>, shader: &'static Shader) -> Result<Vec<Dispatch>, VulkanError> {
    let Op::GlobalAttention(op) = op else { unreachable!("variants of this op get no other") };
    let tokens = binder.shape(&op.input).tokens();
    let padded = GlobalAttention::padded(tokens);
    let one = exponential::exp_weight_vit(f16::ZERO).to_f32();
    let push = GlobalAttentionFastPush {
        first: 0,
        tokens: tokens as u32,
        padded: padded as u32,
        heads: op.heads as u32,
        excess: f16::from_f32(one * (padded - tokens) as f32).to_bits().into(),
        nothing: 0,
    };
    let buffers = vec![binder.input(&op.input), binder.output(&op.output)?];
    let groups = [(padded / KEYS) as u32, op.heads as u32, 1];
    let dispatch = Dispatch::new(shader, buffers, &push, groups).specialized(vec![half_rounding(binder.info)]);
    Ok(vec![dispatch.costing(op.products(tokens) as u64)])
}
