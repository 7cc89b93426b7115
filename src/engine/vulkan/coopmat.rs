//! The GEMM on a device's matrix units: E4M3 decoded to halves. Not exact, and meant to be debugged.

use super::gemm_fast::{Tiling, half_rounding, prepare, takes};
use super::kernel::{Binder, Dispatch, Variant};
use super::matrix_unit;
use super::raw::{AdapterInfo, VulkanError};
use super::shaders::COOPMAT;
use crate::plan::Op;

/// Rows and columns of a workgroup.
const TILING: Tiling = Tiling { rows: 64, columns: 32 };

pub(super) static COOPMAT_GEMM: Variant = Variant {
    name: "coopmat",
    op: "gemm",
    exact: false,
    shaders: &[&COOPMAT],
    fits,
    proven: |_| Ok(()),
    takes,
    dispatches,
};

/// Whether the device has the shape that the shader is written for.
pub(super) fn fits(info: &AdapterInfo) -> Result<(), String> {
    if !matrix_unit::has(info, 16, "f16", "f16") {
        return Err("has no cooperative matrices of 16x16x16 halves".to_owned());
    }
    matrix_unit::runs(info)
}

fn dispatches(op: &Op, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let Op::Gemm(op) = op else { unreachable!("takes() accepts no other op") };
    let (buffers, push, [kind, silu, publishes, keeps], grid, products) = prepare(op, binder, TILING)?;
    let constants = vec![half_rounding(binder.info), kind, silu, publishes, keeps, op.partition as u32 / 16];
    Ok(vec![Dispatch::new(&COOPMAT, buffers, &push, grid).specialized(constants).costing(products)])
}
