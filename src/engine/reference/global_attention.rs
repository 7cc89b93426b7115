//! Global attention of one query over all level-5 tokens: unnormalized published weights, one division at the end.

use super::window_attention::channels;
use super::{Kernel, Sources};
use crate::numerics::cosine::HEAD;
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
pub fn attend(query: &[u8; HEAD], keys: &Keys, _rules: &Rules) -> Query {
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
    let attended = raw.map(|x| e4m3::publish(float16::mul(x, reciprocal)));
    Query { scores, exponentials, totals, weights, raw, attended }
}

pub(super) fn kernel<'a>(op: &'a GlobalAttention, rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let normalized = sources.tensor(&op.input);
    let heads: Vec<Keys> = (0..op.heads).map(|head| Keys::gather(normalized, head)).collect();
    Box::new(move |rows| {
        let mut out = Vec::new();
        for &row in rows {
            for (head, keys) in heads.iter().enumerate() {
                out.extend(attend(&channels(normalized, row, head, 0), keys, rules).attended);
            }
        }
        vec![out]
    })
}
