//! Half operations on eight lanes: computed in singles, rounded by F16C.

use super::Avx2;
use std::arch::x86_64::{
    __m128i, __m256, __m256i, _CMP_GT_OQ, _CMP_LT_OQ, _mm_loadu_si128, _mm_storeu_si128, _mm256_add_epi32,
    _mm256_add_ps, _mm256_and_ps, _mm256_and_si256, _mm256_andnot_si256, _mm256_castps_si256, _mm256_castsi256_ps,
    _mm256_cmp_ps, _mm256_cmpeq_epi32, _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_mul_ps, _mm256_or_si256,
    _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_sub_ps, _mm256_xor_ps,
};

/// Eight halves, as bits.
pub(in crate::engine::cpu) type Lanes = [u16; 8];

/// Eight halves as singles.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn widen(halves: &Lanes) -> __m256 {
    // SAFETY: sixteen bytes are there, at any alignment.
    _mm256_cvtph_ps(unsafe { _mm_loadu_si128(halves.as_ptr().cast()) })
}

/// Rounds singles to the nearest halves' bits.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn narrow(values: __m256) -> __m128i {
    _mm256_cvtps_ph::<0>(values)
}

/// Rounds singles to the nearest halves, as singles.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn round(values: __m256) -> __m256 {
    _mm256_cvtph_ps(narrow(values))
}

/// Stores eight halves.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn store(out: &mut Lanes, halves: __m128i) {
    // SAFETY: sixteen bytes are there, at any alignment.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), halves) }
}

/// `a * b + c` of halves, the exact value rounded once: the sum is made odd where a single lost something.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn fma(a: __m256, b: __m256, c: __m256) -> __m256 {
    let product = _mm256_mul_ps(a, b);
    let sum = _mm256_add_ps(product, c);
    let back = _mm256_sub_ps(sum, product);
    let error = _mm256_add_ps(_mm256_sub_ps(product, _mm256_sub_ps(sum, back)), _mm256_sub_ps(c, back));
    round(to_odd(sum, error))
}

/// As [`crate::numerics::float16`]'s own: an even last bit moves toward what the rounding lost.
#[target_feature(enable = "avx2,fma,f16c")]
fn to_odd(sum: __m256, error: __m256) -> __m256 {
    let zero = _mm256_setzero_ps();
    // The error's direction as seen from the magnitude: flip it where the sum is negative.
    let sign = _mm256_and_ps(sum, _mm256_set1_ps(-0.0));
    let outward = _mm256_xor_ps(error, sign);
    let bits = _mm256_castps_si256(sum);
    let one = _mm256_set1_epi32(1);
    let even = _mm256_cmpeq_epi32(_mm256_and_si256(bits, one), _mm256_setzero_si256());
    let grows = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GT_OQ>(outward, zero));
    let shrinks = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LT_OQ>(outward, zero));
    // +1 where it grows, -1 (all ones) where it shrinks.
    let step = _mm256_or_si256(_mm256_and_si256(grows, one), shrinks);
    _mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_and_si256(step, even)))
}

/// Clears lanes of a mask.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn clear(mask: __m256i, lanes: __m256i) -> __m256i {
    _mm256_andnot_si256(mask, lanes)
}

/// `f16(residual * scale)` with -0 as +0, eight channels: the seed of their accumulators.
pub(in crate::engine::cpu) fn seed_lanes(_: Avx2, residual: &Lanes, scale: &Lanes, out: &mut Lanes) {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn inner(residual: &Lanes, scale: &Lanes, out: &mut Lanes) {
        // Adding +0 turns a -0 into +0 and changes nothing else.
        let product = round(_mm256_mul_ps(widen(residual), widen(scale)));
        store(out, narrow(_mm256_add_ps(product, _mm256_setzero_ps())));
    }
    // SAFETY: the token says that the instructions exist.
    unsafe { inner(residual, scale, out) }
}

/// `a + b`, eight halves.
pub(in crate::engine::cpu) fn add_lanes(_: Avx2, a: &Lanes, b: &Lanes, out: &mut Lanes) {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn inner(a: &Lanes, b: &Lanes, out: &mut Lanes) {
        store(out, narrow(_mm256_add_ps(widen(a), widen(b))));
    }
    // SAFETY: the token says that the instructions exist.
    unsafe { inner(a, b, out) }
}

/// `a * factor`, eight halves.
pub(in crate::engine::cpu) fn scale_lanes(_: Avx2, a: &Lanes, factor: f32, out: &mut Lanes) {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn inner(a: &Lanes, factor: f32, out: &mut Lanes) {
        store(out, narrow(_mm256_mul_ps(widen(a), _mm256_set1_ps(factor))));
    }
    // SAFETY: the token says that the instructions exist.
    unsafe { inner(a, factor, out) }
}

/// The merge: `fma(skip, skip_scale, low)`, where `low` is multiplied by its own scale first if there is one.
pub(in crate::engine::cpu) fn merge_lanes(
    _: Avx2,
    skip: &Lanes,
    skip_scale: &Lanes,
    low: &Lanes,
    low_scale: Option<&Lanes>,
    out: &mut Lanes,
) {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn inner(skip: &Lanes, skip_scale: &Lanes, low: &Lanes, low_scale: Option<&Lanes>, out: &mut Lanes) {
        let low = match low_scale {
            Some(scale) => round(_mm256_mul_ps(widen(low), widen(scale))),
            None => widen(low),
        };
        store(out, narrow(fma(widen(skip), widen(skip_scale), low)));
    }
    // SAFETY: the token says that the instructions exist.
    unsafe { inner(skip, skip_scale, low, low_scale, out) }
}

/// The pool: `((a + b) + (c + d)) * 0.25`, every operation rounded to a half.
pub(in crate::engine::cpu) fn pool_lanes(_: Avx2, [a, b, c, d]: [&Lanes; 4], out: &mut Lanes) {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn inner(a: &Lanes, b: &Lanes, c: &Lanes, d: &Lanes, out: &mut Lanes) {
        let above = round(_mm256_add_ps(widen(a), widen(b)));
        let below = round(_mm256_add_ps(widen(c), widen(d)));
        let sum = round(_mm256_add_ps(above, below));
        store(out, narrow(_mm256_mul_ps(sum, _mm256_set1_ps(0.25))));
    }
    // SAFETY: the token says that the instructions exist.
    unsafe { inner(a, b, c, d, out) }
}

/// Rounds eight singles to halves.
pub(in crate::engine::cpu) fn convert_lanes(_: Avx2, values: &[f32; 8], out: &mut Lanes) {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn inner(values: &[f32; 8], out: &mut Lanes) {
        // SAFETY: 32 bytes are there, at any alignment.
        let values = unsafe { std::arch::x86_64::_mm256_loadu_ps(values.as_ptr()) };
        store(out, narrow(values));
    }
    // SAFETY: the token says that the instructions exist.
    unsafe { inner(values, out) }
}
