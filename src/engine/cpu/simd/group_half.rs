//! One group of 8 f16 products onto eight accumulators: exact integers in 32-bit lanes.

use super::Avx2;
use super::half::{Lanes, narrow, store, widen};
use crate::numerics::{f16, float16};
use std::arch::x86_64::{
    __m256, __m256i, _mm256_abs_epi32, _mm256_add_epi32, _mm256_and_si256, _mm256_blendv_epi8, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_cvtepi32_ps, _mm256_cvttps_epi32,
    _mm256_max_epi32, _mm256_mul_ps, _mm256_or_si256, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_si256,
    _mm256_slli_epi32, _mm256_srai_epi32, _mm256_srli_epi32, _mm256_sub_epi32,
};

/// Products of a group.
pub(in crate::engine::cpu) const DEPTH: usize = 8;
/// Stands for the exponent of a zero.
const NO_EXPONENT: i32 = -1000;

/// Adds `a[k] * b[k][..8]`, k = 0..8, onto eight accumulators. Operands are finite; an accumulator that is not
/// passes through.
pub(in crate::engine::cpu) fn accumulate(_: Avx2, a: &Lanes, b: &[Lanes; DEPTH], accumulators: &mut Lanes) {
    // SAFETY: the token says that the instructions exist.
    unsafe { inner(a, b, accumulators) }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn inner(a: &Lanes, b: &[Lanes; DEPTH], accumulators: &mut Lanes) {
    let acc = widen(accumulators);
    let mut shared = exponents(acc, -21);
    let a = a.map(f16::from_bits);
    for (a, b) in a.iter().zip(b) {
        let ours = _mm256_set1_epi32(float16::exponent(*a).unwrap_or(NO_EXPONENT));
        shared = _mm256_max_epi32(shared, _mm256_add_epi32(ours, exponents(widen(b), NO_EXPONENT)));
    }
    // 2^(24 - E): every scaled term is below 2^27, so its conversion truncates exactly.
    let scale = power(_mm256_sub_epi32(_mm256_set1_epi32(24), shared));
    let mut units = _mm256_cvttps_epi32(_mm256_mul_ps(acc, scale));
    for (a, b) in a.iter().zip(b) {
        let product = _mm256_mul_ps(_mm256_set1_ps(a.to_f32()), widen(b));
        units = _mm256_add_epi32(units, _mm256_cvttps_epi32(_mm256_mul_ps(product, scale)));
    }
    let sum = from_units(units, _mm256_sub_epi32(shared, _mm256_set1_epi32(24)));
    let magnitude = _mm256_and_si256(_mm256_castps_si256(acc), _mm256_set1_epi32(0x7fff_ffff));
    let special = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f7f_ffff));
    let result = _mm256_blendv_epi8(_mm256_castps_si256(sum), _mm256_castps_si256(acc), special);
    store(accumulators, narrow(_mm256_castsi256_ps(result)));
}

/// Exponents of halves held as singles, floored at -14; `zero` for a zero.
#[target_feature(enable = "avx2,fma,f16c")]
fn exponents(values: __m256, zero: i32) -> __m256i {
    let bits = _mm256_and_si256(_mm256_castps_si256(values), _mm256_set1_epi32(0x7fff_ffff));
    let exponent = _mm256_sub_epi32(_mm256_srli_epi32::<23>(bits), _mm256_set1_epi32(127));
    let floored = _mm256_max_epi32(exponent, _mm256_set1_epi32(-14));
    let is_zero = _mm256_cmpeq_epi32(bits, _mm256_setzero_si256());
    _mm256_blendv_epi8(floored, _mm256_set1_epi32(zero), is_zero)
}

/// `2^exponent` as singles, for exponents of normal singles.
#[target_feature(enable = "avx2,fma,f16c")]
fn power(exponent: __m256i) -> __m256 {
    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(exponent, _mm256_set1_epi32(127))))
}

/// `units * 2^exponent` in singles, odd where a single is too short for the integer, so that the half behind it
/// is rounded once.
#[target_feature(enable = "avx2,fma,f16c")]
fn from_units(units: __m256i, exponent: __m256i) -> __m256 {
    let dropped = _mm256_and_si256(units, _mm256_set1_epi32(127));
    let sticky = _mm256_cmpgt_epi32(dropped, _mm256_setzero_si256());
    let short = _mm256_or_si256(_mm256_srai_epi32::<7>(units), _mm256_and_si256(sticky, _mm256_set1_epi32(1)));
    let long = _mm256_cmpgt_epi32(_mm256_abs_epi32(units), _mm256_set1_epi32(1 << 24));
    let units = _mm256_blendv_epi8(units, short, long);
    let exponent = _mm256_add_epi32(exponent, _mm256_and_si256(long, _mm256_set1_epi32(7)));
    _mm256_mul_ps(_mm256_cvtepi32_ps(units), power(exponent))
}
