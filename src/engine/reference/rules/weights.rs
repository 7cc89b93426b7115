//! Weights and priors read in changed orders.

use crate::geometry::window;
use crate::model::{Contents, Model, Parameter, fragment};
use crate::numerics::f16;
use crate::numerics::rules::{PriorRule, WeightOrder};
use crate::numerics::softmax::KEYS;

/// The columns of an FP8 matrix, one for each output channel, every group's after the other.
pub(crate) fn columns(model: &Model, parameter: Parameter, order: WeightOrder) -> Vec<Vec<u8>> {
    let matrix = match order {
        WeightOrder::Fragment | WeightOrder::ReversedGroups | WeightOrder::Flushed => model.matrix(parameter),
        WeightOrder::RowMajor | WeightOrder::StoredChannels | WeightOrder::OtherColumns => {
            reordered(model, parameter, order)
        }
    };
    let groups = matrix.groups;
    let group = |g: usize| if order == WeightOrder::ReversedGroups { groups - 1 - g } else { g };
    let mut columns: Vec<Vec<u8>> =
        (0..groups * matrix.n).map(|n| matrix.column(group(n / matrix.n), n % matrix.n)).collect();
    if order == WeightOrder::Flushed {
        columns.iter_mut().flatten().filter(|code| **code & 0x78 == 0).for_each(|code| *code &= 0x80);
    }
    columns
}

fn reordered(model: &Model, parameter: Parameter, order: WeightOrder) -> crate::model::Matrix {
    let (bytes, contents) = model.region(parameter);
    let Contents::Fp8 { groups, k, n } = contents else { panic!("{parameter} is {contents:?}, not an fp8 matrix") };
    let mut codes = vec![0; groups * k * n];
    let other = if n == 128 { 32 } else { 128 };
    for (stored, plain) in bytes.chunks_exact(k * n).zip(codes.chunks_exact_mut(k * n)) {
        for (i, code) in plain.iter_mut().enumerate() {
            let (row, column) = (i / n, i % n);
            let byte = stored[match order {
                WeightOrder::RowMajor => i,
                WeightOrder::OtherColumns => fragment::index_fp8(row, column, other) % (k * n),
                _ => fragment::index_fp8(row, column, n),
            }];
            *code = if byte & 0x7f == 0x7f { 0 } else { byte };
        }
    }
    crate::model::Matrix { groups, k, n, codes }
}

/// The 64 halves that a query of a head adds to its keys' scores, keys in physical order.
pub(crate) fn prior(
    model: &Model,
    parameter: Parameter,
    rule: PriorRule,
) -> impl Fn(usize, usize) -> [f16; KEYS] + use<> {
    let physical = match rule {
        PriorRule::StorageOrder => stored(model, parameter),
        PriorRule::Missing => Vec::new(),
        _ => model.prior(parameter),
    };
    move |head, natural_query| {
        let query = window::physical(natural_query);
        std::array::from_fn(|key| {
            let (head, query, key) = match rule {
                PriorRule::Missing => return f16::ZERO,
                PriorRule::Physical | PriorRule::StorageOrder | PriorRule::AtEnd => (head, query, key),
                PriorRule::NaturalKeys => (head, query, window::natural(key)),
                PriorRule::NaturalQueries => (head, natural_query, key),
                PriorRule::Transposed => (head, key, query),
                PriorRule::FirstHead => (0, query, key),
            };
            physical[(head * KEYS + query) * KEYS + key]
        })
    }
}

fn stored(model: &Model, parameter: Parameter) -> Vec<f16> {
    let (bytes, _) = model.region(parameter);
    bytes.as_chunks::<2>().0.iter().map(|&b| f16::from_le_bytes(b)).collect()
}
