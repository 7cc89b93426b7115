//! One fixed-point group of E4M3 products under changed rules, in plain integers.
//!
//! The same sum as the interpreter's general one, several times faster: a diagnosis computes little else.

use super::dot::{align, decompose, pow2};
use crate::numerics::fdpa::ZERO_EXPONENT;
use crate::numerics::rules::{Align, SharedExponent};
use crate::numerics::{e4m3, f16, float16};
use std::sync::LazyLock;

/// Products of a group at most.
pub(super) const MOST: usize = 32;
/// Fractional bits from which on a product has room: its significand has six bits below its exponent.
pub(super) const FEWEST: i32 = 6;
/// The exponent of a zero: no sum with another reaches an accumulator's.
const NEVER: i32 = -64;
/// Room above a term whose pair's own exponent is below the floored one.
const SPARE: i32 = 8;

/// An E4M3 code as `significand * 2^(exponent - 3)`.
#[derive(Clone, Copy)]
pub(super) struct Small {
    significand: i32,
    /// With the format's floor.
    exponent: i32,
    /// Without.
    own: i32,
    /// Its value.
    pub(super) single: f32,
}

/// Every code.
pub(super) static SMALL: LazyLock<[Small; 256]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        let code = code as u8;
        let exponent = e4m3::exponent(code);
        let significand = exponent.map_or(0, |x| e4m3::steps(code) >> (x + 6));
        let own = exponent.map_or(NEVER, |x| x - 3 + significand.unsigned_abs().ilog2() as i32);
        Small { significand, exponent: exponent.unwrap_or(NEVER), own, single: e4m3::decode(code) }
    })
});

/// How a group is aligned.
#[derive(Clone, Copy)]
pub(super) struct Alignment {
    pub(super) fraction: i32,
    pub(super) align: Align,
    pub(super) exponent: SharedExponent,
}

/// The sum of up to [`MOST`] products and an accumulator, before it is rounded.
pub(super) fn sum(pairs: impl Iterator<Item = (Small, Small)>, accumulator: f64, how: Alignment) -> f64 {
    let (acc, acc_scale, acc_exponent) = decompose(accumulator);
    let mut shared = acc_exponent.unwrap_or(ZERO_EXPONENT);
    let (mut products, mut exponents, mut n) = ([0_i32; MOST], [0_i32; MOST], 0);
    for (a, b) in pairs {
        let product = a.significand * b.significand;
        let exponent = a.exponent + b.exponent;
        shared = shared.max(match how.exponent {
            SharedExponent::OperandSum => exponent,
            SharedExponent::Product => exponent + i32::from(product.abs() >= 128),
            SharedExponent::Unfloored => a.own + b.own,
        });
        (products[n], exponents[n]) = (product, exponent);
        n += 1;
    }
    let unit = shared - how.fraction;
    let terms = products[..n].iter().zip(&exponents[..n]);
    let up = how.fraction - FEWEST + SPARE;
    let down = |exponent: i32| (shared - exponent + SPARE).clamp(0, 63);
    let products: i64 = match how.align {
        Align::TowardZero => terms
            .map(|(&product, &exponent)| {
                let term = (u64::from(product.unsigned_abs()) << up >> down(exponent)) as i64;
                if product < 0 { -term } else { term }
            })
            .sum(),
        Align::Floor => terms.map(|(&product, &exponent)| i64::from(product) << up >> down(exponent)).sum(),
        Align::Nearest => terms.map(|(&p, &x)| align(i64::from(p), up - SPARE - (shared - x), how.align)).sum(),
    };
    (align(acc, acc_scale - unit, how.align) + products) as f64 * pow2(unit)
}

/// Hopper's FP8 instruction, [`crate::numerics::hopper::mma_fp8`]: two groups of 16 with 25 fractional bits.
pub(super) fn two_halves(a: &[u8], b: &[u8], accumulator: f16, small: &[Small; 256]) -> f16 {
    let how = Alignment { fraction: 25, align: Align::TowardZero, exponent: SharedExponent::Unfloored };
    let half = |high: bool, acc: f16| {
        if !acc.is_finite() {
            return acc;
        }
        let chosen = a.iter().zip(b).enumerate().filter(|(k, _)| (k % 4 >= 2) == high);
        let pairs = chosen.map(|(_, (&a, &b))| (small[usize::from(a)], small[usize::from(b)]));
        float16::from_f64(sum(pairs, acc.to_f64(), how))
    };
    float16::add(accumulator, half(true, half(false, f16::ZERO)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::fdpa::Operand;
    use crate::numerics::hopper;

    fn code(seed: u32, i: u32) -> u8 {
        let bits = (seed.wrapping_mul(747_796_405) ^ i.wrapping_mul(2_654_435_761)).wrapping_mul(2_891_336_453);
        // Often small: subnormals and zeros matter here.
        let code = (bits >> 24) as u8 & if bits & 0x300 == 0 { 0x8f } else { 0xff };
        if code & 0x7f == 0x7f { 0 } else { code }
    }

    #[test]
    fn every_code_is_its_significand_and_exponent() {
        for (code, small) in SMALL.iter().enumerate() {
            let operand = Operand::from_e4m3(code as u8);
            assert_eq!(operand.exponent.unwrap_or(NEVER), small.exponent, "code {code:#04x}");
            if small.significand != 0 {
                let value = f64::from(small.significand) * pow2(small.exponent - 3);
                assert_eq!(value, f64::from(e4m3::decode(code as u8)), "code {code:#04x}");
            }
        }
    }

    #[test]
    fn hopper_is_its_measured_model() {
        for seed in 0..3000_u32 {
            let a: Vec<u8> = (0..32).map(|i| code(seed, i)).collect();
            let b: Vec<u8> = (0..32).map(|i| code(seed + 7, i + 99)).collect();
            let c = f16::from_bits((seed * 21) as u16 & 0xbfff);
            let got = two_halves(&a, &b, c, &SMALL);
            assert_eq!(got.to_bits(), hopper::mma_fp8(&a, &b, c).to_bits(), "seed {seed}");
        }
    }
}
