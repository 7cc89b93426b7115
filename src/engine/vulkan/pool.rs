//! 2x2 average: one invocation for four channels.

use super::constants::{LANES, PoolPush};
use super::kernel::{Binder, Dispatch};
use super::raw::VulkanError;
use super::shaders::POOL;
use crate::plan::ops::Pool;

pub(super) fn dispatches(op: &Pool, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let (above, below) = (binder.shape(&op.input), binder.plan.shape(&op.output));
    let words = (below.elements() / 4) as u32;
    let buffers = vec![binder.input(&op.input), binder.output(&op.output)?];
    let push = PoolPush {
        first: 0,
        words,
        width: below.size.width as u32,
        channels: below.channels as u32,
        above_width: above.size.width as u32,
        above_height: above.size.height as u32,
    };
    Ok(vec![Dispatch::new(&POOL, buffers, &push, [words.div_ceil(LANES), 1, 1])])
}
