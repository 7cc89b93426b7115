//! f16 matrix product in groups of 8.

use super::rules::{self, Epilogue, Operands};
use super::{Kernel, Sources};
use crate::numerics::{Rules, f16};
use crate::plan::ops::GemmHalf;

pub(super) fn kernel<'a>(op: &'a GemmHalf, rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let input = sources.tensor(&op.input);
    let weights = sources.model.matrix_f16(op.weights);
    let columns: Vec<Vec<f16>> = (0..op.n).map(|n| (0..op.k).map(|k| weights[k * op.n + n]).collect()).collect();
    Box::new(move |rows| {
        let (mut published, mut raw, mut single) = (Vec::new(), Vec::new(), Vec::new());
        for &row in rows {
            let a: Vec<f16> = (0..op.k).map(|k| rules::read(input, row, k, rules.reads)).collect();
            for column in &columns {
                let sum = rules::dot(Operands::Halves(&a, column), 0.0, &rules.dot);
                published.push(rules::publish(sum.half(), sum.wide, Epilogue::Plain, rules));
                raw.extend(rules::raw_bytes(sum.half(), rules));
                single.extend((sum.carried as f32).to_le_bytes());
            }
        }
        let outputs = [
            op.published.as_ref().map(|_| published),
            op.raw.as_ref().map(|_| raw),
            op.single.as_ref().map(|_| single),
        ];
        outputs.into_iter().flatten().collect()
    })
}
