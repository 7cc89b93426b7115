//! The bit-trick exponential, the fixed-order sum and the products behind the published weights, 64 keys at a time.

use super::Avx2;
use super::half::{Lanes, narrow, round, store, widen};
use crate::numerics::exponential::Exponential;
use crate::numerics::softmax::KEYS;
use crate::numerics::{f16, float16};
use std::arch::x86_64::{
    __m256, _mm_add_epi16, _mm_cvtsi32_si128, _mm_set1_epi16, _mm_sll_epi16, _mm256_add_ps, _mm256_cvtph_ps,
    _mm256_max_ps, _mm256_min_ps, _mm256_mul_ps, _mm256_set1_ps,
};

/// Exponentials of 64 scores (as bits, in place), and their sum in the fixed order.
pub(in crate::engine::cpu) fn exponentials(_: Avx2, by: &Exponential, scores: &mut [u16; KEYS]) -> f16 {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn inner(by: &Exponential, scores: &mut [u16; KEYS]) -> f16 {
        let (vectors, _) = scores.as_chunks_mut::<8>();
        let mut e = [_mm256_set1_ps(0.0); 8];
        for (lanes, e) in vectors.iter_mut().zip(&mut e) {
            *e = exponential(by, lanes);
        }
        f16::from_bits(sum(&e))
    }
    // SAFETY: the token says that the instructions exist.
    unsafe { inner(by, scores) }
}

/// `e * f16(1 / total)`, rounded to halves in place: what the window blocks publish as weights.
pub(in crate::engine::cpu) fn divide(_: Avx2, exponentials: &mut [u16; KEYS], total: f16) {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn inner(exponentials: &mut [u16; KEYS], reciprocal: f32) {
        for lanes in exponentials.as_chunks_mut::<8>().0 {
            let product = _mm256_mul_ps(widen(lanes), _mm256_set1_ps(reciprocal));
            store(lanes, narrow(product));
        }
    }
    // SAFETY: the token says that the instructions exist.
    unsafe { inner(exponentials, float16::reciprocal(total).to_f32()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn exponential(by: &Exponential, lanes: &mut Lanes) -> __m256 {
    // Product and sum are two single operations, as in the text; the product is exact.
    let product = _mm256_mul_ps(widen(lanes), _mm256_set1_ps(by.slope));
    let x = round(_mm256_add_ps(product, _mm256_set1_ps(by.offset)));
    // A NaN takes the second operand: the lower clamp.
    let x = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(by.low)), _mm256_set1_ps(by.high));
    let shifted = _mm_sll_epi16(narrow(x), _mm_cvtsi32_si128(by.shift as i32));
    let bits = _mm_add_epi16(shifted, _mm_set1_epi16(by.bias as i16));
    store(lanes, bits);
    _mm256_cvtph_ps(bits)
}

/// The 63 half adds of [`crate::numerics::softmax::tree`]: lane g of vector i is key `8 i + g`.
#[target_feature(enable = "avx2,fma,f16c")]
fn sum(e: &[__m256; 8]) -> u16 {
    let add = |a: __m256, b: __m256| round(_mm256_add_ps(a, b));
    let mut lanes = add(e[0], e[1]);
    for j in 1..4 {
        lanes = add(lanes, add(e[2 * j], e[2 * j + 1]));
    }
    let mut t: Lanes = [0; 8];
    store(&mut t, narrow(lanes));
    let t = t.map(f16::from_bits);
    let chain = |first: usize| [2, 4, 6].iter().fold(t[first], |sum, k| float16::add(sum, t[first + k]));
    float16::add(chain(0), chain(1)).to_bits()
}
