//! f16 matrix product: one invocation for four results of one row.

use super::constants::{GemmHalfPush, LANES};
use super::gemm::halves;
use super::kernel::{Binder, Dispatch};
use super::raw::VulkanError;
use super::shaders::GEMM_HALF;
use crate::model::Model;
use crate::numerics::f16;
use crate::plan::ops::GemmHalf;

/// Weights column by column, K halves each.
fn columns(model: &Model, op: &GemmHalf) -> Vec<u8> {
    let weights = model.matrix_f16(op.weights);
    let all: Vec<f16> =
        (0..op.n).flat_map(|n| (0..op.k).map(move |k| (k, n))).map(|(k, n)| weights[k * op.n + n]).collect();
    halves(&all)
}

pub(super) fn dispatches(op: &GemmHalf, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let rows = binder.shape(&op.input).tokens() as u32;
    let (k, n) = (op.k as u32, op.n as u32);
    let buffers = vec![
        binder.input(&op.input),
        binder.weights(&format!("{} columns", op.weights), |model| columns(model, op))?,
        binder.optional(op.published.as_ref())?,
        binder.optional(op.raw.as_ref())?,
        binder.optional(op.single.as_ref())?,
    ];
    let constants = [&op.published, &op.raw, &op.single].map(|output| u32::from(output.is_some())).to_vec();
    let groups = [(rows * (n / 4)).div_ceil(LANES), 1, 1];
    // Integer terms cost about four times a product of the FP8 kernel.
    let products = 4 * u64::from(rows) * u64::from(k) * u64::from(n);
    let push = GemmHalfPush { first: 0, rows, k, n };
    Ok(vec![Dispatch::new(&GEMM_HALF, buffers, &push, groups).specialized(constants).costing(products)])
}
