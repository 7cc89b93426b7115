//! Window attention: for every window and head two small exact products around a softmax, rows in physical order.

use super::job::{self, Buffer, Job};
use super::simd::{self, COLUMNS, Kernel, Panel, ROWS, Simd, Tile};
use super::softmax;
use crate::engine::EngineError;
use crate::geometry::{WindowGrid, window};
use crate::numerics::softmax::KEYS;
use crate::plan::ops::WindowAttention;
use crate::tensor::Bytes;
use rayon::prelude::*;

/// What one head of one window attends to: codes in physical order, zeros outside the field.
type Codes = [[u8; COLUMNS]; KEYS];
/// Sums of one head of one window, before publication.
type Halves = [[u16; COLUMNS]; KEYS];

pub(super) fn run(op: &WindowAttention, job: &Job<'_>) -> Result<Vec<Bytes>, EngineError> {
    let normalized = job.tensor(&op.input);
    let prior = job.model.prior(op.prior);
    let prior: &[[u16; KEYS]] = bytemuck::cast_slice::<_, u16>(&prior).as_chunks().0;
    let size = normalized.shape.size;
    let grid = op.grid(size);
    let tokens_of = |index: usize| -> [Option<usize>; KEYS] {
        let at = (index % grid.windows.width, index / grid.windows.width);
        std::array::from_fn(|p| grid.token(at, window::natural(p)))
    };
    let mut attended: Vec<Codes> = vec![[[0; COLUMNS]; KEYS]; grid.len() * op.heads];
    // A window's heads lie together; few windows are shared out head by head.
    let heads = if grid.len() >= 8 * rayon::current_num_threads() { op.heads } else { 1 };
    let mut sums: Vec<Halves> = vec![[[0; COLUMNS]; KEYS]; if op.raw.is_some() { attended.len() } else { 0 }];
    let mut rest = sums.chunks_mut(heads);
    let tasks: Vec<_> = attended.chunks_mut(heads).map(|out| (out, rest.next().unwrap_or_default())).collect();
    job.each(tasks.into_par_iter().enumerate(), op.products(size) as u64, |(i, (out, raw))| {
        let tokens = tokens_of(i * heads / op.heads);
        let mut raw = raw.iter_mut();
        for (head, out) in (i * heads % op.heads..).zip(out) {
            let mut parts = [[[0; COLUMNS]; KEYS]; 3];
            for (p, token) in tokens.iter().enumerate() {
                let Some(token) = *token else { continue };
                let row = &normalized.row(token)[head * 3 * COLUMNS..][..3 * COLUMNS];
                for (part, codes) in parts.iter_mut().zip(row.as_chunks().0) {
                    part[p] = *codes;
                }
            }
            let prior = &prior[head * KEYS..][..KEYS];
            simd::run(job.level, Head { parts: &parts, prior, out, raw: raw.next() });
        }
    })?;
    let width = op.heads * COLUMNS;
    let mut output = Buffer::new(size.tokens() * width);
    let mut raw = Buffer::wanted(op.raw.is_some(), size.tokens() * width * 2);
    let tasks = job::tiles(&mut output, &mut raw, size.width * width).into_par_iter().enumerate();
    job.each(tasks, 0, |(y, (line, raw))| {
        scatter(line, &attended, op.heads, y * size.width, &grid);
        scatter(raw, &sums, op.heads, y * size.width, &grid);
    })?;
    Ok(std::iter::once(output).chain(op.raw.is_some().then_some(raw)).map(Buffer::finish).collect())
}

/// Windows to rows: the tokens of one line, their heads side by side.
fn scatter<T: Copy>(line: &mut [T], windows: &[[[T; COLUMNS]; KEYS]], heads: usize, first: usize, grid: &WindowGrid) {
    for (x, out) in line.chunks_exact_mut(heads * COLUMNS).enumerate() {
        let ((wx, wy), natural) = grid.locate(first + x);
        let windows = &windows[(wy * grid.windows.width + wx) * heads..][..heads];
        for (out, values) in out.as_chunks_mut().0.iter_mut().zip(windows) {
            *out = values[window::physical(natural)];
        }
    }
}

/// One head of one window.
struct Head<'a> {
    /// Queries, keys, values.
    parts: &'a [Codes; 3],
    prior: &'a [[u16; KEYS]],
    out: &'a mut Codes,
    /// The sums before publication, where they are wanted.
    raw: Option<&'a mut Halves>,
}

impl Kernel for Head<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(self) {
        let [queries, keys, values] = self.parts;
        let (mut tile, mut panel) = (Tile::new(), Panel::new());
        let mut scores = [[0; KEYS]; KEYS];
        let rows: [&[u8]; KEYS] = std::array::from_fn(|q| &queries[q][..]);
        for (half, keys) in keys.as_chunks::<COLUMNS>().0.iter().enumerate() {
            for (sums, prior) in tile.sums.iter_mut().zip(self.prior) {
                sums.copy_from_slice(&prior[half * COLUMNS..][..COLUMNS]);
            }
            for (g, codes) in transpose(keys).as_chunks::<16>().0.iter().enumerate() {
                S::expand(codes, &mut panel);
                S::group(&rows, g * 16, &panel, &mut tile);
            }
            for (scores, sums) in scores.iter_mut().zip(&tile.sums) {
                scores[half * COLUMNS..][..COLUMNS].copy_from_slice(sums);
            }
        }
        let mut weights = [[0; KEYS]; KEYS];
        for (scores, weights) in scores.as_chunks_mut::<8>().0.iter_mut().zip(weights.as_chunks_mut::<8>().0) {
            softmax::window::<S>(scores, weights);
        }
        tile.sums = [[0; COLUMNS]; ROWS];
        let rows: [&[u8]; KEYS] = std::array::from_fn(|q| &weights[q][..]);
        for (g, codes) in values.as_chunks::<16>().0.iter().enumerate() {
            S::expand(codes, &mut panel);
            S::group(&rows, g * 16, &panel, &mut tile);
        }
        for (out, sums) in self.out.iter_mut().zip(&tile.sums) {
            *out = S::publish(simd::halves32::<S>(sums));
        }
        if let Some(raw) = self.raw {
            *raw = *tile.sums.first_chunk().expect("a tile holds a window's queries");
        }
    }
}

/// Channels against keys.
#[inline(always)]
pub(super) fn transpose(keys: &[[u8; COLUMNS]; COLUMNS]) -> [[u8; COLUMNS]; COLUMNS] {
    let mut out = [[0; COLUMNS]; COLUMNS];
    for (n, key) in keys.iter().enumerate() {
        for (k, &code) in key.iter().enumerate() {
            out[k][n] = code;
        }
    }
    out
}
