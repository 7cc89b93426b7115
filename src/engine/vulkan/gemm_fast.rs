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

use super::constants::{GemmFastJoinPush, GemmFastPush, LANES};
use super::gemm::{columns, element, halves};
use super::kernel::{Binder, Dispatch, Variant};
use super::raw::{AdapterInfo, Slice, VulkanError};
use super::shaders::{GEMM_FAST, GEMM_FAST_JOIN, Shader};
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
    shaders: &[&GEMM_FAST[0], &GEMM_FAST[1], &GEMM_FAST[2], &GEMM_FAST_JOIN],
    fits: rounds_toward_zero,
    takes,
    dispatches: |op, binder| dispatches(op, binder, &GEMM_FAST[..3]),
};

/// For all others.
pub(super) static ANY: Variant = Variant {
    name: "gemm_fast_any",
    op: "gemm",
    exact: true,
    shaders: &[&GEMM_FAST[3], &GEMM_FAST[4], &GEMM_FAST[5], &GEMM_FAST_JOIN],
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

/// Workgroups of a tile.
fn workgroups((tile_rows, tile_columns): (u32, u32), rows: u32, width: u32) -> u32 {
    rows.div_ceil(tile_rows) * (width / tile_columns)
}

/// The largest tile that keeps the device busy; `width` counts all columns, parts of K included.
fn tile(rows: u32, columns: u32, width: u32) -> usize {
    let fits = |&(_, (_, c)): &(usize, &(u32, u32))| columns.is_multiple_of(*c);
    let busy = |(_, tile): &(usize, &(u32, u32))| workgroups(**tile, rows, width) >= ENOUGH;
    TILES.iter().enumerate().filter(fits).find(busy).map_or(TILES.len() - 1, |(at, _)| at)
}

/// A workgroup's part of the result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiling {
    pub(super) rows: u32,
    pub(super) columns: u32,
}

/// What every kernel of this interface is given: buffers, push constants, the constants SEED, SILU, PUBLISHED and RAW,
/// workgroups, and products.
type Prepared = (Vec<Slice>, GemmFastPush, [u32; 4], [u32; 3], u64);

/// Prepares a product in one piece, a chain of all K in one workgroup.
pub(super) fn prepare(op: &Gemm, binder: &mut Binder<'_>, tiling: Tiling) -> Result<Prepared, VulkanError> {
    let rows = binder.shape(&op.input).tokens() as u32;
    let [k, n, groups] = [op.k, op.n, op.groups].map(|x| x as u32);
    let (residual, scale, kind) = match &op.seed {
        None => (binder.nothing()?, binder.nothing()?, 0),
        Some(seed) => {
            let scale = binder.weights(&seed.scale.to_string(), |model| halves(&model.halves(seed.scale)))?;
            (binder.input(&seed.residual), scale, element(binder.shape(&seed.residual).element))
        }
    };
    let weights = binder.weights(&format!("{} columns", op.weights), |model| columns(model, op))?;
    let (published, raw) = (binder.optional(op.published.as_ref())?, binder.optional(op.raw.as_ref())?);
    let buffers = vec![binder.input(&op.input), weights, residual, scale, published, raw];
    let silu = u32::from(op.activation == Activation::Silu);
    let constants = [kind, silu, op.published.is_some().into(), op.raw.is_some().into()];
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
    let grid = [rows.div_ceil(tiling.rows), n / tiling.columns, groups];
    let products = u64::from(rows) * u64::from(k) * u64::from(n) * u64::from(groups);
    Ok((buffers, push, constants, grid, products))
}

fn dispatches(op: &Op, binder: &mut Binder<'_>, shaders: &'static [Shader]) -> Result<Vec<Dispatch>, VulkanError> {
    let Op::Gemm(op) = op else { unreachable!("takes() accepts no other op") };
    let rows = binder.shape(&op.input).tokens() as u32;
    let [k, n, partition] = [op.k, op.n, op.partition].map(|x| x as u32);
    // Parts of K are independent chains: where tokens are few they run side by side, and are joined by a second kernel.
    let parts = k / partition;
    let split = parts > 1 && op.groups == 1 && workgroups(TILES[0], rows, n) < ENOUGH;
    let tile = tile(rows, n, n * if split { parts } else { op.groups as u32 });
    let tiling = Tiling { rows: TILES[tile].0, columns: TILES[tile].1 };
    let half = half_rounding(binder.info);
    let (buffers, push, [kind, silu, publishes, keeps], grid, products) = prepare(op, binder, tiling)?;
    if !split {
        let chain = if parts > 1 { partition / 16 } else { 0 };
        let dispatch = Dispatch::new(&shaders[tile], buffers, &push, grid);
        return Ok(vec![dispatch.specialized(vec![half, kind, silu, publishes, keeps, chain, 0]).costing(products)]);
    }
    let words = (parts * rows * n / 2) as usize;
    let scratch = binder.store.scratch(&format!("parts of {rows} rows and {n} columns, {parts}"), words)?;
    let part =
        GemmFastPush { groups: partition / 16, input_z: partition, weight_z: partition, output_z: rows * n, ..push };
    let (mut inputs, outputs) = (buffers[..4].to_vec(), buffers[4..].iter().cloned());
    inputs.extend([binder.nothing()?, scratch.clone()]);
    let dispatch = Dispatch::new(&shaders[tile], inputs, &part, [grid[0], grid[1], parts]);
    let chains = dispatch.specialized(vec![half, kind, 0, 0, 1, 0, 1]).costing(products);
    let quads = rows * n / 4;
    let push = GemmFastJoinPush { first: 0, quads, parts, nothing: 0 };
    let buffers = std::iter::once(scratch).chain(outputs).collect();
    let join = Dispatch::new(&GEMM_FAST_JOIN, buffers, &push, [quads.div_ceil(LANES), 1, 1]);
    Ok(vec![chains, join.specialized(vec![half, silu, publishes, keeps])])
}
