//! One step on the SIMD kernels: what they read, and how they hand over what they made.

use super::simd::Avx2;
use super::{Matrices, convert, gemm, gemm_half, global_attention, merge, normalize, pool, window_attention};
use crate::engine::reference::{self, Sources};
use crate::engine::{Control, EngineError};
use crate::model::{Matrix, Model, Parameter};
use crate::plan::{Op, Plan, Step};
use crate::tensor::{Bytes, Tensor, TensorName};
use std::sync::{Arc, PoisonError};

/// Rows of a tile of the light kernels: what runs between two looks at the cancel flag.
pub(super) const TILE: usize = 1024;

/// Everything a kernel may use.
pub(super) struct Run<'a> {
    /// The instructions.
    pub(super) token: Avx2,
    /// Shapes.
    pub(super) plan: &'a Plan,
    /// Weights.
    pub(super) model: &'a Model,
    /// Cancel and progress.
    pub(super) control: &'a Control,
    /// Products of the whole step.
    pub(super) products: u64,
    step: &'a Step,
    sources: Sources<'a>,
    matrices: &'a Matrices,
}

impl<'a> Run<'a> {
    /// An input; [`reference::check_inputs`] has seen that it is there.
    pub(super) fn tensor(&self, name: &TensorName) -> &'a Tensor {
        self.sources.tensor(name)
    }

    /// A weight matrix, unpacked once.
    pub(super) fn matrix(&self, parameter: Parameter) -> Arc<Matrix> {
        let known = self.matrices.lock().unwrap_or_else(PoisonError::into_inner).get(&parameter).cloned();
        known.unwrap_or_else(|| {
            let matrix = Arc::new(self.model.matrix(parameter));
            let mut matrices = self.matrices.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(matrices.entry(parameter).or_insert(matrix))
        })
    }

    /// A vector of halves, as bits.
    pub(super) fn halves(&self, parameter: Parameter) -> Vec<u16> {
        self.model.halves(parameter).into_iter().map(|h| h.to_bits()).collect()
    }

    /// Ends the step if it was cancelled.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        if self.control.is_cancelled() { Err(EngineError::Cancelled) } else { Ok(()) }
    }

    /// The whole step on the reference's rows: for inputs that the kernels do not take.
    pub(super) fn on_reference(&self) -> Result<Outputs, EngineError> {
        let rows: Vec<usize> = (0..self.plan.shape(self.step.name()).tokens()).collect();
        let made = reference::run_rows(self.step, self.sources, &rows, self.control)?;
        Ok(Outputs(made.into_iter().map(|(name, bytes)| (name, Bytes::copy(&bytes))).collect()))
    }
}

/// What a kernel made.
#[derive(Default)]
pub(super) struct Outputs(Vec<(TensorName, Bytes)>);

impl Outputs {
    /// A tensor of codes, if the op asks for it.
    pub(super) fn codes(&mut self, name: Option<&TensorName>, codes: Vec<u8>) {
        if let Some(name) = name {
            self.push(name, Bytes::copy(&codes));
        }
    }

    /// A tensor of halves, if the op asks for it.
    pub(super) fn halves(&mut self, name: Option<&TensorName>, halves: Vec<u16>) {
        if let Some(name) = name {
            self.push(name, Bytes::copy(&halves));
        }
    }

    /// A tensor.
    pub(super) fn push(&mut self, name: &TensorName, bytes: Bytes) {
        self.0.push((name.clone(), bytes));
    }
}

/// Runs a step whose inputs are there and whose rules are exact.
pub(super) fn run(
    token: Avx2,
    step: &Step,
    sources: Sources<'_>,
    matrices: &Matrices,
    control: &Control,
) -> Result<Vec<(TensorName, Bytes)>, EngineError> {
    let (plan, model) = (sources.plan, sources.model);
    let run = Run { token, plan, model, control, products: step.op.products(plan), step, sources, matrices };
    let outputs = match &step.op {
        Op::Convert(op) => convert::run(op, &run),
        Op::Gemm(op) => gemm::run(op, &run),
        Op::GemmHalf(op) => gemm_half::run(op, &run),
        Op::Normalize(op) => normalize::run(op, &run),
        Op::WindowAttention(op) => window_attention::run(op, &run),
        Op::GlobalAttention(op) => global_attention::run(op, &run),
        Op::Pool(op) => pool::run(op, &run),
        Op::Merge(op) => merge::run(op, &run),
    };
    outputs.map(|outputs| outputs.0)
}
