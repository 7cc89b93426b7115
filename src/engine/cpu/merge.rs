//! A decoder's skip connection, 32 channels at a time.

use super::gemm::channels32;
use super::job::{Buffer, Job};
use super::simd::{self, COLUMNS, Kernel, Simd, hmul};
use crate::engine::EngineError;
use crate::numerics::f16;
use crate::plan::ops::Merge;
use crate::tensor::{Bytes, Tensor};
use rayon::prelude::*;

pub(super) fn run(op: &Merge, job: &Job<'_>) -> Result<Vec<Bytes>, EngineError> {
    let (skip, low) = (job.tensor(&op.skip), job.tensor(&op.low));
    let skip_scale = job.model.halves(op.skip_scale);
    let low_scale = op.low_scale.map(|parameter| job.model.halves(parameter));
    let (size, channels) = (skip.shape.size, skip.shape.channels);
    let mut published = Buffer::new(size.tokens() * channels);
    let mut raw = Buffer::new(size.tokens() * channels * 2);
    let line = size.width * channels;
    let tasks = published.bytes().par_chunks_mut(line).zip(raw.bytes().par_chunks_mut(line * 2)).enumerate();
    job.each(tasks, 0, |(y, (published, raw))| {
        let scales = (&skip_scale[..], low_scale.as_deref());
        simd::run(job.level, Row { skip, low, scales, y, published, raw: bytemuck::cast_slice_mut(raw) });
    })?;
    let outputs = [op.published.as_ref().map(|_| published), op.raw.as_ref().map(|_| raw)];
    Ok(outputs.into_iter().flatten().map(Buffer::finish).collect())
}

struct Row<'a> {
    skip: &'a Tensor,
    low: &'a Tensor,
    scales: (&'a [f16], Option<&'a [f16]>),
    y: usize,
    published: &'a mut [u8],
    raw: &'a mut [u16],
}

impl Kernel for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(self) {
        let (width, channels) = (self.skip.shape.size.width, self.skip.shape.channels);
        let published = self.published.as_chunks_mut::<COLUMNS>().0;
        let raw = self.raw.as_chunks_mut::<COLUMNS>().0;
        let panels = channels / COLUMNS;
        let scale = |scale: &[f16], column: usize| {
            simd::halves32::<S>(bytemuck::cast_slice(&scale[column..]).first_chunk().expect("whole panels"))
        };
        for (i, (published, raw)) in published.iter_mut().zip(raw).enumerate() {
            let (x, column) = (i / panels, i % panels * COLUMNS);
            let mut sum = channels32::<S>(self.skip, self.y * width + x, column);
            let below = self.y / 2 * self.low.shape.size.width + x / 2;
            let mut low = channels32::<S>(self.low, below, column);
            if let Some(low_scale) = self.scales.1 {
                for (low, scale) in low.iter_mut().zip(scale(low_scale, column)) {
                    *low = hmul::<S>(*low, scale);
                }
            }
            for ((sum, scale), low) in sum.iter_mut().zip(scale(self.scales.0, column)).zip(low) {
                *sum = S::fma_once(*sum, scale, low);
            }
            *published = S::publish(sum);
            *raw = simd::to_halves32::<S>(sum);
        }
    }
}
