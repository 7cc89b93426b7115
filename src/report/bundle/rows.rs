//! Which tokens a bundle holds: all of a small frame; of a large one whole windows that differ, and some that do not.

use super::LIMIT;
use crate::diagnosis::search::window_grid;
use crate::engine::reference::rows_needed;
use crate::geometry::window;
use crate::plan::{Plan, Step};
use crate::report::Material;
use crate::tensor::{Tensor, TensorName};
use std::collections::{BTreeMap, BTreeSet};

/// Tokens of the outputs, ascending.
pub(super) fn chosen(material: &Material) -> Vec<usize> {
    let (subject, reference) = material.differing().unwrap_or(&material.observed[0]);
    let tokens = reference.shape.tokens();
    let bytes = |tensors: &mut dyn Iterator<Item = &Tensor>| tensors.map(|t| t.bytes().len()).sum::<usize>();
    let whole = bytes(&mut material.inputs.values()) + 2 * bytes(&mut material.observed.iter().map(|(_, r)| r));
    if whole <= LIMIT {
        return (0..tokens).collect();
    }
    let units = units(material, reference);
    let room = (units.len() * LIMIT / whole).max(1);
    let differs = |unit: &Vec<usize>| unit.iter().any(|&row| subject.row(row) != reference.row(row));
    let (differing, equal): (Vec<Vec<usize>>, Vec<Vec<usize>>) = units.into_iter().partition(differs);
    let few = (room / 4).min(equal.len());
    let many = (room - few).min(differing.len()).max(1);
    let spread = |list: &[Vec<usize>], n: usize| -> Vec<usize> {
        let n = n.min(list.len());
        (0..n).flat_map(|i| list[if n < 2 { 0 } else { i * (list.len() - 1) / (n - 1) }].clone()).collect()
    };
    let rows: BTreeSet<usize> = spread(&differing, many).into_iter().chain(spread(&equal, few)).collect();
    rows.into_iter().collect()
}

/// The output's tokens in parts that are kept or left out together: windows, or runs of 64.
fn units(material: &Material, output: &Tensor) -> Vec<Vec<usize>> {
    let size = output.shape.size;
    let windows = material.window_attention().and_then(|step| window_grid(&material.plan, step.block));
    let Some(grid) = windows.filter(|grid| grid.size == size) else {
        return (0..size.tokens()).collect::<Vec<_>>().chunks(window::TOKENS).map(<[usize]>::to_vec).collect();
    };
    let places = (0..grid.windows.height).flat_map(|y| (0..grid.windows.width).map(move |x| (x, y)));
    let tokens = |at| (0..window::TOKENS).filter_map(|n| grid.token(at, n)).collect::<Vec<_>>();
    places.map(tokens).filter(|tokens| !tokens.is_empty()).collect()
}

/// The tokens of every input that steps need for tokens of their last outputs, the way back through the chain.
pub(super) fn needed(plan: &Plan, steps: &[&Step], rows: &[usize]) -> BTreeMap<TensorName, BTreeSet<usize>> {
    let mut needed: BTreeMap<TensorName, BTreeSet<usize>> = BTreeMap::new();
    if let Some(last) = steps.last() {
        last.op
            .outputs()
            .into_iter()
            .for_each(|name| drop(needed.insert(name.clone(), rows.iter().copied().collect())));
    }
    for step in steps.iter().rev() {
        let own: BTreeSet<usize> =
            step.op.outputs().iter().filter_map(|&name| needed.get(name)).flatten().copied().collect();
        for (name, rows) in rows_needed(step, plan, &own.into_iter().collect::<Vec<_>>()) {
            needed.entry(name).or_default().extend(rows);
        }
    }
    needed
}

/// Ascending numbers as `[first, end)` pairs.
pub(super) fn ranges(rows: impl IntoIterator<Item = usize>) -> Vec<[usize; 2]> {
    let mut out: Vec<[usize; 2]> = Vec::new();
    for row in rows {
        match out.last_mut() {
            Some([_, end]) if *end == row => *end += 1,
            _ => out.push([row, row + 1]),
        }
    }
    out
}
