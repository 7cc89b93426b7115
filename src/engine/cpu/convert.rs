//! `f16(features)`.

use super::job::{Buffer, Job};
use super::simd::{self, Kernel, Simd};
use crate::engine::EngineError;
use crate::plan::ops::Convert;
use crate::tensor::Bytes;

pub(super) fn run(op: &Convert, job: &Job<'_>) -> Result<Vec<Bytes>, EngineError> {
    let input = job.tensor(&op.input);
    let (shape, width) = (input.shape, input.shape.channels * 2);
    let mut output = Buffer::new(shape.tokens() * width);
    job.rows(&mut output, width, shape.size.width, 0, |first, out| {
        let singles = &input.floats()[first * shape.channels..][..out.len() / 2];
        simd::run(job.level, Singles { singles, halves: bytemuck::cast_slice_mut(out) });
    })?;
    Ok(vec![output.finish()])
}

struct Singles<'a> {
    singles: &'a [f32],
    halves: &'a mut [u16],
}

impl Kernel for Singles<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(self) {
        // Features have 16 lanes: no rest.
        for (singles, halves) in self.singles.as_chunks().0.iter().zip(self.halves.as_chunks_mut().0) {
            *halves = S::to_halves(S::singles(singles));
        }
    }
}
