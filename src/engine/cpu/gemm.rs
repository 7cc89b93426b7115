//! FP8 matrix product by panels: 32 columns at a time, groups of 16 in K order, many rows for each decoded panel.

use super::publish::{self, Table};
use super::simd::Avx2;
use super::simd::group::{Accumulators, Scratch};
use super::simd::half::{Lanes, add_lanes, seed_lanes};
use super::simd::panel::{COLUMNS, DEPTH, Panel};
use super::{Outputs, Run};
use crate::engine::EngineError;
use crate::model::Matrix;
use crate::plan::ops::Gemm;
use crate::tensor::{Element, Tensor};
use rayon::prelude::*;
use std::sync::Arc;

/// Rows of a tile at most and at least: many, so that a panel's decoding is paid once, few enough to share out.
const TILE: (usize, usize) = (96, 384);

pub(super) fn run(op: &Gemm, run: &Run<'_>) -> Result<Outputs, EngineError> {
    let input = run.tensor(&op.input);
    let rows = input.shape.tokens();
    let product = Product {
        token: run.token,
        op,
        a: input.codes(),
        width: input.shape.channels,
        weights: run.matrix(op.weights),
        seed: op.seed.as_ref().map(|seed| (run.tensor(&seed.residual), run.halves(seed.scale))),
        table: publish::epilogue(op.activation),
    };
    let columns = op.groups * op.n;
    let mut published = vec![0_u8; if op.published.is_some() { rows * columns } else { 0 }];
    let mut raw = vec![0_u16; if op.raw.is_some() { rows * columns } else { 0 }];
    let threads = rayon::current_num_threads();
    let tile = (rows / (threads * 4)).clamp(TILE.0, TILE.1).next_multiple_of(2);
    let per_row = run.products / rows.max(1) as u64;
    if rows.div_ceil(tile) >= threads {
        // Empty outputs still need one chunk per tile.
        let mut p: Vec<&mut [u8]> = chunks(&mut published, tile * columns, rows.div_ceil(tile));
        let mut r: Vec<&mut [u16]> = chunks(&mut raw, tile * columns, rows.div_ceil(tile));
        p.par_iter_mut().zip(&mut r).enumerate().try_for_each_init(Workspace::new, |space, (index, (p, r))| {
            run.check()?;
            let first = index * tile;
            let count = tile.min(rows - first);
            for panel in 0..columns / COLUMNS {
                product.sums(panel, first, count, space);
                product.finish(panel, &space.accumulators[..count], p, r);
            }
            run.control.advance(per_row * count as u64);
            Ok::<(), EngineError>(())
        })?;
    } else {
        // Few rows, many columns: share out the columns.
        let panels: Vec<Vec<Accumulators>> = (0..columns / COLUMNS)
            .into_par_iter()
            .map_init(Workspace::new, |space, panel| {
                run.check()?;
                product.sums(panel, 0, rows, space);
                run.control.advance(run.products / (columns / COLUMNS) as u64);
                Ok::<_, EngineError>(space.accumulators[..rows].to_vec())
            })
            .collect::<Result<_, _>>()?;
        for (panel, accumulators) in panels.iter().enumerate() {
            product.finish(panel, accumulators, &mut published, &mut raw);
        }
    }
    let mut outputs = Outputs::default();
    outputs.codes(op.published.as_ref(), published);
    outputs.halves(op.raw.as_ref(), raw);
    Ok(outputs)
}

/// Cuts a buffer into `count` tiles; an empty one into `count` empty tiles.
fn chunks<T>(buffer: &mut [T], size: usize, count: usize) -> Vec<&mut [T]> {
    if buffer.is_empty() {
        return (0..count).map(|_| <&mut [T]>::default()).collect();
    }
    buffer.chunks_mut(size).collect()
}

/// What one thread needs beside the product.
struct Workspace {
    panel: Box<Panel>,
    scratch: Box<Scratch>,
    accumulators: Vec<Accumulators>,
    part: Vec<Accumulators>,
}

impl Workspace {
    fn new() -> Self {
        let (panel, scratch) = (Box::default(), Scratch::new());
        Self { panel, scratch, accumulators: Vec::new(), part: Vec::new() }
    }
}

struct Product<'a> {
    token: Avx2,
    op: &'a Gemm,
    a: &'a [u8],
    width: usize,
    weights: Arc<Matrix>,
    seed: Option<(&'a Tensor, Vec<u16>)>,
    table: &'static Table,
}

impl Product<'_> {
    /// Sums one panel's columns of some rows into the workspace's accumulators.
    fn sums(&self, panel: usize, first: usize, rows: usize, space: &mut Workspace) {
        let column = panel * COLUMNS;
        space.accumulators.clear();
        space.accumulators.resize(rows, [0; COLUMNS]);
        self.seeds(column, first, &mut space.accumulators);
        let weights = &*self.weights;
        let (part, local) = (column / weights.n, column % weights.n);
        let codes = &weights.codes[part * weights.k * weights.n + local..];
        let a = &self.a[first * self.width + column / self.op.n * self.op.k..];
        for start in (0..self.op.k).step_by(self.op.partition) {
            let sums = if start == 0 { &mut space.accumulators } else { &mut space.part };
            if start > 0 {
                sums.clear();
                sums.resize(rows, [0; COLUMNS]);
            }
            for k in (start..(start + self.op.partition).min(self.op.k)).step_by(DEPTH) {
                space.panel.fill(self.token, &codes[k * weights.n..], weights.n, COLUMNS);
                space.panel.accumulate(self.token, &a[k..], self.width, sums, &mut space.scratch);
            }
            if start > 0 {
                for (total, part) in space.accumulators.iter_mut().zip(&space.part) {
                    for (total, part) in total.as_chunks_mut::<8>().0.iter_mut().zip(part.as_chunks::<8>().0) {
                        let before: Lanes = *total;
                        add_lanes(self.token, &before, part, total);
                    }
                }
            }
        }
    }

    fn seeds(&self, column: usize, first: usize, accumulators: &mut [Accumulators]) {
        let Some((residual, scale)) = &self.seed else { return };
        let scale = scale[column..column + COLUMNS].as_chunks::<8>().0;
        for (row, accumulators) in accumulators.iter_mut().enumerate() {
            let at = (first + row) * residual.shape.channels + column;
            let halves = halves_of(residual, at);
            for (i, out) in accumulators.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                seed_lanes(self.token, &halves.as_chunks::<8>().0[i], &scale[i], out);
            }
        }
    }

    /// Writes one panel's columns of a tile's rows: published, raw, or both.
    fn finish(&self, panel: usize, accumulators: &[Accumulators], published: &mut [u8], raw: &mut [u16]) {
        let columns = self.op.groups * self.op.n;
        for (row, sums) in accumulators.iter().enumerate() {
            let at = row * columns + panel * COLUMNS;
            if !published.is_empty() {
                publish::publish(self.table, sums, &mut published[at..at + COLUMNS]);
            }
            if !raw.is_empty() {
                raw[at..at + COLUMNS].copy_from_slice(sums);
            }
        }
    }
}

/// 32 elements of a residual as halves' bits.
fn halves_of(residual: &Tensor, at: usize) -> [u16; COLUMNS] {
    match residual.shape.element {
        Element::E4m3 => {
            let codes = &residual.codes()[at..at + COLUMNS];
            std::array::from_fn(|i| publish::DECODED[usize::from(codes[i])])
        }
        Element::F16 => std::array::from_fn(|i| residual.halves()[at + i].to_bits()),
        Element::F32 => unreachable!("no residual is f32"),
    }
}
