//! Dot products under changed rules: other group sizes, widths, alignments, orders and units.

use super::group::{self, Alignment, SMALL};
use crate::numerics::fdpa::{self, Operand};
use crate::numerics::hopper;
use crate::numerics::rules::{Align, Chain, Dot, KOrder, SharedExponent, Unit};
use crate::numerics::{e4m3, f16, float16};
use std::sync::LazyLock;

/// Every E4M3 code as an operand.
static CODES: LazyLock<[Operand; 256]> = LazyLock::new(|| std::array::from_fn(|c| Operand::from_e4m3(c as u8)));

/// The two vectors of a dot product.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operands<'a> {
    /// Codes with codes.
    Codes(&'a [u8], &'a [u8]),
    /// Halves with halves.
    Halves(&'a [f16], &'a [f16]),
    /// Halves with codes: weights that were not published.
    Mixed(&'a [f16], &'a [u8]),
}

impl Operands<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Codes(a, _) => a.len(),
            Self::Halves(a, _) | Self::Mixed(a, _) => a.len(),
        }
    }

    fn at(&self, k: usize) -> (Operand, Operand) {
        let code = |c: u8| CODES[usize::from(c)];
        match self {
            Self::Codes(a, b) => (code(a[k]), code(b[k])),
            Self::Halves(a, b) => (Operand::from_half(a[k]), Operand::from_half(b[k])),
            Self::Mixed(a, b) => (Operand::from_half(a[k]), code(b[k])),
        }
    }

    /// All products, each exact in `f32`.
    fn products(&self) -> Vec<f32> {
        let small = &*SMALL;
        let code = |c: u8| small[usize::from(c)].single;
        match self {
            Self::Codes(a, b) => a.iter().zip(*b).map(|(&a, &b)| code(a) * code(b)).collect(),
            Self::Halves(a, b) => a.iter().zip(*b).map(|(a, b)| a.to_f32() * b.to_f32()).collect(),
            Self::Mixed(a, b) => a.iter().zip(*b).map(|(a, &b)| a.to_f32() * code(b)).collect(),
        }
    }

    /// Products of a group, and fractional bits.
    fn format(&self) -> (usize, i32) {
        match self {
            Self::Codes(..) | Self::Mixed(..) => (fdpa::GROUP_FP8, fdpa::FRACTION_FP8),
            Self::Halves(..) => (fdpa::GROUP_F16, fdpa::FRACTION_F16),
        }
    }
}

/// A sum as it is carried on, and before its last rounding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    /// The accumulator: a half's value, or a single's under [`Chain::Singles`].
    pub carried: f64,
    /// The last group's sum before it was rounded.
    pub wide: f64,
}

impl Sum {
    /// The result as a half.
    pub(crate) fn half(self) -> f16 {
        float16::from_f64(self.carried)
    }
}

/// One dot product from a seed.
pub(crate) fn dot(operands: Operands<'_>, seed: f64, rules: &Dot) -> Sum {
    match rules.unit {
        Unit::Singles => singles(operands, seed, rules.order),
        Unit::SinglesTree => singles_tree(operands, seed),
        Unit::TwoHalves => two_halves(operands, seed),
        Unit::FixedPoint => fixed_point(operands, seed, rules),
    }
}

fn fixed_point(operands: Operands<'_>, seed: f64, rules: &Dot) -> Sum {
    let (own_group, own_fraction) = operands.format();
    let group = if rules.group == 0 { own_group } else { usize::from(rules.group) };
    let fraction = if rules.fraction == 0 { own_fraction } else { i32::from(rules.fraction) };
    if let Operands::Codes(a, b) = operands
        && group <= group::MOST
        && fraction >= group::FEWEST
    {
        return codes(a, b, seed, (group, fraction), rules);
    }
    general(operands, seed, (group, fraction), rules)
}

/// Groups of operands of any format.
fn general(operands: Operands<'_>, seed: f64, (group, fraction): (usize, i32), rules: &Dot) -> Sum {
    let len = operands.len();
    let at = |i: usize| operands.at(if rules.order == KOrder::Reversed { len - 1 - i } else { i });
    let mut sum = Sum { carried: seed, wide: seed };
    for start in (0..len).step_by(group) {
        if !sum.carried.is_finite() {
            return sum;
        }
        let pairs = || (start..(start + group).min(len)).map(at);
        let (acc, acc_scale, acc_exponent) = decompose(sum.carried);
        let mut shared = acc_exponent.unwrap_or(fdpa::ZERO_EXPONENT);
        for (a, b) in pairs() {
            if let (Some(ea), Some(eb)) = (a.exponent, b.exponent) {
                shared = shared.max(match rules.exponent {
                    SharedExponent::OperandSum => ea + eb,
                    SharedExponent::Product => product_exponent(&a, &b).max(ea + eb),
                    SharedExponent::Unfloored => own_exponent(&a) + own_exponent(&b),
                });
            }
        }
        let unit = shared - fraction;
        let mut units = align(acc, acc_scale - unit, rules.align);
        for (a, b) in pairs() {
            let product = i64::from(a.significand) * i64::from(b.significand);
            units += align(product, a.scale + b.scale - unit, rules.align);
        }
        sum.wide = units as f64 * pow2(unit);
        sum.carried = carry(sum.wide, rules.chain);
    }
    sum
}

/// [`fixed_point`] for codes: the same, fast.
fn codes(a: &[u8], b: &[u8], seed: f64, (group, fraction): (usize, i32), rules: &Dot) -> Sum {
    let small = &*SMALL;
    let how = Alignment { fraction, align: rules.align, exponent: rules.exponent };
    let mut sum = Sum { carried: seed, wide: seed };
    let len = a.len();
    for start in (0..len).step_by(group) {
        if !sum.carried.is_finite() {
            return sum;
        }
        let end = (start + group).min(len);
        let places = match rules.order {
            KOrder::Forward => start..end,
            KOrder::Reversed => len - end..len - start,
        };
        let pairs = a[places.clone()].iter().zip(&b[places]);
        sum.wide = group::sum(pairs.map(|(&a, &b)| (small[usize::from(a)], small[usize::from(b)])), sum.carried, how);
        sum.carried = carry(sum.wide, rules.chain);
    }
    sum
}

/// `f32` multiply-adds, one product after the other; products of codes and of halves are exact in `f32`.
fn singles(operands: Operands<'_>, seed: f64, order: KOrder) -> Sum {
    let products = operands.products();
    let total = match order {
        KOrder::Forward => products.iter().fold(seed as f32, |acc, product| acc + product),
        KOrder::Reversed => products.iter().rev().fold(seed as f32, |acc, product| acc + product),
    };
    Sum { carried: f64::from(total), wide: f64::from(total) }
}

/// `f32`, 16 products at a time by a tree of neighbours at a distance of 8, 4, 2, 1.
fn singles_tree(operands: Operands<'_>, seed: f64) -> Sum {
    let total = operands.products().chunks(16).fold(seed as f32, |acc, products| {
        let mut r = [0.0; 16];
        r[..products.len()].copy_from_slice(products);
        for stride in [8, 4, 2, 1] {
            (0..stride).for_each(|i| r[i] += r[i + stride]);
        }
        acc + r[0]
    });
    Sum { carried: f64::from(total), wide: f64::from(total) }
}

/// Hopper: 32 products at a time as two half matrix instructions.
fn two_halves(operands: Operands<'_>, seed: f64) -> Sum {
    let mut acc = float16::from_f64(seed);
    match operands {
        Operands::Codes(a, b) => {
            for (a, b) in a.chunks(32).zip(b.chunks(32)) {
                acc = group::two_halves(a, b, acc, &SMALL);
            }
        }
        Operands::Halves(a, b) => {
            for (a, b) in a.chunks(16).zip(b.chunks(16)) {
                acc = hopper::mma_f16(a, b, acc);
            }
        }
        Operands::Mixed(a, b) => {
            let b: Vec<f16> = b.iter().map(|&c| e4m3::decode_half(c)).collect();
            for (a, b) in a.chunks(16).zip(b.chunks(16)) {
                acc = hopper::mma_f16(a, b, acc);
            }
        }
    }
    Sum { carried: acc.to_f64(), wide: acc.to_f64() }
}

fn carry(wide: f64, chain: Chain) -> f64 {
    let half = float16::from_f64(wide);
    match chain {
        Chain::Halves => half.to_f64(),
        Chain::Singles => f64::from(wide as f32),
        Chain::TowardZero if half.to_f64().abs() > wide.abs() => f16::from_bits(half.to_bits() - 1).to_f64(),
        Chain::TowardZero => half.to_f64(),
        Chain::Flushed if half.to_f64().abs() < f64::from(f16::MIN_POSITIVE.to_f32()) => 0.0,
        Chain::Flushed => half.to_f64(),
        Chain::Clamped => half.to_f64().clamp(-65504.0, 65504.0),
    }
}

pub(super) fn align(value: i64, shift: i32, rule: Align) -> i64 {
    if shift >= 0 || rule == Align::TowardZero {
        return fdpa::truncate(value, shift);
    }
    let down = (-shift).min(62) as u32;
    let floor = value >> down;
    match rule {
        Align::Floor | Align::TowardZero => floor,
        Align::Nearest => {
            let (rest, half) = (value - (floor << down), 1 << (down - 1));
            floor + i64::from(rest > half || (rest == half && floor & 1 == 1))
        }
    }
}

/// A finite value as `significand * 2^scale`, and its exponent with a half's floor; `None` for a zero.
pub(super) fn decompose(x: f64) -> (i64, i32, Option<i32>) {
    if x == 0.0 {
        return (0, 0, None);
    }
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let magnitude = ((x.to_bits() & ((1 << 52) - 1)) | (1 << 52)) as i64;
    // Halves and singles fill at most the upper 24 of the 53 bits.
    let significand = magnitude >> 29;
    (if x < 0.0 { -significand } else { significand }, exponent - 23, Some(exponent.max(-14)))
}

fn own_exponent(x: &Operand) -> i32 {
    x.significand.unsigned_abs().ilog2() as i32 + x.scale
}

fn product_exponent(a: &Operand, b: &Operand) -> i32 {
    let product = i64::from(a.significand) * i64::from(b.significand);
    product.unsigned_abs().ilog2() as i32 + a.scale + b.scale
}

pub(super) fn pow2(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(seed: u32, n: usize) -> Vec<u8> {
        let mut x = seed;
        let mut draw = move || {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            x
        };
        (0..n).map(|_| draw() as u8).map(|c| if c & 0x7f == 0x7f { 0 } else { c }).collect()
    }

    #[test]
    fn the_interpreter_agrees_with_the_definition_where_nothing_is_changed() {
        for seed in 1..400 {
            let (a, b) = (codes(seed, 64), codes(seed.wrapping_mul(77) + 1, 64));
            let start = f16::from_f32(seed as f32 / 8.0 - 20.0);
            let exact = fdpa::dot_fp8(&a, &b, start);
            let got = fixed_point(Operands::Codes(&a, &b), start.to_f64(), &Dot::EXACT).half();
            assert_eq!(got.to_bits(), exact.to_bits(), "fp8, seed {seed}");
            let halves = |v: &[u8]| v.iter().map(|&c| e4m3::decode_half(c)).collect::<Vec<_>>();
            let (a, b) = (halves(&a), halves(&b));
            let exact = fdpa::dot_f16(&a, &b, start);
            let got = fixed_point(Operands::Halves(&a, &b), start.to_f64(), &Dot::EXACT).half();
            assert_eq!(got.to_bits(), exact.to_bits(), "f16, seed {seed}");
        }
    }

    #[test]
    fn the_fast_path_agrees_with_the_general_one_under_every_rule() {
        let kinds = [SharedExponent::OperandSum, SharedExponent::Product, SharedExponent::Unfloored];
        let aligns = [Align::TowardZero, Align::Floor, Align::Nearest];
        for seed in 1..60_u32 {
            let (a, b) = (codes(seed, 64), codes(seed.wrapping_mul(77) + 1, 64));
            let (a, b): (Vec<u8>, Vec<u8>) =
                a.into_iter().zip(b).map(|(a, b)| if seed % 3 == 0 { (a & 0x8f, b & 0x8f) } else { (a, b) }).unzip();
            let start = f64::from(f16::from_f32(seed as f32 / 8.0 - 3.0));
            for (exponent, align) in kinds.into_iter().flat_map(|x| aligns.map(|a| (x, a))) {
                for (group, fraction, order) in
                    [(4, 12, KOrder::Forward), (16, 13, KOrder::Reversed), (32, 25, KOrder::Forward)]
                {
                    let rules = Dot { group, fraction, align, exponent, order, ..Dot::EXACT };
                    let fast = super::codes(&a, &b, start, (usize::from(group), i32::from(fraction)), &rules);
                    let slow =
                        general(Operands::Codes(&a, &b), start, (usize::from(group), i32::from(fraction)), &rules);
                    assert_eq!(fast.half().to_bits(), slow.half().to_bits(), "seed {seed}, {rules:?}");
                    assert_eq!(fast.wide, slow.wide, "seed {seed}, {rules:?}");
                }
            }
        }
    }

    #[test]
    fn alignment_rules_differ_on_negative_terms() {
        assert_eq!([Align::TowardZero, Align::Floor, Align::Nearest].map(|r| align(-7, -2, r)), [-1, -2, -2], "-7/4");
        assert_eq!([Align::TowardZero, Align::Floor, Align::Nearest].map(|r| align(-5, -2, r)), [-1, -2, -1], "-5/4");
    }
}
