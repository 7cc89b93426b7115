//! What the right panel's tabs ask: attention of one query, counts of one tensor.

use super::WhatIf;
use super::insight::{Attention, AttentionSide, Histogram, Statistics, Trace};
use super::paint::code;
use super::work::verdict;
use crate::compare::{self, Class, Details};
use crate::engine::reference::{self, global_attention, window_attention};
use crate::engine::trace;
use crate::geometry::{WindowGrid, window};
use crate::model::Model;
use crate::numerics::cosine::HEAD;
use crate::numerics::softmax::{self, KEYS};
use crate::numerics::{Rules, e4m3, exponential, f16, fdpa, float16};
use crate::plan::ops::WindowAttention;
use crate::plan::{Op, Plan};
use crate::tensor::{Tensor, TensorName};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Which attention to look into.
#[derive(Clone, Debug)]
pub(crate) struct AttentionOrder {
    pub(crate) op: Op,
    pub(crate) model: Arc<Model>,
    /// The normalized tensor of each side.
    pub(crate) sides: [Option<Tensor>; 2],
    pub(crate) window: (usize, usize),
    pub(crate) head: usize,
    pub(crate) query: usize,
    pub(crate) what_if: BTreeSet<WhatIf>,
}

/// Computes it; `None` when the step has no attention.
pub(crate) fn attention(order: &AttentionOrder) -> Option<Attention> {
    match &order.op {
        Op::WindowAttention(op) => Some(in_window(order, op)),
        Op::GlobalAttention(op) => Some(in_vit(order, op.heads)),
        Op::Convert(_) | Op::Gemm(_) | Op::GemmHalf(_) | Op::Normalize(_) | Op::Pool(_) | Op::Merge(_) => None,
    }
}

fn in_window(order: &AttentionOrder, op: &WindowAttention) -> Attention {
    let head = order.head.min(op.heads - 1);
    let query = order.query.min(window::TOKENS - 1);
    let prior = order.model.prior(op.prior);
    let priors = |natural: usize| &prior[(head * KEYS + window::physical(natural)) * KEYS..][..KEYS];
    let mut inside = vec![true; KEYS];
    let mut changed = None;
    let mut outside_share = 0.0;
    let mut sides = order.sides.iter().map(|tensor| {
        let tensor = tensor.as_ref()?;
        let grid = op.grid(tensor.shape.size);
        let place = clamp(order.window, &grid);
        let keys = window_attention::Keys::gather(tensor, &grid, place, head);
        let channels = |natural| {
            let token = grid.token(place, natural);
            token.map_or([0; HEAD], |token| window_attention::channels(tensor, token, head, 0))
        };
        let all: Vec<window_attention::Query> = (0..KEYS)
            .into_par_iter()
            .map(|natural| window_attention::attend(&channels(natural), &keys, priors(natural), &Rules::EXACT))
            .collect();
        inside.clone_from(&keys.inside);
        let side = side(&all, query, priors(query));
        if changed.is_none() {
            outside_share = share_outside(&side, &keys.inside);
            changed = (!order.what_if.is_empty()).then(|| change(&side, &keys, &order.what_if));
        }
        Some(side)
    });
    let (subject, reference) = (sides.next().flatten(), sides.next().flatten());
    drop(sides);
    let first = order.sides.iter().flatten().next();
    let place = first.map_or(order.window, |tensor| clamp(order.window, &op.grid(tensor.shape.size)));
    let head = (head, op.heads);
    Attention { window: Some(place), head, query, inside, outside_share, subject, reference, changed }
}

fn clamp(window: (usize, usize), grid: &WindowGrid) -> (usize, usize) {
    (window.0.min(grid.windows.width - 1), window.1.min(grid.windows.height - 1))
}

fn side(all: &[window_attention::Query], query: usize, prior: &[f16]) -> AttentionSide {
    let one = &all[query];
    AttentionSide {
        scores: one.scores.to_vec(),
        exponentials: one.exponentials.to_vec(),
        prior: prior.to_vec(),
        weights: one.weights.to_vec(),
        tree: Some(one.tree),
        total: one.tree.total,
        weight_sum: one.weights.iter().map(|&w| e4m3::decode(w)).sum(),
        matrix: all.iter().flat_map(|q| q.weights).collect(),
        matrix_scores: all.iter().flat_map(|q| q.scores).collect(),
        attended: one.attended.to_vec(),
    }
}

fn share_outside(side: &AttentionSide, inside: &[bool]) -> f32 {
    let outside = side.exponentials.iter().zip(inside).filter(|(_, inside)| !**inside);
    let outside: f32 = outside.map(|(e, _)| e.to_f32()).sum();
    let total = side.total.to_f32();
    if total > 0.0 { outside / total } else { 0.0 }
}

/// One query again with changed arithmetic.
fn change(side: &AttentionSide, keys: &window_attention::Keys, what_if: &BTreeSet<WhatIf>) -> AttentionSide {
    let mut e: [f16; KEYS] = std::array::from_fn(|p| {
        let score = side.scores[p];
        if what_if.contains(&WhatIf::TrueExponential) {
            f16::from_f64(f64::from(score.to_f32()).exp())
        } else {
            exponential::exp_weight(score)
        }
    });
    if what_if.contains(&WhatIf::MaskOutside) {
        e.iter_mut().zip(&keys.inside).filter(|(_, inside)| !**inside).for_each(|(e, _)| *e = f16::ZERO);
    }
    let tree = softmax::tree(&e);
    let sequential = what_if.contains(&WhatIf::SequentialSum);
    let total = if sequential { e.iter().fold(f16::ZERO, |sum, &x| float16::add(sum, x)) } else { tree.total };
    let weights = softmax::weights(&e, total);
    let attended = (0..HEAD).map(|c| {
        let column: [u8; KEYS] = std::array::from_fn(|p| keys.values[p][c]);
        e4m3::publish(fdpa::dot_fp8(&weights, &column, f16::ZERO))
    });
    AttentionSide {
        exponentials: e.to_vec(),
        weights: weights.to_vec(),
        tree: (!sequential).then_some(tree),
        total,
        weight_sum: weights.iter().map(|&w| e4m3::decode(w)).sum(),
        matrix: Vec::new(),
        matrix_scores: Vec::new(),
        attended: attended.collect(),
        ..side.clone()
    }
}

fn in_vit(order: &AttentionOrder, heads: usize) -> Attention {
    let head = order.head.min(heads - 1);
    let tokens = order.sides.iter().flatten().next().map_or(1, |tensor| tensor.shape.tokens());
    let query = order.query.min(tokens - 1);
    let mut sides = order.sides.iter().map(|tensor| {
        let tensor = tensor.as_ref()?;
        let keys = global_attention::Keys::gather(tensor, head);
        let channels = window_attention::channels(tensor, query, head, 0);
        let one = global_attention::attend(&channels, &keys, &Rules::EXACT);
        let total = one.totals.last().copied().unwrap_or(f16::ZERO);
        let reciprocal = if total.to_f32() == 0.0 { 0.0 } else { 1.0 / total.to_f32() };
        let weight_sum = one.weights.iter().map(|&w| e4m3::decode(w)).sum::<f32>() * reciprocal;
        Some(AttentionSide {
            scores: one.scores,
            exponentials: one.exponentials,
            prior: Vec::new(),
            weights: one.weights,
            tree: None,
            total,
            weight_sum,
            matrix: Vec::new(),
            matrix_scores: Vec::new(),
            attended: one.attended.to_vec(),
        })
    });
    let (subject, reference) = (sides.next().flatten(), sides.next().flatten());
    let padded = tokens.next_multiple_of(KEYS);
    let inside = (0..padded).map(|key| key < tokens).collect();
    let head = (head, heads);
    Attention { window: None, head, query, inside, outside_share: 0.0, subject, reference, changed: None }
}

/// Which value to tell the story of.
#[derive(Clone, Debug)]
pub(crate) struct TraceOrder {
    pub(crate) model: Arc<Model>,
    /// Each side's plan, with what the step reads and writes there.
    pub(crate) sides: [Option<TraceSide>; 2],
    pub(crate) step: usize,
    pub(crate) tensor: TensorName,
    /// Token and channel.
    pub(crate) at: (usize, usize),
}

/// One side of a [`TraceOrder`].
pub(crate) type TraceSide = (Arc<Plan>, BTreeMap<TensorName, Tensor>);

/// Tells it.
pub(crate) fn trace(order: &TraceOrder) -> Result<Trace, String> {
    let told = |side: &Option<TraceSide>| -> Option<Result<Arc<str>, String>> {
        let (plan, tensors) = side.as_ref()?;
        let stored = tensors.get(&order.tensor)?;
        let sources = reference::Sources { plan, model: &order.model, tensors };
        let made = trace::trace(&plan.steps[order.step], sources, stored, order.at);
        Some(made.map(|made| Arc::from(trace::text::lines(&made).join("\n"))).map_err(|error| error.to_string()))
    };
    let [subject, reference] = [told(&order.sides[0]).transpose()?, told(&order.sides[1]).transpose()?];
    if subject.is_none() && reference.is_none() {
        return Err("what this step reads has not been computed, or is not kept".to_owned());
    }
    Ok(Trace { subject, reference })
}

/// Counts of one tensor on both sides.
pub(crate) fn statistics(sides: &[Option<Tensor>; 2], grid: Option<&WindowGrid>) -> Statistics {
    let mut found = Statistics {
        moments: std::array::from_fn(|i| sides[i].as_ref().map(moments)),
        subject_codes: sides[0].as_ref().map(codes).unwrap_or_default(),
        reference_codes: sides[1].as_ref().map(codes).unwrap_or_default(),
        elements: sides.iter().flatten().next().map_or(0, |tensor| tensor.shape.elements() as u64),
        ..Statistics::default()
    };
    let [Some(subject), Some(reference)] = sides else { return found };
    let comparison = compare::compare(subject, reference);
    found.verdict = verdict(&comparison.verdict);
    found.classes = Class::ALL.iter().map(|c| (c.to_string(), comparison.counts.of(*c))).collect();
    if subject.shape == reference.shape && comparison.verdict.is_difference() {
        let details = Details::of(subject, reference, grid);
        let reach = 32_i64;
        let mut counts = vec![0; 2 * reach as usize + 1];
        for (low, high, count) in details.distances.iter() {
            let at = if low < 0 { low.max(-reach) } else { high.min(reach) };
            counts[(at + reach) as usize] += count;
        }
        found.distances = Histogram { counts, first: -(reach as i32) };
        found.heads = details.attribution.channels.chunks(HEAD).map(|group| group.iter().sum()).collect();
        found.positions = details.attribution.windows.map(|w| w.positions.to_vec()).unwrap_or_default();
        found.channels = details.attribution.channels;
        found.max_abs = details.measures.max_abs;
        found.rmse = details.measures.rmse;
    }
    found
}

/// Smallest, mean, largest value and root mean square.
fn moments(tensor: &Tensor) -> [f64; 4] {
    let channels = tensor.shape.channels;
    let row = |token: usize| {
        (0..channels).fold([f64::MAX, 0.0, f64::MIN, 0.0], |[low, sum, high, squares], channel| {
            let x = f64::from(tensor.value(token, channel));
            [low.min(x), sum + x, high.max(x), squares + x * x]
        })
    };
    let rows: Vec<[f64; 4]> = (0..tensor.shape.tokens()).into_par_iter().with_min_len(256).map(row).collect();
    let all = rows
        .iter()
        .fold([f64::MAX, 0.0, f64::MIN, 0.0], |a, b| [a[0].min(b[0]), a[1] + b[1], a[2].max(b[2]), a[3] + b[3]]);
    let n = (tensor.shape.elements() as f64).max(1.0);
    [all[0], all[1] / n, all[2], (all[3] / n).sqrt()]
}

fn codes(tensor: &Tensor) -> Histogram {
    let mut counts = vec![0_u64; 256];
    for token in 0..tensor.shape.tokens() {
        (0..tensor.shape.channels).for_each(|channel| counts[usize::from(code(tensor, token, channel))] += 1);
    }
    Histogram { counts, first: 0 }
}
