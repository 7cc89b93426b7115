//! Which rows a candidate is tried on: rows that differ and rows that are equal, more of them at each level.

use super::Segment;
use crate::diagnosis::search::window_grid;
use std::collections::{BTreeMap, BTreeSet};

/// Products that one candidate may cost on each sample but the last, which is the whole tensor.
pub(super) const BUDGETS: [u64; 3] = [200_000, 3_000_000, 40_000_000];
/// The whole tensor, or a last sample of about so many products: exact candidates, and others.
pub(super) const WHOLE: [u64; 2] = [4_000_000_000, 400_000_000];
/// Rows of the smallest sample.
const FEWEST: usize = 6;
/// Rows looked at in one window, where a segment's rows need whole windows.
const OF_A_WINDOW: usize = 12;

/// The sampled rows of each level; the same rows of every observed tensor.
pub(super) struct Samples {
    differing: Vec<usize>,
    equal: Vec<usize>,
    pub(super) tokens: usize,
    /// Products behind one row.
    pub(super) per_row: u64,
    /// The windows of the rows, where the segment has an attention and more.
    windows: Option<BTreeMap<(usize, usize), Vec<usize>>>,
}

impl Samples {
    pub(super) fn new(segment: &Segment<'_>) -> Self {
        let steps = &segment.plan.steps[segment.steps.clone()];
        let products: u64 = steps.iter().map(|s| s.op.products(segment.plan)).sum();
        let tokens = segment.observed.first().map_or(1, |(s, _)| s.shape.tokens());
        let per_row = (products / tokens as u64).max(2_000);
        let differs =
            |row: usize| segment.observed.iter().any(|(s, r)| row < s.shape.tokens() && s.row(row) != r.row(row));
        let (differing, equal): (Vec<usize>, Vec<usize>) = (0..tokens).partition(|&row| differs(row));
        let size = segment.observed.first().map(|(_, r)| r.shape.size);
        let grid = window_grid(segment.plan, steps.last().map_or(0, |step| step.block));
        let windows = grid.filter(|grid| steps.len() > 1 && Some(grid.size) == size).map(|grid| {
            let mut windows: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
            differing.iter().for_each(|&row| windows.entry(grid.locate(row).0).or_default().push(row));
            windows
        });
        Self { differing, equal, tokens, per_row, windows }
    }

    /// About as many rows as a budget of products allows, two thirds of them differing, in ascending order.
    pub(super) fn rows(&self, budget: u64) -> Vec<usize> {
        let rows = (budget / self.per_row).clamp(FEWEST as u64, self.tokens as u64) as usize;
        if rows >= self.tokens {
            return (0..self.tokens).collect();
        }
        let mut sample: BTreeSet<usize> = BTreeSet::new();
        match &self.windows {
            // A row needs its whole window: better many rows of few windows.
            Some(windows) => {
                let all: Vec<&Vec<usize>> = windows.values().collect();
                let chosen: Vec<usize> = (0..all.len()).collect();
                for window in spread(&chosen, (rows / 64).max(1)) {
                    sample.extend(spread(all[window], OF_A_WINDOW));
                }
            }
            None => sample.extend(spread(&self.differing, rows * 2 / 3)),
        }
        let equal = rows.saturating_sub(sample.len()).min(sample.len().max(2));
        sample.extend(spread(&self.equal, equal));
        sample.into_iter().collect()
    }
}

/// About `n` elements of a list, evenly spread, the first and the last among them.
pub(super) fn spread(list: &[usize], n: usize) -> impl Iterator<Item = usize> + '_ {
    let n = n.min(list.len());
    (0..n).map(move |i| if n == 1 { list[list.len() / 2] } else { list[i * (list.len() - 1) / (n - 1)] })
}
