//! One group of 8 f16 products onto eight accumulators, in 32-bit whole numbers.

use super::super::half_columns::{HalfColumns, NEVER, operand};
use crate::numerics::f16;
use crate::numerics::fdpa::{FRACTION_F16, ZERO_EXPONENT};
use core::arch::x86_64::*;

/// See [`half_columns`](super::super::half_columns) for the numbers. A non-finite accumulator passes through.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn group_half(a: &[f16; 8], b: &[HalfColumns; 8], sums: [u16; 8]) -> [u16; 8] {
    let all = |x: i32| _mm256_set1_epi32(x);
    let a = a.map(operand);
    // SAFETY: `sums` has 16 bytes; the load needs no alignment.
    let halves = unsafe { _mm_loadu_si128(sums.as_ptr().cast()) };
    let bits = _mm256_cvtepu16_epi32(halves);
    let field = _mm256_and_si256(_mm256_srli_epi32::<10>(bits), all(31));
    let mantissa = _mm256_and_si256(bits, all(0x3ff));
    let leading = _mm256_andnot_si256(_mm256_cmpeq_epi32(field, all(0)), all(0x400));
    let magnitude = _mm256_or_si256(mantissa, leading);
    let exponent = _mm256_sub_epi32(_mm256_max_epi32(field, all(1)), all(15));
    let exponent = _mm256_blendv_epi8(exponent, all(NEVER), _mm256_cmpeq_epi32(magnitude, all(0)));

    let mut shared = _mm256_max_epi32(exponent, all(ZERO_EXPONENT));
    for ((_, exponent), b) in a.iter().zip(b) {
        shared = _mm256_max_epi32(shared, _mm256_add_epi32(all(*exponent), load(&b.exponents)));
    }
    // A shift by 32 or more gives 0.
    let start = _mm256_srlv_epi32(_mm256_slli_epi32::<14>(magnitude), _mm256_sub_epi32(shared, exponent));
    let mut units = _mm256_sign_epi32(start, _mm256_or_si256(_mm256_slli_epi32::<16>(bits), all(1)));
    for ((significand, exponent), b) in a.iter().zip(b) {
        let product = _mm256_mullo_epi32(all(*significand), load(&b.significands));
        let distance = _mm256_sub_epi32(_mm256_sub_epi32(shared, all(*exponent)), load(&b.exponents));
        let term = _mm256_srlv_epi32(_mm256_slli_epi32::<4>(_mm256_abs_epi32(product)), distance);
        units = _mm256_add_epi32(units, _mm256_sign_epi32(term, product));
    }

    // To a single that rounds to the right half: bits that do not fit are folded into a sticky one.
    let magnitude = _mm256_abs_epi32(units);
    let whole = _mm256_cmpeq_epi32(_mm256_and_si256(magnitude, all(0xff)), all(0));
    let folded = _mm256_or_si256(_mm256_andnot_si256(all(0xff), magnitude), _mm256_andnot_si256(whole, all(0x100)));
    let small = _mm256_cmpgt_epi32(all(1 << 24), magnitude);
    let folded = _mm256_sign_epi32(_mm256_blendv_epi8(folded, magnitude, small), units);
    let scale = _mm256_slli_epi32::<23>(_mm256_add_epi32(shared, all(127 - FRACTION_F16)));
    let value = _mm256_mul_ps(_mm256_cvtepi32_ps(folded), _mm256_castsi256_ps(scale));
    let result = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value);
    let full = _mm_set1_epi16(0x7c00);
    let passes = _mm_cmpeq_epi16(_mm_and_si128(halves, full), full);
    let result = _mm_blendv_epi8(result, halves, passes);
    let mut out = [0; 8];
    // SAFETY: `out` has 16 bytes; the store needs no alignment.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), result) };
    out
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(x: &[i32; 8]) -> __m256i {
    // SAFETY: `x` has 32 bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
}
