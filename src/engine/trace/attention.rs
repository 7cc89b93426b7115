//! One query's attention in one head: keys in both orders, scores, exponentials, every half add, weights.
//!
//! Computed under the step's own rules: what a changed subject shows here is what it computes.

use super::{Number, Stage, Story, dot, sums};
use crate::engine::reference::{Sources, global_attention, window_attention};
use crate::geometry::window;
use crate::numerics::cosine::HEAD;
use crate::numerics::rules::{Outside, Padding};
use crate::numerics::softmax::KEYS;
use crate::numerics::{Rules, e4m3, exponential, f16, float16};
use crate::plan::ops::{GlobalAttention, WindowAttention};
use serde::Serialize;

/// Which query is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A window and the natural index of a query inside it.
    Window((usize, usize), usize),
    /// A token of the plane.
    Token(usize),
}

/// One key as a query sees it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Key {
    /// Position in the order of the sums: physical in a window, plain in the ViT.
    pub physical: usize,
    /// Position `y * 8 + x` in the window; the same as `physical` in the ViT.
    pub natural: usize,
    /// The plane's token; absent outside the field, and for padding.
    pub token: Option<usize>,
    /// The prior that the score starts from.
    pub prior: Number,
    /// The score.
    pub score: Number,
    /// Its exponential.
    pub exponential: Number,
    /// The published weight.
    pub weight: Number,
}

/// One add of the softmax: of halves, unless a rule sums in singles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Add {
    /// What the sum is called.
    pub name: String,
    /// Left operand.
    pub a: Number,
    /// Right operand.
    pub b: Number,
    /// The sum.
    pub sum: Number,
    /// Whether the sum was rounded: the exact one is no half.
    pub rounded: bool,
}

impl Add {
    pub(super) fn new(name: String, a: f16, b: f16, sum: f16) -> Self {
        let rounded = a.to_f64() + b.to_f64() != sum.to_f64();
        Self { name, a: Number::half(a), b: Number::half(b), sum: Number::half(sum), rounded }
    }

    /// An add that some ports make in singles.
    pub(super) fn single(name: String, a: f32, b: f32) -> Self {
        let rounded = f64::from(a) + f64::from(b) != f64::from(a + b);
        Self { name, a: Number::single(a), b: Number::single(b), sum: Number::single(a + b), rounded }
    }
}

/// Everything that one query's attention goes through.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attention {
    /// Block.
    pub block: usize,
    /// Head.
    pub head: usize,
    /// Window, column and row; absent in the ViT.
    pub window: Option<(usize, usize)>,
    /// Natural index of the query in its window, or its token in the ViT.
    pub query: usize,
    /// The query's token; absent for a query outside the field, which nobody writes.
    pub token: Option<usize>,
    /// Keys in the order of the sums.
    pub keys: Vec<Key>,
    /// The softmax's adds, in the order in which the step's rules make them.
    pub adds: Vec<Add>,
    /// The denominator.
    pub total: Number,
    /// `f16(1 / total)`.
    pub reciprocal: Number,
    /// Keys outside the field (or padding) still weigh in: their share of the exponentials' sum, 0 to 1.
    pub outside_share: f64,
    /// Sum of the decoded published weights.
    pub weight_sum: f64,
    /// The 32 weighted values before publication.
    pub raw: Vec<Number>,
    /// The published result.
    pub attended: Vec<Number>,
}

/// One query's way through a softmax, of whichever op.
struct Query {
    /// Window and natural index; the token in the ViT.
    window: Option<(usize, usize)>,
    index: usize,
    token: Option<usize>,
    /// Places of the keys: natural index and token.
    places: Vec<(usize, Option<usize>)>,
    prior: Vec<f16>,
    scores: Vec<f16>,
    exponentials: Vec<f16>,
    weights: Vec<u8>,
    /// Whether a key is left out of the sum.
    masked: Vec<bool>,
    adds: Vec<Add>,
    total: f16,
    raw: [f16; HEAD],
    attended: [u8; HEAD],
}

impl Query {
    fn record(self, block: usize, head: usize) -> Attention {
        let key = |(p, &(natural, token)): (usize, &(usize, Option<usize>))| Key {
            physical: p,
            natural,
            token,
            prior: Number::half(self.prior.get(p).copied().unwrap_or(f16::ZERO)),
            score: Number::half(self.scores[p]),
            exponential: Number::half(self.exponentials[p]),
            weight: Number::code(self.weights[p]),
        };
        let counted = |p: usize| if self.masked[p] { 0.0 } else { self.exponentials[p].to_f64() };
        let outside = (0..self.places.len()).filter(|&p| self.places[p].1.is_none()).map(counted).sum::<f64>();
        let all = (0..self.places.len()).map(counted).sum::<f64>();
        Attention {
            block,
            head,
            window: self.window,
            query: self.index,
            token: self.token,
            keys: self.places.iter().enumerate().map(key).collect(),
            adds: self.adds,
            total: Number::half(self.total),
            reciprocal: Number::half(float16::reciprocal(self.total)),
            outside_share: outside / all,
            weight_sum: self.weights.iter().map(|&w| f64::from(e4m3::decode(w))).sum(),
            raw: self.raw.map(Number::half).to_vec(),
            attended: self.attended.map(Number::code).to_vec(),
        }
    }
}

/// The record of a query in a window, and the values that it weighs.
pub(super) fn window_record(
    op: &WindowAttention,
    (block, rules): (usize, &Rules),
    sources: Sources<'_>,
    head: usize,
    place: Place,
) -> (Attention, Vec<[u8; HEAD]>) {
    let normalized = sources.tensor(&op.input);
    let grid = window_attention::grid_under(op, normalized.shape.size, rules);
    let (at, n) = match place {
        Place::Window(window, n) => (window, n),
        Place::Token(token) => grid.locate(token),
    };
    let keys = window_attention::Keys::gather_under(normalized, &grid, at, head, rules);
    let token = grid.token(at, n);
    let query = token.map_or([0; HEAD], |t| window_attention::channels(normalized, t, head, 0));
    let prior = window_attention::prior_under(sources.model, op, rules)(head, n);
    let found = window_attention::attend(&query, &keys, &prior, rules);
    let masked: Vec<bool> = keys.inside.iter().map(|inside| rules.outside == Outside::Masked && !inside).collect();
    let (adds, _) = sums::adds(&found.exponentials, &masked, rules, "");
    let natural = |p: usize| (window::natural(p), grid.token(at, window::natural(p)));
    let query = Query {
        window: Some(at),
        index: n,
        token,
        places: (0..KEYS).map(natural).collect(),
        prior: prior.to_vec(),
        scores: found.scores.to_vec(),
        exponentials: found.exponentials.to_vec(),
        weights: found.weights.to_vec(),
        masked,
        adds,
        total: found.tree.total,
        raw: found.raw,
        attended: found.attended,
    };
    (query.record(block, head), keys.values)
}

/// The same of a query of the ViT.
pub(super) fn global_record(
    op: &GlobalAttention,
    (block, rules): (usize, &Rules),
    sources: Sources<'_>,
    head: usize,
    place: Place,
) -> (Attention, Vec<[u8; HEAD]>) {
    let normalized = sources.tensor(&op.input);
    let keys = global_attention::Keys::gather(normalized, head);
    let token = match place {
        Place::Token(token) => token,
        Place::Window((x, y), n) => {
            let (x, y) = (x * window::SIDE + n % window::SIDE, y * window::SIDE + n / window::SIDE);
            y * normalized.shape.size.width + x
        }
    };
    let query = window_attention::channels(normalized, token, head, 0);
    let found = global_attention::attend(&query, &keys, rules);
    let padded = keys.keys.len();
    let masked: Vec<bool> = (0..padded).map(|p| rules.padding == Padding::Masked && p >= keys.tokens).collect();
    let (mut all, mut total) = (Vec::new(), f16::ZERO);
    let blocks = found.exponentials.as_chunks::<KEYS>().0.iter().zip(masked.as_chunks::<KEYS>().0).zip(&found.totals);
    for (i, ((block, masked), &sum)) in blocks.enumerate() {
        let (adds, of_block) = sums::adds(block, masked, rules, &format!("block {i} "));
        all.extend(adds);
        all.push(Add::new(format!("total behind block {i}"), total, of_block, sum));
        total = sum;
    }
    if let Some(&last) = found.totals.get(padded / KEYS) {
        let weight = exponential::exp_weight_vit(f16::ZERO).to_f32();
        let excess = f16::from_f32(weight * (padded - keys.tokens) as f32);
        all.push(Add::new("total without padding".to_owned(), total, -excess, last));
        total = last;
    }
    let query = Query {
        window: None,
        index: token,
        token: Some(token),
        places: (0..padded).map(|p| (p, (p < keys.tokens).then_some(p))).collect(),
        prior: Vec::new(),
        scores: found.scores,
        exponentials: found.exponentials,
        weights: found.weights,
        masked,
        adds: all,
        total,
        raw: found.raw,
        attended: found.attended,
    };
    (query.record(block, head), keys.values)
}

pub(super) fn window(
    op: &WindowAttention,
    step: (usize, &Rules),
    sources: Sources<'_>,
    (token, c): (usize, usize),
    story: &mut Story,
) -> Number {
    let (record, values) = window_record(op, step, sources, c / HEAD, Place::Token(token));
    story.stages.push(Stage::Attention(Box::new(record.clone())));
    let raw = weigh(&record, &values, c % HEAD, story);
    story.publish("publish(sum)", raw, e4m3::publish(raw))
}

pub(super) fn global(
    op: &GlobalAttention,
    step: (usize, &Rules),
    sources: Sources<'_>,
    (token, c): (usize, usize),
    story: &mut Story,
) -> Number {
    let (record, values) = global_record(op, step, sources, c / HEAD, Place::Token(token));
    story.stages.push(Stage::Attention(Box::new(record.clone())));
    let raw = weigh(&record, &values, c % HEAD, story);
    let reciprocal = f16::from_bits(record.reciprocal.bits as u16);
    let operands = [Number::half(raw), Number::half(reciprocal)];
    let x = story.half("x", "sum * f16(1 / total)", &operands, float16::mul(raw, reciprocal));
    story.publish("publish(x)", x, e4m3::publish(x))
}

/// The weighted sum of one channel of the values.
fn weigh(record: &Attention, values: &[[u8; HEAD]], channel: usize, story: &mut Story) -> f16 {
    let weights: Vec<u8> = record.keys.iter().map(|key| key.weight.bits as u8).collect();
    let column: Vec<u8> = values.iter().map(|value| value[channel]).collect();
    dot::codes("weights * values".to_owned(), 0, &weights, &column, f16::ZERO, story)
}
