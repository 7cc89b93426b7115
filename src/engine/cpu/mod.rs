//! The fast engine: SIMD chosen at run time, all cores, the same bytes as the reference.
//!
//! **Invariants**
//! * Every op and every [`Level`] makes the reference's bytes, or it has a bug.
//! * A step whose rules are not exact runs on the reference's scalar rows: no kernel is copied for a cause.

mod level;

// The kernels. They exist where their instructions do; elsewhere every level is the reference's rows.
#[cfg(target_arch = "x86_64")]
mod convert;
#[cfg(target_arch = "x86_64")]
mod gemm;
#[cfg(target_arch = "x86_64")]
mod gemm_half;
#[cfg(target_arch = "x86_64")]
mod global_attention;
#[cfg(target_arch = "x86_64")]
mod merge;
#[cfg(target_arch = "x86_64")]
mod normalize;
#[cfg(target_arch = "x86_64")]
mod pool;
#[cfg(target_arch = "x86_64")]
mod publish;
#[cfg(target_arch = "x86_64")]
mod run;
#[cfg(target_arch = "x86_64")]
mod simd;
#[cfg(target_arch = "x86_64")]
mod window_attention;

#[cfg(target_arch = "x86_64")]
use run::{Outputs, Run, TILE};

pub use level::Level;

use super::{Control, Engine, EngineError, EngineInfo, StepReport, reference};
use crate::model::{Matrix, Model, Parameter};
use crate::plan::{Plan, Step};
use crate::tensor::{Bytes, Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Weight matrices in plain order, unpacked when a step first needs them.
type Matrices = Mutex<BTreeMap<Parameter, Arc<Matrix>>>;

/// The engine over SIMD kernels.
#[derive(Debug)]
pub struct Cpu {
    level: Level,
    loaded: Option<(Arc<Plan>, Arc<Model>)>,
    tensors: BTreeMap<TensorName, Tensor>,
    matrices: Matrices,
}

impl Cpu {
    /// An engine at a level, without a plan.
    ///
    /// # Errors
    /// When this processor lacks the level's instructions.
    pub fn new(level: Level) -> Result<Self, EngineError> {
        if !level.is_available() {
            let message = format!("this processor has no {level}; it has {}", Level::available_names());
            return Err(EngineError::Unavailable { engine: format!("cpu:{level}"), message });
        }
        Ok(Self { level, loaded: None, tensors: BTreeMap::new(), matrices: Matrices::default() })
    }

    /// The level in use.
    pub fn level(&self) -> Level {
        self.level
    }
}

impl Engine for Cpu {
    fn info(&self) -> EngineInfo {
        let device = format!("{}, {} threads", self.level.label(), rayon::current_num_threads());
        EngineInfo { name: "cpu".to_owned(), device, exact: true }
    }

    fn load(&mut self, plan: &Arc<Plan>, model: &Arc<Model>) -> Result<(), EngineError> {
        if !self.loaded.as_ref().is_some_and(|(_, before)| Arc::ptr_eq(before, model)) {
            self.matrices = Matrices::default();
        }
        self.loaded = Some((Arc::clone(plan), Arc::clone(model)));
        self.tensors.clear();
        Ok(())
    }

    fn write(&mut self, tensor: Tensor) -> Result<(), EngineError> {
        if let Some((plan, _)) = &self.loaded {
            super::check_shape(plan, &tensor)?;
        }
        self.tensors.insert(tensor.name.clone(), tensor);
        Ok(())
    }

    fn run(&mut self, step: &Step, control: &Control) -> Result<StepReport, EngineError> {
        let start = Instant::now();
        let (plan, model) = self.loaded.as_ref().expect("load comes before run");
        let sources = reference::Sources { plan, model, tensors: &self.tensors };
        for (name, bytes) in outputs(self.level, step, sources, &self.matrices, control)? {
            let shape = plan.shape(&name);
            let tensor = Tensor::new(name.clone(), shape, bytes).expect("kernels fill their shape");
            self.tensors.insert(name, tensor);
        }
        Ok(StepReport { duration: start.elapsed() })
    }

    fn read(&mut self, name: &TensorName) -> Result<Tensor, EngineError> {
        let engine = || "cpu".to_owned();
        self.tensors.get(name).cloned().ok_or_else(|| EngineError::NotHeld { engine: engine(), tensor: name.clone() })
    }

    fn release(&mut self, name: &TensorName) {
        self.tensors.remove(name);
    }
}

/// A step's output bytes: by the level's kernels for exact rules, else by the reference's rows.
fn outputs(
    level: Level,
    step: &Step,
    sources: reference::Sources<'_>,
    matrices: &Matrices,
    control: &Control,
) -> Result<Vec<(TensorName, Bytes)>, EngineError> {
    reference::check_inputs("cpu", step, sources)?;
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = simd::Avx2::new().filter(|_| level >= Level::Avx2 && step.rules.is_exact()) {
        return run::run(token, step, sources, matrices, control);
    }
    let rows: Vec<usize> = (0..sources.plan.shape(step.name()).tokens()).collect();
    let outputs = reference::run_rows(step, sources, &rows, control)?;
    Ok(outputs.into_iter().map(|(name, bytes)| (name, Bytes::copy(&bytes))).collect())
}
