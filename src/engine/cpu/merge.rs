//! A decoder's skip connection, eight channels at a time.

use super::publish;
use super::simd::half::{Lanes, merge_lanes};
use super::{Outputs, Run};
use crate::engine::EngineError;
use crate::plan::ops::Merge;
use crate::tensor::{Element, Tensor};
use rayon::prelude::*;

pub(super) fn run(op: &Merge, run: &Run<'_>) -> Result<Outputs, EngineError> {
    let (skip, low) = (run.tensor(&op.skip), run.tensor(&op.low));
    let (size, channels) = (skip.shape.size, skip.shape.channels);
    let skip_scale = run.halves(op.skip_scale);
    let low_scale = op.low_scale.map(|parameter| run.halves(parameter));
    let mut raw = vec![0_u16; size.tokens() * channels];
    raw.par_chunks_exact_mut(size.width * channels).enumerate().try_for_each(|(y, row)| {
        run.check()?;
        for (x, out) in row.chunks_exact_mut(channels).enumerate() {
            let (ours, below) = (y * size.width + x, y / 2 * low.shape.size.width + x / 2);
            for (i, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let (skip, low) = (lanes(skip, ours * channels + 8 * i), lanes(low, below * channels + 8 * i));
                let low_scale = low_scale.as_ref().map(|scale| &scale.as_chunks::<8>().0[i]);
                merge_lanes(run.token, &skip, &skip_scale.as_chunks::<8>().0[i], &low, low_scale, out);
            }
        }
        Ok::<(), EngineError>(())
    })?;
    let mut outputs = Outputs::default();
    if op.published.is_some() {
        let mut codes = vec![0; raw.len()];
        codes.par_chunks_mut(65_536).zip(raw.par_chunks(65_536)).for_each(|(codes, raw)| {
            publish::publish(&publish::PLAIN, raw, codes);
        });
        outputs.codes(op.published.as_ref(), codes);
    }
    outputs.halves(op.raw.as_ref(), raw);
    Ok(outputs)
}

/// Eight elements as halves' bits.
fn lanes(tensor: &Tensor, at: usize) -> Lanes {
    match tensor.shape.element {
        Element::E4m3 => std::array::from_fn(|i| publish::DECODED[usize::from(tensor.codes()[at + i])]),
        Element::F16 => std::array::from_fn(|i| tensor.halves()[at + i].to_bits()),
        Element::F32 => unreachable!("no merge reads f32"),
    }
}
