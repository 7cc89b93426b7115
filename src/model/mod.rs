//! The network's weights: a model directory read and checked, or the deterministic synthetic one.
//!
//! Apart from the plan because the plan names parameters and never holds them. Weights are never part of this
//! project: users bring a directory; everything is tested with the synthetic generator.
//!
//! **Invariants**
//! * [`layout`] is the only place that knows where a parameter lies in its record.
//! * A directory is refused whole, with every problem listed, before any of it is used.

pub mod fragment;
pub mod layout;
mod parameter;
pub mod synthetic;

pub use layout::{Contents, RecordLayout, Region};
pub use parameter::{Matrix, Parameter, ParameterKind};

use crate::numerics::f16;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All records of one model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Where it came from: `synthetic:1`, or a path.
    pub source: String,
    records: BTreeMap<String, Arc<[u8]>>,
}

impl Model {
    /// A model from the bytes of every record of [`layout::records`].
    ///
    /// # Panics
    /// When a record is missing or has another length: readers check first.
    pub fn from_records(source: String, records: BTreeMap<String, Arc<[u8]>>) -> Self {
        for record in layout::records() {
            let found = records.get(&record.name).map(|bytes| bytes.len());
            assert_eq!(found, Some(record.length), "record {} was checked by its reader", record.name);
        }
        Self { source, records }
    }

    /// The bytes of one record.
    pub fn record(&self, name: &str) -> Option<&[u8]> {
        self.records.get(name).map(|bytes| &**bytes)
    }

    /// The bytes and contents of a parameter's region.
    ///
    /// # Panics
    /// When the block has no such parameter: plans only name those of [`layout`].
    pub fn region(&self, parameter: Parameter) -> (&[u8], Contents) {
        let (record, region) = layout::find(parameter).unwrap_or_else(|| panic!("no parameter {parameter}"));
        let bytes = &self.records[&record][region.offset..region.offset + region.contents.bytes()];
        (bytes, region.contents)
    }

    /// An FP8 matrix in plain order: `codes[group][k][n]`, k the activation channel. NaN codes become +0.
    pub fn matrix(&self, parameter: Parameter) -> Matrix {
        let (bytes, contents) = self.region(parameter);
        match contents {
            Contents::Fp8 { groups, k, n } => fragment::unpack_fp8(bytes, groups, k, n),
            other => panic!("{parameter} is {other:?}, not an fp8 matrix"),
        }
    }

    /// An f16 matrix in plain order `[k][n]`.
    pub fn matrix_f16(&self, parameter: Parameter) -> Vec<f16> {
        let (bytes, contents) = self.region(parameter);
        match contents {
            Contents::HalfMatrix { k, n } => fragment::unpack_f16(bytes, k, n),
            other => panic!("{parameter} is {other:?}, not an f16 matrix"),
        }
    }

    /// A vector of halves (a scale per channel).
    pub fn halves(&self, parameter: Parameter) -> Vec<f16> {
        let (bytes, contents) = self.region(parameter);
        match contents {
            Contents::Halves(_) => halves(bytes),
            other => panic!("{parameter} is {other:?}, not halves"),
        }
    }

    /// A head's attention prior in physical order of both: `[head][query][key]`.
    pub fn prior(&self, parameter: Parameter) -> Vec<f16> {
        let (bytes, contents) = self.region(parameter);
        match contents {
            Contents::Prior { heads } => fragment::unpack_prior(bytes, heads),
            other => panic!("{parameter} is {other:?}, not a prior"),
        }
    }

    /// A vector of singles (a scale per head).
    pub fn floats(&self, parameter: Parameter) -> Vec<f32> {
        let (bytes, contents) = self.region(parameter);
        match contents {
            Contents::HeadScales(n) => {
                bytes.as_chunks::<4>().0.iter().take(n).map(|&b| f32::from_le_bytes(b)).collect()
            }
            other => panic!("{parameter} is {other:?}, not singles"),
        }
    }

    /// The blend scale of the composition with history.
    pub fn blend_scale(&self) -> f16 {
        self.halves(Parameter::new(70, ParameterKind::BlendScale))[0]
    }
}

fn halves(bytes: &[u8]) -> Vec<f16> {
    bytes.as_chunks::<2>().0.iter().map(|&b| f16::from_le_bytes(b)).collect()
}
