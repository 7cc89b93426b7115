//! f16 matrix product in groups of 8, eight columns at a time.

use super::publish;
use super::simd::group_half::{DEPTH, accumulate};
use super::simd::half::Lanes;
use super::{Outputs, Run, TILE};
use crate::engine::EngineError;
use crate::numerics::f16;
use crate::plan::ops::GemmHalf;
use rayon::prelude::*;

/// Columns of one vector.
const COLUMNS: usize = 8;

pub(super) fn run(op: &GemmHalf, run: &Run<'_>) -> Result<Outputs, EngineError> {
    let input = run.tensor(&op.input);
    let a: &[u16] = bytemuck::cast_slice(input.halves());
    if a.iter().any(|bits| bits & 0x7c00 == 0x7c00) {
        // An infinite or NaN operand has no place in the integer sums below.
        return run.on_reference();
    }
    let weights = run.model.matrix_f16(op.weights);
    let vectors = op.n.div_ceil(COLUMNS);
    // `[vector][k]`, columns beyond the matrix zero.
    let lanes = |v: usize, k: usize| -> Lanes {
        let column = |i: usize| v * COLUMNS + i;
        std::array::from_fn(|i| if column(i) < op.n { weights[k * op.n + column(i)].to_bits() } else { 0 })
    };
    let b: Vec<Vec<Lanes>> = (0..vectors).map(|v| (0..op.k).map(|k| lanes(v, k)).collect()).collect();
    let mut sums = vec![0_u16; input.shape.tokens() * op.n];
    sums.par_chunks_mut(TILE * op.n).zip(a.par_chunks(TILE * op.k)).try_for_each(|(out, a)| {
        run.check()?;
        for (out, a) in out.chunks_exact_mut(op.n).zip(a.chunks_exact(op.k)) {
            for (columns, b) in out.chunks_mut(COLUMNS).zip(&b) {
                let mut accumulators: Lanes = [0; COLUMNS];
                for (a, b) in a.as_chunks::<DEPTH>().0.iter().zip(b.as_chunks::<DEPTH>().0) {
                    accumulate(run.token, a, b, &mut accumulators);
                }
                columns.copy_from_slice(&accumulators[..columns.len()]);
            }
        }
        run.control.advance((out.len() * op.k) as u64);
        Ok::<(), EngineError>(())
    })?;
    let mut outputs = Outputs::default();
    if op.published.is_some() {
        let mut codes = vec![0; sums.len()];
        publish::publish(&publish::PLAIN, &sums, &mut codes);
        outputs.codes(op.published.as_ref(), codes);
    }
    if let Some(name) = &op.single {
        let singles: Vec<f32> = sums.iter().map(|&bits| f16::from_bits(bits).to_f32()).collect();
        outputs.push(name, crate::tensor::Bytes::copy(&singles));
    }
    outputs.halves(op.raw.as_ref(), sums);
    Ok(outputs)
}
