//! Overflows on the way to a half that does not show them: sums of squares and scores whose infinity ends in a
//! clamp or a zero, and infinities that cancelled into a NaN.
//!
//! Infinities stick in a chain of groups, so that most overflows show in the half itself. The rest is looked for
//! only where operands are large enough, or the half is NaN; there the arithmetic of [`numerics`](crate::numerics)
//! is repeated.

use super::halves::Part;
use crate::engine::reference::{Sources, gemm, global_attention, window_attention};
use crate::engine::{Control, EngineError};
use crate::geometry::window;
use crate::numerics::cosine::{self, HEAD};
use crate::numerics::softmax::KEYS;
use crate::numerics::{Rules, e4m3, f16, fdpa, float16};
use crate::plan::ops::{Gemm, GlobalAttention, Merge, Normalize, Pool, WindowAttention};
use crate::plan::{Op, Step};
use crate::tensor::Tensor;
use rayon::prelude::*;

/// 32 squares of less than this (45) sum up to less than the largest half, roundings included.
const SQUARE: u16 = 0x51a0;
/// A sum whose terms' magnitudes stay below this cannot overflow, roundings included.
const SUM: f32 = 60_000.0;

/// Rows of the part, with channels, where a half overflowed inside.
pub(super) fn overflows(
    step: &Step,
    sources: Sources<'_>,
    part: &Part<'_>,
    control: &Control,
) -> Result<Vec<(usize, usize)>, EngineError> {
    let places = match &step.op {
        Op::Convert(_) | Op::GemmHalf(_) => Vec::new(),
        // In one chain an infinity sticks, and a NaN is the seed's.
        Op::Gemm(op) if op.partition >= op.k => Vec::new(),
        Op::Gemm(op) => cancelled(part, &gemm_sums(op, sources, part)),
        Op::Pool(op) => cancelled(part, &pool_sums(op, sources, part)),
        Op::Merge(op) => cancelled(part, &merge_products(op, sources, part)),
        Op::Normalize(op) => squares(op, sources, part),
        Op::WindowAttention(op) => window_scores(op, sources, part, control)?,
        Op::GlobalAttention(op) => global_scores(op, sources, part, control)?,
    };
    Ok(places)
}

/// The halves that are NaN because of an infinity: `infinite` says so of a row and channel.
fn cancelled(part: &Part<'_>, infinite: &dyn Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let channels = part.halves.len() / part.rows.len().max(1);
    let nans = part.halves.iter().enumerate().filter(|(_, half)| half.is_nan());
    nans.map(|(i, _)| (i / channels, i % channels)).filter(|&(row, channel)| infinite(row, channel)).collect()
}

/// Partitions of K that end in opposite infinities.
fn gemm_sums<'a>(op: &'a Gemm, sources: Sources<'a>, part: &'a Part<'_>) -> impl Fn(usize, usize) -> bool + 'a {
    let input = sources.tensor(&op.input);
    let weights = std::sync::OnceLock::new();
    let scale = op.seed.as_ref().map(|seed| sources.model.halves(seed.scale));
    move |row, n| {
        let weights: &crate::model::Matrix = weights.get_or_init(|| sources.model.matrix(op.weights));
        let token = part.rows[row];
        let a = &input.row(token)[n / op.n * op.k..][..op.k];
        let b = weights.column(n / weights.n, n % weights.n);
        let seed = op.seed.as_ref().zip(scale.as_ref()).map_or(f16::ZERO, |(seed, scale)| {
            fdpa::seed(gemm::half_at(sources.tensor(&seed.residual), token, n), scale[n])
        });
        let mut parts = a.chunks(op.partition).zip(b.chunks(op.partition)).enumerate();
        parts.any(|(i, (a, b))| fdpa::dot_fp8(a, b, if i == 0 { seed } else { f16::ZERO }).is_infinite())
    }
}

/// Infinite pixels, and sums of two that became infinite.
fn pool_sums<'a>(op: &'a Pool, sources: Sources<'a>, part: &'a Part<'_>) -> impl Fn(usize, usize) -> bool + 'a {
    let input = sources.tensor(&op.input);
    let (above, below) = (input.shape.size, sources.plan.shape(&op.output).size);
    move |row, c| {
        let (x, y) = (2 * (part.rows[row] % below.width), 2 * (part.rows[row] / below.width));
        let at = |x: usize, y: usize| gemm::half_at(input, y * above.width + x, c);
        let line = |y: usize| [at(x, y), at(x + 1, y), float16::add(at(x, y), at(x + 1, y))];
        [y, y + 1].into_iter().flat_map(line).any(f16::is_infinite)
    }
}

/// A scaled plane below that became infinite before it met the skip.
fn merge_products<'a>(op: &'a Merge, sources: Sources<'a>, part: &'a Part<'_>) -> impl Fn(usize, usize) -> bool + 'a {
    let (skip, low) = (sources.tensor(&op.skip), sources.tensor(&op.low));
    let scale = op.low_scale.map(|parameter| sources.model.halves(parameter));
    move |row, c| {
        let (x, y) = (part.rows[row] % skip.shape.size.width, part.rows[row] / skip.shape.size.width);
        let low = gemm::half_at(low, y / 2 * low.shape.size.width + x / 2, c);
        scale.as_ref().map_or(low, |scale| float16::mul(low, scale[c])).is_infinite()
    }
}

/// Vectors whose sum of squares overflowed: their reciprocal length is 0.
fn squares(op: &Normalize, sources: Sources<'_>, part: &Part<'_>) -> Vec<(usize, usize)> {
    let input = sources.tensor(&op.input);
    let channels = input.shape.channels;
    let large = |v: &[f16; HEAD]| v.iter().any(|x| x.to_bits() & 0x7fff >= SQUARE);
    let of_row = |(row, &token): (usize, &usize)| {
        let halves = &input.halves()[token * channels..][..channels];
        let vectors = halves.as_chunks::<HEAD>().0.iter().enumerate();
        let wanted = vectors.filter(|(i, v)| i % 3 < 2 && large(v) && has_overflow(v));
        wanted.map(|(i, _)| (row, i * HEAD)).collect::<Vec<_>>()
    };
    part.rows.par_iter().enumerate().with_min_len(64).flat_map_iter(of_row).collect()
}

fn has_overflow(v: &[f16; HEAD]) -> bool {
    let mut infinite = false;
    cosine::square_sum_seen(v, &mut |half| infinite |= half.is_infinite());
    infinite
}

/// The largest magnitude of a part (0: queries, 1: keys) of a head, over all tokens.
fn largest(normalized: &Tensor, head: usize, which: usize) -> f32 {
    let at = head * 3 * HEAD + which * HEAD;
    let tokens = (0..normalized.shape.tokens()).into_par_iter().with_min_len(1024);
    let code = tokens.map(|t| normalized.row(t)[at..at + HEAD].iter().map(|c| c & 0x7f).max().unwrap_or(0)).max();
    code.map_or(0.0, |code| e4m3::decode(code.min(e4m3::MAX_CODE)))
}

/// Whether a query's scores may leave the halves: a bound by its own sum of magnitudes.
fn may_overflow(query: &[u8; HEAD], key: f32, prior: f32) -> bool {
    let sum: f32 = query.iter().map(|&code| e4m3::decode(code).abs()).sum();
    // A prior that is infinite or NaN is looked into as well.
    let bound = sum * key + prior;
    bound.is_nan() || bound >= SUM
}

/// The queries of heads that may overflow, and do: rows of the part with the head's first channel.
fn queries(
    part: &Part<'_>,
    normalized: &Tensor,
    heads: usize,
    prior: &(dyn Fn(usize) -> f32 + Sync),
    control: &Control,
    overflows: &(dyn Fn(usize, usize, &[u8; HEAD]) -> bool + Sync),
) -> Result<Vec<(usize, usize)>, EngineError> {
    let mut places = Vec::new();
    for head in 0..heads {
        let (key, prior) = (largest(normalized, head, 1), prior(head));
        // First for all queries at once: most networks end here.
        if largest(normalized, head, 0) * key * (HEAD as f32) + prior < SUM {
            continue;
        }
        let rows = part.rows.par_iter().enumerate().map(|(row, &token)| {
            if control.is_cancelled() {
                return Err(EngineError::Cancelled);
            }
            let query = window_attention::channels(normalized, token, head, 0);
            let found = may_overflow(&query, key, prior) && overflows(token, head, &query);
            Ok(found.then_some((row, head * HEAD)))
        });
        places.extend(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten());
    }
    places.sort_unstable();
    Ok(places)
}

/// Queries with an infinite score: the exponential clamps it.
fn window_scores(
    op: &WindowAttention,
    sources: Sources<'_>,
    part: &Part<'_>,
    control: &Control,
) -> Result<Vec<(usize, usize)>, EngineError> {
    let normalized = sources.tensor(&op.input);
    let grid = op.grid(normalized.shape.size);
    let all = sources.model.prior(op.prior);
    let square = KEYS * KEYS;
    let prior = |head: usize| {
        all[head * square..][..square].iter().map(|x| x.to_f32().abs()).fold(0.0, |m, x| if x <= m { m } else { x })
    };
    let overflows = |token: usize, head: usize, query: &[u8; HEAD]| {
        let (at, n) = grid.locate(token);
        let keys = window_attention::Keys::gather(normalized, &grid, at, head);
        let prior = &all[(head * KEYS + window::physical(n)) * KEYS..][..KEYS];
        (0..KEYS).any(|p| fdpa::dot_fp8(query, &keys.keys[p], prior[p]).is_infinite())
    };
    queries(part, normalized, op.heads, &prior, control, &overflows)
}

/// The same over all tokens; with very many of them the total may overflow as well.
fn global_scores(
    op: &GlobalAttention,
    sources: Sources<'_>,
    part: &Part<'_>,
    control: &Control,
) -> Result<Vec<(usize, usize)>, EngineError> {
    let normalized = sources.tensor(&op.input);
    let padded = GlobalAttention::padded(normalized.shape.tokens());
    // No exponential is above 1.65.
    let total = 1.65 * padded as f32;
    let keys: Vec<global_attention::Keys> =
        (0..op.heads).map(|head| global_attention::Keys::gather(normalized, head)).collect();
    let overflows = |_: usize, head: usize, query: &[u8; HEAD]| {
        let found = global_attention::attend(query, &keys[head], &Rules::EXACT);
        found.scores.iter().chain(&found.totals).chain(&found.raw).any(|half| half.is_infinite())
    };
    queries(part, normalized, op.heads, &|_| total, control, &overflows)
}
