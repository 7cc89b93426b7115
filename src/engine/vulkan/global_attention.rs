//! Global attention: one workgroup for 64 queries (x) of one head (y).

use super::constants::GlobalAttentionPush;
use super::kernel::{Binder, Dispatch};
use super::raw::VulkanError;
use super::shaders::GLOBAL_ATTENTION;
use crate::numerics::softmax::KEYS;
use crate::plan::ops::GlobalAttention;

pub(super) fn dispatches(op: &GlobalAttention, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let tokens = binder.shape(&op.input).tokens();
    let padded = GlobalAttention::padded(tokens);
    let buffers = vec![binder.input(&op.input), binder.output(&op.output)?];
    let push = GlobalAttentionPush { first: 0, tokens: tokens as u32, padded: padded as u32, heads: op.heads as u32 };
    let groups = [(padded / KEYS) as u32, op.heads as u32, 1];
    Ok(vec![Dispatch::new(&GLOBAL_ATTENTION, buffers, &push, groups).costing(2 * op.products(tokens) as u64)])
}
