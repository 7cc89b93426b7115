//! The fast engine: SIMD chosen at run time, all cores, the same bytes as the reference.
//!
//! **Invariants**
//! * Every op and every [`Level`] makes the reference's bytes, or it has a bug.
//! * A step whose rules are not exact runs on the reference's scalar rows: no kernel is copied for a cause.
#![expect(
    clippy::inline_always,
    reason = "instructions are switched on at a kernel's entry and reach what is inlined there"
)]

mod convert;
mod gemm;
mod gemm_half;
mod global_attention;
mod job;
mod level;
mod merge;
mod normalize;
mod pool;
mod simd;
mod softmax;
mod weights;
mod window_attention;

pub use level::Level;

use super::held::Held;
use super::{Control, Engine, EngineError, EngineInfo, StepReport, reference};
use crate::model::Model;
use crate::numerics::fdpa::GROUP_FP8;
use crate::plan::{Op, Plan, Step};
use crate::tensor::{Bytes, Keeper, Tensor, TensorName};
use std::sync::Arc;
use std::time::Instant;

use job::Job;
use weights::Weights;

/// The engine over SIMD kernels.
#[derive(Debug)]
pub struct Cpu {
    level: Level,
    held: Held,
    weights: Weights,
}

impl Cpu {
    /// An engine at a level, without a plan.
    ///
    /// # Errors
    /// When this processor lacks the level's instructions.
    pub fn new(level: Level) -> Result<Self, EngineError> {
        if !level.is_available() {
            let message = format!(
                "this processor, or this build, has no {level} kernels; there are {}",
                Level::available_names()
            );
            return Err(EngineError::Unavailable { engine: format!("cpu:{level}"), message });
        }
        Ok(Self { level, held: Held::default(), weights: Weights::default() })
    }

    /// The level in use.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The bytes of a step's outputs, in the order of [`Op::outputs`], from tensors that are held elsewhere.
    pub(crate) fn outputs(
        &self,
        step: &Step,
        sources: reference::Sources<'_>,
        control: &Control,
    ) -> Result<Vec<Bytes>, EngineError> {
        reference::check_inputs("cpu", step, sources)?;
        let reference::Sources { plan, model, tensors } = sources;
        let (level, weights) = (self.level, &self.weights);
        if step.rules.is_exact() && is_regular(&step.op) {
            compute(&step.op, &Job { level, plan, model, tensors, weights, control })
        } else {
            reference::run_whole(step, sources, control)
        }
    }
}

/// Whether an op has the network's own extents. A cause under test may cut K where no group ends.
fn is_regular(op: &Op) -> bool {
    match op {
        Op::Gemm(op) => op.partition.is_multiple_of(GROUP_FP8),
        _ => true,
    }
}

/// The bytes of an exact op's outputs, in the order of [`Op::outputs`].
fn compute(op: &Op, job: &Job<'_>) -> Result<Vec<Bytes>, EngineError> {
    match op {
        Op::Convert(op) => convert::run(op, job),
        Op::Gemm(op) => gemm::run(op, job),
        Op::GemmHalf(op) => gemm_half::run(op, job),
        Op::Normalize(op) => normalize::run(op, job),
        Op::WindowAttention(op) => window_attention::run(op, job),
        Op::GlobalAttention(op) => global_attention::run(op, job),
        Op::Pool(op) => pool::run(op, job),
        Op::Merge(op) => merge::run(op, job),
    }
}

impl Engine for Cpu {
    fn info(&self) -> EngineInfo {
        let device = format!("{}, {} threads", self.level.label(), rayon::current_num_threads());
        EngineInfo { name: "cpu".to_owned(), device, exact: true }
    }

    fn load(&mut self, plan: &Arc<Plan>, model: &Arc<Model>) -> Result<(), EngineError> {
        if self.held.load(plan, model) {
            self.weights = Weights::default();
        }
        Ok(())
    }

    fn write(&mut self, tensor: Tensor) -> Result<(), EngineError> {
        self.held.write(tensor)
    }

    fn run(&mut self, step: &Step, control: &Control) -> Result<StepReport, EngineError> {
        let start = Instant::now();
        let outputs = self.outputs(step, self.held.sources(), control)?;
        self.held.publish(step, outputs)?;
        Ok(StepReport { duration: start.elapsed() })
    }

    fn read(&mut self, name: &TensorName) -> Result<Tensor, EngineError> {
        self.held.read("cpu", name)
    }

    fn release(&mut self, name: &TensorName) {
        self.held.release(name);
    }

    fn keep_within(&mut self, keeper: &Arc<Keeper>) {
        self.held.keeper = Arc::clone(keeper);
    }
}
