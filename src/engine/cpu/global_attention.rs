//! Global attention, one head per task: all keys and values as panels, queries in blocks.

use super::publish;
use super::simd::group::{Accumulators, Scratch};
use super::simd::panel::{COLUMNS, DEPTH, Panel};
use super::simd::softmax;
use super::{Outputs, Run};
use crate::engine::EngineError;
use crate::numerics::cosine::HEAD;
use crate::numerics::softmax::KEYS;
use crate::numerics::{exponential, f16, float16};
use crate::plan::ops::GlobalAttention;
use rayon::prelude::*;

/// Queries of one block.
const BLOCK: usize = 96;

pub(super) fn run(op: &GlobalAttention, run: &Run<'_>) -> Result<Outputs, EngineError> {
    let input = run.tensor(&op.input);
    let tokens = input.shape.tokens();
    let per_head = run.products / op.heads as u64;
    let heads: Vec<Vec<u8>> = (0..op.heads)
        .into_par_iter()
        .map(|head| {
            let out = Head::gather(run, input.codes(), tokens, op.heads, head).attend()?;
            run.control.advance(per_head);
            Ok::<_, EngineError>(out)
        })
        .collect::<Result<_, _>>()?;
    let mut codes = vec![0_u8; tokens * op.heads * HEAD];
    for (token, row) in codes.chunks_exact_mut(op.heads * HEAD).enumerate() {
        for (head, out) in row.chunks_exact_mut(HEAD).enumerate() {
            out.copy_from_slice(&heads[head][token * HEAD..][..HEAD]);
        }
    }
    let mut outputs = Outputs::default();
    outputs.codes(Some(&op.output), codes);
    Ok(outputs)
}

struct Head<'a> {
    run: &'a Run<'a>,
    tokens: usize,
    padded: usize,
    queries: Vec<u8>,
    /// `[key / 32][channel / 16]`.
    keys: Vec<Panel>,
    /// `[key / 16]`.
    values: Vec<Panel>,
}

impl<'a> Head<'a> {
    fn gather(run: &'a Run<'a>, normalized: &[u8], tokens: usize, heads: usize, head: usize) -> Self {
        let padded = GlobalAttention::padded(tokens);
        let part = |token: usize, i: usize| &normalized[((token * heads + head) * 3 + i) * HEAD..][..HEAD];
        let (mut keys, mut values) = (vec![0; HEAD * padded], vec![0; padded * HEAD]);
        for token in 0..tokens {
            for (c, &code) in part(token, 1).iter().enumerate() {
                keys[c * padded + token] = code;
            }
            values[token * HEAD..][..HEAD].copy_from_slice(part(token, 2));
        }
        let panel = |codes: &[u8], stride: usize| {
            let mut panel = Panel::default();
            panel.fill(run.token, codes, stride, COLUMNS);
            panel
        };
        let key_panel = |i: usize| panel(&keys[i % 2 * DEPTH * padded + i / 2 * COLUMNS..], padded);
        Self {
            run,
            tokens,
            padded,
            queries: (0..tokens).flat_map(|token| part(token, 0).iter().copied()).collect(),
            keys: (0..padded / COLUMNS * 2).map(key_panel).collect(),
            values: (0..padded / DEPTH).map(|i| panel(&values[i * DEPTH * HEAD..], HEAD)).collect(),
        }
    }

    /// `[token][32]` published results.
    fn attend(&self) -> Result<Vec<u8>, EngineError> {
        let mut out = vec![0; self.tokens * HEAD];
        let mut scratch = Scratch::new();
        for (queries, out) in self.queries.chunks(BLOCK * HEAD).zip(out.chunks_mut(BLOCK * HEAD)) {
            self.run.check()?;
            let rows = queries.len() / HEAD;
            let (weights, totals) = self.weights(queries, rows, &mut scratch);
            let mut sums: Vec<Accumulators> = vec![[0; COLUMNS]; rows];
            for (i, panel) in self.values.iter().enumerate() {
                panel.accumulate(self.run.token, &weights[i * DEPTH..], self.padded, &mut sums, &mut scratch);
            }
            for ((sums, total), out) in sums.iter().zip(totals).zip(out.chunks_exact_mut(HEAD)) {
                let reciprocal = float16::reciprocal(total);
                for (code, &sum) in out.iter_mut().zip(sums) {
                    let quotient = float16::mul(f16::from_bits(sum), reciprocal);
                    *code = publish::PLAIN[usize::from(quotient.to_bits())];
                }
            }
        }
        Ok(out)
    }

    /// Published, unnormalized weights `[query][padded]`, and each query's total.
    fn weights(&self, queries: &[u8], rows: usize, scratch: &mut Scratch) -> (Vec<u8>, Vec<f16>) {
        let mut halves = vec![0_u16; rows * self.padded];
        for (i, panels) in self.keys.chunks_exact(2).enumerate() {
            let mut scores: Vec<Accumulators> = vec![[0; COLUMNS]; rows];
            for (c, panel) in panels.iter().enumerate() {
                panel.accumulate(self.run.token, &queries[c * DEPTH..], HEAD, &mut scores, scratch);
            }
            for (row, scores) in scores.iter().enumerate() {
                halves[row * self.padded + i * COLUMNS..][..COLUMNS].copy_from_slice(scores);
            }
        }
        let padding = (self.padded - self.tokens) as f32;
        let excess = f16::from_f32(exponential::exp_weight_vit(f16::ZERO).to_f32() * padding);
        let totals = halves.chunks_exact_mut(self.padded).map(|row| {
            let mut total = f16::ZERO;
            for block in row.as_chunks_mut::<KEYS>().0 {
                let sum = softmax::exponentials(self.run.token, &exponential::VIT, block);
                total = float16::add(total, sum);
            }
            if padding > 0.0 { float16::add(total, -excess) } else { total }
        });
        let totals = totals.collect();
        let mut weights = vec![0; halves.len()];
        publish::publish(&publish::PLAIN, &halves, &mut weights);
        (weights, totals)
    }
}
