//! Publication under changed rules.

use crate::numerics::rules::{Publication, RawBits};
use crate::numerics::{Rules, e4m3, f16};

/// Whose rule for -0 holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Epilogue {
    /// The FP8 GEMM's: -0 publishes as +0.
    Gemm,
    /// Everybody else's: -0 keeps its sign.
    Plain,
}

/// How a magnitude between two codes is rounded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Even,
    Zero,
    Away,
}

/// An 8-bit float format.
#[derive(Clone, Copy)]
struct Format {
    mantissa: i32,
    bias: i32,
    max: u8,
}

const E4M3: Format = Format { mantissa: 3, bias: 7, max: e4m3::MAX_CODE };
const FNUZ: Format = Format { mantissa: 3, bias: 8, max: 0x7f };
const E5M2: Format = Format { mantissa: 2, bias: 15, max: 0x7b };

/// The code of a half result; `wide` is the value before it was rounded to that half.
pub(crate) fn publish(half: f16, wide: f64, epilogue: Epilogue, rules: &Rules) -> u8 {
    let exact = || match epilogue {
        Epilogue::Gemm => e4m3::publish_gemm(half),
        Epilogue::Plain => e4m3::publish(half),
    };
    let special = half.is_nan() || half.to_f32() == 0.0;
    let x = half.to_f64();
    match rules.publication {
        Publication::Nearest => exact(),
        Publication::NanKept if half.is_nan() => 0x7f,
        Publication::NanKept => exact(),
        Publication::PlusZero if exact() == 0x80 => 0,
        Publication::PlusZero => exact(),
        Publication::MinusZero => e4m3::publish(half),
        Publication::Unsaturated if half.is_infinite() || x.abs() >= 464.0 => 0x7f | exact() & 0x80,
        Publication::Unsaturated => exact(),
        Publication::Flushed if exact() & 0x78 == 0 => exact() & 0x80,
        Publication::Flushed => exact(),
        Publication::TowardZero if !special => nearest(x, E4M3, Rounding::Zero),
        Publication::TiesAway if !special => nearest(x, E4M3, Rounding::Away),
        Publication::FromSingle if !special && wide != 0.0 => nearest(wide, E4M3, Rounding::Even),
        Publication::TowardZero | Publication::TiesAway | Publication::FromSingle => exact(),
        // "fnuz" has one zero; 0x80 is its NaN and never published.
        Publication::Fnuz if special => 0,
        Publication::Fnuz => Some(nearest(x, FNUZ, Rounding::Even)).filter(|&code| code != 0x80).unwrap_or(0),
        Publication::E5m2 if special => exact(),
        Publication::E5m2 => nearest(x, E5M2, Rounding::Even),
    }
}

/// The nearest code of a format to a value that is neither zero nor NaN, saturating.
fn nearest(x: f64, format: Format, rounding: Rounding) -> u8 {
    let sign = if x < 0.0 { 0x80 } else { 0 };
    if x.is_infinite() {
        return sign | format.max;
    }
    let exponent = (((x.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(1 - format.bias);
    let steps = x.abs() / f64::from(exponent - format.mantissa).exp2();
    let floor = steps.floor();
    let rest = steps - floor;
    let up = match rounding {
        Rounding::Even => rest > 0.5 || (rest == 0.5 && floor % 2.0 == 1.0),
        Rounding::Zero => false,
        Rounding::Away => rest >= 0.5,
    };
    // Steps count from the format's zero: a carry moves into the exponent by itself.
    let code = ((exponent + format.bias - 1) << format.mantissa) + floor as i32 + i32::from(up);
    sign | code.min(i32::from(format.max)) as u8
}

/// The two bytes of a raw half output.
pub(crate) fn raw_bytes(half: f16, rules: &Rules) -> [u8; 2] {
    match rules.raw {
        RawBits::Half => half.to_le_bytes(),
        RawBits::Bfloat16 => half::bf16::from_f32(half.to_f32()).to_le_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_general_rounding_gives_the_definitions_codes() {
        for bits in 0..=u16::MAX {
            let h = f16::from_bits(bits);
            if !h.is_nan() && h.to_f32() != 0.0 {
                assert_eq!(nearest(h.to_f64(), E4M3, Rounding::Even), e4m3::publish(h), "half {bits:#06x}");
            }
        }
    }

    #[test]
    fn a_value_near_a_tie_shows_the_double_rounding() {
        let wide = 1.062_5 + 1e-5;
        let rules = Rules { publication: Publication::FromSingle, ..Rules::EXACT };
        let half = f16::from_f64(wide);
        assert_eq!(publish(half, wide, Epilogue::Plain, &Rules::EXACT), 0x38, "through the half: a tie, to even");
        assert_eq!(publish(half, wide, Epilogue::Plain, &rules), 0x39, "straight");
    }
}
