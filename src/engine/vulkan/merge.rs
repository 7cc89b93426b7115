//! A decoder's skip connection: one invocation for four channels.

use super::constants::{LANES, MergePush};
use super::gemm::{element, halves};
use super::kernel::{Binder, Dispatch};
use super::raw::VulkanError;
use super::shaders::MERGE;
use crate::plan::ops::Merge;

pub(super) fn dispatches(op: &Merge, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let (skip, low) = (binder.shape(&op.skip), binder.shape(&op.low));
    let words = (skip.elements() / 4) as u32;
    let low_scale = match op.low_scale {
        Some(scale) => binder.weights(&scale.to_string(), |model| halves(&model.halves(scale)))?,
        None => binder.nothing()?,
    };
    let buffers = vec![
        binder.input(&op.skip),
        binder.weights(&op.skip_scale.to_string(), |model| halves(&model.halves(op.skip_scale)))?,
        binder.input(&op.low),
        low_scale,
        binder.optional(op.published.as_ref())?,
        binder.optional(op.raw.as_ref())?,
    ];
    let flag = u32::from;
    let constants = vec![
        element(skip.element),
        element(low.element),
        flag(op.low_scale.is_some()),
        flag(op.published.is_some()),
        flag(op.raw.is_some()),
    ];
    let push = MergePush {
        first: 0,
        words,
        width: skip.size.width as u32,
        channels: skip.channels as u32,
        low_width: low.size.width as u32,
    };
    let groups = [words.div_ceil(LANES), 1, 1];
    Ok(vec![Dispatch::new(&MERGE, buffers, &push, groups).specialized(constants)])
}
