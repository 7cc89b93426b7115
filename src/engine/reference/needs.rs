//! Which rows of its inputs a step must have to compute chosen rows of its outputs, changed rules included.

use super::rules::{outside_token, rows_behind, window_grid};
use crate::geometry::window;
use crate::numerics::rules::{Coverage, Layout};
use crate::plan::{Op, Plan, Step};
use crate::tensor::TensorName;
use std::collections::BTreeSet;

/// Sorted rows by input.
pub(crate) fn rows_needed(step: &Step, plan: &Plan, rows: &[usize]) -> Vec<(TensorName, Vec<usize>)> {
    let rearranged = step.rules.layout != Layout::RowMajor || step.rules.coverage != Coverage::All;
    let rows: BTreeSet<usize> = match rearranged {
        true => step.op.outputs().iter().flat_map(|n| rows_behind(&plan.shape(n), rows, &step.rules)).collect(),
        false => rows.iter().copied().collect(),
    };
    let own: Vec<usize> = rows.iter().copied().collect();
    match &step.op {
        Op::Convert(_) | Op::Gemm(_) | Op::GemmHalf(_) | Op::Normalize(_) => {
            step.op.inputs().into_iter().map(|name| (name.clone(), own.clone())).collect()
        }
        Op::WindowAttention(op) => {
            let grid = window_grid(op, plan.shape(&op.input).size, &step.rules);
            let windows: BTreeSet<(usize, usize)> = own.iter().map(|&row| grid.locate(row).0).collect();
            let token = |at, n| outside_token(&grid, at, n, step.rules.outside);
            let tokens: BTreeSet<usize> =
                windows.iter().flat_map(|&at| (0..window::TOKENS).filter_map(move |n| token(at, n))).collect();
            vec![(op.input.clone(), tokens.into_iter().collect())]
        }
        Op::GlobalAttention(op) => vec![(op.input.clone(), (0..plan.shape(&op.input).tokens()).collect())],
        Op::Pool(op) => {
            let (above, below) = (plan.shape(&op.input).size, plan.shape(&op.output).size);
            let block = |row: usize| {
                let (x, y) = (2 * (row % below.width), 2 * (row / below.width));
                [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)]
            };
            let inside = own.iter().flat_map(|&row| block(row)).filter(|&(x, y)| x < above.width && y < above.height);
            let tokens: BTreeSet<usize> = inside.map(|(x, y)| y * above.width + x).collect();
            vec![(op.input.clone(), tokens.into_iter().collect())]
        }
        Op::Merge(op) => {
            let (size, low) = (plan.shape(&op.skip).size, plan.shape(&op.low).size);
            // With the neighbours that a bilinear upsampling reads.
            let around = |v: usize, side: usize| (v / 2).saturating_sub(1)..=(v / 2 + 1).min(side - 1);
            let below: BTreeSet<usize> = own
                .iter()
                .flat_map(|&row| {
                    let (x, y) = (row % size.width, row / size.width);
                    around(y, low.height).flat_map(move |y| around(x, low.width).map(move |x| y * low.width + x))
                })
                .collect();
            vec![(op.skip.clone(), own), (op.low.clone(), below.into_iter().collect())]
        }
    }
}
