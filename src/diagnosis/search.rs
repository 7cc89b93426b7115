//! Two whole runs: from the first divergence to the end of the network.
//!
//! Both sides are measured against the exact network, which the fastest exact engine runs step by step. An engine's
//! side is given the exact inputs of every step (isolated mode), so one bad kernel lights one step; a recording's
//! block is re-run exactly from the recording's own previous boundary. Doubts come first: whether the exact engine
//! agrees with the scalar reference here, whether the inputs are the same lane by lane, whether a divergent step gives
//! the same bytes twice. A side that is the exact engine itself is not walked.

use super::explain::{Explained, Segment, explain};
use super::{Pattern, Profile, Tested, Variant, find};
use crate::compare::{self, Verdict};
use crate::engine::spec::EngineSpec;
use crate::engine::{Control, Engine, EngineError, reference, runner};
use crate::frame::LANES;
use crate::geometry::WindowGrid;
use crate::model::Model;
use crate::plan::{Op, Plan, Role, names};
use crate::tensor::{Digest, Keeper, Tensor, TensorName};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Rows per step of the exact engine that are checked against the scalar reference.
const CHECKED_ROWS: usize = 2;

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
    /// The input.
    pub features: Tensor,
    /// The side under suspicion.
    pub side: Run<'a>,
    /// Last step looked at; all without.
    pub until: Option<usize>,
    /// Stop after this many findings.
    pub limit: usize,
}

/// Something that was doubted first.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Doubt {
    /// What.
    pub what: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// In a sentence.
    pub text: String,
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
}

impl Finding {
    /// The best cause, if it explains every byte.
    pub fn cause(&self) -> Option<&Tested> {
        self.tested.first().filter(|_| self.explained == Explained::Exactly)
    }

    /// The finding in one sentence.
    pub fn sentence(&self) -> String {
        let share = 100.0 * self.differing as f64 / self.elements.max(1) as f64;
        let place = format!("\"{}\" (block {}, {})", self.tensor, self.block, self.kernel);
        let differs = format!("{place} differs in {} of {} elements ({share:.3} %)", self.differing, self.elements);
        let name = |t: &Tested| {
            let names = t.causes.iter().map(|id| find(id).map_or(*id, |(_, v)| v.name));
            format!("{} [{}]", names.collect::<Vec<_>>().join(", and "), t.causes.join(" + "))
        };
        match (self.tested.first(), self.explained) {
            (Some(best), Explained::Exactly) => {
                let whole = if best.whole { "" } else { " of a sample" };
                format!("{differs}: {}; 100 % of the differences{whole} explained, 0 new.", name(best))
            }
            (Some(best), Explained::Partly) => format!(
                "{differs}: not fully explained; closest: {}, {:.1} % explained, {} bytes newly wrong.",
                name(best),
                100.0 * best.share(),
                best.newly_wrong
            ),
            _ => format!("{differs}: none of the known causes ({} tried).", self.tried),
        }
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
    let mut walk = Walk {
        plan: Arc::clone(&question.plan),
        model: Arc::clone(&question.model),
        control,
        progress,
        diagnosis: Diagnosis::default(),
        confirmed: Vec::new(),
        shapes: BTreeMap::new(),
        known: BTreeMap::new(),
        limit: question.limit.max(1),
        check: (0, 0),
    };
    let steps = runner::until(&question.plan, question.until);
    match question.side {
        Run::Engine { mut engine, plan } => walk.engine(exact, engine.as_mut(), &plan, question.features, steps)?,
        Run::Recording(get) => walk.recording(exact, &*get, question.features, steps)?,
    }
    walk.finish();
    walk.diagnosis.products = control.done();
    Ok(walk.diagnosis)
}

struct Walk<'a> {
    plan: Arc<Plan>,
    model: Arc<Model>,
    control: &'a Control,
    progress: &'a (dyn Fn(Stage) + Sync),
    diagnosis: Diagnosis,
    /// Variants that explained something exactly.
    confirmed: Vec<&'static Variant>,
    /// Exact and divergent steps by op and shape.
    shapes: BTreeMap<(&'static str, String), (usize, usize)>,
    /// Exact tensors still of use: all boundaries, and the current block's.
    known: BTreeMap<TensorName, Tensor>,
    limit: usize,
    /// Rows checked against the scalar reference, and wrong ones.
    check: (usize, usize),
}

impl Walk<'_> {
    /// Every step of an engine on exact inputs.
    fn engine(
        &mut self,
        exact: &mut dyn Engine,
        subject: &mut dyn Engine,
        plan: &Arc<Plan>,
        features: Tensor,
        steps: Range<usize>,
    ) -> Result<(), EngineError> {
        let own = Arc::clone(&self.plan);
        exact.load(&own, &self.model)?;
        subject.load(plan, &self.model)?;
        exact.write(features.clone())?;
        self.known.insert(features.name.clone(), features);
        let count = steps.len();
        let mut block = 0;
        for i in steps {
            let step = &own.steps[i];
            if step.block != block {
                block = step.block;
                let dead = |name: &TensorName| own.tensors.get(name).is_some_and(|t| t.role == Role::Intermediate);
                let gone: Vec<TensorName> = self.known.keys().filter(|name| dead(name)).cloned().collect();
                for name in gone {
                    // The raw merges in front of blocks 66 and 70 are read inside their block only.
                    self.known.remove(&name);
                    exact.release(&name);
                }
            }
            (self.progress)(Stage::Comparing(step.name().clone(), i, count));
            exact.run(step, self.control)?;
            let mut outputs = Vec::new();
            for name in step.op.outputs() {
                outputs.push(exact.read(name)?);
            }
            self.check_rows(i, &outputs)?;
            let once = self.subject_outputs(subject, plan, i)?;
            let observed: Vec<(Tensor, Tensor)> = once.into_iter().zip(outputs.iter().cloned()).collect();
            if observed.iter().any(|(s, r)| s.bytes() != r.bytes()) {
                let twice = self.subject_outputs(subject, plan, i)?;
                let stable = observed.iter().zip(&twice).all(|((a, _), b)| a.bytes() == b.bytes());
                self.find(i..i + 1, observed, stable)?;
            } else {
                self.agree(i, observed.len());
            }
            self.known.extend(outputs.into_iter().map(|t| (t.name.clone(), t)));
            if self.diagnosis.findings.len() >= self.limit {
                break;
            }
        }
        let (rows, wrong) = self.check;
        self.diagnosis.doubts.push(Doubt {
            what: "reference",
            holds: wrong == 0,
            text: format!(
                "{rows} sampled rows of the exact engine were computed again by the scalar reference, {wrong} differ"
            ),
        });
        Ok(())
    }

    /// The subject's outputs of one step, on the exact inputs.
    fn subject_outputs(&self, subject: &mut dyn Engine, plan: &Plan, i: usize) -> Result<Vec<Tensor>, EngineError> {
        let step = &plan.steps[i];
        for name in step.op.inputs() {
            if let Some(tensor) = self.known.get(name) {
                subject.write(tensor.clone())?;
            }
        }
        subject.run(step, self.control)?;
        let outputs = self.plan.steps[i].op.outputs().into_iter().map(|name| subject.read(name)).collect();
        for name in step.op.inputs().into_iter().chain(step.op.outputs()) {
            subject.release(name);
        }
        outputs
    }

    /// Checks the exact engine on two rows of a step.
    fn check_rows(&mut self, i: usize, outputs: &[Tensor]) -> Result<(), EngineError> {
        let step = &self.plan.steps[i];
        let tokens = outputs[0].shape.tokens();
        let rows: Vec<usize> = (1..=CHECKED_ROWS).map(|k| tokens * k / (CHECKED_ROWS + 1)).collect();
        let sources = reference::Sources { plan: &self.plan, model: &self.model, tensors: &self.known };
        let scalar = reference::run_rows(step, sources, &rows, self.control)?;
        for ((_, bytes), tensor) in scalar.iter().zip(outputs) {
            let stride = tensor.row(0).len();
            for (bytes, &row) in bytes.chunks_exact(stride).zip(&rows) {
                self.check.0 += 1;
                self.check.1 += usize::from(bytes != tensor.row(row));
            }
        }
        Ok(())
    }

    /// Every boundary of a recording, re-run from the recording's own earlier tensors.
    fn recording(
        &mut self,
        exact: &mut dyn Engine,
        get: &dyn Fn(&TensorName) -> Option<Tensor>,
        features: Tensor,
        steps: Range<usize>,
    ) -> Result<(), EngineError> {
        let plan = Arc::clone(&self.plan);
        let recorded_features = get(&names::features());
        self.lanes(recorded_features.as_ref(), &features);
        let features = recorded_features.unwrap_or(features);
        let lookup = |name: &TensorName| if *name == names::features() { Some(features.clone()) } else { get(name) };
        let count = plan.boundaries.len();
        let mut digests: Vec<(Digest, TensorName)> = Vec::new();
        for (n, name) in plan.boundaries.iter().enumerate() {
            let Some(writer) = plan.tensor(name).step.filter(|step| steps.contains(step)) else { continue };
            (self.progress)(Stage::Comparing(name.clone(), n, count));
            let Some(recorded) = get(name) else {
                self.diagnosis.not_compared.push((name.to_string(), "the recording does not have it".to_owned()));
                continue;
            };
            // Back to where everything that is read was recorded.
            let mut range = writer..writer + 1;
            loop {
                let missing = runner::needed(&plan, &range).into_iter().filter(|name| lookup(name).is_none());
                let Some(step) = missing.filter_map(|name| plan.tensor(&name).step).min() else { break };
                range.start = step;
            }
            self.known =
                runner::needed(&plan, &range).into_iter().filter_map(|n| Some((n.clone(), lookup(&n)?))).collect();
            // Sources that a cause may read instead.
            let earlier = plan.boundaries.iter().filter(|other| plan.tensor(other).step < Some(range.start));
            self.known.extend(earlier.filter_map(|other| Some((other.clone(), lookup(other)?))));
            exact.load(&plan, &self.model)?;
            for tensor in self.known.values() {
                exact.write(tensor.clone())?;
            }
            for step in &plan.steps[range.clone()] {
                exact.run(step, self.control)?;
            }
            let truth = exact.read(name)?;
            let digest = recorded.digest();
            let other = digests.iter().find(|(seen, _)| *seen == digest).map(|(_, name)| name.clone());
            digests.push((digest, name.clone()));
            if recorded.shape == truth.shape && recorded.bytes() == truth.bytes() {
                self.agree(writer, 1);
                continue;
            }
            if let Some(other) = other {
                let text = format!(
                    "\"{name}\" holds the same bytes as \"{other}\": a dump under the wrong name (dump-of-another-boundary)"
                );
                self.diagnosis.doubts.push(Doubt { what: "files", holds: false, text });
            }
            self.find(range, vec![(recorded, truth)], true)?;
            if self.diagnosis.findings.len() >= self.limit {
                break;
            }
        }
        Ok(())
    }

    /// The input, lane by lane.
    fn lanes(&mut self, recorded: Option<&Tensor>, given: &Tensor) {
        let Some(recorded) = recorded else { return };
        let differing: Vec<String> = (0..LANES)
            .filter(|&lane| (0..given.shape.tokens()).any(|t| recorded.bits(t, lane) != given.bits(t, lane)))
            .map(|lane| lane.to_string())
            .collect();
        let text = match differing.is_empty() {
            true => "all 16 lanes of the input features are equal".to_owned(),
            false => format!("input lanes {} differ; the recording's own features are used", differing.join(", ")),
        };
        self.diagnosis.doubts.push(Doubt { what: "inputs", holds: differing.is_empty(), text });
    }

    fn agree(&mut self, step: usize, tensors: usize) {
        self.diagnosis.exact += tensors;
        self.shapes.entry(shape_of(&self.plan, step)).or_default().0 += 1;
    }

    /// Explains one divergent segment.
    fn find(&mut self, steps: Range<usize>, observed: Vec<(Tensor, Tensor)>, stable: bool) -> Result<(), EngineError> {
        let plan = Arc::clone(&self.plan);
        let last = &plan.steps[steps.end - 1];
        self.shapes.entry(shape_of(&plan, last.index)).or_default().1 += 1;
        let name = last.name().clone();
        let segment = Segment { plan: &plan, model: &self.model, steps: steps.clone(), known: &self.known, observed };
        let progress = |done, all| (self.progress)(Stage::Testing(name.clone(), done, all));
        let explanation = match stable {
            true => explain(&segment, &self.confirmed, self.control, &progress)?,
            false => super::Explanation {
                explained: Explained::NotAtAll,
                tested: Vec::new(),
                tried: 0,
                comparisons: segment.observed.iter().map(|(s, r)| compare::compare(s, r)).collect(),
            },
        };
        let worst = explanation.comparisons.iter().position(|c| c.verdict != Verdict::BitExact).unwrap_or(0);
        let comparison = &explanation.comparisons[worst];
        if let Verdict::NotCompared(reason) = &comparison.verdict {
            self.diagnosis.not_compared.push((comparison.name.to_string(), reason.clone()));
            return Ok(());
        }
        if explanation.explained == Explained::Exactly {
            let causes = explanation.tested[0].causes.clone();
            let again = |f: &&mut Finding| f.cause().is_some_and(|cause| cause.causes == causes);
            if let Some(before) = self.diagnosis.findings.iter_mut().find(again) {
                before.also.push(name.to_string());
                return Ok(());
            }
            self.confirmed.extend(causes.iter().filter_map(|id| find(id)).map(|(_, variant)| variant));
        }
        let (subject, exact) = &segment.observed[worst];
        let grid = window_grid(&plan, last.block);
        let mut pattern = Pattern::of(subject, exact, &comparison.counts, grid.as_ref());
        if !stable {
            pattern.notes.insert(0, "The subject gives other bytes when the step is repeated (nondeterminism): no arithmetic cause was tested.".to_owned());
        }
        let kernels: Vec<&str> = plan.steps[steps].iter().map(|step| step.kernel).collect();
        let finding = Finding {
            tensor: comparison.name.to_string(),
            block: last.block,
            kernel: kernels.join(", "),
            explained: explanation.explained,
            tested: explanation.tested,
            tried: explanation.tried,
            differing: comparison.counts.differing(),
            elements: comparison.counts.total(),
            first: comparison.first.map(|d| (d.x, d.y, d.channel, d.subject_bits, d.reference_bits)),
            pattern,
            also: Vec::new(),
        };
        self.diagnosis.findings.push(finding);
        Ok(())
    }

    /// What only the whole walk can say.
    fn finish(&mut self) {
        let divergent: Vec<_> = self.shapes.iter().filter(|(_, (_, bad))| *bad > 0).collect();
        let [((word, shape), (0, bad))] = divergent[..] else { return };
        let others = self.shapes.iter().any(|((w, s), (good, _))| w == word && s != shape && *good > 0);
        let unexplained = self.diagnosis.findings.iter().any(|f| f.explained != Explained::Exactly);
        if *bad > 1 && others && unexplained {
            let text =
                format!("all {bad} steps of {word} {shape} differ and no step of another shape does (shape-specific)");
            self.diagnosis.doubts.push(Doubt { what: "shape", holds: false, text });
        }
    }
}

/// What a library would choose an algorithm by.
fn shape_of(plan: &Plan, step: usize) -> (&'static str, String) {
    let step = &plan.steps[step];
    let rows = plan.shape(step.name()).tokens();
    let shape = match &step.op {
        Op::Gemm(op) => format!("{} x {}x{}, {rows} rows", op.groups, op.k, op.n),
        Op::GemmHalf(op) => format!("{}x{}, {rows} rows", op.k, op.n),
        _ => plan.shape(step.name()).to_string(),
    };
    (step.op.word(), shape)
}

/// The window grid of a block.
pub fn window_grid(plan: &Plan, block: usize) -> Option<WindowGrid> {
    plan.steps.iter().filter(|step| step.block == block).find_map(|step| match &step.op {
        Op::WindowAttention(op) => Some(op.grid(plan.shape(&op.input).size)),
        _ => None,
    })
}

/// The engine changes that reproduce all exact findings.
pub fn profile_of(diagnosis: &Diagnosis) -> String {
    let exact = diagnosis.findings.iter().filter_map(Finding::cause).map(|cause| cause.profile.clone());
    exact.collect::<Vec<_>>().join("+")
}
