//! The GEMM on a device's matrix units: E4M3 decoded to halves. Not exact, and meant to be debugged.

use super::gemm_fast::{Tiling, half_rounding, prepare};
use super::kernel::{Binder, Dispatch, Variant};
use super::raw::{AdapterInfo, VulkanError};
use super::shaders::COOPMAT;
use crate::plan::Op;

/// Rows and columns of a workgroup, and invocations of the subgroups that it is written for.
const TILING: Tiling = Tiling { rows: 64, columns: 32 };
const SUBGROUP: u32 = 32;

pub(super) static COOPMAT_GEMM: Variant = Variant {
    name: "coopmat",
    op: "gemm",
    exact: false,
    shaders: &[&COOPMAT],
    fits,
    proven: |_| Ok(()),
    takes: |op, _| matches!(op, Op::Gemm(op) if op.n.is_multiple_of(32) && op.partition.is_multiple_of(16)),
    dispatches,
};

/// Whether the device has the shape that the shader is written for.
pub(super) fn fits(info: &AdapterInfo) -> Result<(), String> {
    let shape =
        |s: &super::raw::CooperativeMatrix| (s.m, s.n, s.k, s.operands, s.accumulator) == (16, 16, 16, "f16", "f16");
    let features = info.features;
    if !features.cooperative_matrix || !info.cooperative.iter().any(shape) {
        return Err("has no cooperative matrices of 16x16x16 halves".to_owned());
    }
    if info.subgroups.size != SUBGROUP || !features.float16 || !features.memory_model {
        return Err(format!("needs subgroups of {SUBGROUP}, f16 arithmetic and the Vulkan memory model"));
    }
    Ok(())
}

fn dispatches(op: &Op, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let Op::Gemm(op) = op else { unreachable!("takes() accepts no other op") };
    let (buffers, push, [kind, silu, publishes, keeps], grid, products) = prepare(op, binder, TILING)?;
    let constants = vec![half_rounding(binder.info), kind, silu, publishes, keeps, op.partition as u32 / 16];
    Ok(vec![Dispatch::new(&COOPMAT, buffers, &push, grid).specialized(constants).costing(products)])
}
