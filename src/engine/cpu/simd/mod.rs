//! The vector instructions behind one trait, and the fence around all `unsafe` of this engine.
//!
//! Kernels are written once, generic over [`Simd`], and entered once per tile through [`run`], which switches the
//! instructions on for everything inlined below it. The portable implementation is plain Rust; it makes the same
//! bytes and is what other processors get.
//!
//! **Invariants**
//! * A vector is eight singles; wherever the text says "half", a value is rounded by [`Simd::round`] at once.
//! * Outside this folder nothing is unsafe; inside, only loads, stores, intrinsics and one assembly loop are.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod half_columns;
mod panel;
mod portable;

pub(super) use half_columns::HalfColumns;
pub(super) use panel::{COLUMNS, Panel, ROWS, Tile};

use super::Level;
use crate::numerics::f16;
use crate::plan::ops::Activation;

/// Eight singles at a time, and the two kernels that no such vector can express.
pub(super) trait Simd: Copy {
    /// Eight singles.
    type V: Copy;

    fn splat(x: f32) -> Self::V;
    fn singles(x: &[f32; 8]) -> Self::V;
    fn to_singles(v: Self::V) -> [f32; 8];
    /// Widens eight halves, given as bits.
    fn halves(x: &[u16; 8]) -> Self::V;
    /// Rounds to halves, to nearest even.
    fn to_halves(v: Self::V) -> [u16; 8];
    /// Decodes eight E4M3 codes.
    fn codes(x: [u8; 8]) -> Self::V;

    fn add(a: Self::V, b: Self::V) -> Self::V;
    fn mul(a: Self::V, b: Self::V) -> Self::V;
    fn div(a: Self::V, b: Self::V) -> Self::V;
    fn sqrt(a: Self::V) -> Self::V;
    fn abs(a: Self::V) -> Self::V;
    /// The smaller; `b` if either is NaN.
    fn min(a: Self::V, b: Self::V) -> Self::V;
    /// The larger; `b` if either is NaN.
    fn max(a: Self::V, b: Self::V) -> Self::V;
    /// To the nearest half and back.
    fn round(v: Self::V) -> Self::V;
    /// `f16(a * b + c)` of halves, rounded once, widened.
    fn fma_once(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Publishes halves, widened; a zero keeps its sign.
    fn publish(v: [Self::V; 4]) -> [u8; COLUMNS];
    /// Publishes halves, widened, as the FP8 product does: every zero is `0x00`.
    fn publish_gemm(v: [Self::V; 4]) -> [u8; COLUMNS];

    /// Prepares sixteen rows of 32 columns of codes as a product's right operand.
    fn expand(codes: &[[u8; COLUMNS]; 16], panel: &mut Panel);
    /// One group of 16 products onto every accumulator of a tile: row r's operand is `rows[r][k..k + 16]`.
    fn group(rows: &[&[u8]], k: usize, panel: &Panel, tile: &mut Tile);
    /// One group of 8 f16 products onto eight accumulators, given as bits.
    fn group_half(a: &[f16; 8], b: &[HalfColumns; 8], sums: [u16; 8]) -> [u16; 8];
}

/// A computation that is generic over the instructions. `call` must be inlined, so that they reach it.
pub(super) trait Kernel {
    type Output;
    fn call<S: Simd>(self) -> Self::Output;
}

/// Runs a kernel with a level's instructions.
pub(super) fn run<K: Kernel>(level: Level, kernel: K) -> K::Output {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::enter(kernel),
        _ => kernel.call::<portable::Portable>(),
    }
}

/// Four vectors from 32 halves.
#[inline(always)]
pub(super) fn halves32<S: Simd>(x: &[u16; COLUMNS]) -> [S::V; 4] {
    let (eights, _) = x.as_chunks::<8>();
    [S::halves(&eights[0]), S::halves(&eights[1]), S::halves(&eights[2]), S::halves(&eights[3])]
}

/// Four vectors from 32 codes.
#[inline(always)]
pub(super) fn codes32<S: Simd>(x: &[u8; COLUMNS]) -> [S::V; 4] {
    let (eights, _) = x.as_chunks::<8>();
    [S::codes(eights[0]), S::codes(eights[1]), S::codes(eights[2]), S::codes(eights[3])]
}

/// 32 halves from four vectors.
#[inline(always)]
pub(super) fn to_halves32<S: Simd>(v: [S::V; 4]) -> [u16; COLUMNS] {
    let mut out = [0; COLUMNS];
    let (eights, _) = out.as_chunks_mut::<8>();
    for (eight, v) in eights.iter_mut().zip(v) {
        *eight = S::to_halves(v);
    }
    out
}

/// `f16(a + b)`.
#[inline(always)]
pub(super) fn hadd<S: Simd>(a: S::V, b: S::V) -> S::V {
    S::round(S::add(a, b))
}

/// `f16(a * b)`.
#[inline(always)]
pub(super) fn hmul<S: Simd>(a: S::V, b: S::V) -> S::V {
    S::round(S::mul(a, b))
}

/// The transpose of eight vectors.
#[inline(always)]
pub(super) fn transpose<S: Simd>(rows: [S::V; 8]) -> [S::V; 8] {
    let mut flat = [[0.0; 8]; 8];
    for (line, row) in flat.iter_mut().zip(rows) {
        *line = S::to_singles(row);
    }
    let mut out = rows;
    for (c, column) in out.iter_mut().enumerate() {
        let mut line = [0.0; 8];
        for r in 0..8 {
            line[r] = flat[r][c];
        }
        *column = S::singles(&line);
    }
    out
}

/// The epilogue of the FP8 product: activation, publication.
#[inline(always)]
pub(super) fn epilogue<S: Simd>(sums: &[u16; COLUMNS], activation: Activation) -> [u8; COLUMNS] {
    let mut v = halves32::<S>(sums);
    if activation == Activation::Silu {
        for x in &mut v {
            *x = silu::<S>(*x);
        }
    }
    S::publish_gemm(v)
}

/// The five half steps of silu. The fused steps round twice here: it shows in no result, as a test of
/// `numerics::silu` proves over all halves.
#[inline(always)]
fn silu<S: Simd>(x: S::V) -> S::V {
    use crate::numerics::silu::{CLAMP, LIFT, OFFSET, SLOPE};
    let t = S::max(S::min(x, S::splat(CLAMP)), S::splat(-CLAMP));
    let slope = S::mul(S::splat(SLOPE.to_f32()), S::abs(t));
    let p = hadd::<S>(slope, S::splat(OFFSET.to_f32()));
    let p = hadd::<S>(S::mul(t, p), S::splat(LIFT.to_f32()));
    hmul::<S>(x, p)
}
