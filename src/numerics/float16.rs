//! Half operations: each takes halves, computes the exact result and rounds it once to the nearest half.
//!
//! Sum, product and quotient of two halves may be computed in `f32` first: 24 bits are at least twice 11 plus
//! 2, so the second rounding is innocent. A fused multiply-add is not so lucky; see [`fma`].

use super::f16;

/// `f16(a + b)`.
pub fn add(a: f16, b: f16) -> f16 {
    f16::from_f32(a.to_f32() + b.to_f32())
}

/// `f16(a * b)`.
pub fn mul(a: f16, b: f16) -> f16 {
    f16::from_f32(a.to_f32() * b.to_f32())
}

/// `f16(a * b + c)`, one rounding of the exact value.
///
/// The product of two halves is exact in `f64`; their sum with `c` may not be, so it is rounded to odd (a
/// sticky last bit) before the final rounding, which then sees on which side of a tie the exact value lies.
pub fn fma(a: f16, b: f16, c: f16) -> f16 {
    let (product, c) = (a.to_f64() * b.to_f64(), c.to_f64());
    let sum = product + c;
    // Knuth's two-sum: `error` is exactly what the rounding of `sum` lost.
    let back = sum - product;
    let error = (product - (sum - back)) + (c - back);
    from_f64(to_odd(sum, error))
}

/// The cheap spelling of [`fma`]: product exact in `f32`, sum rounded to `f32`, then to half. It rounds twice
/// and differs rarely (cause P3); never used by the exact rules.
pub fn fma_rounded_twice(a: f16, b: f16, c: f16) -> f16 {
    f16::from_f32(a.to_f32() * b.to_f32() + c.to_f32())
}

/// `f16(1 / x)`, the quotient in `f32`. Zero gives infinity.
pub fn reciprocal(x: f16) -> f16 {
    f16::from_f32(1.0 / x.to_f32())
}

/// `f16(1 / sqrt(x))`, root and quotient in `f32`. Zero gives infinity.
pub fn reciprocal_sqrt(x: f16) -> f16 {
    f16::from_f32(1.0 / x.to_f32().sqrt())
}

/// `floor(log2 |x|)` of a finite non-zero half, subnormals counted at -14; `None` for zeros.
pub fn exponent(x: f16) -> Option<i32> {
    let field = i32::from((x.to_bits() >> 10) & 0x1f);
    (x.to_bits() & 0x7fff != 0).then(|| field.max(1) - 15)
}

/// The nearest half of a double, rounded once. (`half::f16::from_f64` goes through `f32` where the processor
/// converts halves, and so rounds twice.)
pub fn from_f64(x: f64) -> f16 {
    let field = (x.to_bits() >> 52 & 0x7ff) as i32;
    if !x.is_finite() || x == 0.0 || field == 0 {
        // Doubles below 2^-1022 are zeros here; the conversion through `f32` keeps sign, infinity and NaN.
        return f16::from_f32(x as f32);
    }
    let magnitude = (x.to_bits() & ((1 << 52) - 1) | 1 << 52) as i64;
    let half = from_units(magnitude, field - 1075);
    if x < 0.0 { -half } else { half }
}

/// `units * 2^exponent` rounded once to the nearest half, ties to even, overflow to infinity. Zero gives +0.
pub fn from_units(units: i64, exponent: i32) -> f16 {
    if units == 0 {
        return f16::ZERO;
    }
    let sign = if units < 0 { 0x8000 } else { 0 };
    let magnitude = units.unsigned_abs();
    // Exponent of the value, then of the half grid's unit there (never below 2^-24, the subnormal step).
    let top = 63 - magnitude.leading_zeros() as i32 + exponent;
    let unit = (top - 10).max(-24);
    let shift = unit - exponent;
    let steps = if shift <= 0 { magnitude << -shift } else { shift_nearest_even(magnitude, shift as u32) };
    // `steps` counts units; 2048 of them means the rounding carried into the next exponent.
    let bits = if unit == -24 { steps } else { ((unit + 24) as u64 * 1024) + steps };
    f16::from_bits(sign | bits.min(0x7c00) as u16)
}

/// `value / 2^shift` to the nearest whole number, ties to the even one. `shift` is at least 1.
pub(super) fn shift_nearest_even(value: u64, shift: u32) -> u64 {
    if shift > 63 {
        return 0;
    }
    let (floor, rest) = (value >> shift, value & ((1 << shift) - 1));
    let half = 1 << (shift - 1);
    floor + u64::from(rest > half || (rest == half && floor & 1 == 1))
}

/// `sum` with its last bit made sticky: if rounding lost something, the neighbour with an odd last bit.
fn to_odd(sum: f64, error: f64) -> f64 {
    if !sum.is_finite() || error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let grows = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if grows { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A half as a whole number of 2^-24.
    fn steps(x: f16) -> i128 {
        (x.to_f64() * f64::from(1 << 24)) as i128
    }

    /// The nearest half by bisection over the ordered positive halves, ties to the even one.
    fn nearest_by_search(x: f64) -> f16 {
        let (mut low, mut high) = (0_u16, 0x7c00);
        let value = |bits: u16| if bits == 0x7c00 { 65_536.0 } else { f16::from_bits(bits).to_f64() };
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if value(middle) <= x.abs() { low = middle } else { high = middle }
        }
        let (below, above) = (x.abs() - value(low), value(high) - x.abs());
        let bits = if below < above || (below == above && low & 1 == 0) { low } else { high };
        f16::from_bits(if x < 0.0 { bits | 0x8000 } else { bits })
    }

    fn finite() -> impl Iterator<Item = f16> {
        (0..=u16::MAX).map(f16::from_bits).filter(|x| x.is_finite())
    }

    #[test]
    fn from_units_reproduces_every_finite_half() {
        for x in finite() {
            let expected = if x.to_f32() == 0.0 { f16::ZERO } else { x };
            assert_eq!(from_units(steps(x) as i64, -24).to_bits(), expected.to_bits(), "half {x:?}");
        }
    }

    #[test]
    fn from_units_rounds_to_nearest_even_like_f64_conversion() {
        let mut state = 0x9e37_79b9_u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let units = (state >> 33) as i64 - (1 << 30);
            let exponent = ((state >> 20) % 50) as i32 - 42;
            let exact = units as f64 * 2_f64.powi(exponent);
            let expected = if units == 0 { f16::ZERO } else { nearest_by_search(exact) };
            assert_eq!(from_units(units, exponent).to_bits(), expected.to_bits(), "{units} * 2^{exponent}");
        }
    }

    #[test]
    fn fma_rounds_the_exact_value_once() {
        let mut state = 1_u64;
        let mut differs = 0;
        for _ in 0..400_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let [a, b, c] = [16, 32, 48].map(|s| f16::from_bits((state >> s) as u16));
            if ![a, b, c].iter().all(|x| x.is_finite()) {
                continue;
            }
            // Exact in units of 2^-48, then rounded once.
            let exact = steps(a) * steps(b) + (steps(c) << 24);
            let Ok(units) = i64::try_from(exact) else { continue };
            if units != 0 {
                assert_eq!(fma(a, b, c).to_bits(), from_units(units, -48).to_bits(), "{a:?} * {b:?} + {c:?}");
            }
            differs += usize::from(fma(a, b, c) != fma_rounded_twice(a, b, c));
        }
        assert!(differs > 0, "the cheap spelling differs somewhere in the sample");
    }

    #[test]
    fn the_two_spellings_differ_where_the_text_says() {
        let v = f16::from_f32(1.96875);
        let c = f16::from_f32(2_f32.powi(-24));
        assert_eq!(fma(v, v, c).to_f32(), 3.876_953_1, "exact");
        assert_eq!(fma_rounded_twice(v, v, c).to_f32(), 3.875, "cheap");
    }
}
