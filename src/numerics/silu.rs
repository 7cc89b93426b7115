//! The activation `silu`, as five half steps, and its publication.
//!
//! The steps give about 1.79 silu(x): the weights absorb the gain.

use super::{e4m3, f16, float16};
use std::sync::OnceLock;

/// Slope of the outer step: -0.055908203125.
pub const SLOPE: f16 = f16::from_f32_const(-0.055_908_203_125);
/// Offset of the outer step: 0.447265625.
pub const OFFSET: f16 = f16::from_f32_const(0.447_265_625);
/// Constant of the inner step: 0.89453125.
pub const LIFT: f16 = f16::from_f32_const(0.894_531_25);
/// The polynomial sees its argument clamped to +-4.
pub const CLAMP: f32 = 4.0;

/// `silu(x)`: `t = clamp(x)`, `p = fma(SLOPE, |t|, OFFSET)`, `p = fma(t, p, LIFT)`, `y = x * p` with the
/// unclamped `x`. -0 for every `x` of -4 or below.
pub fn silu(x: f16) -> f16 {
    let t = f16::from_f32(x.to_f32().clamp(-CLAMP, CLAMP));
    let magnitude = f16::from_bits(t.to_bits() & 0x7fff);
    let p = float16::fma(SLOPE, magnitude, OFFSET);
    let p = float16::fma(t, p, LIFT);
    float16::mul(x, p)
}

/// Publication of an activation: a zero publishes `0x00` whatever its sign; a negative value that rounds to
/// zero publishes `0x80`. The same rule as the GEMM's epilogue.
pub fn publish(activation: f16) -> u8 {
    e4m3::publish_gemm(activation)
}

/// `publish(silu(x))` for all 65,536 halves, indexed by their bits.
pub fn published_table() -> &'static [u8; 65_536] {
    static TABLE: OnceLock<Box<[u8; 65_536]>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let codes: Vec<u8> = (0..=u16::MAX).map(|bits| publish(silu(f16::from_bits(bits)))).collect();
        codes.into_boxed_slice().try_into().expect("one code for each half")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silu_of_minus_four_and_below_is_minus_zero_and_publishes_plus_zero() {
        for x in [-4.0, -5.5, -1000.0, -65504.0] {
            let y = silu(f16::from_f32(x));
            assert_eq!((y.to_bits(), publish(y)), (0x8000, 0), "silu({x})");
        }
    }

    #[test]
    fn the_polynomial_is_silu_times_a_constant_gain() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            if x.is_finite() && x.to_f32().abs() < 4.0 {
                let exact = 1.789 * x.to_f64() / (1.0 + (-x.to_f64()).exp());
                assert!((silu(x).to_f64() - exact).abs() < 0.15, "silu({x}) is {}", silu(x));
            }
        }
    }

    #[test]
    fn a_negative_activation_that_rounds_to_zero_publishes_minus_zero() {
        let x = f16::from_f32(-2_f32.powi(-12));
        assert_eq!(publish(silu(x)), 0x80, "tiny negative");
    }

    #[test]
    fn double_rounding_inside_never_reaches_the_result() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            let t = f16::from_f32(x.to_f32().clamp(-CLAMP, CLAMP));
            let p = float16::fma_rounded_twice(SLOPE, f16::from_bits(t.to_bits() & 0x7fff), OFFSET);
            let y = float16::mul(x, float16::fma_rounded_twice(t, p, LIFT));
            assert!(y.to_bits() == silu(x).to_bits() || y.is_nan(), "half {bits:#06x}");
        }
    }
}
