//! The fast exact GEMM: one FMA per product for the shared exponent, one for the sum.
//!
//! The fixed-point dot product of the tensor core needs, per group of 16, the largest sum of operand exponents and the
//! sum of all terms truncated to that exponent's unit. On ordinary ALUs:
//!
//! 1. *Shared exponent.* Operands are staged with `2^(8 e - 15)` beside their values. The products of these powers, added
//!    up, carry the largest exponent sum in the exponent field of the result: eight apart, sixteen equal maxima do not
//!    reach the next one.
//! 2. *Unit.* `M = 1.5 * 2^(E + 10)` has the unit `2^(E - 13)` as its last bit, so whatever is added to it is cut there.
//!    Exponents below -12 need no floor: every term is exact there.
//! 3. *Sum.* Where rounding toward zero can be asked for, `c = fma(a, b, c)` from M adds exactly `floor(a b / unit)`: c stays
//!    positive. Elsewhere `t = fma(a, b, h)` with h half a unit less a little, against the product's sign, then `c + t`, round
//!    to nearest and so toward zero.
//! 4. *From floor to truncation*, in the first case: one unit for every negative product that is not whole, which is
//!    so if and only if the lowest set bits of its operands lie below the unit: a byte per operand, a population count
//!    per group.
//! 5. *Result.* `half(c - M)`, the subtraction exact. Infinities stay by themselves.

use super::constants::GemmFastPush;
use super::gemm::{columns, element, halves};
use super::kernel::{Binder, Dispatch, Variant};
use super::raw::{AdapterInfo, VulkanError};
use super::shaders::{GEMM_FAST, Shader};
use crate::plan::ops::{Activation, Gemm};
use crate::plan::{Op, Plan};

/// Rows and columns of the tiles in [`GEMM_FAST`], in its order.
const TILES: [(u32, u32); 3] = [(64, 64), (64, 32), (32, 32)];
/// Workgroups that keep a large device busy; with fewer, smaller tiles are better.
const ENOUGH: u32 = 264;
/// PCI vendor of the drivers whose `packHalf2x16` rounds to nearest even in every mode; the self-test would tell.
const NVIDIA: u32 = 0x10de;

/// For devices that round toward zero on demand.
pub(super) static TOWARD_ZERO: Variant = Variant {
    name: "gemm_fast",
    op: "gemm",
    exact: true,
    shaders: &[&GEMM_FAST[0], &GEMM_FAST[1], &GEMM_FAST[2]],
    fits: rounds_toward_zero,
    takes,
    dispatches: |op, binder| dispatches(op, binder, &GEMM_FAST[..3]),
};

/// For all others.
pub(super) static ANY: Variant = Variant {
    name: "gemm_fast_any",
    op: "gemm",
    exact: true,
    shaders: &[&GEMM_FAST[3], &GEMM_FAST[4], &GEMM_FAST[5]],
    fits: large_enough,
    takes,
    dispatches: |op, binder| dispatches(op, binder, &GEMM_FAST[3..]),
};

/// Whether f32 arithmetic can be rounded toward zero.
pub(super) fn rounds_toward_zero(info: &AdapterInfo) -> Result<(), String> {
    large_enough(info)?;
    if info.api.starts_with("1.1") || !info.features.round_to_zero_f32 {
        return Err("cannot round f32 toward zero".to_owned());
    }
    Ok(())
}

/// Whether the tiles fit a workgroup.
pub(super) fn large_enough(info: &AdapterInfo) -> Result<(), String> {
    let (memory, invocations) = (32 << 10, 256);
    if info.limits.shared_memory < memory || info.limits.invocations < invocations {
        return Err(format!("needs {memory} bytes of shared memory and {invocations} invocations"));
    }
    Ok(())
}

/// How the shaders round halves here: see `HALF` in `include/fast.glsl`.
pub(super) fn half_rounding(info: &AdapterInfo) -> u32 {
    u32::from(info.vendor == NVIDIA)
}

fn takes(op: &Op, _plan: &Plan) -> bool {
    matches!(op, Op::Gemm(op) if op.n.is_multiple_of(32) && op.partition.is_multiple_of(16))
}

/// The largest tile that keeps the device busy.
fn tile(rows: u32, op: &Gemm) -> usize {
    let fits = |&&(_, columns): &&(u32, u32)| (op.n as u32).is_multiple_of(columns);
    let groups = |(r, c): (u32, u32)| rows.div_ceil(r) * (op.groups * op.n) as u32 / c;
    let busy = TILES.iter().filter(fits).position(|&tile| groups(tile) >= ENOUGH);
    let tile = busy.map_or(TILES[2], |at| *TILES.iter().filter(fits).nth(at).expect("found above"));
    TILES.iter().position(|&t| t == tile).expect("one of the tiles")
}

fn dispatches(op: &Op, binder: &mut Binder<'_>, shaders: &'static [Shader]) -> Result<Vec<Dispatch>, VulkanError> {
    let Op::Gemm(op) = op else { unreachable!("takes() accepts no other op") };
    let rows = binder.shape(&op.input).tokens() as u32;
    let [k, n, groups, partition] = [op.k, op.n, op.groups, op.partition].map(|x| x as u32);
    let (residual, scale, kind) = match &op.seed {
        None => (binder.nothing()?, binder.nothing()?, 0),
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
    ];
    let flag = u32::from;
    let constants = vec![
        half_rounding(binder.info),
        kind,
        flag(op.activation == Activation::Silu),
        flag(op.published.is_some()),
        flag(op.raw.is_some()),
        if partition < k { partition / 16 } else { 0 },
    ];
    let push = GemmFastPush {
        first: 0,
        rows,
        groups: k / 16,
        input_row: groups * k,
        weight_row: k,
        output_row: groups * n,
        input_z: k,
        weight_z: n * k,
        output_z: n,
        nothing: 0,
    };
    let tile = tile(rows, op);
    let (tile_rows, tile_columns) = TILES[tile];
    let grid = [rows.div_ceil(tile_rows), n / tile_columns, groups];
    let products = u64::from(rows) * u64::from(k) * u64::from(n) * u64::from(groups);
    Ok(vec![Dispatch::new(&shaders[tile], buffers, &push, grid).specialized(constants).costing(products)])
}
