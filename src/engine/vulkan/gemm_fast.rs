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

use super::constants::{FAST_WORDS, GemmFastExpandPush, GemmFastJoinPush, GemmFastPush, LANES};
use super::gemm::{columns, element, halves};
use super::kernel::{Binder, Dispatch, Variant};
use super::raw::{AdapterInfo, Slice, VulkanError};
use super::shaders::{GEMM_FAST, GEMM_FAST_EXPAND, GEMM_FAST_JOIN, Shader};
use crate::plan::ops::{Activation, Gemm};
use crate::plan::{Op, Plan};

/// Columns of a block of expanded weights.
const BLOCK: u32 = 32;
/// PCI vendor of the drivers whose `packHalf2x16` rounds to nearest even in every mode; the self-test would tell.
const NVIDIA: u32 = 0x10de;

/// For devices that round toward zero on demand.
pub(super) static TOWARD_ZERO: Variant = Variant {
    name: "gemm_fast",
    op: "gemm",
    exact: true,
    shaders: &[&GEMM_FAST[0], &GEMM_FAST[1], &GEMM_FAST_EXPAND, &GEMM_FAST_JOIN],
    fits: rounds_toward_zero,
    takes,
    proven: |_| Ok(()),
    dispatches: |op, binder| dispatches(op, binder, &GEMM_FAST[..2]),
};

/// For all others.
pub(super) static ANY: Variant = Variant {
    name: "gemm_fast_any",
    op: "gemm",
    exact: true,
    shaders: &[&GEMM_FAST[2], &GEMM_FAST[3], &GEMM_FAST_EXPAND, &GEMM_FAST_JOIN],
    fits: large_enough,
    takes,
    proven: |_| Ok(()),
    dispatches: |op, binder| dispatches(op, binder, &GEMM_FAST[2..]),
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

/// The products that all fast kernels take.
pub(super) fn takes(op: &Op, _plan: &Plan) -> bool {
    matches!(op, Op::Gemm(op) if op.n.is_multiple_of(32) && op.partition.is_multiple_of(16))
}

/// A workgroup's part of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiling {
    pub(super) rows: u32,
    pub(super) columns: u32,
}

/// A tile of the fast GEMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    tiling: Tiling,
    /// Columns of a thread: 4 or 2, the order of [`GEMM_FAST`].
    each: u32,
}

impl Tile {
    const fn new(rows: u32, columns: u32, each: u32) -> Self {
        Self { tiling: Tiling { rows, columns }, each }
    }

    fn threads(self) -> u32 {
        self.tiling.rows / 4 * (self.tiling.columns / self.each)
    }

    fn workgroups(self, rows: u32, columns: u32, depth: u32) -> u32 {
        rows.div_ceil(self.tiling.rows) * (columns / self.tiling.columns) * depth
    }

    /// How long a product takes, in units of one result; fitted to the times of 40 shapes and 14 tiles on an H200. A
    /// processor works off its workgroups together, and the faster the more warps it may choose from.
    fn cost(self, [rows, columns, depth]: [u32; 3], processors: u32) -> f32 {
        let Tiling { rows: r, columns: c } = self.tiling;
        let workgroups = self.workgroups(rows, columns, depth) as f32;
        let mean = workgroups / processors as f32;
        // With many workgroups the processors' loads even out.
        let load = if mean < 6.0 { mean.ceil() } else { mean };
        let (each, most) = if self.each == 4 { (1.0, 18.0) } else { (1.3, 29.0) };
        let warps = (load * self.threads() as f32 / 32.0).min(most);
        let workgroup = (r * c) as f32 * each + 8.0 * r as f32 + c as f32 + 20.0;
        load * workgroup * (warps + 6.0) / warps
    }
}

/// For a device that has better kernels, but no memory for their weights.
pub(super) fn without_staging(op: &Op, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let exact = if rounds_toward_zero(binder.info).is_ok() { &GEMM_FAST[..2] } else { &GEMM_FAST[2..] };
    dispatches(op, binder, exact)
}

/// All tiles.
const TILES: [Tile; 7] = [
    Tile::new(64, 64, 4),
    Tile::new(64, 32, 4),
    Tile::new(32, 64, 4),
    Tile::new(48, 32, 2),
    Tile::new(40, 32, 2),
    Tile::new(32, 32, 2),
    Tile::new(24, 32, 2),
];

/// The tile that promises to be fastest for rows, columns and depth (groups or parts of K).
fn tile(product: [u32; 3], processors: u32) -> Tile {
    let fitting = TILES.into_iter().filter(|tile| product[1].is_multiple_of(tile.tiling.columns));
    let best = fitting.min_by(|a, b| a.cost(product, processors).total_cmp(&b.cost(product, processors)));
    best.expect("every product has a multiple of 32 columns")
}

/// What every kernel of this interface is given: buffers, push constants, the constants SEED, SILU, PUBLISHED and RAW,
/// workgroups, and products.
pub(super) type Prepared = (Vec<Slice>, GemmFastPush, [u32; 4], [u32; 3], u64);

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

/// How a kernel wants its weights staged.
pub(super) struct Staging {
    /// What makes them from codes, and its specialization constants.
    pub(super) shader: &'static Shader,
    pub(super) constants: Vec<u32>,
    /// The packing in a word, for the key.
    pub(super) packing: String,
    /// Bytes of 16 codes of a column.
    pub(super) bytes: u32,
}

/// Staged weights, and the kernel that makes them unless it has run.
pub(super) type Staged = (Slice, Option<Dispatch>);

/// The weights as a kernel stages them, made by a kernel of their own when they are first asked for; `None` where memory is
/// too short for more than codes.
pub(super) fn staged(
    op: &Gemm,
    binder: &mut Binder<'_>,
    codes: &Slice,
    staging: Staging,
) -> Result<Option<Staged>, VulkanError> {
    let (columns, groups) = ((op.groups * op.n) as u32, op.k as u32 / 16);
    let key = format!("{} staged for {}", op.weights, staging.packing);
    let bytes = u64::from(columns * groups) * u64::from(staging.bytes);
    if let Some(held) = binder.store.held_constant(&key) {
        return Ok(Some((held, None)));
    }
    if !binder.store.has_room(bytes) {
        return Ok(None);
    }
    let words = binder.store.reserve_constant(&key, bytes)?;
    let push = GemmFastExpandPush { first: 0, columns, groups };
    let buffers = vec![codes.clone(), words.clone()];
    let dispatch = Dispatch::new(staging.shader, buffers, &push, [(columns * groups).div_ceil(LANES), 1, 1]);
    Ok(Some((words, Some(dispatch.specialized(staging.constants)))))
}

/// Launches a prepared product: in one piece, or `split` into parts of K side by side, which a second kernel joins. One part
/// of K lies `part_weights` behind the other; `shape` are the kernel's own constants behind the seven of the interface.
pub(super) fn launch(
    op: &Gemm,
    binder: &mut Binder<'_>,
    shader: &'static Shader,
    prepared: Prepared,
    (split, part_weights): (bool, u32),
    shape: &[u32],
) -> Result<Vec<Dispatch>, VulkanError> {
    let (mut buffers, push, [kind, silu, publishes, keeps], mut grid, products) = prepared;
    let (rows, [k, n, partition]) = (push.rows, [op.k, op.n, op.partition].map(|x| x as u32));
    let (parts, half) = (k / partition, half_rounding(binder.info));
    let constants = |seven: [u32; 7]| seven.iter().chain(shape).copied().collect();
    if !split {
        let chain = if parts > 1 { partition / 16 } else { 0 };
        let dispatch = Dispatch::new(shader, buffers, &push, grid);
        let constants = constants([half, kind, silu, publishes, keeps, chain, 0]);
        return Ok(vec![dispatch.specialized(constants).costing(products)]);
    }
    let words = (parts * rows * n / 2) as usize;
    let scratch = binder.store.scratch(&format!("parts of {rows} rows and {n} columns, {parts}"), words)?;
    let part =
        GemmFastPush { groups: partition / 16, input_z: partition, weight_z: part_weights, output_z: rows * n, ..push };
    let outputs = buffers.split_off(4);
    buffers.extend([binder.nothing()?, scratch.clone()]);
    grid[2] = parts;
    let products = Dispatch::new(shader, buffers, &part, grid)
        .specialized(constants([half, kind, 0, 0, 1, 0, 1]))
        .costing(products);
    let quads = rows * n / 4;
    let push = GemmFastJoinPush { first: 0, quads, parts, nothing: 0 };
    let buffers = std::iter::once(scratch).chain(outputs).collect();
    let join = Dispatch::new(&GEMM_FAST_JOIN, buffers, &push, [quads.div_ceil(LANES), 1, 1]);
    Ok(vec![products, join.specialized(vec![half, silu, publishes, keeps])])
}

fn dispatches(op: &Op, binder: &mut Binder<'_>, shaders: &'static [Shader]) -> Result<Vec<Dispatch>, VulkanError> {
    let Op::Gemm(op) = op else { unreachable!("takes() accepts no other op") };
    let rows = binder.shape(&op.input).tokens() as u32;
    let [k, n, partition] = [op.k, op.n, op.partition].map(|x| x as u32);
    let processors = binder.processors;
    // Parts of K are independent chains: where tokens are few they run side by side, and are joined by a second kernel.
    let parts = k / partition;
    let split = parts > 1 && op.groups == 1 && TILES[0].workgroups(rows, n, 1) < 2 * processors;
    let depth = if split { parts } else { op.groups as u32 };
    let tile = tile([rows, n, depth], processors);
    let mut prepared = prepare(op, binder, tile.tiling)?;
    let (buffers, push, ..) = &mut prepared;
    let mut all = Vec::new();
    let mut is_staged = 0;
    let constants = vec![u32::from(tile.each == 2)];
    let staging =
        Staging { shader: &GEMM_FAST_EXPAND, constants, packing: tile.each.to_string(), bytes: 4 * FAST_WORDS };
    let part_weights = match staged(op, binder, &buffers[1], staging)? {
        None => partition,
        Some((weights, made)) => {
            all.extend(made);
            let group = BLOCK * FAST_WORDS / 4;
            (buffers[1], is_staged) = (weights, 1);
            (push.weight_row, push.weight_z) = (k / 16 * group, n / BLOCK * (k / 16 * group));
            partition / 16 * group
        }
    };
    let shader = &shaders[usize::from(tile.each == 2)];
    let shape = [tile.tiling.rows, tile.tiling.columns, tile.threads(), is_staged];
    all.extend(launch(op, binder, shader, prepared, (split, part_weights), &shape)?);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_small_where_there_is_little_to_do() {
        let chosen = |product| tile(product, 132);
        assert_eq!(chosen([294_912, 128, 1]), TILES[0], "the field: the largest tile");
        assert_eq!(chosen([294_912, 96, 1]), TILES[1], "columns that 64 does not divide");
        assert_eq!(chosen([320, 512, 1]).each, 2, "level 4: more threads");
        for rows in (1..700).step_by(7) {
            for columns in (32..=1024).step_by(32) {
                let product = [rows, columns, 1];
                let tile = tile(product, 132);
                assert!(columns.is_multiple_of(tile.tiling.columns) && tile.threads() <= 256, "{product:?}: {tile:?}");
            }
        }
    }
}
