//! Weight matrices in the order that the product walks them, unpacked when a step first needs them.

use super::simd::COLUMNS;
use crate::model::{Contents, Model, Parameter, fragment};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// An FP8 matrix as panels of 32 columns: `codes[group][panel][k][column]`, NaN codes as +0.
#[derive(Debug)]
pub(super) struct Packed {
    /// Input channels of one stored matrix.
    pub(super) k: usize,
    codes: Vec<u8>,
}

impl Packed {
    /// The codes `[k][32]` of a panel, counted through all groups.
    pub(super) fn panel(&self, panel: usize) -> &[[u8; COLUMNS]] {
        let length = self.k * COLUMNS;
        self.codes[panel * length..][..length].as_chunks().0
    }

    /// Number of panels.
    pub(super) fn panels(&self) -> usize {
        self.codes.len() / (self.k * COLUMNS)
    }

    fn unpack(bytes: &[u8], groups: usize, k: usize, n: usize) -> Self {
        let mut codes = vec![0; groups * k * n];
        let panels = n / COLUMNS;
        codes.par_chunks_exact_mut(k * COLUMNS).enumerate().for_each(|(i, out)| {
            let stored = &bytes[i / panels * k * n..][..k * n];
            for (block, rows) in out.as_chunks_mut::<COLUMNS>().0.chunks_exact_mut(32).enumerate() {
                // The fragments of 32 stored rows and 32 columns lie together.
                let first = fragment::index_fp8(block * 32, i % panels * COLUMNS, n);
                unpack_block(stored[first..].first_chunk().expect("fragments are whole"), rows);
            }
        });
        Self { k, codes }
    }
}

/// 32 rows and columns out of fragment order.
fn unpack_block(stored: &[u8; 1024], rows: &mut [[u8; COLUMNS]]) {
    for k in 0..32 {
        let row = &mut rows[fragment::channel(k)];
        for (n, code) in row.iter_mut().enumerate() {
            let byte = stored[fragment::index_fp8(k, n, COLUMNS)];
            *code = if byte & 0x7f == 0x7f { 0 } else { byte };
        }
    }
}

/// The matrices unpacked so far.
#[derive(Debug, Default)]
pub(super) struct Weights {
    packed: Mutex<BTreeMap<Parameter, Arc<Packed>>>,
}

impl Weights {
    /// The panels of a parameter.
    pub(super) fn get(&self, model: &Model, parameter: Parameter) -> Arc<Packed> {
        let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        let unpack = || match model.region(parameter) {
            (bytes, Contents::Fp8 { groups, k, n }) => Arc::new(Packed::unpack(bytes, groups, k, n)),
            (_, other) => panic!("{parameter} is {other:?}, not an fp8 matrix"),
        };
        Arc::clone(packed.entry(parameter).or_insert_with(unpack))
    }
}
