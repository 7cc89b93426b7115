//! f16 matrix product in groups of 8: rows against panels of eight columns whose weights are taken apart.

use super::job::{Buffer, Job};
use super::simd::{self, HalfColumns, Kernel, Simd};
use crate::engine::EngineError;
use crate::numerics::f16;
use crate::plan::ops::GemmHalf;
use crate::tensor::Bytes;
use rayon::prelude::*;

/// Columns computed together.
const LANES: usize = 8;
/// Rows of one task.
const ROWS: usize = 512;

pub(super) fn run(op: &GemmHalf, job: &Job<'_>) -> Result<Vec<Bytes>, EngineError> {
    let input = job.tensor(&op.input);
    let plain = job.model.matrix_f16(op.weights);
    let panels: Vec<Vec<HalfColumns>> = (0..op.n.div_ceil(LANES))
        .map(|p| (0..op.k).map(|k| HalfColumns::of(&plain[k * op.n..][..op.n], p * LANES)).collect())
        .collect();
    let tokens = input.shape.tokens();
    let mut published = Buffer::wanted(op.published.is_some(), tokens * op.n);
    let mut halves = Buffer::wanted(op.raw.is_some(), tokens * op.n * 2);
    let mut single = Buffer::wanted(op.single.is_some(), tokens * op.n * 4);
    let operands = input.halves();
    let (count, width) = (tokens.div_ceil(ROWS), ROWS * op.n);
    let kept = halves.pieces(width * 2, count).into_iter().zip(single.pieces(width * 4, count));
    let tasks: Vec<_> = published.pieces(width, count).into_iter().zip(kept).enumerate().collect();
    job.each(tasks.into_par_iter(), (tokens * op.k * op.n) as u64, |(i, (published, (halves, single)))| {
        let rows = ROWS.min(tokens - i * ROWS);
        let operands = &operands[i * ROWS * op.k..][..rows * op.k];
        // Sums that nobody keeps live as long as their task.
        let mut own = vec![0; if halves.is_empty() { rows * op.n } else { 0 }];
        let sums: &mut [u16] = if halves.is_empty() { &mut own } else { bytemuck::cast_slice_mut(halves) };
        simd::run(job.level, Rows { operands, k: op.k, n: op.n, panels: &panels, out: sums });
        if !published.is_empty() {
            simd::run(job.level, Publish { sums, out: published });
        }
        if !single.is_empty() {
            simd::run(job.level, Widen { sums, out: bytemuck::cast_slice_mut(single) });
        }
    })?;
    let outputs =
        [op.published.as_ref().map(|_| published), op.raw.as_ref().map(|_| halves), op.single.as_ref().map(|_| single)];
    Ok(outputs.into_iter().flatten().map(Buffer::finish).collect())
}

struct Rows<'a> {
    operands: &'a [f16],
    k: usize,
    n: usize,
    panels: &'a [Vec<HalfColumns>],
    out: &'a mut [u16],
}

impl Kernel for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(self) {
        for (row, out) in self.operands.chunks_exact(self.k).zip(self.out.chunks_exact_mut(self.n)) {
            for (panel, out) in self.panels.iter().zip(out.chunks_mut(LANES)) {
                let mut sums = [0_u16; LANES];
                for (a, b) in row.as_chunks().0.iter().zip(panel.as_chunks().0) {
                    sums = S::group_half(a, b, sums);
                }
                out.copy_from_slice(&sums[..out.len()]);
            }
        }
    }
}

struct Publish<'a> {
    sums: &'a [u16],
    out: &'a mut [u8],
}

impl Kernel for Publish<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(self) {
        // The network publishes the adapter only, whose 32 columns leave no rest; the hostile cases also publish a head.
        for (sums, out) in self.sums.chunks(32).zip(self.out.chunks_mut(32)) {
            let mut whole = [0; 32];
            whole[..sums.len()].copy_from_slice(sums);
            let codes: [u8; 32] = S::publish(simd::halves32::<S>(&whole));
            out.copy_from_slice(&codes[..out.len()]);
        }
    }
}

struct Widen<'a> {
    sums: &'a [u16],
    out: &'a mut [f32],
}

impl Kernel for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(self) {
        for (sums, out) in self.sums.chunks(8).zip(self.out.chunks_mut(8)) {
            let mut eight = [0; 8];
            eight[..sums.len()].copy_from_slice(sums);
            out.copy_from_slice(&S::to_singles(S::halves(&eight))[..sums.len()]);
        }
    }
}
