//! What the right panel's tabs ask: a value's story, counts of one tensor.

use super::insight::{Histogram, Statistics, Trace};
use super::paint::code;
use super::work::verdict;
use crate::compare::{self, Class, Details};
use crate::engine::reference;
use crate::engine::trace;
use crate::geometry::WindowGrid;
use crate::model::Model;
use crate::numerics::cosine::HEAD;
use crate::plan::Plan;
use crate::tensor::{Tensor, TensorName};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

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
    let told = |side: &Option<TraceSide>| -> Option<Result<Arc<trace::Trace>, String>> {
        let (plan, tensors) = side.as_ref()?;
        let stored = tensors.get(&order.tensor)?;
        let sources = reference::Sources { plan, model: &order.model, tensors };
        let made = trace::trace(&plan.steps[order.step], sources, stored, order.at);
        Some(made.map(Arc::new).map_err(|error| error.to_string()))
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
