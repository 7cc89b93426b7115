//! FP8 matrix product: seed, groups of 16 in K order, partitions added by half adds, activation, publication.

use super::{Kernel, Sources};
use crate::numerics::{Rules, e4m3, f16, fdpa, float16, silu};
use crate::plan::ops::{Activation, Gemm};
use crate::tensor::{Element, Tensor};

pub(super) fn kernel<'a>(op: &'a Gemm, _rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let input = sources.tensor(&op.input);
    let weights = sources.model.matrix(op.weights);
    // Experts with a shared input are stored as several matrices and multiplied as one.
    let parts = weights.groups / op.groups;
    let columns: Vec<Vec<u8>> = (0..op.groups * op.n).map(|n| weights.column(n / weights.n, n % weights.n)).collect();
    debug_assert_eq!(parts * weights.n, op.n, "columns of one group");
    let seed = op.seed.as_ref().map(|seed| (sources.tensor(&seed.residual), sources.model.halves(seed.scale)));
    Box::new(move |rows| {
        let (mut published, mut raw) = (Vec::new(), Vec::new());
        for &row in rows {
            for (n, column) in columns.iter().enumerate() {
                let group = n / op.n;
                let a = &input.row(row)[group * op.k..][..op.k];
                let start = seed
                    .as_ref()
                    .map_or(f16::ZERO, |(residual, scale)| fdpa::seed(half_at(residual, row, n), scale[n]));
                let sum = product(a, column, start, op.partition);
                raw.extend(sum.to_le_bytes());
                published.push(publish(sum, op.activation));
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

/// The epilogue: activation, then publication.
pub(crate) fn publish(sum: f16, activation: Activation) -> u8 {
    match activation {
        Activation::None => e4m3::publish_gemm(sum),
        Activation::Silu => silu::publish(silu::silu(sum)),
    }
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
