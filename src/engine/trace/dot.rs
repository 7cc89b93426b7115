//! Dot products, group by group: operands, shared exponent, truncated terms, sum, half.

use super::{Number, Story};
use crate::engine::reference::Sources;
use crate::numerics::fdpa::{self, Operand};
use crate::numerics::{e4m3, f16, float16, silu};
use crate::plan::ops::{Activation, Gemm, GemmHalf};
use crate::tensor::{Element, Tensor, TensorName};
use serde::Serialize;

/// One product of a group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Term {
    /// Position along K.
    pub k: usize,
    /// The activation.
    pub a: Number,
    /// The weight.
    pub b: Number,
    /// The exact product in units, before truncation.
    pub exact: f64,
    /// The truncated product, in units.
    pub units: i64,
}

/// One group: products aligned, truncated, summed, rounded once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The accumulator before.
    pub before: Number,
    /// The shared exponent E; absent when the accumulator is not finite and passes through.
    pub shared: Option<i32>,
    /// Fractional bits below E: 13 or 24. A unit is 2^(E - fraction).
    pub fraction: i32,
    /// The accumulator's truncated term, in units.
    pub accumulator: i64,
    /// The products.
    pub terms: Vec<Term>,
    /// Exact sum, in units.
    pub units: i64,
    /// The sum, rounded once to a half.
    pub result: Number,
}

/// Groups in K order, each group's result the next accumulator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chain {
    /// What is summed.
    pub name: String,
    /// The groups.
    pub groups: Vec<Group>,
    /// The last group's result.
    pub result: Number,
}

/// A pair of operands with what is shown of them.
type Pair = (usize, Number, Number, Operand, Operand);

fn chain(name: String, pairs: &[Pair], size: usize, fraction: i32, seed: f16, story: &mut Story) -> f16 {
    let mut accumulator = seed;
    let mut groups = Vec::new();
    for pairs in pairs.chunks(size) {
        let group = group(pairs, accumulator, fraction);
        accumulator = f16::from_bits(group.result.bits as u16);
        groups.push(group);
    }
    story.stages.push(super::Stage::Chain(Chain { name, groups, result: Number::half(accumulator) }));
    accumulator
}

fn group(pairs: &[Pair], accumulator: f16, fraction: i32) -> Group {
    let before = Number::half(accumulator);
    if !accumulator.is_finite() {
        let terms = pairs.iter().map(|&(k, a, b, ..)| Term { k, a, b, exact: 0.0, units: 0 }).collect();
        return Group { before, shared: None, fraction, accumulator: 0, terms, units: 0, result: before };
    }
    let found = fdpa::group(pairs.iter().map(|p| (p.3, p.4)), accumulator, fraction);
    let unit = found.shared - fraction;
    let terms = pairs.iter().zip(&found.terms).map(|(&(k, a, b, x, y), &units)| {
        let product = i64::from(x.significand) * i64::from(y.significand);
        Term { k, a, b, exact: product as f64 * f64::from(x.scale + y.scale - unit).exp2(), units }
    });
    Group {
        before,
        shared: Some(found.shared),
        fraction,
        accumulator: found.accumulator,
        terms: terms.collect(),
        units: found.units,
        result: Number::half(found.result),
    }
}

/// A chain over codes, in groups of 16.
pub(super) fn codes(name: String, first: usize, a: &[u8], b: &[u8], seed: f16, story: &mut Story) -> f16 {
    let pair = |(i, (&a, &b)): (usize, (&u8, &u8))| {
        (first + i, Number::code(a), Number::code(b), Operand::from_e4m3(a), Operand::from_e4m3(b))
    };
    let pairs: Vec<Pair> = a.iter().zip(b).enumerate().map(pair).collect();
    chain(name, &pairs, fdpa::GROUP_FP8, fdpa::FRACTION_FP8, seed, story)
}

/// An element of a residual, and its half.
pub(super) fn half_of(tensor: &Tensor, token: usize, channel: usize) -> (Number, f16) {
    let number = Number::of(tensor, token, channel);
    let half = match number.element {
        Element::E4m3 => e4m3::decode_half(number.bits as u8),
        Element::F16 => f16::from_bits(number.bits as u16),
        Element::F32 => unreachable!("no residual is f32"),
    };
    (number, half)
}

pub(super) fn gemm(
    op: &Gemm,
    sources: Sources<'_>,
    (token, n): (usize, usize),
    name: &TensorName,
    story: &mut Story,
) -> Number {
    let group = n / op.n;
    let a = &sources.tensor(&op.input).row(token)[group * op.k..][..op.k];
    let weights = sources.model.matrix(op.weights);
    let b = weights.column(n / weights.n, n % weights.n);
    let seed = op.seed.as_ref().map_or(f16::ZERO, |seed| {
        let (number, residual) = half_of(sources.tensor(&seed.residual), token, n);
        let scale = sources.model.halves(seed.scale)[n];
        let operands = [number, Number::half(scale)];
        story.half("seed", "residual * scale, -0 used as +0", &operands, fdpa::seed(residual, scale))
    });
    let parts = op.k.div_ceil(op.partition);
    let mut total = seed;
    for part in 0..parts {
        let first = part * op.partition;
        let range = first..(first + op.partition).min(op.k);
        let start = if part == 0 { seed } else { f16::ZERO };
        let title = if parts == 1 { "products".to_owned() } else { format!("partition {part}") };
        let sum = codes(title, first, &a[range.clone()], &b[range], start, story);
        total = if part == 0 {
            sum
        } else {
            let operands = [Number::half(total), Number::half(sum)];
            story.half("total", "total + partition", &operands, float16::add(total, sum))
        };
    }
    if op.raw.as_ref() == Some(name) {
        return Number::half(total);
    }
    match op.activation {
        Activation::None => story.publish("publish_gemm(sum)", total, e4m3::publish_gemm(total)),
        Activation::Silu => {
            let y = activate(total, story);
            story.publish("publish(silu), a zero as 0x00", y, silu::publish(y))
        }
    }
}

/// The five half steps of silu.
fn activate(x: f16, story: &mut Story) -> f16 {
    let h = Number::half;
    let t = f16::from_f32(x.to_f32().clamp(-silu::CLAMP, silu::CLAMP));
    story.half("t", "clamp(x, -4, 4)", &[h(x)], t);
    let magnitude = f16::from_bits(t.to_bits() & 0x7fff);
    let operands = [h(silu::SLOPE), h(magnitude), h(silu::OFFSET)];
    let p = story.half("p", "fma(slope, |t|, offset)", &operands, float16::fma(silu::SLOPE, magnitude, silu::OFFSET));
    let operands = [h(t), h(p), h(silu::LIFT)];
    let p = story.half("p", "fma(t, p, lift)", &operands, float16::fma(t, p, silu::LIFT));
    story.half("silu", "x * p", &[h(x), h(p)], float16::mul(x, p))
}

pub(super) fn gemm_half(
    op: &GemmHalf,
    sources: Sources<'_>,
    (token, n): (usize, usize),
    name: &TensorName,
    story: &mut Story,
) -> Number {
    let a = &sources.tensor(&op.input).halves()[token * op.k..][..op.k];
    let weights = sources.model.matrix_f16(op.weights);
    let pair = |k: usize| {
        let b = weights[k * op.n + n];
        (k, Number::half(a[k]), Number::half(b), Operand::from_half(a[k]), Operand::from_half(b))
    };
    let pairs: Vec<Pair> = (0..op.k).map(pair).collect();
    let sum = chain("products".to_owned(), &pairs, fdpa::GROUP_F16, fdpa::FRACTION_F16, f16::ZERO, story);
    if op.raw.as_ref() == Some(name) {
        return Number::half(sum);
    }
    if op.single.as_ref() == Some(name) {
        return story.number("head", "f32(sum)", &[Number::half(sum)], Number::single(sum.to_f32()));
    }
    story.publish("publish(sum)", sum, e4m3::publish(sum))
}
