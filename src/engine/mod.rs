//! Engines: whatever can run a step of the plan.
//!
//! **Invariants**
//! * Engines are interchangeable: they take steps, tensors by name and bytes, and nothing of theirs leaks out.
//! * An engine that says it is exact makes the same bytes as [`mod@reference`], or it has a bug.
//! * Only exact rules may take a fast path; changed rules run on the reference's scalar rows.

pub mod control;
pub mod cpu;
pub mod events;
mod held;
pub mod measure;
pub mod memory;
pub mod reference;
pub mod runner;
pub mod spec;
pub mod trace;
pub mod vulkan;

pub use control::{Control, Progress};
pub use spec::{EngineSpec, open};

use crate::model::Model;
use crate::plan::{Plan, Step};
use crate::tensor::{Keeper, SpillError, Tensor, TensorName};
use std::sync::Arc;
use std::time::Duration;
use vulkan::colour::Picture;

/// What an engine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// The name that a command line gives it: `reference`, `cpu`, `vulkan:0`.
    pub name: String,
    /// What it runs on, for people: CPU features, or device and driver.
    pub device: String,
    /// Whether its bytes are meant to equal the reference's.
    pub exact: bool,
}

/// What running one step took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Time of the kernel itself: wall time on a CPU, timestamps on a device.
    pub duration: Duration,
}

/// Why a step did not run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Nothing was wrong: the user cancelled.
    #[error("cancelled")]
    Cancelled,
    /// This machine or this build cannot run the engine.
    #[error("engine {engine} is not available: {message}")]
    Unavailable {
        /// The engine as it was asked for.
        engine: String,
        /// Why, and what to use instead.
        message: String,
    },
    /// A step needs a tensor that was neither written nor computed.
    #[error(
        "{engine}: step \"{step}\" needs tensor \"{tensor}\", which is not there; run the steps before it, or write the tensor"
    )]
    MissingTensor {
        /// The engine.
        engine: String,
        /// The step.
        step: TensorName,
        /// The missing input.
        tensor: TensorName,
    },
    /// A tensor was asked for that the engine does not hold.
    #[error("{engine}: tensor \"{tensor}\" was not computed, or was released")]
    NotHeld {
        /// The engine.
        engine: String,
        /// The tensor.
        tensor: TensorName,
    },
    /// A tensor's shape is not the plan's.
    #[error("tensor \"{tensor}\": the plan has {expected}, found {found}")]
    WrongShape {
        /// The tensor.
        tensor: TensorName,
        /// Shape in the plan.
        expected: crate::tensor::Shape,
        /// Shape given.
        found: crate::tensor::Shape,
    },
    /// A device, its driver or its memory failed.
    #[error("{engine}: {message}")]
    Device {
        /// The engine.
        engine: String,
        /// The call, the object and what to do.
        message: String,
    },
    /// A tensor beyond the memory budget could not be written to disk.
    #[error(transparent)]
    Spill(#[from] SpillError),
}

/// Runs steps and holds tensors by name. One engine serves one plan and one model at a time.
pub trait Engine: Send {
    /// What this engine is.
    fn info(&self) -> EngineInfo;

    /// Prepares for a plan and a model; drops every tensor held.
    ///
    /// # Errors
    /// When weights do not fit the device.
    fn load(&mut self, plan: &Arc<Plan>, model: &Arc<Model>) -> Result<(), EngineError>;

    /// Gives the engine a tensor: the features, or an input of a step to be run in isolation.
    ///
    /// # Errors
    /// When its shape is not the plan's, or it does not fit the device.
    fn write(&mut self, tensor: Tensor) -> Result<(), EngineError>;

    /// Runs one step; its outputs are then held by the engine. The step may differ from the plan's own in rules
    /// or sources.
    ///
    /// # Errors
    /// When an input is missing, the device fails, or the control cancels.
    fn run(&mut self, step: &Step, control: &Control) -> Result<StepReport, EngineError>;

    /// A held tensor.
    ///
    /// # Errors
    /// When the engine does not hold it.
    fn read(&mut self, name: &TensorName) -> Result<Tensor, EngineError>;

    /// Forgets a tensor; unknown names are ignored.
    fn release(&mut self, name: &TensorName);

    /// Holds boundaries within a budget from now on. Engines that hold their tensors on a device have a budget of
    /// their own.
    fn keep_within(&mut self, keeper: &Arc<Keeper>) {
        // Nothing is held in this process's memory.
        let _: &Arc<Keeper> = keeper;
    }

    /// A picture of a held tensor, made where it lies, before anybody reads it; `None` where an engine has no such way.
    ///
    /// # Errors
    /// When the device fails.
    fn picture_of(&mut self, name: &TensorName, look: &vulkan::colour::Look) -> Result<Option<Picture>, EngineError> {
        // The tensor is in this process's memory: whoever wants a picture reads it.
        let _: (&TensorName, &vulkan::colour::Look) = (name, look);
        Ok(None)
    }

    /// What a report or capture made with this engine should say about it, beyond [`Self::info`]: name and value.
    fn facts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// Refuses a tensor whose shape is not the plan's.
pub(crate) fn check_shape(plan: &Plan, tensor: &Tensor) -> Result<(), EngineError> {
    let Some(info) = plan.tensors.get(&tensor.name) else { return Ok(()) };
    if info.shape == tensor.shape {
        return Ok(());
    }
    Err(EngineError::WrongShape { tensor: tensor.name.clone(), expected: info.shape, found: tensor.shape })
}
