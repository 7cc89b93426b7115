//! Cosine normalization, head by head; publication by table.

use super::publish;
use super::simd::cosine;
use super::{Outputs, Run, TILE};
use crate::engine::EngineError;
use crate::numerics::cosine::HEAD;
use crate::numerics::f16;
use crate::plan::ops::Normalize;
use rayon::prelude::*;

pub(super) fn run(op: &Normalize, run: &Run<'_>) -> Result<Outputs, EngineError> {
    let input = run.tensor(&op.input);
    let channels = input.shape.channels;
    let scales: Vec<f16> = run.model.floats(op.head_scale).into_iter().map(f16::from_f32).collect();
    let halves: &[u16] = bytemuck::cast_slice(input.halves());
    let mut codes = vec![0_u8; halves.len()];
    codes.par_chunks_mut(TILE * channels).zip(halves.par_chunks(TILE * channels)).try_for_each(|(codes, halves)| {
        run.check()?;
        let heads = codes.as_chunks_mut::<{ 3 * HEAD }>().0.iter_mut().zip(halves.as_chunks::<{ 3 * HEAD }>().0);
        for (i, (codes, halves)) in heads.enumerate() {
            let mut head = *halves;
            cosine::normalize(run.token, &mut head, op.kind, scales[i % op.heads]);
            publish::publish(&publish::PLAIN, &head, codes);
        }
        Ok::<(), EngineError>(())
    })?;
    let mut outputs = Outputs::default();
    outputs.codes(Some(&op.output), codes);
    Ok(outputs)
}
