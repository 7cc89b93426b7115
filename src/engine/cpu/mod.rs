//! The fast engine: SIMD chosen at run time, all cores, the same bytes as the reference.
//!
//! **Invariants**
//! * Every op and every [`Level`] makes the reference's bytes, or it has a bug.
//! * A step whose rules are not exact runs on the reference's scalar rows: no kernel is copied for a cause.

mod level;

pub use level::Level;

use super::{Control, Engine, EngineError, EngineInfo, StepReport, reference};
use crate::model::Model;
use crate::plan::{Plan, Step};
use crate::tensor::{Bytes, Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// The engine over SIMD kernels.
#[derive(Debug)]
pub struct Cpu {
    level: Level,
    loaded: Option<(Arc<Plan>, Arc<Model>)>,
    tensors: BTreeMap<TensorName, Tensor>,
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
        Ok(Self { level, loaded: None, tensors: BTreeMap::new() })
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
        let rows: Vec<usize> = (0..plan.shape(step.name()).tokens()).collect();
        for (name, bytes) in reference::run_rows(step, sources, &rows, control)? {
            let shape = plan.shape(&name);
            let tensor = Tensor::new(name.clone(), shape, Bytes::copy(&bytes)).expect("kernels fill their shape");
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
