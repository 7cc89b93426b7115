//! Two whole runs: from the first divergence to the end of the network.
//!
//! Both sides are measured against the exact network, which the fastest exact engine runs step by step. An engine's
//! side is given the exact inputs of every step (isolated mode), so one bad kernel lights one step; a recording's
//! block is re-run exactly from the recording's own previous boundary. Doubts come first: whether the exact engine
//! agrees with the scalar reference here, whether the inputs are the same lane by lane, whether a divergent step gives
//! the same bytes twice. A side that is the exact engine itself is not walked.

mod doubt;
mod engine;
mod observer;
mod recording;
mod walk;

pub use doubt::Doubt;
pub use observer::observe;
pub use walk::window_grid;

use super::explain::{self, Explained};
use super::{Pattern, Profile, Tested};
use crate::compare;
use crate::engine::spec::EngineSpec;
use crate::engine::{Control, Engine, EngineError, runner};
use crate::model::Model;
use crate::plan::Plan;
use crate::tensor::{Keeper, Tensor, TensorName};
use std::sync::Arc;
use walk::Walk;

/// A recording's tensors, where it has them.
pub type Recall<'a> = dyn Fn(&TensorName) -> Option<Tensor> + 'a;

/// One side of a diagnosis.
pub enum Run<'a> {
    /// An engine and the plan that it runs: the exact one, or that of a [`Profile`].
    Engine {
        /// The engine.
        engine: Box<dyn Engine>,
        /// Its plan.
        plan: Arc<Plan>,
    },
    /// A recording: tensors by name, where it has them.
    Recording(Box<Recall<'a>>),
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Engine { .. } => "Engine",
            Self::Recording(_) => "Recording",
        })
    }
}

impl Run<'_> {
    /// The side of an engine spec: its causes become a plan.
    ///
    /// # Errors
    /// When a cause does not exist, has no place, or the engine cannot be opened.
    pub fn engine(spec: &EngineSpec, exact: &Arc<Plan>) -> Result<Self, SideError> {
        let plan = match spec.changes.is_empty() {
            true => Arc::clone(exact),
            false => Arc::new(Profile::new(&spec.changes)?.apply(exact)?),
        };
        Ok(Self::Engine { engine: crate::engine::open(spec)?, plan })
    }

    /// The same side, its engine keeping boundaries within a budget.
    #[must_use]
    pub fn within(mut self, keeper: &Arc<Keeper>) -> Self {
        if let Self::Engine { engine, .. } = &mut self {
            engine.keep_within(keeper);
        }
        self
    }
}

/// Why a side cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// Its causes.
    #[error(transparent)]
    Profile(#[from] super::ProfileError),
    /// Its engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What is asked. Plans are best built with [`Detail::Raw`](crate::plan::Detail::Raw): causes that read raw halves
/// need them.
#[derive(Debug)]
pub struct Question<'a> {
    /// The exact plan.
    pub plan: Arc<Plan>,
    /// The weights.
    pub model: Arc<Model>,
    /// The input that both sides are meant to have been given; a recording can do without.
    pub features: Option<Tensor>,
    /// The side under suspicion.
    pub side: Run<'a>,
    /// Last step looked at; all without.
    pub until: Option<usize>,
    /// Stop after this many findings.
    pub limit: usize,
}

/// One divergence with its explanation; further steps explained by the same cause are gathered in it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Finding {
    /// The tensor whose bytes differ first.
    pub tensor: String,
    /// Block.
    pub block: usize,
    /// Kernel, or the kernels between two boundaries.
    pub kernel: String,
    /// The answer.
    pub explained: Explained,
    /// Causes tested that explain something, best first.
    pub tested: Vec<Tested>,
    /// Candidates tried.
    pub tried: usize,
    /// Elements that differ, and all.
    pub differing: u64,
    /// Elements compared.
    pub elements: u64,
    /// Bits of the first difference: token x, y, channel, subject, exact.
    pub first: Option<(usize, usize, usize, u32, u32)>,
    /// Where the differences lie.
    pub pattern: Pattern,
    /// Later tensors that the same cause explains exactly.
    pub also: Vec<String>,
    /// Whether the bytes stayed the same when the step was repeated; `None` where nothing can be repeated.
    pub stable: Option<bool>,
}

impl Finding {
    /// The best cause, if it explains every byte.
    pub fn cause(&self) -> Option<&Tested> {
        self.tested.first().filter(|_| self.explained == Explained::Exactly)
    }

    /// The finding in one sentence.
    pub fn sentence(&self) -> String {
        let share = compare::percent(self.differing as f64 / self.elements.max(1) as f64);
        let place = format!("\"{}\" (block {}, {})", self.tensor, self.block, self.kernel);
        let differs = format!("{place} differs in {} of {} elements ({share})", self.differing, self.elements);
        let verdict = match self.stable {
            Some(false) => "the bytes move from run to run [nondeterminism]; no arithmetic cause was tested".to_owned(),
            _ => explain::verdict(self.explained, &self.tested, self.tried),
        };
        format!("{differs}: {verdict}.")
    }
}

/// The whole answer about one side.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Diagnosis {
    /// What was doubted first.
    pub doubts: Vec<Doubt>,
    /// Divergences, in the order of the network.
    pub findings: Vec<Finding>,
    /// Tensors that were compared and are bit-exact.
    pub exact: usize,
    /// Tensors that were not compared, with the reason.
    pub not_compared: Vec<(String, String)>,
    /// Products that the search computed.
    pub products: u64,
}

/// Where a search is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Comparing this tensor; index and number of steps.
    Comparing(TensorName, usize, usize),
    /// Testing causes on this tensor; done and all.
    Testing(TensorName, usize, usize),
}

/// Asks a question. `exact` is the engine that stands for the exact network: `cpu` or `reference`.
///
/// # Errors
/// Those of the engines, and a cancelled control.
pub fn diagnose(
    question: Question<'_>,
    exact: &mut dyn Engine,
    control: &Control,
    progress: &(dyn Fn(Stage) + Sync),
) -> Result<Diagnosis, EngineError> {
    let mut walk = Walk::new(&question, control, progress);
    let steps = runner::until(&question.plan, question.until);
    match question.side {
        Run::Engine { mut engine, plan } => {
            let features = question.features.ok_or_else(|| no_features(&engine.info().name))?;
            walk.engine(exact, engine.as_mut(), &plan, features, steps)?;
        }
        Run::Recording(get) => walk.recording(exact, &*get, question.features, steps)?,
    }
    walk.finish();
    walk.diagnosis.products = control.done();
    Ok(walk.diagnosis)
}

/// An engine cannot run without an input.
fn no_features(engine: &str) -> EngineError {
    let (step, tensor) = (crate::plan::names::inside(0, "input"), crate::plan::names::features());
    EngineError::MissingTensor { engine: engine.to_owned(), step, tensor }
}

/// The engine changes that reproduce all exact findings.
pub fn profile_of(diagnosis: &Diagnosis) -> String {
    let exact = diagnosis.findings.iter().filter_map(Finding::cause).map(|cause| cause.profile.clone());
    exact.collect::<Vec<_>>().join("+")
}
