//! Global attention: a tile of queries of one head against all keys, then against all values.

use super::job::{self, Buffer, Job};
use super::simd::{self, COLUMNS, Kernel, Panel, ROWS, Simd, Tile, hadd, hmul};
use super::softmax;
use super::window_attention::transpose;
use crate::engine::EngineError;
use crate::numerics::exponential::{VIT, exp_weight_vit};
use crate::numerics::f16;
use crate::numerics::softmax::KEYS;
use crate::plan::ops::GlobalAttention;
use crate::tensor::Bytes;
use rayon::prelude::*;

/// Queries of one task.
const QUERIES: usize = 32;

pub(super) fn run(op: &GlobalAttention, job: &Job<'_>) -> Result<Vec<Bytes>, EngineError> {
    let normalized = job.tensor(&op.input);
    let tokens = normalized.shape.tokens();
    let padded = GlobalAttention::padded(tokens);
    let part = |head: usize, part: usize| -> Vec<[u8; COLUMNS]> {
        let channels = |t: usize| -> [u8; COLUMNS] {
            let row = &normalized.row(t)[(3 * head + part) * COLUMNS..];
            *row.first_chunk().expect("heads are whole")
        };
        (0..padded).map(|t| if t < tokens { channels(t) } else { [0; COLUMNS] }).collect()
    };
    let parts: Vec<[Vec<[u8; COLUMNS]>; 3]> =
        (0..op.heads).into_par_iter().map(|head| [0, 1, 2].map(|p| part(head, p))).collect();
    // What the padding's keys have added to the total.
    let excess = f16::from_f32(exp_weight_vit(f16::ZERO).to_f32() * (padded - tokens) as f32).to_f32();

    let tiles = tokens.div_ceil(QUERIES);
    let mut attended = vec![[[0; COLUMNS]; QUERIES]; op.heads * tiles];
    let mut quotients = vec![[[0; COLUMNS]; QUERIES]; if op.raw.is_some() { attended.len() } else { 0 }];
    let mut rest = quotients.iter_mut();
    let tasks: Vec<_> = attended.iter_mut().map(|out| (out, rest.next())).collect();
    job.each(tasks.into_par_iter().enumerate(), op.products(tokens) as u64, |(i, (out, raw))| {
        let [queries, keys, values] = &parts[i / tiles];
        let queries = &queries[i % tiles * QUERIES..][..QUERIES];
        let excess = (padded > tokens).then_some(excess);
        simd::run(job.level, Head { queries, keys, values, excess, out, raw });
    })?;
    let width = op.heads * COLUMNS;
    let mut output = Buffer::new(tokens * width);
    let mut raw = Buffer::wanted(op.raw.is_some(), tokens * width * 2);
    let tasks = job::tiles(&mut output, &mut raw, width).into_par_iter().enumerate();
    job.each(tasks, 0, |(token, (out, raw))| {
        let place = |head: usize| (head * tiles + token / QUERIES, token % QUERIES);
        for (head, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
            *out = attended[place(head).0][place(head).1];
        }
        for (head, raw) in raw.as_chunks_mut().0.iter_mut().enumerate() {
            *raw = quotients[place(head).0][place(head).1];
        }
    })?;
    Ok(std::iter::once(output).chain(op.raw.is_some().then_some(raw)).map(Buffer::finish).collect())
}

/// A tile of queries of one head.
struct Head<'a> {
    queries: &'a [[u8; COLUMNS]],
    keys: &'a [[u8; COLUMNS]],
    values: &'a [[u8; COLUMNS]],
    /// Taken off the totals, if there is padding.
    excess: Option<f32>,
    out: &'a mut [[u8; COLUMNS]; QUERIES],
    /// The quotients before publication, where they are wanted.
    raw: Option<&'a mut [[u16; COLUMNS]; QUERIES]>,
}

impl Kernel for Head<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(mut self) {
        let (mut tile, mut panel) = (Tile::new(), Panel::new());
        let mut weights = vec![0_u8; QUERIES * self.keys.len()];
        let mut totals = [S::splat(0.0); QUERIES / 8];
        let rows: [&[u8]; QUERIES] = std::array::from_fn(|q| &self.queries[q][..]);
        for (block, keys) in self.keys.as_chunks::<KEYS>().0.iter().enumerate() {
            let mut scores = [[0; KEYS]; QUERIES];
            for (half, keys) in keys.as_chunks::<COLUMNS>().0.iter().enumerate() {
                tile.sums = [[0; COLUMNS]; ROWS];
                for (g, codes) in transpose(keys).as_chunks::<16>().0.iter().enumerate() {
                    S::expand(codes, &mut panel);
                    S::group(&rows, g * 16, &panel, &mut tile);
                }
                for (scores, sums) in scores.iter_mut().zip(&tile.sums) {
                    scores[half * COLUMNS..][..COLUMNS].copy_from_slice(sums);
                }
            }
            for (q, scores) in scores.iter_mut().enumerate() {
                softmax::exponentials::<S>(scores, &VIT);
                let weights = &mut weights[q * self.keys.len() + block * KEYS..][..KEYS];
                for (weights, e) in weights.as_chunks_mut().0.iter_mut().zip(scores.as_chunks().0) {
                    *weights = S::publish(simd::halves32::<S>(e));
                }
            }
            for (total, e) in totals.iter_mut().zip(scores.as_chunks::<8>().0) {
                *total = hadd::<S>(*total, softmax::totals::<S>(e));
            }
        }
        tile.sums = [[0; COLUMNS]; ROWS];
        let rows: [&[u8]; QUERIES] = std::array::from_fn(|q| &weights[q * self.keys.len()..][..self.keys.len()]);
        for (g, codes) in self.values.as_chunks::<16>().0.iter().enumerate() {
            S::expand(codes, &mut panel);
            S::group(&rows, g * 16, &panel, &mut tile);
        }
        for (i, mut total) in totals.into_iter().enumerate() {
            if let Some(excess) = self.excess {
                total = hadd::<S>(total, S::splat(-excess));
            }
            let reciprocals = S::to_singles(softmax::reciprocal::<S>(total));
            for (j, r) in reciprocals.into_iter().enumerate() {
                let mut v = simd::halves32::<S>(&tile.sums[8 * i + j]);
                for x in &mut v {
                    *x = hmul::<S>(*x, S::splat(r));
                }
                self.out[8 * i + j] = S::publish(v);
                if let Some(raw) = &mut self.raw {
                    raw[8 * i + j] = simd::to_halves32::<S>(v);
                }
            }
        }
    }
}
