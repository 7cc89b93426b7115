//! f16 matrix product in groups of 8.

use super::{Kernel, Sources};
use crate::numerics::{Rules, e4m3, f16, fdpa};
use crate::plan::ops::GemmHalf;

pub(super) fn kernel<'a>(op: &'a GemmHalf, _rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let input = sources.tensor(&op.input);
    let weights = sources.model.matrix_f16(op.weights);
    let columns: Vec<Vec<f16>> = (0..op.n).map(|n| (0..op.k).map(|k| weights[k * op.n + n]).collect()).collect();
    Box::new(move |rows| {
        let (mut published, mut raw, mut single) = (Vec::new(), Vec::new(), Vec::new());
        for &row in rows {
            let a = &input.halves()[row * op.k..][..op.k];
            for column in &columns {
                let sum = fdpa::dot_f16(a, column, f16::ZERO);
                published.push(e4m3::publish(sum));
                raw.extend(sum.to_le_bytes());
                single.extend(sum.to_f32().to_le_bytes());
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
