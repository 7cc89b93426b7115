//! 2x2 average in halves, published, a row of pixels at a time.

use super::job::{self, Buffer, Job};
use super::simd::{self, COLUMNS, Kernel, Simd, hadd, halves32, hmul};
use crate::engine::EngineError;
use crate::plan::ops::Pool;
use crate::tensor::Bytes;
use rayon::prelude::*;

pub(super) fn run(op: &Pool, job: &Job<'_>) -> Result<Vec<Bytes>, EngineError> {
    let input = job.tensor(&op.input);
    let (above, channels) = (input.shape.size, input.shape.channels);
    let below = job.plan.shape(&op.output).size;
    let halves: &[u16] = bytemuck::cast_slice(input.halves());
    let mut output = Buffer::new(below.tokens() * channels);
    let mut raw = Buffer::wanted(op.raw.is_some(), below.tokens() * channels * 2);
    let tasks = job::tiles(&mut output, &mut raw, below.width * channels).into_par_iter().enumerate();
    job.each(tasks, 0, |(y, (out, raw))| {
        if 2 * y + 1 < above.height {
            let row = |y: usize| &halves[y * above.width * channels..][..above.width * channels];
            simd::run(job.level, Row { above: [row(2 * y), row(2 * y + 1)], channels, out, raw });
        }
    })?;
    Ok(std::iter::once(output).chain(op.raw.is_some().then_some(raw)).map(Buffer::finish).collect())
}

/// One row of pixels below two; what has no whole block above stays 0.
struct Row<'a> {
    above: [&'a [u16]; 2],
    channels: usize,
    out: &'a mut [u8],
    raw: &'a mut [u16],
}

impl Kernel for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(self) {
        let mut raw = self.raw.chunks_exact_mut(self.channels);
        let [upper, lower] = self.above.map(|row| row.chunks_exact(2 * self.channels));
        for ((upper, lower), out) in upper.zip(lower).zip(self.out.chunks_exact_mut(self.channels)) {
            let ((a, b), (c, d)) = (upper.split_at(self.channels), lower.split_at(self.channels));
            let [a, b, c, d] = [a, b, c, d].map(|x| x.as_chunks::<COLUMNS>().0);
            let raw = raw.next().unwrap_or_default().as_chunks_mut().0;
            for (i, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
                let mut v = halves32::<S>(&a[i]);
                let (b, c, d) = (halves32::<S>(&b[i]), halves32::<S>(&c[i]), halves32::<S>(&d[i]));
                for (j, a) in v.iter_mut().enumerate() {
                    let sum = hadd::<S>(hadd::<S>(*a, b[j]), hadd::<S>(c[j], d[j]));
                    *a = hmul::<S>(sum, S::splat(0.25));
                }
                *out = S::publish(v);
                if let Some(raw) = raw.get_mut(i) {
                    *raw = simd::to_halves32::<S>(v);
                }
            }
        }
    }
}
