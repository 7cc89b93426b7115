//! FP8 matrix product: tiles of rows against panels of 32 columns, group by group in K order.
//!
//! A panel's sixteen rows are spread out once per tile and group; the accumulators of a tile stay in the innermost
//! cache. When there are few rows, the columns are shared out among the threads as well.

use super::job::{Buffer, Job};
use super::simd::{self, COLUMNS, Kernel, Panel, ROWS, Simd, Tile};
use super::weights::Packed;
use crate::engine::EngineError;
use crate::numerics::f16;
use crate::plan::ops::Gemm;
use crate::tensor::{Bytes, Element, Tensor};
use rayon::prelude::*;

/// Tasks for each thread, so that they end together.
const TASKS: usize = 6;

pub(super) fn run(op: &Gemm, job: &Job<'_>) -> Result<Vec<Bytes>, EngineError> {
    let input = job.tensor(&op.input);
    let weights = job.weights.get(job.model, op.weights);
    let seed = op.seed.as_ref().map(|seed| (job.tensor(&seed.residual), job.model.halves(seed.scale)));
    let (tokens, columns) = (input.shape.tokens(), op.groups * op.n);
    debug_assert_eq!(weights.panels() * COLUMNS, columns, "columns of all groups");
    let tiles = tokens.div_ceil(ROWS);
    let parts = (rayon::current_num_threads() * TASKS).div_ceil(tiles).clamp(1, columns / COLUMNS);
    let width = (columns / COLUMNS).div_ceil(parts) * COLUMNS;

    let mut published = Buffer::wanted(op.published.is_some(), tokens * columns);
    let mut raw = Buffer::wanted(op.raw.is_some(), tokens * columns * 2);
    let tasks = share(published.bytes(), columns, width, tiles).into_iter().zip(share(
        raw.bytes(),
        columns * 2,
        width * 2,
        tiles,
    ));
    let parts = columns.div_ceil(width);
    let tasks: Vec<_> = tasks.enumerate().collect();
    let products = (tokens * columns * op.k) as u64;
    job.each(tasks.into_par_iter(), products, |(i, (published, raw))| {
        let first = i / parts * ROWS;
        let rows: Vec<&[u8]> = (first..(first + ROWS).min(tokens)).map(|row| input.row(row)).collect();
        let panels = i % parts * width / COLUMNS..((i % parts + 1) * width).min(columns) / COLUMNS;
        let seed = seed.as_ref().map(|(residual, scale)| Seed { residual, scale, first });
        let published = lines(published, columns, parts);
        let raw = lines(raw, columns * 2, parts);
        simd::run(job.level, Task { op, weights: &weights, rows, panels, seed, published, raw });
    })?;
    let outputs = [op.published.as_ref().map(|_| published), op.raw.as_ref().map(|_| raw)];
    Ok(outputs.into_iter().flatten().map(Buffer::finish).collect())
}

/// Shares rows out into tiles of [`ROWS`] rows and columns of `width` bytes: tiles in order, their parts in order.
/// A tile that is not parted is one piece: a large plane has many rows. An empty buffer gives tasks without rows.
fn share(bytes: &mut [u8], stride: usize, width: usize, tiles: usize) -> Vec<Vec<&mut [u8]>> {
    let parts = stride.div_ceil(width);
    let mut tasks: Vec<Vec<&mut [u8]>> = (0..tiles * parts).map(|_| Vec::new()).collect();
    if parts == 1 {
        bytes.chunks_mut(ROWS * stride).zip(&mut tasks).for_each(|(tile, task)| task.push(tile));
        return tasks;
    }
    for (row, line) in bytes.chunks_exact_mut(stride).enumerate() {
        for (part, piece) in line.chunks_mut(width).enumerate() {
            tasks[row / ROWS * parts + part].push(piece);
        }
    }
    tasks
}

/// The rows of a task of [`share`].
fn lines(pieces: Vec<&mut [u8]>, stride: usize, parts: usize) -> Vec<&mut [u8]> {
    if parts > 1 { pieces } else { pieces.into_iter().flat_map(|tile| tile.chunks_exact_mut(stride)).collect() }
}

/// Where a tile's first accumulators come from.
struct Seed<'a> {
    residual: &'a Tensor,
    scale: &'a [f16],
    /// The tile's first row.
    first: usize,
}

/// One tile of rows against some panels.
struct Task<'a> {
    op: &'a Gemm,
    weights: &'a Packed,
    rows: Vec<&'a [u8]>,
    panels: std::ops::Range<usize>,
    seed: Option<Seed<'a>>,
    published: Vec<&'a mut [u8]>,
    raw: Vec<&'a mut [u8]>,
}

impl Kernel for Task<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(mut self) {
        let (mut tile, mut panel) = (Tile::new(), Panel::new());
        let mut total = [[0; COLUMNS]; ROWS];
        let count = self.rows.len();
        for (place, p) in self.panels.clone().enumerate() {
            let offset = p * COLUMNS / self.op.n * self.op.k;
            let codes = self.weights.panel(p).as_chunks::<16>().0;
            self.start::<S>(p, &mut tile);
            for (g, codes) in codes.iter().enumerate() {
                if g > 0 && (g * 16).is_multiple_of(self.op.partition) {
                    join::<S>(&mut total, &mut tile, count, g * 16 == self.op.partition);
                }
                S::expand(codes, &mut panel);
                S::group(&self.rows, offset + g * 16, &panel, &mut tile);
            }
            if self.op.partition < self.op.k {
                join::<S>(&mut total, &mut tile, count, false);
                tile.sums = total;
            }
            self.finish::<S>(place, &tile);
        }
    }
}

impl Task<'_> {
    /// The first accumulators of a panel: seeds, or zeros.
    #[inline(always)]
    fn start<S: Simd>(&self, panel: usize, tile: &mut Tile) {
        let Some(seed) = &self.seed else {
            tile.sums = [[0; COLUMNS]; ROWS];
            return;
        };
        let column = panel * COLUMNS;
        let scale: &[u16; COLUMNS] = bytemuck::cast_slice(seed.scale)[column..].first_chunk().expect("whole panels");
        let scale = simd::halves32::<S>(scale);
        for (r, sums) in tile.sums[..self.rows.len()].iter_mut().enumerate() {
            let residual = channels32::<S>(seed.residual, seed.first + r, column);
            let mut seeds = scale;
            for (seed, residual) in seeds.iter_mut().zip(residual) {
                // Adding +0 makes +0 of -0 and changes nothing else.
                *seed = S::add(simd::hmul::<S>(residual, *seed), S::splat(0.0));
            }
            *sums = simd::to_halves32::<S>(seeds);
        }
    }

    #[inline(always)]
    fn finish<S: Simd>(&mut self, place: usize, tile: &Tile) {
        let at = place * COLUMNS;
        for (out, sums) in self.published.iter_mut().zip(&tile.sums) {
            out[at..][..COLUMNS].copy_from_slice(&simd::epilogue::<S>(sums, self.op.activation));
        }
        for (out, sums) in self.raw.iter_mut().zip(&tile.sums) {
            out[2 * at..][..2 * COLUMNS].copy_from_slice(bytemuck::cast_slice(sums));
        }
    }
}

/// 32 channels of a tensor of codes or halves, widened.
#[inline(always)]
pub(super) fn channels32<S: Simd>(tensor: &Tensor, row: usize, column: usize) -> [S::V; 4] {
    let bytes = &tensor.row(row)[column * tensor.shape.element.bytes()..];
    match tensor.shape.element {
        Element::F16 => {
            let halves: &[u16] = bytemuck::cast_slice(bytes);
            simd::halves32::<S>(halves.first_chunk().expect("whole panels"))
        }
        _ => simd::codes32::<S>(bytes.first_chunk().expect("whole panels")),
    }
}

/// Adds a partition's sums to the total and starts the next from zero.
#[inline(always)]
fn join<S: Simd>(total: &mut [[u16; COLUMNS]; ROWS], tile: &mut Tile, count: usize, first: bool) {
    for (total, sums) in total.iter_mut().zip(&mut tile.sums).take(count) {
        if first {
            *total = *sums;
        } else {
            let (a, b) = (simd::halves32::<S>(total), simd::halves32::<S>(sums));
            let mut joined = a;
            for (joined, b) in joined.iter_mut().zip(b) {
                *joined = S::add(*joined, b);
            }
            *total = simd::to_halves32::<S>(joined);
        }
        *sums = [0; COLUMNS];
    }
}
