//! f16 matrix product in groups of 8, in whole numbers: a product of significands has 22 bits, shifted by 4 it is a
//! term in units of 2^(E - 24) less its distance to E. A group's sum stays below 2^30.

use super::job::{Buffer, Job};
use super::simd::{self, Kernel, Simd};
use crate::engine::EngineError;
use crate::numerics::f16;
use crate::numerics::fdpa::{FRACTION_F16, GROUP_F16, ZERO_EXPONENT};
use crate::plan::ops::GemmHalf;
use crate::tensor::Bytes;
use rayon::prelude::*;

/// Columns computed together.
const LANES: usize = 8;
/// Rows of one task.
const ROWS: usize = 512;
/// The exponent of a zero operand: no sum with it ever wins.
const NEVER: i32 = -1000;

pub(super) fn run(op: &GemmHalf, job: &Job<'_>) -> Result<Vec<Bytes>, EngineError> {
    let input = job.tensor(&op.input);
    let plain = job.model.matrix_f16(op.weights);
    let panels: Vec<Vec<Lanes>> = (0..op.n.div_ceil(LANES))
        .map(|p| (0..op.k).map(|k| Lanes::of(&plain[k * op.n..][..op.n], p * LANES)).collect())
        .collect();
    let tokens = input.shape.tokens();
    let mut published = Buffer::wanted(op.published.is_some(), tokens * op.n);
    let mut halves = Buffer::new(tokens * op.n * 2);
    let mut single = Buffer::wanted(op.single.is_some(), tokens * op.n * 4);
    let operands = input.halves();
    let tasks = halves.bytes().par_chunks_mut(ROWS * op.n * 2).enumerate();
    job.each(tasks, (tokens * op.k * op.n) as u64, |(i, out)| {
        let out: &mut [u16] = bytemuck::cast_slice_mut(out);
        let operands = &operands[i * ROWS * op.k..][..out.len() / op.n * op.k];
        simd::run(job.level, Rows { operands, k: op.k, n: op.n, panels: &panels, out });
    })?;
    let sums: &[u16] = bytemuck::cast_slice(halves.bytes());
    let width = ROWS * op.n;
    if op.published.is_some() {
        let tasks = published.bytes().par_chunks_mut(width).zip(sums.par_chunks(width));
        job.each(tasks, 0, |(out, sums)| simd::run(job.level, Publish { sums, out }))?;
    }
    if op.single.is_some() {
        let tasks = single.bytes().par_chunks_mut(width * 4).zip(sums.par_chunks(width));
        job.each(tasks, 0, |(out, sums)| {
            simd::run(job.level, Widen { sums, out: bytemuck::cast_slice_mut(out) });
        })?;
    }
    let outputs =
        [op.published.as_ref().map(|_| published), op.raw.as_ref().map(|_| halves), op.single.as_ref().map(|_| single)];
    Ok(outputs.into_iter().flatten().map(Buffer::finish).collect())
}

/// Eight weights of one k, taken apart.
struct Lanes {
    significands: [i32; LANES],
    exponents: [i32; LANES],
}

impl Lanes {
    /// The weights from a column on; zeros behind the last.
    fn of(row: &[f16], column: usize) -> Self {
        let operand = |i: usize| operand(row.get(column + i).map_or(0, |x| x.to_bits()));
        Self { significands: std::array::from_fn(|i| operand(i).0), exponents: std::array::from_fn(|i| operand(i).1) }
    }
}

/// Signed significand (in units of 2^(exponent - 10)) and exponent of a finite half.
#[inline(always)]
fn operand(bits: u16) -> (i32, i32) {
    let (field, mantissa) = (i32::from(bits >> 10 & 31), i32::from(bits & 0x3ff));
    let magnitude = if field == 0 { mantissa } else { mantissa | 0x400 };
    let exponent = if magnitude == 0 { NEVER } else { field.max(1) - 15 };
    (if bits & 0x8000 == 0 { magnitude } else { -magnitude }, exponent)
}

/// Toward zero: `(value << left) / 2^distance`.
#[inline(always)]
fn align(value: i32, left: u32, distance: i32) -> i32 {
    let magnitude = (value.unsigned_abs() << left) >> distance.clamp(0, 31) as u32;
    if value < 0 { -(magnitude as i32) } else { magnitude as i32 }
}

struct Rows<'a> {
    operands: &'a [f16],
    k: usize,
    n: usize,
    panels: &'a [Vec<Lanes>],
    out: &'a mut [u16],
}

impl Kernel for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(self) {
        for (row, out) in self.operands.chunks_exact(self.k).zip(self.out.chunks_exact_mut(self.n)) {
            for (panel, out) in self.panels.iter().zip(out.chunks_mut(LANES)) {
                let mut sums = [0_u16; LANES];
                for (a, b) in row.chunks(GROUP_F16).zip(panel.chunks(GROUP_F16)) {
                    sums = group::<S>(a, b, sums);
                }
                out.copy_from_slice(&sums[..out.len()]);
            }
        }
    }
}

/// One group of 8 onto eight accumulators.
#[inline(always)]
fn group<S: Simd>(a: &[f16], b: &[Lanes], sums: [u16; LANES]) -> [u16; LANES] {
    let mut shared = [0; LANES];
    let mut units = [0; LANES];
    let mut start = [(0, 0); LANES];
    for i in 0..LANES {
        start[i] = operand(sums[i]);
        shared[i] = start[i].1.max(ZERO_EXPONENT);
    }
    for (a, b) in a.iter().zip(b) {
        let (_, exponent) = operand(a.to_bits());
        for i in 0..LANES {
            shared[i] = shared[i].max(exponent + b.exponents[i]);
        }
    }
    for i in 0..LANES {
        units[i] = align(start[i].0, 14, shared[i] - start[i].1);
    }
    for (a, b) in a.iter().zip(b) {
        let (significand, exponent) = operand(a.to_bits());
        for i in 0..LANES {
            units[i] += align(significand * b.significands[i], 4, shared[i] - exponent - b.exponents[i]);
        }
    }
    let mut out = S::to_halves(S::singles(&singles(units, shared)));
    for i in 0..LANES {
        // A non-finite accumulator passes through.
        if sums[i] & 0x7c00 == 0x7c00 {
            out[i] = sums[i];
        }
    }
    out
}

/// `units * 2^(E - 24)` as singles that round to the right halves: what does not fit is folded into one sticky bit.
#[inline(always)]
fn singles(units: [i32; LANES], shared: [i32; LANES]) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        let magnitude = units[i].unsigned_abs();
        let sticky = u32::from(magnitude & 0xff != 0) << 8;
        let folded = if magnitude < 1 << 24 { magnitude } else { magnitude & !0xff | sticky };
        let scale = f32::from_bits(((shared[i] - FRACTION_F16 + 127) as u32) << 23);
        let value = folded as i32 as f32 * scale;
        out[i] = if units[i] < 0 { -value } else { value };
    }
    out
}

struct Publish<'a> {
    sums: &'a [u16],
    out: &'a mut [u8],
}

impl Kernel for Publish<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(self) {
        // The only published f16 product, the adapter, has 32 columns: no rest.
        for (sums, out) in self.sums.as_chunks().0.iter().zip(self.out.as_chunks_mut().0) {
            *out = S::publish(simd::halves32::<S>(sums));
        }
    }
}

struct Widen<'a> {
    sums: &'a [u16],
    out: &'a mut [f32],
}

impl Kernel for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Simd>(self) {
        for (sums, out) in self.sums.chunks(8).zip(self.out.chunks_mut(8)) {
            let mut eight = [0; 8];
            eight[..sums.len()].copy_from_slice(sums);
            out.copy_from_slice(&S::to_singles(S::halves(&eight))[..sums.len()]);
        }
    }
}
