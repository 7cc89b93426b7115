//! The Attention tab's answer: one query through the softmax, on each side under that side's own rules, and once more
//! with the view's what-if changes.

use super::WhatIf;
use super::insight::{Attention, AttentionSide};
use crate::engine::reference::global_attention;
use crate::engine::reference::window_attention::{self, Window};
use crate::geometry::window;
use crate::model::Model;
use crate::numerics::rules::{ExponentialRule, Outside, Padding, SoftmaxSum};
use crate::numerics::softmax::KEYS;
use crate::numerics::{Rules, e4m3, f16};
use crate::plan::ops::WindowAttention;
use crate::plan::{Op, Step};
use crate::tensor::Tensor;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which attention to look into.
#[derive(Clone, Debug)]
pub(crate) struct AttentionOrder {
    pub(crate) model: Arc<Model>,
    /// Each side's step, whose rules may be changed, with the normalized tensor that it reads.
    pub(crate) sides: [Option<(Step, Tensor)>; 2],
    pub(crate) window: (usize, usize),
    pub(crate) head: usize,
    pub(crate) query: usize,
    pub(crate) what_if: BTreeSet<WhatIf>,
}

/// Computes it; `None` when no side has an attention.
pub(crate) fn attention(order: &AttentionOrder) -> Option<Attention> {
    let (step, tensor) = order.sides.iter().flatten().next()?;
    match &step.op {
        Op::WindowAttention(_) => Some(in_window(order)),
        Op::GlobalAttention(op) => Some(in_vit(order, op.heads, tensor.shape.tokens())),
        Op::Convert(_) | Op::Gemm(_) | Op::GemmHalf(_) | Op::Normalize(_) | Op::Pool(_) | Op::Merge(_) => None,
    }
}

/// A side's rules with the what-if changes on top.
fn changed(rules: &Rules, what_if: &BTreeSet<WhatIf>) -> Rules {
    let mut rules = *rules;
    for what in what_if {
        match what {
            // The ViT's padding is its outside.
            WhatIf::MaskOutside => (rules.outside, rules.padding) = (Outside::Masked, Padding::Masked),
            WhatIf::TrueExponential => rules.exponential = ExponentialRule::True,
            WhatIf::SequentialSum => rules.softmax = SoftmaxSum::InOrder,
        }
    }
    rules
}

/// What is looked at once more with changes: the subject, or the reference where there is no subject.
fn main_side(order: &AttentionOrder) -> Option<&(Step, Tensor)> {
    order.sides.iter().flatten().next().filter(|_| !order.what_if.is_empty())
}

fn window_op(step: &Step) -> Option<&WindowAttention> {
    match &step.op {
        Op::WindowAttention(op) => Some(op),
        _ => None,
    }
}

fn in_window(order: &AttentionOrder) -> Attention {
    let look = |(step, tensor): &(Step, Tensor), rules: &Rules| {
        let op = window_op(step)?;
        let head = order.head.min(op.heads - 1);
        Some((Window::of((op, rules), &order.model, tensor, order.window, head), (head, op.heads)))
    };
    let query = order.query.min(window::TOKENS - 1);
    let [subject, reference] =
        [0, 1].map(|side: usize| order.sides[side].as_ref().and_then(|side| look(side, &side.0.rules)));
    let changed = main_side(order).and_then(|side| look(side, &changed(&side.0.rules, &order.what_if)));
    let first = subject.as_ref().or(reference.as_ref());
    let inside = first.map_or(vec![true; KEYS], |(window, _)| window.keys.inside.clone());
    let tell = |looked: &Option<(Window, (usize, usize))>| looked.as_ref().map(|(window, _)| side(window, query));
    // Unmasked, so that what is outside can be told even where the subject leaves it out.
    let outside_share = tell(&reference).or_else(|| tell(&subject)).map_or(0.0, |side| share_outside(&side, &inside));
    Attention {
        window: Some(first.map_or(order.window, |(window, _)| window.place)),
        head: first.map_or((0, 1), |(_, head)| *head),
        query,
        outside_share,
        subject: tell(&subject),
        reference: tell(&reference),
        changed: tell(&changed),
        inside,
    }
}

fn side(window: &Window, query: usize) -> AttentionSide {
    let (all, one) = (&window.queries, &window.queries[query]);
    // A key that the rules leave out has no exponential in the sum.
    let counted = |(p, e): (usize, &f16)| if window.masked && !window.keys.inside[p] { f16::ZERO } else { *e };
    AttentionSide {
        scores: one.scores.to_vec(),
        exponentials: one.exponentials.iter().enumerate().map(counted).collect(),
        prior: window.priors[query].to_vec(),
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

fn in_vit(order: &AttentionOrder, heads: usize, tokens: usize) -> Attention {
    let head = order.head.min(heads - 1);
    let query = order.query.min(tokens - 1);
    let look = |tensor: &Tensor, rules: &Rules| {
        let keys = global_attention::Keys::gather(tensor, head);
        let channels = window_attention::channels(tensor, query, head, 0);
        let one = global_attention::attend(&channels, &keys, rules);
        let total = one.totals.last().copied().unwrap_or(f16::ZERO);
        let reciprocal = if total.to_f32() == 0.0 { 0.0 } else { 1.0 / total.to_f32() };
        let weight_sum = one.weights.iter().map(|&w| e4m3::decode(w)).sum::<f32>() * reciprocal;
        AttentionSide {
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
        }
    };
    let [subject, reference] =
        [0, 1].map(|side: usize| order.sides[side].as_ref().map(|(step, tensor)| look(tensor, &step.rules)));
    let changed = main_side(order).map(|(step, tensor)| look(tensor, &changed(&step.rules, &order.what_if)));
    let inside = (0..tokens.next_multiple_of(KEYS)).map(|key| key < tokens).collect();
    Attention { window: None, head: (head, heads), query, inside, outside_share: 0.0, subject, reference, changed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Control, Engine as _, cpu};
    use crate::frame;
    use crate::geometry::{Geometry, Size};
    use crate::model::synthetic;
    use crate::plan::{Detail, Plan};

    /// The attention of a block's step on real data, with its stored result.
    fn ran(name: &str) -> (Arc<Model>, Step, Tensor, Tensor) {
        let plan = Arc::new(Plan::new(Geometry::new(Size::new(64, 64)).unwrap(), Detail::Needed));
        let model = Arc::new(synthetic::model(1));
        let mut engine = cpu::Cpu::new(cpu::Level::best()).unwrap();
        engine.load(&plan, &model).unwrap();
        engine.write(frame::synthetic::features(&plan.geometry, 1)).unwrap();
        let last = plan.find_step(name).unwrap();
        for step in &plan.steps[..=last] {
            engine.run(step, &Control::new()).unwrap();
        }
        let step = plan.steps[last].clone();
        let normalized = engine.read(step.op.inputs()[0]).unwrap();
        let attended = engine.read(step.name()).unwrap();
        (model, step, normalized, attended)
    }

    fn look(from: &(Arc<Model>, Step, Tensor, Tensor), what_if: &[WhatIf]) -> Attention {
        let (model, step, normalized, _) = from;
        attention(&AttentionOrder {
            model: Arc::clone(model),
            sides: [Some((step.clone(), normalized.clone())), None],
            window: (0, 0),
            head: 0,
            query: 5,
            what_if: what_if.iter().copied().collect(),
        })
        .unwrap()
    }

    #[test]
    fn what_the_tab_shows_is_what_the_kernel_published_and_every_switch_computes() {
        let from = ran("block-2/attended");
        let exact = look(&from, &[]);
        let subject = exact.subject.as_ref().unwrap();
        let Op::WindowAttention(op) = &from.1.op else { panic!("a window block") };
        let grid = op.grid(from.2.shape.size);
        let token = grid.token((0, 0), 5);
        if let Some(token) = token {
            assert_eq!(subject.attended, from.3.row(token)[..32], "the published row");
        }
        assert!(exact.inside.contains(&false), "the corner window leaves the field");
        assert!(exact.changed.is_none(), "nothing is switched on");
        for what in WhatIf::ALL {
            let changed = look(&from, &[*what]).changed.unwrap();
            let differs = changed.exponentials != subject.exponentials || changed.total != subject.total;
            assert!(differs, "{what} changes exponentials or their sum");
        }
        let masked = look(&from, &[WhatIf::MaskOutside]).changed.unwrap();
        let left = masked.weights.iter().zip(&exact.inside).filter(|(weight, inside)| !**inside && **weight != 0);
        assert_eq!(left.count(), 0, "a masked key has no weight");
    }

    #[test]
    fn a_subject_is_shown_under_its_own_rules() {
        let (model, mut step, normalized, _) = ran("block-2/attended");
        let reference = Some((step.clone(), normalized.clone()));
        step.rules.outside = Outside::Masked;
        let order = AttentionOrder {
            model,
            sides: [Some((step, normalized)), reference],
            window: (0, 0),
            head: 0,
            query: 5,
            what_if: BTreeSet::new(),
        };
        let shown = attention(&order).unwrap();
        let (subject, reference) = (shown.subject.unwrap(), shown.reference.unwrap());
        assert_ne!(subject.weights, reference.weights, "the cause is seen in the weights");
        assert!(shown.outside_share > 0.0, "what the reference gives to keys outside");
    }

    #[test]
    fn the_vit_computes_the_switches_too() {
        let from = ran("block-31/attended");
        let exact = look(&from, &[]).subject.unwrap();
        assert_eq!(exact.attended, from.3.row(5)[..32], "the published row");
        let changed = look(&from, &[WhatIf::TrueExponential]).changed.unwrap();
        assert_ne!(changed.exponentials, exact.exponentials, "a true exponential");
    }
}
