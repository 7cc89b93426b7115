//! Cosine normalization, four lanes at a time: one invocation for the q, the k or the v of one head of one token.

use super::constants::{LANES, NormalizeFastPush};
use super::gemm_fast::half_rounding;
use super::kernel::{Binder, Dispatch, Variant};
use super::normalize::scales;
use super::raw::{Slice, VulkanError};
use super::shaders::NORMALIZE_FAST;
use crate::plan::Op;
use crate::plan::ops::{Normalize, NormalizeKind};

/// For every device.
pub(super) static FAST: Variant = Variant {
    name: "normalize_fast",
    op: "normalize",
    exact: true,
    shaders: &[&NORMALIZE_FAST],
    fits: |_| Ok(()),
    proven: |_| Ok(()),
    takes: |_, _| true,
    dispatches,
};

/// The heads' scales on the device, as halves in words.
pub(super) fn head_scales(op: &Normalize, binder: &mut Binder<'_>) -> Result<Slice, VulkanError> {
    binder.weights(&format!("{} halves", op.head_scale), |model| scales(model, op.head_scale))
}

fn dispatches(op: &Op, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let Op::Normalize(op) = op else { unreachable!("variants of this op get no other") };
    let (tokens, heads) = (binder.shape(&op.input).tokens() as u32, op.heads as u32);
    let vectors = tokens * heads * 3;
    let buffers = vec![binder.input(&op.input), head_scales(op, binder)?, binder.output(&op.output)?];
    let push = NormalizeFastPush { first: 0, vectors, heads, nothing: 0 };
    let constants = vec![half_rounding(binder.info), u32::from(op.kind == NormalizeKind::Vit)];
    let dispatch = Dispatch::new(&NORMALIZE_FAST, buffers, &push, [vectors.div_ceil(LANES), 1, 1]);
    Ok(vec![dispatch.specialized(constants).costing(u64::from(vectors) * 256)])
}
