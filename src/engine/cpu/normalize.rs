//! Cosine normalization, four heads (eight vectors of 32) at a time.

use super::job::{self, Buffer, Job};
use super::simd::{self, COLUMNS, Kernel, Simd, hadd, hmul};
use crate::engine::EngineError;
use crate::numerics::cosine::SQRT_HEAD;
use crate::numerics::f16;
use crate::plan::ops::{Normalize, NormalizeKind};
use crate::tensor::Bytes;
use rayon::prelude::*;

/// q, k and v of one head.
const HEAD: usize = 3 * COLUMNS;
/// Rows of one task.
const ROWS: usize = 256;

pub(super) fn run(op: &Normalize, job: &Job<'_>) -> Result<Vec<Bytes>, EngineError> {
    let input = job.tensor(&op.input);
    let scales: Vec<f32> = job.model.floats(op.head_scale).iter().map(|&s| f16::from_f32(s).to_f32()).collect();
    let width = op.heads * HEAD;
    let mut output = Buffer::new(input.shape.tokens() * width);
    let mut raw = Buffer::wanted(op.raw.is_some(), input.shape.tokens() * width * 2);
    let tasks = job::tiles(&mut output, &mut raw, width * ROWS).into_par_iter().enumerate();
    job.each(tasks, 0, |(i, (codes, raw))| {
        let halves: &[u16] = bytemuck::cast_slice(input.halves());
        let halves = halves[i * ROWS * width..][..codes.len()].as_chunks().0;
        let (codes, raw) = (codes.as_chunks_mut().0, raw.as_chunks_mut().0);
        simd::run(job.level, Heads { kind: op.kind, halves, scales: &scales, codes, raw });
    })?;
    Ok(std::iter::once(output).chain(op.raw.is_some().then_some(raw)).map(Buffer::finish).collect())
}

/// All heads of some rows, back to back; the first is head 0.
struct Heads<'a> {
    kind: NormalizeKind,
    halves: &'a [[u16; HEAD]],
    scales: &'a [f32],
    codes: &'a mut [[u8; HEAD]],
    /// The halves before publication, or nothing.
    raw: &'a mut [[u16; HEAD]],
}

impl Kernel for Heads<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(self) {
        for (i, (halves, codes)) in self.halves.chunks(4).zip(self.codes.chunks_mut(4)).enumerate() {
            let mut squares = [S::splat(0.0); 8];
            for (pair, head) in squares.as_chunks_mut::<2>().0.iter_mut().zip(halves) {
                let [q, k, _] = parts(head);
                *pair = [square_sums::<S>(q), square_sums::<S>(k)];
            }
            // Lanes c and c + 4, then + 2, then + 1: the tree's last three strides, for eight vectors.
            let s = simd::transpose::<S>(squares);
            let (s0, s1) = (hadd::<S>(s[0], s[4]), hadd::<S>(s[1], s[5]));
            let (s2, s3) = (hadd::<S>(s[2], s[6]), hadd::<S>(s[3], s[7]));
            let sum = hadd::<S>(hadd::<S>(s0, s2), hadd::<S>(s1, s3));
            let lengths = S::to_singles(S::round(S::div(S::splat(1.0), S::sqrt(sum))));
            for (j, (head, out)) in halves.iter().zip(codes).enumerate() {
                let [q, k, v] = parts(head).map(simd::halves32::<S>);
                let scale = self.scales[(4 * i + j) % self.scales.len()];
                let q = scaled::<S>(q, lengths[2 * j]);
                let q = match self.kind {
                    NormalizeKind::Window => q,
                    NormalizeKind::Vit => scaled::<S>(q, SQRT_HEAD.to_f32()),
                };
                let [out_q, out_k, out_v] = out.as_chunks_mut::<COLUMNS>().0 else { unreachable!("three parts") };
                let (q, k) = (scaled::<S>(q, scale), scaled::<S>(k, lengths[2 * j + 1]));
                *out_q = S::publish(q);
                *out_k = S::publish(k);
                *out_v = S::publish(v);
                if let Some(raw) = self.raw.get_mut(4 * i + j) {
                    for (raw, v) in raw.as_chunks_mut().0.iter_mut().zip([q, k, v]) {
                        *raw = simd::to_halves32::<S>(v);
                    }
                }
            }
        }
    }
}

/// Queries, keys, values.
#[inline(always)]
fn parts(head: &[u16; HEAD]) -> [&[u16; COLUMNS]; 3] {
    let parts = head.as_chunks().0;
    [&parts[0], &parts[1], &parts[2]]
}

/// Sixteen sums of two squares, and the tree's first stride.
#[inline(always)]
fn square_sums<S: Simd>(x: &[u16; COLUMNS]) -> S::V {
    let [a, b, c, d] = simd::halves32::<S>(x);
    let low = S::fma_once(a, a, hmul::<S>(c, c));
    let high = S::fma_once(b, b, hmul::<S>(d, d));
    hadd::<S>(low, high)
}

#[inline(always)]
fn scaled<S: Simd>(mut v: [S::V; 4], by: f32) -> [S::V; 4] {
    for x in &mut v {
        *x = hmul::<S>(*x, S::splat(by));
    }
    v
}
