//! Cosine normalization of one head: lengths, products; publication happens outside, by table.

use super::Avx2;
use super::half::{Lanes, fma, narrow, round, store, widen};
use crate::numerics::cosine::{HEAD, SQRT_HEAD};
use crate::numerics::{f16, float16};
use crate::plan::ops::NormalizeKind;
use std::arch::x86_64::{__m256, _mm256_add_ps, _mm256_mul_ps, _mm256_set1_ps};

/// Multiplies a head's q and k (96 halves as bits: q, k, v) by their reciprocal lengths and scales, in place.
pub(in crate::engine::cpu) fn normalize(_: Avx2, head: &mut [u16; 3 * HEAD], kind: NormalizeKind, scale: f16) {
    #[target_feature(enable = "avx2,fma,f16c")]
    fn inner(head: &mut [u16; 3 * HEAD], kind: NormalizeKind, scale: f16) {
        let (vectors, _) = head.as_chunks_mut::<8>();
        let (q, rest) = vectors.split_at_mut(4);
        match kind {
            NormalizeKind::Window => multiply(q, &[reciprocal_length(q), scale]),
            NormalizeKind::Vit => multiply(q, &[reciprocal_length(q), SQRT_HEAD, scale]),
        }
        let k = &mut rest[..4];
        multiply(k, &[reciprocal_length(k)]);
    }
    // SAFETY: the token says that the instructions exist.
    unsafe { inner(head, kind, scale) }
}

/// Every lane times each factor in turn, rounded to a half after each.
#[target_feature(enable = "avx2,fma,f16c")]
fn multiply(vectors: &mut [Lanes], factors: &[f16]) {
    for lanes in vectors {
        let mut x = widen(lanes);
        for factor in factors {
            x = round(_mm256_mul_ps(x, _mm256_set1_ps(factor.to_f32())));
        }
        store(lanes, narrow(x));
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn reciprocal_length(v: &[Lanes]) -> f16 {
    let square = |low: __m256, high: __m256| fma(low, low, round(_mm256_mul_ps(high, high)));
    let (first, second) = (square(widen(&v[0]), widen(&v[2])), square(widen(&v[1]), widen(&v[3])));
    // Stride 8 meets the two vectors; the smaller strides meet lanes.
    let mut r: Lanes = [0; 8];
    store(&mut r, narrow(_mm256_add_ps(first, second)));
    let mut r = r.map(f16::from_bits);
    for stride in [4, 2, 1] {
        for c in 0..stride {
            r[c] = float16::add(r[c], r[c + stride]);
        }
    }
    float16::reciprocal_sqrt(r[0])
}
