//! Window attention: for each window and head, scores and weighted values are two small panel products around the
//! fixed-order softmax. A band of windows owns a contiguous band of the output.

use super::publish;
use super::simd::group::{Accumulators, Scratch};
use super::simd::panel::{COLUMNS, DEPTH, Panel};
use super::simd::softmax;
use super::{Outputs, Run};
use crate::engine::EngineError;
use crate::geometry::{WindowGrid, window};
use crate::numerics::cosine::HEAD;
use crate::numerics::exponential;
use crate::numerics::f16;
use crate::numerics::softmax::KEYS;
use crate::plan::ops::WindowAttention;
use rayon::prelude::*;

pub(super) fn run(op: &WindowAttention, run: &Run<'_>) -> Result<Outputs, EngineError> {
    let input = run.tensor(&op.input);
    let grid = op.grid(input.shape.size);
    let attention = Attention {
        run,
        grid,
        heads: op.heads,
        normalized: input.codes(),
        prior: natural_rows(&run.model.prior(op.prior)),
    };
    let mut codes = vec![0_u8; input.shape.tokens() * op.heads * HEAD];
    let bands = bands(&grid, op.heads * HEAD, &mut codes);
    let per_band = run.products / bands.len() as u64;
    bands.into_par_iter().enumerate().try_for_each_init(Workspace::new, |space, (band, (first, out))| {
        run.check()?;
        for column in 0..grid.windows.width {
            attention.window((column, band), first, out, space);
        }
        run.control.advance(per_band);
        Ok::<(), EngineError>(())
    })?;
    let mut outputs = Outputs::default();
    outputs.codes(Some(&op.output), codes);
    Ok(outputs)
}

/// The output cut into bands of windows: each band's first token, and its bytes.
fn bands<'a>(grid: &WindowGrid, channels: usize, mut codes: &'a mut [u8]) -> Vec<(usize, &'a mut [u8])> {
    let mut bands = Vec::new();
    let mut first = 0;
    for band in 0..grid.windows.height {
        let end = ((band + 1) * window::SIDE).saturating_add_signed(-grid.shift.1).min(grid.size.height);
        let tokens = end * grid.size.width - first;
        let (out, rest) = std::mem::take(&mut codes).split_at_mut(tokens * channels);
        bands.push((first, out));
        (first, codes) = (first + tokens, rest);
    }
    bands
}

/// The prior with its queries in natural order: `[head][natural query][physical key]`.
fn natural_rows(prior: &[f16]) -> Vec<u16> {
    let row = |i: usize| (i / KEYS * KEYS + window::physical(i % KEYS)) * KEYS;
    (0..prior.len() / KEYS).flat_map(|i| prior[row(i)..][..KEYS].iter().map(|h| h.to_bits())).collect()
}

struct Workspace {
    queries: [[u8; HEAD]; KEYS],
    keys: [[u8; KEYS]; HEAD],
    values: [[u8; HEAD]; KEYS],
    panel: Box<Panel>,
    scratch: Box<Scratch>,
    scores: [Vec<Accumulators>; 2],
    weights: [[u8; KEYS]; KEYS],
    sums: Vec<Accumulators>,
}

impl Workspace {
    fn new() -> Self {
        let rows = || vec![[0; COLUMNS]; KEYS];
        Self {
            queries: [[0; HEAD]; KEYS],
            keys: [[0; KEYS]; HEAD],
            values: [[0; HEAD]; KEYS],
            panel: Box::default(),
            scratch: Scratch::new(),
            scores: [rows(), rows()],
            weights: [[0; KEYS]; KEYS],
            sums: rows(),
        }
    }
}

struct Attention<'a> {
    run: &'a Run<'a>,
    grid: WindowGrid,
    heads: usize,
    normalized: &'a [u8],
    prior: Vec<u16>,
}

impl Attention<'_> {
    /// All heads of one window; `out` starts at token `first`.
    fn window(&self, window: (usize, usize), first: usize, out: &mut [u8], space: &mut Workspace) {
        let tokens: [Option<usize>; KEYS] = std::array::from_fn(|n| self.grid.token(window, n));
        for head in 0..self.heads {
            self.gather(&tokens, head, space);
            self.scores(head, space);
            self.weights(space);
            self.values(space);
            for (n, token) in tokens.iter().enumerate() {
                let Some(token) = token else { continue };
                let at = ((token - first) * self.heads + head) * HEAD;
                publish::publish(&publish::PLAIN, &space.sums[n], &mut out[at..at + HEAD]);
            }
        }
    }

    /// Queries in natural order, keys as columns and values as rows in physical order; zeros outside the field.
    fn gather(&self, tokens: &[Option<usize>; KEYS], head: usize, space: &mut Workspace) {
        for (n, token) in tokens.iter().enumerate() {
            let p = window::physical(n);
            let (q, k, v) = match token {
                Some(token) => {
                    let parts = &self.normalized[(token * self.heads + head) * 3 * HEAD..][..3 * HEAD];
                    let part = |i: usize| -> [u8; HEAD] { std::array::from_fn(|c| parts[i * HEAD + c]) };
                    (part(0), part(1), part(2))
                }
                None => ([0; HEAD], [0; HEAD], [0; HEAD]),
            };
            (space.queries[n], space.values[p]) = (q, v);
            for (c, &code) in k.iter().enumerate() {
                space.keys[c][p] = code;
            }
        }
    }

    fn scores(&self, head: usize, space: &mut Workspace) {
        let prior = &self.prior[head * KEYS * KEYS..][..KEYS * KEYS];
        let queries = space.queries.as_flattened();
        let keys = space.keys.as_flattened();
        for (half, scores) in space.scores.iter_mut().enumerate() {
            for (n, row) in scores.iter_mut().enumerate() {
                row.copy_from_slice(&prior[n * KEYS + half * COLUMNS..][..COLUMNS]);
            }
            for c in (0..HEAD).step_by(DEPTH) {
                space.panel.fill(self.run.token, &keys[c * KEYS + half * COLUMNS..], KEYS, COLUMNS);
                space.panel.accumulate(self.run.token, &queries[c..], HEAD, scores, &mut space.scratch);
            }
        }
    }

    fn weights(&self, space: &mut Workspace) {
        for n in 0..KEYS {
            let mut row = [0_u16; KEYS];
            row[..COLUMNS].copy_from_slice(&space.scores[0][n]);
            row[COLUMNS..].copy_from_slice(&space.scores[1][n]);
            let total = softmax::exponentials(self.run.token, &exponential::WINDOW, &mut row);
            softmax::divide(self.run.token, &mut row, total);
            publish::publish(&publish::PLAIN, &row, &mut space.weights[n]);
        }
    }

    fn values(&self, space: &mut Workspace) {
        space.sums.fill([0; COLUMNS]);
        let (weights, values) = (space.weights.as_flattened(), space.values.as_flattened());
        for p in (0..KEYS).step_by(DEPTH) {
            space.panel.fill(self.run.token, &values[p * HEAD..], HEAD, COLUMNS);
            space.panel.accumulate(self.run.token, &weights[p..], KEYS, &mut space.sums, &mut space.scratch);
        }
    }
}
