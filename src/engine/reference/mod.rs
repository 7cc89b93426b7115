//! The reference engine: scalar, obvious, never optimised. The definition of right for whole kernels.
//!
//! Every op is a function from input tensors to the bytes of chosen rows (tokens), so that one value, a sample or
//! a whole tensor come from the same code. Kernels follow the network's text line by line; speed comes only from
//! running rows on all cores.
//!
//! **Invariants**
//! * No table, no SIMD, no algebra that the text does not state.
//! * All rules of [`Rules`](crate::numerics::Rules) are interpreted here, by the functions of `rules`; other engines send changed rules here.

mod convert;
pub(crate) mod gemm;
mod gemm_half;
pub mod global_attention;
mod merge;
mod needs;
mod normalize;
mod pool;
mod rules;
pub mod window_attention;

pub(crate) use gemm::activated;
pub(crate) use needs::rows_needed;

use super::held::Held;
use super::{Control, Engine, EngineError, EngineInfo, StepReport};
use crate::model::Model;
use crate::numerics::rules::{Coverage, Layout};
use crate::plan::{Op, Plan, Step};
use crate::tensor::{Bytes, Keeper, Tensor, TensorName};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Rows of one tile: what runs between two looks at the cancel flag.
const TILE: usize = 16;

/// Everything a kernel may read.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// Shapes and geometry.
    pub plan: &'a Plan,
    /// Weights.
    pub model: &'a Model,
    /// Tensors by name.
    pub tensors: &'a BTreeMap<TensorName, Tensor>,
}

impl<'a> Sources<'a> {
    /// An input tensor; callers check first that it is there.
    pub(crate) fn tensor(&self, name: &TensorName) -> &'a Tensor {
        self.tensors.get(name).unwrap_or_else(|| panic!("input {name} was checked to be there"))
    }
}

/// Computes rows of one op: for each output of [`Op::outputs`], in that order, the bytes of the rows asked for,
/// in the order asked for.
pub(crate) type Kernel<'a> = Box<dyn Fn(&[usize]) -> Vec<Vec<u8>> + Sync + 'a>;

/// A published output, with the halves behind it where they are wanted.
fn with_raw(published: Vec<u8>, raw: Vec<u8>, wanted: bool) -> Vec<Vec<u8>> {
    if wanted { vec![published, raw] } else { vec![published] }
}

/// Binds a step to its sources: unpacks its weights once and returns the function from rows to bytes.
pub(crate) fn kernel<'a>(step: &'a Step, sources: Sources<'a>) -> Kernel<'a> {
    match &step.op {
        Op::Convert(op) => convert::kernel(op, &step.rules, sources),
        Op::Gemm(op) => gemm::kernel(op, &step.rules, sources),
        Op::GemmHalf(op) => gemm_half::kernel(op, &step.rules, sources),
        Op::Normalize(op) => normalize::kernel(op, &step.rules, sources),
        Op::WindowAttention(op) => window_attention::kernel(op, &step.rules, sources),
        Op::GlobalAttention(op) => global_attention::kernel(op, &step.rules, sources),
        Op::Pool(op) => pool::kernel(op, &step.rules, sources),
        Op::Merge(op) => merge::kernel(op, &step.rules, sources),
    }
}

/// The bytes of chosen rows of a step's outputs: one `Vec` per output of [`Op::outputs`], rows packed in the
/// order given.
///
/// # Errors
/// When an input is missing, or the control cancels.
pub fn run_rows(
    step: &Step,
    sources: Sources<'_>,
    rows: &[usize],
    control: &Control,
) -> Result<Vec<(TensorName, Vec<u8>)>, EngineError> {
    check_inputs("reference", step, sources)?;
    let rearranged = step.rules.layout != Layout::RowMajor || step.rules.coverage != Coverage::All;
    if rearranged {
        return rearranged_rows(step, sources, rows, control);
    }
    computed_rows(step, sources, rows, control)
}

/// All rows of a step's outputs.
pub(crate) fn run_whole(step: &Step, sources: Sources<'_>, control: &Control) -> Result<Vec<Bytes>, EngineError> {
    let rows: Vec<usize> = (0..sources.plan.shape(step.name()).tokens()).collect();
    let outputs = run_rows(step, sources, &rows, control)?;
    Ok(outputs.into_iter().map(|(_, bytes)| Bytes::copy(&bytes)).collect())
}

/// Rows as the kernel writes them.
fn computed_rows(
    step: &Step,
    sources: Sources<'_>,
    rows: &[usize],
    control: &Control,
) -> Result<Vec<(TensorName, Vec<u8>)>, EngineError> {
    let kernel = kernel(step, sources);
    let products = step.op.products(sources.plan) / sources.plan.shape(step.name()).tokens().max(1) as u64;
    let tiles: Vec<Vec<Vec<u8>>> = rows
        .par_chunks(TILE)
        .map(|tile| {
            if control.is_cancelled() {
                return Err(EngineError::Cancelled);
            }
            let out = kernel(tile);
            control.advance(products * tile.len() as u64);
            Ok(out)
        })
        .collect::<Result<_, _>>()?;
    let joined = step.op.outputs().into_iter().enumerate().map(|(i, name)| {
        let bytes = tiles.iter().flat_map(|tile| tile[i].iter().copied()).collect();
        (name.clone(), bytes)
    });
    Ok(joined.collect())
}

/// Refuses a step whose inputs are not all there.
pub(crate) fn check_inputs(engine: &str, step: &Step, sources: Sources<'_>) -> Result<(), EngineError> {
    let Some(&missing) = step.op.inputs().iter().find(|name| !sources.tensors.contains_key(**name)) else {
        return Ok(());
    };
    let (engine, tensor) = (engine.to_owned(), missing.clone());
    Err(EngineError::MissingTensor { engine, step: step.name().clone(), tensor })
}

/// Rows as a reader finds them whose idea of the memory's order is not the writer's.
fn rearranged_rows(
    step: &Step,
    sources: Sources<'_>,
    rows: &[usize],
    control: &Control,
) -> Result<Vec<(TensorName, Vec<u8>)>, EngineError> {
    let outputs = step.op.outputs();
    let mut read = Vec::new();
    for (i, name) in outputs.into_iter().enumerate() {
        let shape = sources.plan.shape(name);
        let behind = rules::rows_behind(&shape, rows, &step.rules);
        let bytes = computed_rows(step, sources, &behind, control)?.swap_remove(i).1;
        read.push((name.clone(), rules::rearrange(&shape, rows, &behind, &bytes, &step.rules)));
    }
    Ok(read)
}

/// The engine over [`run_rows`]: every row of every step.
#[derive(Debug, Default)]
pub struct Reference {
    held: Held,
}

impl Reference {
    /// An engine without a plan.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Engine for Reference {
    fn info(&self) -> EngineInfo {
        EngineInfo { name: "reference".to_owned(), device: "scalar, all cores".to_owned(), exact: true }
    }

    fn load(&mut self, plan: &Arc<Plan>, model: &Arc<Model>) -> Result<(), EngineError> {
        self.held.load(plan, model);
        Ok(())
    }

    fn write(&mut self, tensor: Tensor) -> Result<(), EngineError> {
        self.held.write(tensor)
    }

    fn run(&mut self, step: &Step, control: &Control) -> Result<StepReport, EngineError> {
        let start = Instant::now();
        let outputs = run_whole(step, self.held.sources(), control)?;
        self.held.publish(step, outputs)?;
        Ok(StepReport { duration: start.elapsed() })
    }

    fn read(&mut self, name: &TensorName) -> Result<Tensor, EngineError> {
        self.held.read("reference", name)
    }

    fn release(&mut self, name: &TensorName) {
        self.held.release(name);
    }

    fn keep_within(&mut self, keeper: &Arc<Keeper>) {
        self.held.keeper = Arc::clone(keeper);
    }
}
