//! Global attention of one query over all level-5 tokens: unnormalized published weights, one division at the end.

use super::rules::{self, Epilogue, Half, Operands};
use super::window_attention::{channels, score};
use super::{Kernel, Sources, with_raw};
use crate::numerics::cosine::HEAD;
use crate::numerics::rules::{Divide, Padding, WeightRule};
use crate::numerics::softmax::{self, KEYS};
use crate::numerics::{Rules, e4m3, exponential, f16, fdpa, float16};
use crate::plan::ops::GlobalAttention;
use crate::tensor::Tensor;

/// Everything that one query's global attention in one head goes through; P keys, padding included.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Scores.
    pub scores: Vec<f16>,
    /// Their exponentials.
    pub exponentials: Vec<f16>,
    /// The running total after each block of 64 keys, and last the padding's correction if there is any.
    pub totals: Vec<f16>,
    /// Published, unnormalized weights.
    pub weights: Vec<u8>,
    /// The weighted values before the division.
    pub raw: [f16; HEAD],
    /// Divided, before publication.
    pub quotients: [f16; HEAD],
    /// The published result.
    pub attended: [u8; HEAD],
}

/// Keys and values of one head, zero vectors as padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Normalized keys, P of them.
    pub keys: Vec<[u8; HEAD]>,
    /// Published values, P of them.
    pub values: Vec<[u8; HEAD]>,
    /// Tokens that are not padding.
    pub tokens: usize,
}

impl Keys {
    /// Gathers a head's keys and values.
    pub fn gather(normalized: &Tensor, head: usize) -> Self {
        let tokens = normalized.shape.tokens();
        let part = |t: usize, offset| if t < tokens { channels(normalized, t, head, offset) } else { [0; HEAD] };
        let all = |offset| (0..GlobalAttention::padded(tokens)).map(|t| part(t, offset)).collect();
        Self { keys: all(HEAD), values: all(2 * HEAD), tokens }
    }
}

/// One query against all keys.
pub fn attend(query: &[u8; HEAD], keys: &Keys, rules: &Rules) -> Query {
    if !rules.is_exact() {
        return attend_under(query, keys, rules);
    }
    let scores: Vec<f16> = keys.keys.iter().map(|key| fdpa::dot_fp8(query, key, f16::ZERO)).collect();
    let exponentials: Vec<f16> = scores.iter().map(|&s| exponential::exp_weight_vit(s)).collect();
    let mut totals = Vec::new();
    let mut total = f16::ZERO;
    for block in exponentials.as_chunks::<KEYS>().0 {
        total = float16::add(total, softmax::tree(block).total);
        totals.push(total);
    }
    let padding = keys.keys.len() - keys.tokens;
    if padding > 0 {
        let excess = f16::from_f32(exponential::exp_weight_vit(f16::ZERO).to_f32() * padding as f32);
        total = float16::add(total, -excess);
        totals.push(total);
    }
    let weights: Vec<u8> = exponentials.iter().map(|&e| e4m3::publish(e)).collect();
    let raw: [f16; HEAD] = std::array::from_fn(|c| {
        let column: Vec<u8> = keys.values.iter().map(|v| v[c]).collect();
        fdpa::dot_fp8(&weights, &column, f16::ZERO)
    });
    let reciprocal = float16::reciprocal(total);
    let quotients = raw.map(|x| float16::mul(x, reciprocal));
    Query { scores, exponentials, totals, weights, raw, quotients, attended: quotients.map(e4m3::publish) }
}

/// [`attend`] under changed rules; with exact ones it gives the same, which a test checks.
fn attend_under(query: &[u8; HEAD], keys: &Keys, rules: &Rules) -> Query {
    let half = Half::new(rules);
    let scores: Vec<f16> = keys.keys.iter().map(|key| score(query, key, f16::ZERO, rules)).collect();
    let most = scores[..keys.tokens].iter().copied().fold(f16::NEG_INFINITY, f16::max);
    let weight = |s: f16| rules::exponential(&exponential::VIT, s, most, rules);
    let exponentials: Vec<f16> = scores.iter().map(|&s| weight(s)).collect();
    let masked = |p: usize| rules.padding == Padding::Masked && p >= keys.tokens;
    let (mut totals, mut total) = (Vec::new(), 0.0);
    for (i, block) in exponentials.as_chunks::<KEYS>().0.iter().enumerate() {
        total = half.add(total, rules::total(block, |p| !masked(i * KEYS + p), rules).1);
        totals.push(f16::from_f32(total));
    }
    let padding = keys.keys.len() - keys.tokens;
    if padding > 0 && rules.padding == Padding::Subtracted {
        let excess = half.mul(weight(f16::ZERO).to_f32(), padding as f32);
        total = half.add(total, -excess);
        totals.push(f16::from_f32(total));
    }
    let reciprocal = half.round(1.0 / total);
    let normalized = rules.share == WeightRule::Normalized;
    let shares: Vec<(f16, f64)> = exponentials
        .iter()
        .enumerate()
        .map(|(p, e)| {
            let wide = match (masked(p), normalized) {
                (true, _) => 0.0,
                (false, true) => e.to_f32() * reciprocal,
                (false, false) => e.to_f32(),
            };
            (f16::from_f32(wide), f64::from(wide))
        })
        .collect();
    let halves: Vec<f16> = shares.iter().map(|share| share.0).collect();
    let weights: Vec<u8> =
        shares.iter().map(|&(half, wide)| rules::publish(half, wide, Epilogue::Plain, rules)).collect();
    let raw: [rules::Sum; HEAD] = std::array::from_fn(|c| {
        let column: Vec<u8> = keys.values.iter().map(|v| v[c]).collect();
        let operands = match rules.share {
            WeightRule::Halves => Operands::Mixed(&halves, &column),
            WeightRule::Published | WeightRule::Normalized => Operands::Codes(&weights, &column),
        };
        rules::dot(operands, 0.0, &rules.weigh)
    });
    let quotients = raw.map(|sum| {
        let wide = match (normalized, rules.divide) {
            (true, _) => sum.carried as f32,
            (false, Divide::Reciprocal) => sum.carried as f32 * reciprocal,
            (false, Divide::Division) => sum.carried as f32 / total,
        };
        (f16::from_f32(half.round(wide)), f64::from(wide))
    });
    let attended = quotients.map(|(half, wide)| rules::publish(half, wide, Epilogue::Plain, rules));
    let (raw, quotients) = (raw.map(rules::Sum::half), quotients.map(|(half, _)| half));
    Query { scores, exponentials, totals, weights, raw, quotients, attended }
}

pub(super) fn kernel<'a>(op: &'a GlobalAttention, rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let normalized = sources.tensor(&op.input);
    let heads: Vec<Keys> = (0..op.heads).map(|head| Keys::gather(normalized, head)).collect();
    Box::new(move |rows| {
        let (mut out, mut raw) = (Vec::new(), Vec::new());
        for &row in rows {
            for (head, keys) in heads.iter().enumerate() {
                let found = attend(&channels(normalized, row, head, 0), keys, rules);
                out.extend(found.attended);
                raw.extend(found.quotients.iter().flat_map(|&half| rules::raw_bytes(half, rules)));
            }
        }
        with_raw(out, raw, op.raw.is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_agrees_with_the_definition_where_nothing_is_changed() {
        for seed in 0..30_u32 {
            let vector = |at: usize| -> [u8; HEAD] {
                std::array::from_fn(|c| {
                    let bits = (seed.wrapping_mul(747_796_405) + (at * HEAD + c) as u32).wrapping_mul(2_891_336_453);
                    (bits >> 24) as u8 & 0xb7
                })
            };
            let tokens = 70 + seed as usize;
            let part = |offset: usize| {
                (0..GlobalAttention::padded(tokens))
                    .map(|t| if t < tokens { vector(offset + t) } else { [0; HEAD] })
                    .collect()
            };
            let keys = Keys { keys: part(1), values: part(1000), tokens };
            let exact = attend(&vector(0), &keys, &Rules::EXACT);
            assert_eq!(attend_under(&vector(0), &keys, &Rules::EXACT), exact, "seed {seed}");
        }
    }
}
