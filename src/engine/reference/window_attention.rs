//! Window attention of one query: scores on the prior, exponentials, softmax, weighted values.
//!
//! Keys and values are in physical order; tokens outside the field are zero vectors that still weigh in.

use super::rules::{self, Epilogue, Half, Operands};
use super::{Kernel, Sources, with_raw};
use crate::geometry::{Size, WindowGrid, window};
use crate::model::Model;
use crate::numerics::cosine::HEAD;
use crate::numerics::rules::{Carry, Divide, Outside, PriorRule, ScoreRule, ValueOrder, WeightRule};
use crate::numerics::softmax::{self, KEYS, Tree};
use crate::numerics::{Rules, e4m3, exponential, f16, fdpa};
use crate::plan::ops::WindowAttention;
use crate::tensor::Tensor;
use rayon::prelude::*;

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
        Self::gather_under(normalized, grid, window, head, &Rules::EXACT)
    }

    /// The same under rules: other tokens outside the field, another order of values.
    pub fn gather_under(
        normalized: &Tensor,
        grid: &WindowGrid,
        window: (usize, usize),
        head: usize,
        rules: &Rules,
    ) -> Self {
        let token = |p: usize| rules::outside_token(grid, window, window::natural(p), rules.outside);
        let part = |p: usize, offset: usize| token(p).map_or([0; HEAD], |t| channels(normalized, t, head, offset));
        let value = |p: usize| if rules.values == ValueOrder::Natural { window::physical(p) } else { p };
        Self {
            keys: (0..KEYS).map(|p| part(p, HEAD)).collect(),
            values: (0..KEYS).map(|p| part(value(p), 2 * HEAD)).collect(),
            inside: (0..KEYS).map(|p| grid.token(window, window::natural(p)).is_some()).collect(),
        }
    }
}

/// A window's attention in one head: every query, under a step's rules.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// The window looked at, inside the grid that the rules lay over the plane.
    pub(crate) place: (usize, usize),
    /// Its keys and values.
    pub(crate) keys: Keys,
    /// What each query adds to its scores, natural order.
    pub(crate) priors: Vec<[f16; KEYS]>,
    /// All 64 queries, natural order; those outside the field are zero vectors.
    pub(crate) queries: Vec<Query>,
    /// Whether keys outside the field are left out of the sum.
    pub(crate) masked: bool,
}

impl Window {
    /// Computes it; a place beyond the grid is moved to its edge.
    pub(crate) fn of(
        (op, rules): (&WindowAttention, &Rules),
        model: &Model,
        normalized: &Tensor,
        place: (usize, usize),
        head: usize,
    ) -> Self {
        let grid = rules::window_grid(op, normalized.shape.size, rules);
        let place = (place.0.min(grid.windows.width - 1), place.1.min(grid.windows.height - 1));
        let keys = Keys::gather_under(normalized, &grid, place, head, rules);
        let prior = rules::prior(model, op.prior, rules.prior);
        let priors: Vec<[f16; KEYS]> = (0..KEYS).map(|natural| prior(head, natural)).collect();
        let query = |natural: usize| {
            let token = grid.token(place, natural);
            token.map_or([0; HEAD], |token| channels(normalized, token, head, 0))
        };
        let queries = (0..KEYS).into_par_iter().map(|n| attend(&query(n), &keys, &priors[n], rules)).collect();
        Self { place, keys, priors, queries, masked: rules.outside == Outside::Masked }
    }
}

/// The windows of an op under rules.
pub(crate) fn grid_under(op: &WindowAttention, size: Size, rules: &Rules) -> WindowGrid {
    rules::window_grid(op, size, rules)
}

/// The prior of an op under rules: from a head and a natural query to 64 halves in physical key order.
pub(crate) fn prior_under(
    model: &Model,
    op: &WindowAttention,
    rules: &Rules,
) -> impl Fn(usize, usize) -> [f16; KEYS] + use<> {
    rules::prior(model, op.prior, rules.prior)
}

/// A head's 32 channels of a token: offset 0 for q, 32 for k, 64 for v.
pub(crate) fn channels(normalized: &Tensor, token: usize, head: usize, offset: usize) -> [u8; HEAD] {
    let row = normalized.row(token);
    std::array::from_fn(|c| row[head * 3 * HEAD + offset + c])
}

/// One query against one window. `prior` is the query's row: 64 halves in physical key order.
pub fn attend(query: &[u8; HEAD], keys: &Keys, prior: &[f16], rules: &Rules) -> Query {
    if !rules.is_exact() {
        return attend_under(query, keys, prior, rules);
    }
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

/// [`attend`] under changed rules; with exact ones it gives the same, which a test checks.
fn attend_under(query: &[u8; HEAD], keys: &Keys, prior: &[f16], rules: &Rules) -> Query {
    let half = Half::new(rules);
    let masked = |p: usize| rules.outside == Outside::Masked && !keys.inside[p];
    let scores: [f16; KEYS] = std::array::from_fn(|p| score(query, &keys.keys[p], prior[p], rules));
    let most = (0..KEYS).filter(|&p| !masked(p)).map(|p| scores[p]).fold(f16::NEG_INFINITY, f16::max);
    let exponentials: [f16; KEYS] =
        std::array::from_fn(|p| rules::exponential(&exponential::WINDOW, scores[p], most, rules));
    let (tree, total) = rules::total(&exponentials, |p| !masked(p), rules);
    let reciprocal = half.round(1.0 / total);
    let shares: [(f16, f64); KEYS] = std::array::from_fn(|p| {
        let e = exponentials[p].to_f32();
        let wide = match rules.divide {
            _ if masked(p) => 0.0,
            Divide::Reciprocal => e * reciprocal,
            Divide::Division => e / total,
        };
        let single = rules.carry == Carry::Singles;
        (f16::from_f32(if single { wide } else { half.round(wide) }), f64::from(wide))
    });
    let weights = shares.map(|(half, wide)| rules::publish(half, wide, Epilogue::Plain, rules));
    let sums: [rules::Sum; HEAD] = std::array::from_fn(|c| {
        let column: [u8; KEYS] = std::array::from_fn(|p| keys.values[p][c]);
        let halves = shares.map(|(half, _)| half);
        let operands = match rules.share {
            WeightRule::Halves => Operands::Mixed(&halves, &column),
            WeightRule::Published | WeightRule::Normalized => Operands::Codes(&weights, &column),
        };
        rules::dot(operands, 0.0, &rules.weigh)
    });
    let attended = sums.map(|sum| rules::publish(sum.half(), sum.wide, Epilogue::Plain, rules));
    Query { scores, exponentials, tree, weights, raw: sums.map(rules::Sum::half), attended }
}

/// A score under rules, seeded with its prior.
pub(super) fn score(query: &[u8; HEAD], key: &[u8; HEAD], prior: f16, rules: &Rules) -> f16 {
    let seed = if rules.prior == PriorRule::AtEnd { f16::ZERO } else { prior };
    let mut score = rules::dot(Operands::Codes(query, key), seed.to_f64(), &rules.dot).half();
    if rules.prior == PriorRule::AtEnd {
        score = f16::from_f32(score.to_f32() + prior.to_f32());
    }
    match rules.scores {
        ScoreRule::Halves => score,
        ScoreRule::Published => e4m3::decode_half(e4m3::publish(score)),
    }
}

/// One query of a step, under the step's rules: the keys that it sees and what it makes of them.
///
/// # Panics
/// When the input is missing, or the place lies outside the field: callers check.
pub fn look(op: &WindowAttention, rules: &Rules, sources: Sources<'_>, head: usize, token: usize) -> (Keys, Query) {
    let normalized = sources.tensor(&op.input);
    let grid = rules::window_grid(op, normalized.shape.size, rules);
    let (window, n) = grid.locate(token);
    let keys = Keys::gather_under(normalized, &grid, window, head, rules);
    let prior = rules::prior(sources.model, op.prior, rules.prior)(head, n);
    let query = attend(&channels(normalized, token, head, 0), &keys, &prior, rules);
    (keys, query)
}

pub(super) fn kernel<'a>(op: &'a WindowAttention, rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let normalized = sources.tensor(&op.input);
    let prior = rules::prior(sources.model, op.prior, rules.prior);
    let grid = rules::window_grid(op, normalized.shape.size, rules);
    Box::new(move |rows| {
        let (mut out, mut raw) = (Vec::new(), Vec::new());
        // Rows of one tile often share their window: its keys are gathered once.
        let mut gathered: Option<((usize, usize), Vec<Keys>)> = None;
        for &row in rows {
            let (window, n) = grid.locate(row);
            let keys = match gathered.take() {
                Some((at, keys)) if at == window => keys,
                _ => (0..op.heads).map(|head| Keys::gather_under(normalized, &grid, window, head, rules)).collect(),
            };
            for (head, keys) in keys.iter().enumerate() {
                let query = channels(normalized, row, head, 0);
                let found = attend(&query, keys, &prior(head, n), rules);
                out.extend(found.attended);
                raw.extend(found.raw.iter().flat_map(|&half| rules::raw_bytes(half, rules)));
            }
            gathered = Some((window, keys));
        }
        with_raw(out, raw, op.raw.is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_agrees_with_the_definition_where_nothing_is_changed() {
        for seed in 0..60_u32 {
            let code = |i: usize| {
                let bits = (seed.wrapping_mul(747_796_405).wrapping_add(i as u32)).wrapping_mul(2_891_336_453);
                (bits >> 24) as u8 & 0xbf
            };
            let vector = |at: usize| -> [u8; HEAD] { std::array::from_fn(|c| code(at * HEAD + c)) };
            let keys = Keys {
                keys: (1..=KEYS).map(vector).collect(),
                values: (101..=100 + KEYS).map(vector).collect(),
                inside: vec![true; KEYS],
            };
            let prior: Vec<f16> = (0..KEYS).map(|k| f16::from_f32(f32::from(code(9000 + k)) / 64.0 - 2.0)).collect();
            let exact = attend(&vector(0), &keys, &prior, &Rules::EXACT);
            let got = attend_under(&vector(0), &keys, &prior, &Rules::EXACT);
            assert_eq!(got, exact, "seed {seed}");
        }
    }
}
