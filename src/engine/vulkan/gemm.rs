//! FP8 matrix product: tiles of rows along x, of columns along y.

use super::constants::{ELEMENT_E4M3, ELEMENT_F16, ELEMENT_F32, ELEMENT_NONE, GEMM_COLUMNS, GEMM_ROWS, GemmPush};
use super::kernel::{Binder, Dispatch};
use super::raw::{Slice, VulkanError};
use super::shaders::GEMM;
use crate::model::Model;
use crate::numerics::{f16, silu};
use crate::plan::ops::{Activation, Gemm};
use crate::tensor::Element;

/// An element format as a specialization constant.
pub(super) fn element(element: Element) -> u32 {
    match element {
        Element::E4m3 => ELEMENT_E4M3,
        Element::F16 => ELEMENT_F16,
        Element::F32 => ELEMENT_F32,
    }
}

/// Halves as bytes.
pub(super) fn halves(halves: &[f16]) -> Vec<u8> {
    bytemuck::cast_slice(halves).to_vec()
}

/// `publish(silu(h))` of every half.
pub(super) fn silu_table(binder: &mut Binder<'_>) -> Result<Slice, VulkanError> {
    binder.store.constant("silu", || silu::published_table().to_vec())
}

/// Weights column by column, K codes each, all groups one after the other.
pub(super) fn columns(model: &Model, op: &Gemm) -> Vec<u8> {
    let matrix = model.matrix(op.weights);
    (0..matrix.groups).flat_map(|g| (0..matrix.n).map(move |n| (g, n))).flat_map(|(g, n)| matrix.column(g, n)).collect()
}

pub(super) fn dispatches(op: &Gemm, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let rows = binder.shape(&op.input).tokens() as u32;
    let [k, n, groups, chain] = [op.k, op.n, op.groups, op.partition].map(|x| x as u32);
    let (residual, scale, kind) = match &op.seed {
        None => (binder.nothing()?, binder.nothing()?, ELEMENT_NONE),
        Some(seed) => {
            let scale = binder.weights(&seed.scale.to_string(), |model| halves(&model.halves(seed.scale)))?;
            (binder.input(&seed.residual), scale, element(binder.shape(&seed.residual).element))
        }
    };
    let buffers = vec![
        binder.input(&op.input),
        binder.weights(&format!("{} columns", op.weights), |model| columns(model, op))?,
        residual,
        scale,
        binder.optional(op.published.as_ref())?,
        binder.optional(op.raw.as_ref())?,
        silu_table(binder)?,
    ];
    let flag = u32::from;
    let silu = op.activation == Activation::Silu;
    let constants = vec![kind, flag(silu), flag(op.published.is_some()), flag(op.raw.is_some())];
    let push = GemmPush { first: 0, rows, k, n, groups, chain };
    let tiles = [rows.div_ceil(GEMM_ROWS), groups * n / GEMM_COLUMNS, 1];
    let products = u64::from(rows) * u64::from(k) * u64::from(n) * u64::from(groups);
    Ok(vec![Dispatch::new(&GEMM, buffers, &push, tiles).specialized(constants).costing(products)])
}
