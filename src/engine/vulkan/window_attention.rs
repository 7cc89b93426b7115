//! Window attention: one workgroup for one window (x) and head (y).

use super::constants::WindowAttentionPush;
use super::gemm::halves;
use super::kernel::{Binder, Dispatch};
use super::raw::VulkanError;
use super::shaders::WINDOW_ATTENTION;
use crate::geometry::Size;
use crate::plan::ops::WindowAttention;

impl WindowAttentionPush {
    /// The window grid of an op on a plane.
    pub(super) fn new(op: &WindowAttention, size: Size) -> Self {
        let (shift_x, shift_y) = op.phase.shift();
        Self {
            first: 0,
            width: size.width as u32,
            height: size.height as u32,
            heads: op.heads as u32,
            shift_x: shift_x as u32,
            shift_y: shift_y as u32,
            windows: op.grid(size).windows.width as u32,
            nothing: 0,
        }
    }
}

pub(super) fn dispatches(op: &WindowAttention, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let size = binder.shape(&op.input).size;
    let buffers = vec![
        binder.input(&op.input),
        binder.weights(&op.prior.to_string(), |model| halves(&model.prior(op.prior)))?,
        binder.output(&op.output)?,
    ];
    let push = WindowAttentionPush::new(op, size);
    let groups = [op.grid(size).len() as u32, op.heads as u32, 1];
    // Shared operands are read one by one: about twice a product of the GEMM.
    let products = 2 * op.products(size) as u64;
    Ok(vec![Dispatch::new(&WINDOW_ATTENTION, buffers, &push, groups).costing(products)])
}
