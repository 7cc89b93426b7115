//! FDPA: the fixed-point dot-product-accumulate of a tensor core, as an exact integer sum.
//!
//! All terms of a group are aligned to one shared exponent, truncated toward zero one by one, summed exactly
//! and rounded once to a half. The shared exponent uses the *sum of the operand exponents*, which can be one
//! below the exponent of the product.

use super::{e4m3, f16, float16};
use std::sync::LazyLock;

/// Products in one FP8 group.
pub const GROUP_FP8: usize = 16;
/// Products in one f16 group.
pub const GROUP_F16: usize = 8;
/// Fractional bits of the FP8 sum ("F13").
pub const FRACTION_FP8: i32 = 13;
/// Fractional bits of the f16 sum ("F24").
pub const FRACTION_F16: i32 = 24;
/// The exponent that a zero accumulator contributes.
pub const ZERO_EXPONENT: i32 = -21;

/// One operand of a product: an exact value as `significand * 2^scale`, and the exponent it is aligned by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Signed whole number of `2^scale`.
    pub significand: i32,
    /// Power of two of the significand's unit.
    pub scale: i32,
    /// `floor(log2 |x|)` with the format's floor; `None` for a zero.
    pub exponent: Option<i32>,
}

impl Operand {
    /// An E4M3 code.
    pub fn from_e4m3(code: u8) -> Self {
        Self { significand: e4m3::steps(code), scale: -9, exponent: e4m3::exponent(code) }
    }

    /// A finite half.
    pub fn from_half(x: f16) -> Self {
        let bits = x.to_bits();
        let (field, mantissa) = (i32::from((bits >> 10) & 0x1f), i32::from(bits & 0x3ff));
        let magnitude = if field == 0 { mantissa } else { 1024 + mantissa };
        let significand = if bits & 0x8000 == 0 { magnitude } else { -magnitude };
        Self { significand, scale: field.max(1) - 25, exponent: float16::exponent(x) }
    }
}

/// A group's sum before its rounding: `units * 2^(shared - fraction)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The shared exponent E.
    pub shared: i32,
    /// The accumulator's truncated term, in units.
    pub accumulator: i64,
    /// Each product's truncated term, in units.
    pub terms: Vec<i64>,
    /// Exact sum of the accumulator and all terms, in units.
    pub units: i64,
    /// `units * 2^(shared - fraction)`, rounded once.
    pub result: f16,
}

/// Aligns, truncates, sums and rounds one group of products onto a finite accumulator.
///
/// `fraction` is the number of fractional bits kept below the shared exponent (13 for FP8, 24 for f16).
pub fn group(pairs: impl Iterator<Item = (Operand, Operand)> + Clone, accumulator: f16, fraction: i32) -> Group {
    let products = pairs.clone().filter_map(|(a, b)| Some(a.exponent? + b.exponent?));
    let start = float16::exponent(accumulator).unwrap_or(ZERO_EXPONENT);
    let shared = products.fold(start, i32::max);
    let unit = shared - fraction;
    let acc = Operand::from_half(accumulator);
    let accumulator = truncate(i64::from(acc.significand), acc.scale - unit);
    let terms: Vec<i64> = pairs
        .map(|(a, b)| truncate(i64::from(a.significand) * i64::from(b.significand), a.scale + b.scale - unit))
        .collect();
    let units = accumulator + terms.iter().sum::<i64>();
    Group { shared, accumulator, terms, units, result: float16::from_units(units, unit) }
}

/// `trunc(value * 2^shift)`, toward zero.
pub fn truncate(value: i64, shift: i32) -> i64 {
    match shift {
        0.. => value << shift,
        -62..=-1 => value / (1 << -shift),
        _ => 0,
    }
}

/// 16 E4M3 products into one half, "F13". A non-finite accumulator passes through unchanged.
///
/// The same sum as [`group`] over [`Operand::from_e4m3`], in plain integers and without a list of terms.
pub fn fdpa_fp8(a: &[u8], b: &[u8], accumulator: f16) -> f16 {
    if !accumulator.is_finite() {
        return accumulator;
    }
    let pairs = || a.iter().zip(b).map(|(&a, &b)| (CODES[usize::from(a)], CODES[usize::from(b)]));
    let mut shared = float16::exponent(accumulator).unwrap_or(ZERO_EXPONENT);
    for ((a, a_exponent), (b, b_exponent)) in pairs() {
        if a != 0 && b != 0 {
            shared = shared.max(a_exponent + b_exponent);
        }
    }
    let unit = shared - FRACTION_FP8;
    let acc = Operand::from_half(accumulator);
    let mut units = truncate(i64::from(acc.significand), acc.scale - unit);
    for ((a, _), (b, _)) in pairs() {
        units += truncate(i64::from(a) * i64::from(b), -18 - unit);
    }
    float16::from_units(units, unit)
}

/// Every code as a whole number of 2^-9, and its exponent.
static CODES: LazyLock<[(i32, i32); 256]> =
    LazyLock::new(|| std::array::from_fn(|c| (e4m3::steps(c as u8), e4m3::exponent(c as u8).unwrap_or(0))));

/// 8 f16 products into one half, "F24". A non-finite accumulator passes through unchanged.
pub fn fdpa_f16(a: &[f16], b: &[f16], accumulator: f16) -> f16 {
    if !accumulator.is_finite() {
        return accumulator;
    }
    let pairs = a.iter().zip(b).map(|(&a, &b)| (Operand::from_half(a), Operand::from_half(b)));
    group(pairs, accumulator, FRACTION_F16).result
}

/// A whole dot product over E4M3 operands: groups of 16 in K order, each group's result the next accumulator.
pub fn dot_fp8(a: &[u8], b: &[u8], seed: f16) -> f16 {
    a.chunks(GROUP_FP8).zip(b.chunks(GROUP_FP8)).fold(seed, |acc, (a, b)| fdpa_fp8(a, b, acc))
}

/// A whole dot product over halves: groups of 8 in K order.
pub fn dot_f16(a: &[f16], b: &[f16], seed: f16) -> f16 {
    a.chunks(GROUP_F16).zip(b.chunks(GROUP_F16)).fold(seed, |acc, (a, b)| fdpa_f16(a, b, acc))
}

/// The seed of an accumulator: `f16(residual * scale)`, with -0 used as +0.
pub fn seed(residual: f16, scale: f16) -> f16 {
    let product = float16::mul(residual, scale);
    if product.to_bits() == 0x8000 { f16::ZERO } else { product }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pairs_of_codes_alone_in_a_group_are_their_rounded_product() {
        for a in 0..=u8::MAX {
            for b in 0..=u8::MAX {
                let got = fdpa_fp8(&[a], &[b], f16::ZERO);
                // One product has at most 8 significant bits: nothing is lost to a half but deep subnormals,
                // whose grid (2^-24) is coarser than the product's 2^-18 only in theory.
                let exact = f16::from_f32(e4m3::decode(a) * e4m3::decode(b));
                let expected = if exact.to_f32() == 0.0 { f16::ZERO } else { exact };
                assert_eq!(got.to_bits(), expected.to_bits(), "{a:#04x} * {b:#04x}");
            }
        }
    }

    #[test]
    fn small_terms_are_truncated_one_by_one() {
        // 1 * 1 sets E = 0, unit 2^-13; fifteen products of 2^-14 * 1.75 each vanish although together they are 26 units.
        let one = 0x38;
        let tiny = 0x07; // 7 * 2^-9
        let small = 0x02; // 2 * 2^-9: 14 * 2^-18 is below 2^-13
        let (mut a, mut b) = ([tiny; 16], [small; 16]);
        (a[0], b[0]) = (one, one);
        assert_eq!(fdpa_fp8(&a, &b, f16::ZERO).to_f32(), 1.0, "truncated to nothing");
    }

    #[test]
    fn a_zero_accumulator_counts_as_two_to_the_minus_21() {
        // The smallest pair exponent is -12, so E = -21 shows only when no pair is non-zero.
        let nothing = group(std::iter::empty(), f16::ZERO, FRACTION_FP8);
        assert_eq!((nothing.shared, nothing.result.to_bits()), (ZERO_EXPONENT, 0), "empty group");
    }

    #[test]
    fn a_zero_accumulator_cuts_what_lies_below_its_units() {
        // 2^-25 is a tie, and 2^-46 would break it: but E is -21 although both pairs lie deeper, so the unit is 2^-45.
        let power = |exponent: i32| f16::from_f32(2_f32.powi(exponent));
        let (a, b) = ([power(-11), power(-24)], [power(-14), power(-22)]);
        assert_eq!(fdpa_f16(&a, &b, f16::ZERO).to_bits(), 0, "the tie goes to the even zero");
        let (a, b) = ([power(-11), power(-23)], [power(-14), power(-22)]);
        assert_eq!(fdpa_f16(&a, &b, f16::ZERO).to_bits(), 1, "2^-45 is a whole unit and breaks the tie");
    }

    #[test]
    fn non_finite_accumulators_pass_through() {
        for acc in [f16::INFINITY, f16::NEG_INFINITY] {
            assert_eq!(fdpa_fp8(&[0x7e; 16], &[0xfe; 16], acc), acc, "fp8");
            assert_eq!(fdpa_f16(&[f16::ONE; 8], &[f16::ONE; 8], acc), acc, "f16");
        }
        assert!(fdpa_fp8(&[0; 16], &[0; 16], f16::NAN).is_nan(), "NaN");
    }

    #[test]
    fn a_zero_result_is_plus_zero() {
        assert_eq!(fdpa_fp8(&[0x38, 0xb8], &[0x38, 0x38], f16::ZERO).to_bits(), 0, "1 - 1");
        assert_eq!(fdpa_fp8(&[0x00], &[0x38], f16::NEG_ZERO).to_bits(), 0, "-0 accumulator");
    }
}
