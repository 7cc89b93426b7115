//! The events of one element: a function of the half before publication and the code it became.
//!
//! Under the network's own rules the code is a function of the half, so that a table of all 65,536 halves says
//! everything; a pass over a tensor is then one look-up for each element.

use super::{Kind, Kinds};
use crate::numerics::{e4m3, f16, float16, silu};
use std::sync::OnceLock;

/// How a kernel's halves become its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// They are the output.
    Raw,
    /// Published, a -0 keeps its sign.
    Plain,
    /// Published by the FP8 product's epilogue.
    Gemm,
    /// Activated, then published by that epilogue.
    Silu,
}

/// The largest half that does not saturate: a tie between 448 and the code that is NaN's, rounded to even.
const LAST: f32 = 464.0;

/// What happened to one published half.
pub(super) fn published(half: f16, code: u8) -> Kinds {
    let x = half.to_f32();
    Kinds::default()
        .with(Kind::NanToZero, half.is_nan() && code == 0)
        .with(Kind::MinusZero, code == 0x80)
        .with(Kind::Saturation, x.abs() > LAST && code & 0x7f == e4m3::MAX_CODE)
        .with(Kind::Overflow, half.is_infinite())
        .with(Kind::Subnormal, matches!(code & 0x7f, 1..=7))
        .with(Kind::Tie, is_tie(half))
}

/// What happened to one raw half.
pub(super) fn raw(half: f16) -> Kinds {
    let subnormal = half.to_bits() & 0x7c00 == 0 && half.to_bits() & 0x3ff != 0;
    Kinds::default().with(Kind::Overflow, half.is_infinite()).with(Kind::Subnormal, subnormal)
}

/// Whether a half lies in the middle between two codes.
fn is_tie(half: f16) -> bool {
    let x = half.to_f32().abs();
    let Some(exponent) = float16::exponent(half).filter(|_| x <= LAST) else { return false };
    // Codes are whole steps of 2^(e-3); below the smallest normal the step stays.
    let steps = f64::from(x) * f64::from(3 - exponent.max(e4m3::MIN_EXPONENT)).exp2();
    steps.fract() == 0.5
}

/// What the network's own rules make of a half: code and kinds.
pub(super) fn exact(half: f16, finish: Finish) -> (Kinds, u8) {
    match finish {
        Finish::Raw => (raw(half), 0),
        Finish::Plain => (published(half, e4m3::publish(half)), e4m3::publish(half)),
        Finish::Gemm => (published(half, e4m3::publish_gemm(half)), e4m3::publish_gemm(half)),
        Finish::Silu => {
            let y = silu::silu(half);
            (published(y, silu::publish(y)).with(Kind::Overflow, half.is_infinite()), silu::publish(y))
        }
    }
}

/// [`exact`] of every half, by its bits.
pub(super) fn table(finish: Finish) -> &'static [(Kinds, u8)] {
    static TABLES: [OnceLock<Vec<(Kinds, u8)>>; 4] = [const { OnceLock::new() }; 4];
    TABLES[finish as usize].get_or_init(|| (0..=u16::MAX).map(|bits| exact(f16::from_bits(bits), finish)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_the_halves_as_far_from_two_codes() {
        let values: Vec<f64> = (0..=e4m3::MAX_CODE).map(|code| f64::from(e4m3::decode(code))).chain([480.0]).collect();
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            let x = half.to_f64().abs();
            let middle = values.windows(2).any(|pair| f64::midpoint(pair[0], pair[1]) == x);
            assert_eq!(is_tie(half), middle, "half {bits:#06x}");
        }
    }

    #[test]
    fn saturation_is_what_rounding_without_a_bound_would_not_give() {
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            let (kinds, code) = exact(half, Finish::Plain);
            // 480 is where the next code would be, and 464 goes to the even one, 448.
            let beyond = half.to_f32().abs() > 464.0;
            assert_eq!(kinds.contains(Kind::Saturation), beyond, "half {bits:#06x}, code {code:#04x}");
            assert_eq!(kinds.contains(Kind::NanToZero), half.is_nan(), "half {bits:#06x}");
            let subnormal = code & 0x78 == 0 && code & 7 != 0;
            assert_eq!(kinds.contains(Kind::Subnormal), subnormal, "half {bits:#06x}");
        }
    }

    #[test]
    fn minus_zero_is_the_products_only_when_something_was_rounded_away() {
        let minus_zero = |half: f16, finish| exact(half, finish).0.contains(Kind::MinusZero);
        assert!(minus_zero(f16::NEG_ZERO, Finish::Plain), "-0 keeps its sign");
        assert!(!minus_zero(f16::NEG_ZERO, Finish::Gemm), "the product drops it");
        assert!(minus_zero(f16::from_bits(0x8001), Finish::Gemm), "-2^-24 is rounded to -0");
        assert!(!minus_zero(f16::from_f32(-5.0), Finish::Silu), "silu of -4 and below is a zero activation");
    }

    #[test]
    fn an_infinity_is_seen_through_silu() {
        let (kinds, code) = exact(f16::NEG_INFINITY, Finish::Silu);
        assert_eq!(code, 0, "-inf * 0 is NaN");
        assert_eq!(kinds, [Kind::NanToZero, Kind::Overflow].into_iter().collect(), "both are told");
        let (kinds, _) = exact(f16::from_f32(60_000.0), Finish::Silu);
        assert_eq!(kinds, [Kind::Saturation, Kind::Overflow].into_iter().collect(), "the product with 1.79 overflows");
    }
}
