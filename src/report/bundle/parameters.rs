//! A kernel's parameters as plain arrays, and a model made of nothing but them.

use crate::model::{Contents, Model, Parameter, fragment, layout};
use crate::tensor::npy::{self, Array, NpyType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The parameter of a block by the name that a manifest gives it.
pub(super) fn find(block: usize, kind: &str) -> Option<Parameter> {
    let records = layout::records().iter().filter(|record| record.block == block);
    let mut kinds = records.flat_map(|record| &record.regions).map(|region| region.kind);
    kinds.find(|known| format!("{known:?}") == kind).map(|kind| Parameter::new(block, kind))
}

/// Type and extents of a parameter's array, and what its axes are.
pub(super) fn shape(parameter: Parameter) -> (NpyType, Vec<usize>, &'static str) {
    let (_, region) = layout::find(parameter).expect("plans name only parameters that exist");
    match region.contents {
        Contents::Fp8 { groups, k, n } => {
            (NpyType::U1, vec![groups, k, n], "E4M3 codes [matrix][input channel][output channel]")
        }
        Contents::HalfMatrix { k, n } => (NpyType::F2, vec![k, n], "halves [input channel][output channel]"),
        Contents::Halves(n) => (NpyType::F2, vec![n], "halves, one per channel"),
        Contents::Prior { heads } => {
            (NpyType::F2, vec![heads, 64, 64], "halves [head][query][key], both in physical order (4x4 tiles)")
        }
        Contents::HeadScales(n) => (NpyType::F4, vec![n], "singles, one per head"),
    }
}

/// A parameter as a `.npy` file.
pub(super) fn export(model: &Model, parameter: Parameter) -> Vec<u8> {
    let (kind, shape, _) = shape(parameter);
    let (_, contents) = model.region(parameter);
    let data = match contents {
        Contents::Fp8 { .. } => model.matrix(parameter).codes,
        Contents::HalfMatrix { .. } => bytes_of(&model.matrix_f16(parameter)),
        Contents::Halves(_) => bytes_of(&model.halves(parameter)),
        Contents::Prior { .. } => bytes_of(&model.prior(parameter)),
        Contents::HeadScales(_) => model.floats(parameter).iter().flat_map(|x| x.to_le_bytes()).collect(),
    };
    npy::write(kind, &shape, &data)
}

fn bytes_of(halves: &[crate::numerics::f16]) -> Vec<u8> {
    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
}

/// A model that has these parameters and zeros elsewhere. The arrays were checked to have [`shape`].
pub(super) fn model(source: String, arrays: &[(Parameter, Array<'_>)]) -> Model {
    let mut records: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    for record in layout::records() {
        let mut bytes = vec![0_u8; record.length];
        for region in &record.regions {
            let own = Parameter::new(record.block, region.kind);
            if let Some((_, array)) = arrays.iter().find(|(parameter, _)| *parameter == own) {
                pack(&mut bytes[region.offset..][..region.contents.bytes()], region.contents, array.data);
            }
        }
        records.insert(record.name.clone(), Arc::from(bytes));
    }
    Model::from_records(source, records)
}

/// Plain order back into the order of the model's files.
fn pack(out: &mut [u8], contents: Contents, data: &[u8]) {
    let mut half = |at: usize, from: usize| out[2 * at..][..2].copy_from_slice(&data[2 * from..][..2]);
    match contents {
        Contents::Fp8 { k, n, .. } => {
            for (stored, plain) in out.chunks_exact_mut(k * n).zip(data.chunks_exact(k * n)) {
                for i in 0..k * n {
                    let (row, column) = (i / n, i % n);
                    stored[fragment::index_fp8(row, column, n)] = plain[fragment::channel(row) * n + column];
                }
            }
        }
        Contents::HalfMatrix { k, n } => {
            (0..k * n).for_each(|i| half(fragment::index_f16(i / n, i % n, n), i));
        }
        Contents::Prior { heads } => {
            (0..heads * 4096).for_each(|i| half(fragment::index_prior(i / 4096, i / 64 % 64, i % 64), i));
        }
        Contents::Halves(_) | Contents::HeadScales(_) => out[..data.len()].copy_from_slice(data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ParameterKind, synthetic};

    #[test]
    fn every_kind_of_parameter_survives_the_way_out_and_back() {
        let whole = synthetic::model(1);
        let all = [
            (0, ParameterKind::Adapter),
            (9, ParameterKind::Expand),
            (9, ParameterKind::Qkv),
            (9, ParameterKind::Prior),
            (9, ParameterKind::HeadScale),
            (25, ParameterKind::Contract),
            (39, ParameterKind::TransitionScale),
            (70, ParameterKind::Head),
        ];
        let all: Vec<Parameter> = all.into_iter().map(|(block, kind)| Parameter::new(block, kind)).collect();
        let files: Vec<Vec<u8>> = all.iter().map(|&parameter| export(&whole, parameter)).collect();
        let arrays: Vec<_> = all.iter().zip(&files).map(|(&p, file)| (p, npy::parse(file).unwrap())).collect();
        let part = model("part".to_owned(), &arrays);
        for (&parameter, file) in all.iter().zip(&files) {
            assert_eq!(find(parameter.block, &format!("{:?}", parameter.kind)), Some(parameter), "{parameter}");
            assert_eq!(export(&part, parameter), *file, "{parameter}");
        }
    }
}
