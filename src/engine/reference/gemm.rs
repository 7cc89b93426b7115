//! FP8 matrix product: seed, groups of 16 in K order, partitions added by half adds, activation, publication.

use super::rules::{self, Epilogue, Operands, Sum};
use super::{Kernel, Sources};
use crate::numerics::rules::{Carry, Dot, Publication, SeedRule};
use crate::numerics::{Rules, e4m3, f16, fdpa, float16, silu};
use crate::plan::ops::{Activation, Gemm};
use crate::tensor::{Element, Tensor};

pub(super) fn kernel<'a>(op: &'a Gemm, rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let input = sources.tensor(&op.input);
    // Experts with a shared input are stored as several matrices and multiplied as one.
    let columns = rules::columns(sources.model, op.weights, rules.weights);
    debug_assert_eq!(columns.len(), op.groups * op.n, "columns of all groups");
    let seed = op.seed.as_ref().map(|seed| (sources.tensor(&seed.residual), sources.model.halves(seed.scale)));
    Box::new(move |rows| {
        let (mut published, mut raw) = (Vec::new(), Vec::new());
        for &row in rows {
            let input = rules::read_codes(input.row(row), rules.reads);
            for (n, column) in columns.iter().enumerate() {
                let group = n / op.n;
                let a = &input[group * op.k..][..op.k];
                let start = seed.as_ref().map(|(residual, scale)| (half_at(residual, row, n), scale[n]));
                let sum = product_under(a, column, start, op.partition, rules);
                raw.extend(rules::raw_bytes(sum.half(), rules));
                published.push(publish_under(sum, op.activation, rules));
            }
        }
        let outputs = [op.published.as_ref().map(|_| published), op.raw.as_ref().map(|_| raw)];
        outputs.into_iter().flatten().collect()
    })
}

/// One dot product, cut into partitions: the first starts from the seed, the others from zero, and their results
/// are added in order.
pub(crate) fn product(a: &[u8], b: &[u8], seed: f16, partition: usize) -> f16 {
    let mut parts = a.chunks(partition).zip(b.chunks(partition));
    let (a, b) = parts.next().expect("K is not zero");
    let first = fdpa::dot_fp8(a, b, seed);
    parts.fold(first, |total, (a, b)| float16::add(total, fdpa::dot_fp8(a, b, f16::ZERO)))
}

/// [`product`] under rules; the seed is a residual and its scale.
fn product_under(a: &[u8], b: &[u8], seed: Option<(f16, f16)>, partition: usize, rules: &Rules) -> Sum {
    let start = seed.map_or(f16::ZERO, |(residual, scale)| fdpa::seed(residual, scale));
    let plain = rules.dot == Dot::EXACT && rules.seed == SeedRule::First && rules.carry == Carry::Halves;
    if plain && rules.publication != Publication::FromSingle {
        let exact = product(a, b, start, partition).to_f64();
        return Sum { carried: exact, wide: exact };
    }
    let (first, last) = match (rules.seed, seed) {
        (SeedRule::AtEnd, Some(_)) => (0.0, Some(start)),
        (SeedRule::Single, Some((residual, scale))) => (residual.to_f64() * scale.to_f64(), None),
        (SeedRule::Unscaled, Some((residual, _))) => (residual.to_f64(), None),
        _ => (start.to_f64(), None),
    };
    let dot = |a, b, seed| rules::dot(Operands::Codes(a, b), seed, &rules.dot);
    let half = rules::Half::new(rules);
    let add = |sum: Sum, other: f64| {
        let wide = sum.carried + other;
        Sum { carried: f64::from(half.round(wide as f32)), wide }
    };
    let mut parts = a.chunks(partition).zip(b.chunks(partition));
    let (a, b) = parts.next().expect("K is not zero");
    // A seed of -0 is used as +0.
    let first = dot(a, b, first + 0.0);
    let total = parts.fold(first, |total, (a, b)| add(total, dot(a, b, 0.0).carried));
    last.map_or(total, |residual| add(total, residual.to_f64()))
}

/// The epilogue: activation, then publication.
pub(crate) fn publish(sum: f16, activation: Activation) -> u8 {
    match activation {
        Activation::None => e4m3::publish_gemm(sum),
        Activation::Silu => silu::publish(silu::silu(sum)),
    }
}

/// A product's activated half under rules.
pub(crate) fn activated(sum: f16, rules: &Rules) -> f16 {
    if rules.is_exact() { silu::silu(sum) } else { rules::activate(sum, rules).0 }
}

/// [`publish`] under rules.
fn publish_under(sum: Sum, activation: Activation, rules: &Rules) -> u8 {
    if rules.is_exact() {
        return publish(sum.half(), activation);
    }
    let (half, wide) = match activation {
        Activation::None => (sum.half(), sum.wide),
        Activation::Silu => rules::activate(sum.half(), rules),
    };
    rules::publish(half, wide, Epilogue::Gemm, rules)
}

/// An element of a residual as a half: decoded E4M3, or the raw half.
pub(crate) fn half_at(tensor: &Tensor, row: usize, channel: usize) -> f16 {
    let index = row * tensor.shape.channels + channel;
    match tensor.shape.element {
        Element::E4m3 => e4m3::decode_half(tensor.codes()[index]),
        Element::F16 => tensor.halves()[index],
        Element::F32 => unreachable!("no residual is f32"),
    }
}
