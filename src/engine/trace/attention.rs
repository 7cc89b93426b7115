//! One query's attention in one head: keys in both orders, scores, exponentials, every half add, weights.

use super::{Number, Stage, Story, dot};
use crate::engine::reference::{Sources, global_attention, window_attention};
use crate::geometry::window;
use crate::numerics::cosine::HEAD;
use crate::numerics::softmax::{KEYS, Tree};
use crate::numerics::{Rules, e4m3, f16, float16};
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

/// One half add of the softmax.
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
    fn new(name: String, a: f16, b: f16, sum: f16) -> Self {
        let rounded = a.to_f64() + b.to_f64() != sum.to_f64();
        Self { name, a: Number::half(a), b: Number::half(b), sum: Number::half(sum), rounded }
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
    /// The softmax's half adds, in order.
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

pub(super) fn window_record(
    op: &WindowAttention,
    block: usize,
    sources: Sources<'_>,
    head: usize,
    place: Place,
) -> Attention {
    let normalized = sources.tensor(&op.input);
    let grid = op.grid(normalized.shape.size);
    let (at, n) = match place {
        Place::Window(window, n) => (window, n),
        Place::Token(token) => grid.locate(token),
    };
    let keys = window_attention::Keys::gather(normalized, &grid, at, head);
    let token = grid.token(at, n);
    let query = token.map_or([0; HEAD], |t| window_attention::channels(normalized, t, head, 0));
    let prior = sources.model.prior(op.prior);
    let prior = &prior[(head * KEYS + window::physical(n)) * KEYS..][..KEYS];
    let found = window_attention::attend(&query, &keys, prior, &Rules::EXACT);
    let key = |p: usize| Key {
        physical: p,
        natural: window::natural(p),
        token: grid.token(at, window::natural(p)),
        prior: Number::half(prior[p]),
        score: Number::half(found.scores[p]),
        exponential: Number::half(found.exponentials[p]),
        weight: Number::code(found.weights[p]),
    };
    let total = found.tree.total;
    Attention {
        block,
        head,
        window: Some(at),
        query: n,
        token,
        keys: (0..KEYS).map(key).collect(),
        adds: adds(&found.exponentials, &found.tree, ""),
        total: Number::half(total),
        reciprocal: Number::half(float16::reciprocal(total)),
        outside_share: share(&found.exponentials, |p| !keys.inside[p]),
        weight_sum: found.weights.iter().map(|&w| f64::from(e4m3::decode(w))).sum(),
        raw: found.raw.map(Number::half).to_vec(),
        attended: found.attended.map(Number::code).to_vec(),
    }
}

pub(super) fn global_record(
    op: &GlobalAttention,
    block: usize,
    sources: Sources<'_>,
    head: usize,
    place: Place,
) -> Attention {
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
    let found = global_attention::attend(&query, &keys, &Rules::EXACT);
    let mut all = Vec::new();
    let mut total = f16::ZERO;
    for (i, block) in found.exponentials.as_chunks::<KEYS>().0.iter().enumerate() {
        let tree = crate::numerics::softmax::tree(block);
        all.extend(adds(block, &tree, &format!("block {i} ")));
        let sum = float16::add(total, tree.total);
        all.push(Add::new(format!("total behind block {i}"), total, tree.total, sum));
        total = sum;
    }
    if let (true, Some(&last)) = (keys.keys.len() > keys.tokens, found.totals.last()) {
        let weight = crate::numerics::exponential::exp_weight_vit(f16::ZERO).to_f32();
        let excess = f16::from_f32(weight * (keys.keys.len() - keys.tokens) as f32);
        all.push(Add::new("total without padding".to_owned(), total, -excess, last));
        total = last;
    }
    let key = |p: usize| Key {
        physical: p,
        natural: p,
        token: (p < keys.tokens).then_some(p),
        prior: Number::half(f16::ZERO),
        score: Number::half(found.scores[p]),
        exponential: Number::half(found.exponentials[p]),
        weight: Number::code(found.weights[p]),
    };
    Attention {
        block,
        head,
        window: None,
        query: token,
        token: Some(token),
        keys: (0..keys.keys.len()).map(key).collect(),
        adds: all,
        total: Number::half(total),
        reciprocal: Number::half(float16::reciprocal(total)),
        outside_share: share(&found.exponentials, |p| p >= keys.tokens),
        weight_sum: found.weights.iter().map(|&w| f64::from(e4m3::decode(w))).sum(),
        raw: found.raw.map(Number::half).to_vec(),
        attended: found.attended.map(Number::code).to_vec(),
    }
}

pub(super) fn window(
    op: &WindowAttention,
    block: usize,
    sources: Sources<'_>,
    (token, c): (usize, usize),
    story: &mut Story,
) -> Number {
    let record = window_record(op, block, sources, c / HEAD, Place::Token(token));
    let normalized = sources.tensor(&op.input);
    let grid = op.grid(normalized.shape.size);
    let at = grid.locate(token).0;
    let values = window_attention::Keys::gather(normalized, &grid, at, c / HEAD).values;
    let raw = weigh(&record, &values, c % HEAD, story);
    story.stages.insert(0, Stage::Attention(Box::new(record)));
    story.publish("publish(sum)", raw, e4m3::publish(raw))
}

pub(super) fn global(
    op: &GlobalAttention,
    block: usize,
    sources: Sources<'_>,
    (token, c): (usize, usize),
    story: &mut Story,
) -> Number {
    let record = global_record(op, block, sources, c / HEAD, Place::Token(token));
    let values = global_attention::Keys::gather(sources.tensor(&op.input), c / HEAD).values;
    let raw = weigh(&record, &values, c % HEAD, story);
    let reciprocal = f16::from_bits(record.reciprocal.bits as u16);
    story.stages.insert(0, Stage::Attention(Box::new(record)));
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

/// The half adds of one tree of 64, in the order in which they are made.
fn adds(e: &[f16], tree: &Tree, prefix: &str) -> Vec<Add> {
    let mut all = Vec::new();
    for g in 0..8 {
        for j in 0..4 {
            let (a, b) = (e[g + 16 * j], e[g + 16 * j + 8]);
            all.push(Add::new(format!("{prefix}pair[{g}][{j}]"), a, b, tree.pairs[g][j]));
        }
    }
    let mut chain = |name: String, terms: [f16; 4], last: f16| {
        let mut sum = terms[0];
        for &term in &terms[1..] {
            let next = float16::add(sum, term);
            all.push(Add::new(name.clone(), sum, term, next));
            sum = next;
        }
        debug_assert_eq!(sum.to_bits(), last.to_bits(), "{name}: the tree's own sum");
    };
    for g in 0..8 {
        chain(format!("{prefix}lane[{g}]"), tree.pairs[g], tree.lanes[g]);
    }
    let lanes = tree.lanes;
    chain(format!("{prefix}even"), [lanes[0], lanes[2], lanes[4], lanes[6]], tree.even);
    chain(format!("{prefix}odd"), [lanes[1], lanes[3], lanes[5], lanes[7]], tree.odd);
    all.push(Add::new(format!("{prefix}sum"), tree.even, tree.odd, tree.total));
    all
}

fn share(e: &[f16], outside: impl Fn(usize) -> bool) -> f64 {
    let sum =
        |wanted: &dyn Fn(usize) -> bool| -> f64 { (0..e.len()).filter(|&p| wanted(p)).map(|p| e[p].to_f64()).sum() };
    sum(&outside) / sum(&|_| true)
}
