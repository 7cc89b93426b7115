//! Where a cause can apply: helpers that change one step of a plan, or say that the cause has no place there.
//!
//! Every helper takes the plan and a step's index and returns whether something was changed.

use crate::model::ParameterKind;
use crate::numerics::Rules;
use crate::numerics::rules::Edited;
use crate::plan::ops::{Activation, Gemm, NormalizeKind, Seed};
use crate::plan::{Op, Plan, Role, Step, TensorInfo, names};
use crate::tensor::{Element, Shape, TensorName};

/// Op words, by what they have in common.
pub(super) const ALL: &[&str] =
    &["convert", "gemm", "gemm_half", "normalize", "window_attention", "global_attention", "pool", "merge"];
pub(super) const ATTENTION: &[&str] = &["window_attention", "global_attention"];
pub(super) const CODES: &[&str] = &["gemm", "window_attention", "global_attention"];
pub(super) const FUSED: &[&str] = &["normalize", "merge"];
pub(super) const GLOBAL: &[&str] = &["global_attention"];
pub(super) const HALF_READERS: &[&str] = &["normalize", "gemm_half"];
pub(super) const HALVES: &[&str] = &["gemm_half"];
pub(super) const LINEAR: &[&str] = &["gemm", "gemm_half"];
pub(super) const MERGE: &[&str] = &["merge"];
pub(super) const NORMALIZE: &[&str] = &["normalize"];
pub(super) const POOL: &[&str] = &["pool"];
pub(super) const PRODUCTS: &[&str] = &["gemm", "gemm_half", "window_attention", "global_attention"];
pub(super) const READERS: &[&str] = &["gemm", "gemm_half", "normalize", "pool", "merge"];
pub(super) const STEPS: &[&str] = &["normalize", "window_attention", "global_attention", "pool", "merge"];
pub(super) const WINDOW: &[&str] = &["window_attention"];

/// A changed rule at some ops.
pub(super) fn at(plan: &mut Plan, i: usize, words: &[&str], change: impl FnOnce(&mut Rules)) -> bool {
    let step = &mut plan.steps[i];
    let fits = words.contains(&step.op.word());
    if fits {
        change(&mut step.rules);
    }
    fits
}

/// A changed rule where a condition on the step holds.
fn when(plan: &mut Plan, i: usize, fits: impl FnOnce(&Plan, &Step) -> bool, change: impl FnOnce(&mut Rules)) -> bool {
    let fits = fits(plan, &plan.steps[i]);
    if fits {
        change(&mut plan.steps[i].rules);
    }
    fits
}

fn as_gemm(step: &Step) -> Option<&Gemm> {
    if let Op::Gemm(op) = &step.op { Some(op) } else { None }
}

pub(super) fn gemm(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    at(plan, i, &["gemm"], change)
}

pub(super) fn silu(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    when(plan, i, |_, step| as_gemm(step).is_some_and(|op| op.activation == Activation::Silu), change)
}

pub(super) fn partitioned(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    when(plan, i, |_, step| as_gemm(step).is_some_and(|op| op.partition < op.k), change)
}

pub(super) fn seeded(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    when(plan, i, |_, step| as_gemm(step).is_some_and(|op| op.seed.is_some()), change)
}

pub(super) fn gemm_published(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    when(plan, i, |_, step| as_gemm(step).is_some_and(|op| op.published.is_some()), change)
}

/// Steps with batched matrices, or experts' matrices side by side.
pub(super) fn batched(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    let several = |op: &Gemm| {
        op.groups > 1 || (op.weights.kind == ParameterKind::Expand && op.n > 128 && op.n == op.k * 4 && op.k <= 256)
    };
    when(plan, i, |_, step| as_gemm(step).is_some_and(several), change)
}

pub(super) fn other_columns(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    when(plan, i, |_, step| as_gemm(step).is_some_and(|op| op.k > 32), change)
}

/// Steps that write codes.
pub(super) fn published(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    writes(plan, i, Element::E4m3, change)
}

/// Steps that write raw halves.
pub(super) fn raw(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    let products = !matches!(plan.steps[i].op, Op::Convert(_));
    products && writes(plan, i, Element::F16, change)
}

fn writes(plan: &mut Plan, i: usize, element: Element, change: impl FnOnce(&mut Rules)) -> bool {
    when(plan, i, |plan, step| step.op.outputs().into_iter().any(|name| plan.shape(name).element == element), change)
}

/// Steps all of whose outputs could lie in a layout.
pub(super) fn laid_out(
    plan: &mut Plan,
    i: usize,
    fits: impl Fn(&Shape) -> bool,
    change: impl FnOnce(&mut Rules),
) -> bool {
    when(plan, i, |plan, step| step.op.outputs().into_iter().all(|name| fits(&plan.shape(name))), change)
}

pub(super) fn wide(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    laid_out(plan, i, |shape| shape.channels > 32, change)
}

pub(super) fn frame(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    at(plan, i, &["convert"], change)
}

pub(super) fn fused(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    at(plan, i, FUSED, change)
}

pub(super) fn vit_norm(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    when(plan, i, |_, s| matches!(&s.op, Op::Normalize(op) if op.kind == NormalizeKind::Vit), change)
}

/// Window attention with more than one head.
pub(super) fn heads(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    when(plan, i, |_, s| matches!(&s.op, Op::WindowAttention(op) if op.heads > 1), change)
}

/// Window attention whose grid is shifted at all.
pub(super) fn shifted(plan: &mut Plan, i: usize, change: impl FnOnce(&mut Rules)) -> bool {
    when(plan, i, |_, s| matches!(&s.op, Op::WindowAttention(op) if op.phase.0 != 0), change)
}

/// Another phase; `None` of a change where it stays the same.
pub(super) fn phase(plan: &mut Plan, i: usize, other: impl FnOnce(u8, usize) -> u8) -> bool {
    let block = plan.steps[i].block;
    let Op::WindowAttention(op) = &mut plan.steps[i].op else { return false };
    let phase = other(op.phase.0, block);
    let changes = phase != op.phase.0;
    op.phase.0 = phase;
    changes
}

/// The phase of a decoder that starts to count again at each level.
pub(super) fn restarted(phase: u8, block: usize) -> u8 {
    let first = match block {
        40..=47 => 40,
        48..=55 => 48,
        56..=61 => 56,
        62..=65 => 62,
        66..=69 => 66,
        70 => 70,
        _ => return phase,
    };
    ((block - first) % 4) as u8
}

/// Another partition of K.
pub(super) fn partition(plan: &mut Plan, i: usize, other: impl FnOnce(&Gemm) -> Option<usize>) -> bool {
    let Op::Gemm(op) = &mut plan.steps[i].op else { return false };
    let Some(partition) = other(op) else { return false };
    op.partition = partition;
    true
}

/// The two skip scales of a block, which have the same length, exchanged.
pub(super) fn exchanged(plan: &mut Plan, i: usize) -> bool {
    let Op::Gemm(Gemm { seed: Some(Seed { scale, .. }), .. }) = &mut plan.steps[i].op else { return false };
    scale.kind = match scale.kind {
        ParameterKind::FfnScale => ParameterKind::AttentionScale,
        _ => ParameterKind::FfnScale,
    };
    true
}

pub(super) fn unseeded(plan: &mut Plan, i: usize) -> bool {
    let Op::Gemm(op) = &mut plan.steps[i].op else { return false };
    op.seed.take().is_some()
}

/// The attention's skip from the raw or from the published FFN result.
pub(super) fn skip(plan: &mut Plan, i: usize, raw: bool) -> bool {
    let block = plan.steps[i].block;
    let other = names::inside(block, if raw { "ffn_residual" } else { "ffn_quantized" });
    let own = names::inside(block, if raw { "ffn_quantized" } else { "ffn_residual" });
    if raw && !expose(plan, &own, &other) {
        return false;
    }
    reseed(plan, i, ParameterKind::AttentionScale, &own, other)
}

/// The FFN's skip from the published state where the network takes raw halves.
pub(super) fn ffn_skip(plan: &mut Plan, i: usize) -> bool {
    let (raw, published) = match plan.steps[i].block {
        0 => (names::inside(0, "input_raw"), names::inside(0, "input")),
        66 => (names::inside(66, "input_raw"), names::inside(66, "input")),
        70 => (names::POST_MERGE_RAW.into(), names::POST_MERGE.into()),
        _ => return false,
    };
    reseed(plan, i, ParameterKind::FfnScale, &raw, published)
}

/// Seeds a product with another tensor, where there is one: the ViT does not publish its FFN's result.
fn reseed(plan: &mut Plan, i: usize, kind: ParameterKind, own: &TensorName, other: TensorName) -> bool {
    if !plan.tensors.contains_key(&other) {
        return false;
    }
    let step = &mut plan.steps[i];
    let Op::Gemm(Gemm { seed: Some(seed), .. }) = &mut step.op else { return false };
    let fits = seed.scale.kind == kind && seed.residual == *own;
    if fits {
        seed.residual = other;
        step.rules.edited = Edited::Op;
    }
    fits
}

/// Makes the step that publishes a tensor also write its raw halves.
fn expose(plan: &mut Plan, published: &TensorName, raw: &TensorName) -> bool {
    if plan.tensors.contains_key(raw) {
        return true;
    }
    let Some(info) = plan.tensors.get(published).cloned() else { return false };
    let Some(writer) = info.step else { return false };
    let Op::Gemm(op) = &mut plan.steps[writer].op else { return false };
    op.raw = Some(raw.clone());
    let shape = Shape { element: Element::F16, ..info.shape };
    plan.tensors.insert(raw.clone(), TensorInfo { shape, role: Role::Intermediate, ..info });
    true
}

pub(super) fn pool_published(plan: &mut Plan, i: usize) -> bool {
    let block = plan.steps[i].block;
    let step = &mut plan.steps[i];
    let Op::Pool(op) = &mut step.op else { return false };
    op.input = names::block(block);
    step.rules.edited = Edited::Op;
    true
}

/// A decoder's skip from the block before the right one.
pub(super) fn merge_skip(plan: &mut Plan, i: usize) -> bool {
    let early = match plan.steps[i].block {
        39 => 29,
        48 => 21,
        56 => 13,
        62 => 7,
        66 => 3,
        _ => return false,
    };
    let step = &mut plan.steps[i];
    let Op::Merge(op) = &mut step.op else { return false };
    op.skip = names::block(early);
    step.rules.edited = Edited::Op;
    true
}

/// The block's state from one block earlier, where that has the same shape.
pub(super) fn state_early(plan: &mut Plan, i: usize) -> bool {
    let block = plan.steps[i].block;
    let Some(early) = block.checked_sub(2).map(names::block) else { return false };
    let own = names::block(block - 1);
    let same = |name: &TensorName| plan.tensors.get(name).map(|info| info.shape);
    if same(&early).is_none() || same(&early) != same(&own) {
        return false;
    }
    let step = &mut plan.steps[i];
    let Op::Gemm(op) = &mut step.op else { return false };
    let fits = op.input == own;
    if fits {
        op.input = early;
        step.rules.edited = Edited::Op;
    }
    fits
}
