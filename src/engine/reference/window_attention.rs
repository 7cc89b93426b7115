//! Window attention of one query: scores on the prior, exponentials, softmax, weighted values.
//!
//! Keys and values are in physical order; tokens outside the field are zero vectors that still weigh in.

use super::{Kernel, Sources};
use crate::geometry::{WindowGrid, window};
use crate::numerics::cosine::HEAD;
use crate::numerics::softmax::{self, KEYS, Tree};
use crate::numerics::{Rules, e4m3, exponential, f16, fdpa};
use crate::plan::ops::WindowAttention;
use crate::tensor::Tensor;

/// Everything that one query's attention in one head goes through.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Scores of the 64 keys, physical order.
    pub scores: [f16; KEYS],
    /// Their exponentials.
    pub exponentials: [f16; KEYS],
    /// The sum and all its partial sums.
    pub tree: Tree,
    /// Published weights.
    pub weights: [u8; KEYS],
    /// The weighted values before publication.
    pub raw: [f16; HEAD],
    /// The published result.
    pub attended: [u8; HEAD],
}

/// Keys and values of one window and head, physical order; zero vectors outside the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Normalized keys.
    pub keys: Vec<[u8; HEAD]>,
    /// Published values.
    pub values: Vec<[u8; HEAD]>,
    /// Which tokens lie in the field.
    pub inside: Vec<bool>,
}

impl Keys {
    /// Gathers a window's keys and values from the normalized tensor.
    pub fn gather(normalized: &Tensor, grid: &WindowGrid, window: (usize, usize), head: usize) -> Self {
        let token = |p: usize| grid.token(window, window::natural(p));
        let part = |p: usize, offset: usize| token(p).map_or([0; HEAD], |t| channels(normalized, t, head, offset));
        Self {
            keys: (0..KEYS).map(|p| part(p, HEAD)).collect(),
            values: (0..KEYS).map(|p| part(p, 2 * HEAD)).collect(),
            inside: (0..KEYS).map(|p| token(p).is_some()).collect(),
        }
    }
}

/// A head's 32 channels of a token: offset 0 for q, 32 for k, 64 for v.
pub(crate) fn channels(normalized: &Tensor, token: usize, head: usize, offset: usize) -> [u8; HEAD] {
    let row = normalized.row(token);
    std::array::from_fn(|c| row[head * 3 * HEAD + offset + c])
}

/// One query against one window. `prior` is the query's row: 64 halves in physical key order.
pub fn attend(query: &[u8; HEAD], keys: &Keys, prior: &[f16], _rules: &Rules) -> Query {
    let scores: [f16; KEYS] = std::array::from_fn(|p| fdpa::dot_fp8(query, &keys.keys[p], prior[p]));
    let exponentials = scores.map(exponential::exp_weight);
    let tree = softmax::tree(&exponentials);
    let weights = softmax::weights(&exponentials, tree.total);
    let raw: [f16; HEAD] = std::array::from_fn(|c| {
        let column: [u8; KEYS] = std::array::from_fn(|p| keys.values[p][c]);
        fdpa::dot_fp8(&weights, &column, f16::ZERO)
    });
    Query { scores, exponentials, tree, weights, raw, attended: raw.map(e4m3::publish) }
}

pub(super) fn kernel<'a>(op: &'a WindowAttention, rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let normalized = sources.tensor(&op.input);
    let prior = sources.model.prior(op.prior);
    let grid = op.grid(normalized.shape.size);
    Box::new(move |rows| {
        let mut out = Vec::new();
        for &row in rows {
            let (window, n) = grid.locate(row);
            for head in 0..op.heads {
                let keys = Keys::gather(normalized, &grid, window, head);
                let query = channels(normalized, row, head, 0);
                let prior = &prior[(head * KEYS + window::physical(n)) * KEYS..][..KEYS];
                out.extend(attend(&query, &keys, prior, rules).attended);
            }
        }
        vec![out]
    })
}
