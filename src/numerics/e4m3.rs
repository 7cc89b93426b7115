//! E4M3 ("e4m3fn"): the 8-bit format of every published activation and weight.
//!
//! 1 sign, 4 exponent (bias 7) and 3 mantissa bits; largest finite 448 (code `0x7e`), no infinity,
//! subnormal step 2^-9. The codes `0x7f` and `0xff` would be NaN; they never enter arithmetic and decode to a
//! zero of their sign.

use super::f16;
use super::float16::shift_nearest_even;

/// Code of the largest finite magnitude, 448.
pub const MAX_CODE: u8 = 0x7e;
/// Exponent floor: subnormals count at the exponent of the smallest normal, 2^-6.
pub const MIN_EXPONENT: i32 = -6;

/// The value of a code; `0x7f` gives +0 and `0xff` gives -0. Exact in `f32`.
pub fn decode(code: u8) -> f32 {
    let magnitude = code & 0x7f;
    let (exponent, mantissa) = (magnitude >> 3, f32::from(magnitude & 7));
    let value = match (magnitude, exponent) {
        (0x7f, _) => 0.0,
        (_, 0) => mantissa * pow2(-9),
        _ => (8.0 + mantissa) * pow2(i32::from(exponent) - 10),
    };
    if code & 0x80 == 0 { value } else { -value }
}

/// The value of a code as a half: every E4M3 value is one.
pub fn decode_half(code: u8) -> f16 {
    f16::from_f32(decode(code))
}

/// `floor(log2 |x|)` of the value of a code, floored at [`MIN_EXPONENT`]; `None` for a zero (and for a NaN code).
pub fn exponent(code: u8) -> Option<i32> {
    let magnitude = code & 0x7f;
    match magnitude {
        0 | 0x7f => None,
        _ => Some((i32::from(magnitude >> 3) - 7).max(MIN_EXPONENT)),
    }
}

/// The value of a code as a whole number of 2^-9, the format's smallest step.
pub fn steps(code: u8) -> i32 {
    (decode(code) * 512.0) as i32
}

/// Publishes a half: NaN becomes +0 (code `0x00`), zeros keep their sign, everything else is rounded to the
/// nearest code (ties to even), saturating at [`MAX_CODE`] with its sign.
///
/// The `cvt.rn.satfinite.e4m3x2.f16x2` instruction gives `0x7f` for a NaN; it agrees on all other halves.
pub fn publish(h: f16) -> u8 {
    if h.is_nan() {
        return 0;
    }
    let bits = h.to_bits();
    let sign = (bits >> 8) as u8 & 0x80;
    sign | nearest_magnitude(bits & 0x7fff)
}

/// The epilogue of the FP8 GEMM: as [`publish`], but -0 publishes as `0x00`.
/// A negative value that rounds to zero on the E4M3 grid still gives `0x80`.
pub fn publish_gemm(h: f16) -> u8 {
    if h.to_bits() == 0x8000 { 0 } else { publish(h) }
}

/// Rounds the magnitude bits of a half (no NaN) to the nearest E4M3 magnitude code.
fn nearest_magnitude(magnitude: u16) -> u8 {
    // An E4M3 exponent field of 1 is a half's field of 9 (2^-6); below it the grid is 2^-9 = field 6's top.
    let (field, mantissa) = (u32::from(magnitude >> 10), u64::from(magnitude & 0x3ff));
    if field >= 9 {
        // Normal result: drop seven mantissa bits; a carry moves into the exponent by itself.
        let kept = (u64::from(field - 8) << 10) | mantissa;
        return shift_nearest_even(kept, 7).min(u64::from(MAX_CODE)) as u8;
    }
    // Subnormal result: the significand in units of 2^(field - 25), wanted in units of 2^-9.
    let (significand, unit) = if field == 0 { (mantissa, 1) } else { (1024 + mantissa, field) };
    shift_nearest_even(significand, 16 - unit) as u8
}

fn pow2(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nearest code by search over all codes, the slow and obvious way.
    fn nearest_by_search(h: f16) -> u8 {
        let x = f64::from(h.to_f32().abs());
        if x.is_infinite() {
            return MAX_CODE;
        }
        (0..=MAX_CODE)
            .min_by(|&a, &b| {
                let distance = |code: u8| (f64::from(decode(code)) - x).abs();
                distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1)))
            })
            .expect("there are codes")
    }

    #[test]
    fn publication_is_the_nearest_code_for_every_half() {
        for bits in 0..=u16::MAX {
            let h = f16::from_bits(bits);
            let expected = match () {
                () if h.is_nan() => 0,
                () => nearest_by_search(h) | (bits >> 8) as u8 & 0x80,
            };
            assert_eq!(publish(h), expected, "half {bits:#06x}");
            let gemm = if bits == 0x8000 { 0 } else { expected };
            assert_eq!(publish_gemm(h), gemm, "half {bits:#06x}, gemm");
        }
    }

    #[test]
    fn every_code_survives_a_round_trip() {
        for code in (0..=u8::MAX).filter(|c| c & 0x7f != 0x7f) {
            assert_eq!(publish(decode_half(code)), code, "code {code:#04x}");
        }
        assert_eq!((decode(0x7f).to_bits(), decode(0xff).to_bits()), (0, 0x8000_0000), "NaN codes are zeros");
    }

    #[test]
    fn exponent_is_floored_and_absent_for_zeros() {
        assert_eq!(exponent(0x00), None, "zero");
        assert_eq!(exponent(0x01), Some(-6), "smallest subnormal");
        assert_eq!(exponent(0x08), Some(-6), "smallest normal");
        assert_eq!(exponent(0x7e), Some(8), "448");
    }
}
