//! AVX2 with fused multiply-add and half conversions: eight singles in a register.
#![expect(unsafe_code, reason = "intrinsics, and one assembly loop, behind safe methods")]
#![cfg_attr(not(test), expect(clippy::wildcard_imports, reason = "intrinsics; not checked in test builds"))]
#![expect(clippy::needless_range_loop, reason = "k and rows index several arrays, as in the text")]

mod group;
mod group_half;

use super::half_columns::HalfColumns;
use super::panel::{COLUMNS, GROUP, Panel, Tile, WHOLE, ZERO_EXPONENT};
use super::{Kernel, Simd};
use crate::numerics::f16;
use core::arch::x86_64::*;

/// The instructions of this level. Never leaves this folder but as a type, through [`enter`].
#[derive(Clone, Copy)]
pub(super) struct Avx2;

/// Runs a kernel with AVX2 switched on.
pub(super) fn enter<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: an engine of this level is only made where `Level::is_available` saw AVX2, FMA and F16C.
    unsafe { entered(kernel) }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn entered<K: Kernel>(kernel: K) -> K::Output {
    kernel.call::<Avx2>()
}

/// One intrinsic, or a few that make one operation.
macro_rules! vector {
    ($($body:tt)*) => {
        // SAFETY: code that is generic over `Simd` runs with `Avx2` only below `enter`; loads and stores go
        // through references to whole arrays and need no alignment.
        unsafe { $($body)* }
    };
}

impl Simd for Avx2 {
    type V = __m256;

    #[inline(always)]
    fn splat(x: f32) -> __m256 {
        vector!(_mm256_set1_ps(x))
    }

    #[inline(always)]
    fn singles(x: &[f32; 8]) -> __m256 {
        vector!(_mm256_loadu_ps(x.as_ptr()))
    }

    #[inline(always)]
    fn to_singles(v: __m256) -> [f32; 8] {
        let mut out = [0.0; 8];
        vector!(_mm256_storeu_ps(out.as_mut_ptr(), v));
        out
    }

    #[inline(always)]
    fn halves(x: &[u16; 8]) -> __m256 {
        vector!(_mm256_cvtph_ps(_mm_loadu_si128(x.as_ptr().cast())))
    }

    #[inline(always)]
    fn to_halves(v: __m256) -> [u16; 8] {
        let mut out = [0; 8];
        vector!(_mm_storeu_si128(out.as_mut_ptr().cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v)));
        out
    }

    /// A code's low seven bits, shifted by seven, are a half 2^-8 times its value.
    #[inline(always)]
    fn codes(x: [u8; 8]) -> __m256 {
        vector!({
            let code = _mm_cvtepu8_epi16(_mm_loadl_epi64(x.as_ptr().cast()));
            let magnitude = _mm_and_si128(code, _mm_set1_epi16(0x7f));
            let number = _mm_andnot_si128(_mm_cmpeq_epi16(magnitude, _mm_set1_epi16(0x7f)), magnitude);
            let sign = _mm_slli_epi16::<8>(_mm_and_si128(code, _mm_set1_epi16(0x80)));
            let half = _mm_or_si128(_mm_slli_epi16::<7>(number), sign);
            _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(256.0))
        })
    }

    #[inline(always)]
    fn add(a: __m256, b: __m256) -> __m256 {
        vector!(_mm256_add_ps(a, b))
    }

    #[inline(always)]
    fn mul(a: __m256, b: __m256) -> __m256 {
        vector!(_mm256_mul_ps(a, b))
    }

    #[inline(always)]
    fn div(a: __m256, b: __m256) -> __m256 {
        vector!(_mm256_div_ps(a, b))
    }

    #[inline(always)]
    fn sqrt(a: __m256) -> __m256 {
        vector!(_mm256_sqrt_ps(a))
    }

    #[inline(always)]
    fn abs(a: __m256) -> __m256 {
        vector!(_mm256_andnot_ps(_mm256_set1_ps(-0.0), a))
    }

    #[inline(always)]
    fn min(a: __m256, b: __m256) -> __m256 {
        vector!(_mm256_min_ps(a, b))
    }

    #[inline(always)]
    fn max(a: __m256, b: __m256) -> __m256 {
        vector!(_mm256_max_ps(a, b))
    }

    #[inline(always)]
    fn round(v: __m256) -> __m256 {
        vector!(_mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v)))
    }

    /// The product is exact in singles; Knuth's two-sum finds what the sum's rounding lost, and the sum is moved to
    /// its neighbour toward zero if need be and made odd, so that the second rounding cannot err.
    #[inline(always)]
    fn fma_once(a: __m256, b: __m256, c: __m256) -> __m256 {
        vector!({
            let product = _mm256_mul_ps(a, b);
            let sum = _mm256_add_ps(product, c);
            let back = _mm256_sub_ps(sum, product);
            let error = _mm256_add_ps(_mm256_sub_ps(product, _mm256_sub_ps(sum, back)), _mm256_sub_ps(c, back));
            // An infinite sum has a NaN error and stays.
            let lost = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_NEQ_OQ>(error, _mm256_setzero_ps()));
            let opposed = _mm256_srai_epi32::<31>(_mm256_castps_si256(_mm256_xor_ps(error, sum)));
            let truncated = _mm256_add_epi32(_mm256_castps_si256(sum), _mm256_and_si256(opposed, lost));
            let odd = _mm256_or_si256(truncated, _mm256_srli_epi32::<31>(lost));
            Self::round(_mm256_castsi256_ps(odd))
        })
    }

    #[inline(always)]
    fn publish(v: [__m256; 4]) -> [u8; COLUMNS] {
        vector!(pack(v.map(|x| code::<_CMP_ORD_Q>(x))))
    }

    #[inline(always)]
    fn publish_gemm(v: [__m256; 4]) -> [u8; COLUMNS] {
        vector!(pack(v.map(|x| code::<_CMP_NEQ_OQ>(x))))
    }

    #[inline(always)]
    fn expand(codes: &[[u8; COLUMNS]; GROUP], panel: &mut Panel) {
        vector!(expand(codes, panel));
    }

    #[inline(always)]
    fn group(rows: &[&[u8]], k: usize, panel: &Panel, tile: &mut Tile) {
        vector!(group::group(rows, k, panel, tile));
    }

    #[inline(always)]
    fn group_half(a: &[f16; 8], b: &[HalfColumns; 8], sums: [u16; 8]) -> [u16; 8] {
        vector!(group_half::group_half(a, b, sums))
    }
}

/// The E4M3 codes of eight halves, in the low bytes of eight lanes; 0 where the comparison with 0 fails.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn code<const KEEP: i32>(v: __m256) -> __m256i {
    let bits = _mm256_castps_si256(v);
    let magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fff_ffff));
    // Normal: three mantissa bits, to nearest even; the exponent fields are 120 apart.
    let odd = _mm256_and_si256(_mm256_srli_epi32::<20>(magnitude), _mm256_set1_epi32(1));
    let carried = _mm256_add_epi32(_mm256_add_epi32(magnitude, _mm256_set1_epi32(0x7_ffff)), odd);
    let normal = _mm256_sub_epi32(_mm256_srli_epi32::<20>(carried), _mm256_set1_epi32(120 << 3));
    // Subnormal: adding 2^14 rounds to its unit, 2^-9.
    let moved = _mm256_add_ps(_mm256_castsi256_ps(magnitude), _mm256_set1_ps(16_384.0));
    let subnormal = _mm256_sub_epi32(_mm256_castps_si256(moved), _mm256_set1_epi32(16_384.0_f32.to_bits() as i32));
    let small = _mm256_cmpgt_epi32(_mm256_set1_epi32((127 - 6) << 23), magnitude);
    let code = _mm256_blendv_epi8(_mm256_min_epi32(normal, _mm256_set1_epi32(0x7e)), subnormal, small);
    let sign = _mm256_and_si256(_mm256_srli_epi32::<24>(bits), _mm256_set1_epi32(0x80));
    let keep = _mm256_castps_si256(_mm256_cmp_ps::<KEEP>(v, _mm256_setzero_ps()));
    _mm256_and_si256(_mm256_or_si256(code, sign), keep)
}

/// The low bytes of 32 lanes, in order.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn pack(v: [__m256i; 4]) -> [u8; COLUMNS] {
    let (low, high) = (_mm256_packus_epi32(v[0], v[1]), _mm256_packus_epi32(v[2], v[3]));
    let mixed = _mm256_packus_epi16(low, high);
    let ordered = _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    let mut out = [0; COLUMNS];
    // SAFETY: `out` has 32 bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), ordered) };
    out
}

#[inline]
#[target_feature(enable = "avx2")]
fn load<T>(x: &[T; 32]) -> __m256i {
    const { assert!(size_of::<T>() == 1, "32 bytes") };
    // SAFETY: `x` has 32 bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(x: &mut [i8; 32], v: __m256i) {
    // SAFETY: `x` has 32 bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(x.as_mut_ptr().cast(), v) }
}

/// Values, exponents and lowest bits of sixteen rows, 32 codes at a time.
#[target_feature(enable = "avx2,fma,f16c")]
fn expand(codes: &[[u8; COLUMNS]; GROUP], panel: &mut Panel) {
    let bytes = |x: i8| _mm256_set1_epi8(x);
    // Trailing zeros of a significand by its low four bits: the exponent's last bit among them says nothing.
    let zeros = _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0));
    for (k, row) in codes.iter().enumerate() {
        let code = load(row);
        let magnitude = _mm256_and_si256(code, bytes(0x7f));
        let zero = _mm256_or_si256(
            _mm256_cmpeq_epi8(magnitude, _mm256_setzero_si256()),
            _mm256_cmpeq_epi8(magnitude, bytes(0x7f)),
        );
        let field = _mm256_and_si256(_mm256_srli_epi16::<3>(code), bytes(0x0f));
        let field = _mm256_max_epu8(field, bytes(1));
        let exponent = _mm256_blendv_epi8(_mm256_add_epi8(field, bytes(1)), bytes(ZERO_EXPONENT), zero);
        store(&mut panel.exponents[k], exponent);
        let low = _mm256_shuffle_epi8(zeros, _mm256_and_si256(code, bytes(0x0f)));
        let lowest = _mm256_add_epi8(_mm256_add_epi8(field, bytes(9)), low);
        let negative = _mm256_blendv_epi8(bytes(WHOLE), lowest, _mm256_andnot_si256(zero, code));
        let positive = _mm256_blendv_epi8(lowest, bytes(WHOLE), _mm256_or_si256(zero, code));
        store(&mut panel.lowest[0][k], negative);
        store(&mut panel.lowest[1][k], positive);
        let number = _mm256_andnot_si256(zero, code);
        let halves = [_mm256_castsi256_si128(number), _mm256_extracti128_si256::<1>(number)].map(|codes| {
            let wide = _mm256_cvtepu8_epi16(codes);
            let magnitude = _mm256_and_si256(_mm256_slli_epi16::<7>(wide), _mm256_set1_epi16(0x3f80));
            let sign = _mm256_and_si256(_mm256_slli_epi16::<8>(wide), _mm256_set1_epi16(-0x8000));
            _mm256_or_si256(magnitude, sign)
        });
        let quarters = halves.map(|h| [_mm256_castsi256_si128(h), _mm256_extracti128_si256::<1>(h)]);
        for (values, half) in panel.values[k].as_chunks_mut::<8>().0.iter_mut().zip(quarters.as_flattened()) {
            let v = _mm256_mul_ps(_mm256_cvtph_ps(*half), _mm256_set1_ps(256.0));
            // SAFETY: `values` has 8 singles; the store needs no alignment.
            unsafe { _mm256_storeu_ps(values.as_mut_ptr(), v) };
        }
    }
}
