//! The engine worker: runs its side's steps towards the goal, and judges the pair.
//!
//! One worker per engine. The subject's worker also judges: it compares each step once both sides have it, and
//! runs the step again on the reference's inputs where those differ from its own. When the subject is a
//! recording, the reference's worker judges instead, by re-running from the recording's own previous boundary;
//! when both are, there is no worker, and [`super::judge`] compares them.

use super::pair::{judge, not_compared};
use super::{Bell, Goal, Ledger, Pair, closure, panic_text};
use crate::engine::{Engine, EngineError};
use crate::session::preview::preview;
use crate::session::{Judgement, Side, SideState, Verdict};
use crate::tensor::{Keeper, Tensor, TensorName};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Everything that the workers of a pair share.
#[derive(Clone, Debug)]
pub(crate) struct Crew {
    /// Subject and reference.
    pub(crate) sides: [Option<Arc<Ledger>>; 2],
    /// Their verdicts.
    pub(crate) pair: Arc<Pair>,
    /// What the transport wants.
    pub(crate) goal: Arc<Goal>,
    /// Tells everyone.
    pub(crate) bell: Arc<Bell>,
    /// What both sides keep their tensors with.
    pub(crate) keeper: Arc<Keeper>,
}

impl Crew {
    /// Whether the two sides are compared: both are there.
    pub(crate) fn is_judged(&self) -> bool {
        self.sides.iter().all(Option::is_some)
    }

    /// Whether both sides are recordings.
    pub(crate) fn is_recorded(&self) -> bool {
        self.sides.iter().all(|side| side.as_ref().is_some_and(|side| side.recording))
    }
}

/// Starts a side's worker; it ends by itself when the goal is closed.
pub(crate) fn start(side: Side, engine: Box<dyn Engine>, crew: Crew) -> std::io::Result<()> {
    let own = crew.sides[side as usize].clone();
    let Some(own) = own else { return Ok(()) };
    let last_reads = own.plan.last_reads();
    let mut worker = Worker { side, engine, own, crew, holding: BTreeMap::new(), last_reads };
    std::thread::Builder::new().name(format!("{side} engine")).spawn(move || worker.work()).map(|_detached| ())
}

#[derive(Clone, Copy, Debug)]
enum Task {
    Run(usize),
    Again(usize),
    Judge(usize),
}

struct Worker {
    side: Side,
    engine: Box<dyn Engine>,
    own: Arc<Ledger>,
    crew: Crew,
    /// What the engine holds, and whether it is this side's own tensor.
    holding: BTreeMap<TensorName, bool>,
    last_reads: BTreeMap<TensorName, usize>,
}

impl Worker {
    fn work(&mut self) {
        loop {
            let seen = self.crew.bell.count();
            if self.crew.goal.wish().closed {
                return;
            }
            let Some(task) = self.pick() else {
                self.crew.bell.wait(seen);
                continue;
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| match task {
                Task::Run(step) => self.run(step),
                Task::Again(step) => self.again(step),
                Task::Judge(step) => self.judge(step),
            }));
            let problem = match outcome {
                Ok(Ok(())) => None,
                Ok(Err(EngineError::Cancelled)) => {
                    self.holding.clear();
                    None
                }
                Ok(Err(error)) => Some((error.to_string(), false)),
                Err(panic) => Some((format!("a fault of the program ended this job: {}", panic_text(&*panic)), true)),
            };
            if let Some((text, over)) = problem {
                self.fail(task, &text);
                self.holding.clear();
                if over {
                    self.own.store().failed = Some(text);
                    self.crew.bell.ring();
                    return;
                }
            }
            self.crew.bell.ring();
        }
    }

    /// Marks the task's step as failed; the run stops there.
    fn fail(&self, task: Task, text: &str) {
        let (Task::Run(step) | Task::Again(step) | Task::Judge(step)) = task;
        match task {
            Task::Judge(_) => {
                let mut store = self.crew.pair.store();
                store.isolated[step] = not_compared(text);
                store.judged = store.judged.max(step + 1);
            }
            Task::Run(_) | Task::Again(_) => {
                let mut store = self.own.store();
                store.states[step] = SideState::Failed(text.to_owned());
                store.failed = Some(text.to_owned());
            }
        }
        self.crew.goal.change(|wish| wish.to = wish.to.min(step));
    }

    fn other(&self) -> Option<&Arc<Ledger>> {
        self.crew.sides[1 - self.side as usize].as_ref()
    }

    /// Whether this worker judges the pair.
    fn judges(&self) -> bool {
        match self.side {
            Side::Subject => self.other().is_some(),
            Side::Reference => self.other().is_some_and(|subject| subject.recording),
        }
    }

    fn pick(&self) -> Option<Task> {
        let wish = self.crew.goal.wish();
        let judged = self.crew.pair.store().judged;
        let steps = self.own.plan.steps.len();
        if self.judges()
            && let Some(step) = self.crew.pair.store().again.pop_first()
        {
            return Some(Task::Judge(step));
        }
        if self.judges() && judged < steps {
            let ready =
                |ledger: &Ledger| !matches!(ledger.store().states[judged], SideState::Waiting | SideState::Running);
            if ready(&self.own) && self.other().is_some_and(|other| ready(other)) {
                return Some(Task::Judge(judged));
            }
        }
        let (done, failed, missing) = {
            let store = self.own.store();
            let shown = wish.shown;
            let outputs = self.own.plan.steps[shown].op.outputs();
            let missing = store.states[shown].is_done() && outputs.iter().any(|n| !store.tensors.contains_key(*n));
            (store.done, store.failed.is_some(), missing)
        };
        if missing {
            return Some(Task::Again(wish.shown));
        }
        // Towards a divergence nobody runs ahead of the verdicts.
        let ahead = wish.divergence_from.is_some() && self.other().is_some() && judged < done;
        (done < wish.to.min(steps) && !failed && !ahead).then_some(Task::Run(done))
    }

    /// Gives the engine a tensor, unless it holds that very one.
    fn write(&mut self, tensor: Tensor, own: bool) -> Result<(), EngineError> {
        let name = tensor.name.clone();
        if self.holding.get(&name) != Some(&own) {
            self.engine.write(tensor)?;
            self.holding.insert(name, own);
        }
        Ok(())
    }

    /// Runs one step of the own plan on what the engine holds, and reads its outputs.
    fn execute(&mut self, step: usize, own: bool) -> Result<(std::time::Duration, Vec<Tensor>), EngineError> {
        let plan = Arc::clone(&self.own.plan);
        let control = self.crew.goal.begin(self.side as usize);
        let names: Vec<TensorName> = plan.steps[step].op.outputs().into_iter().cloned().collect();
        self.holding.retain(|name, _| !names.contains(name));
        let report = self.engine.run(&plan.steps[step], &control)?;
        if own {
            self.look(step)?;
        }
        let outputs = names.iter().map(|name| self.engine.read(name)).collect::<Result<Vec<_>, _>>()?;
        self.holding.extend(names.into_iter().map(|name| (name, own)));
        Ok((report.duration, outputs))
    }

    /// Shows what a device has just made, if the canvas is or will be about it: reading it back takes longer.
    fn look(&mut self, step: usize) -> Result<(), EngineError> {
        let wish = self.crew.goal.wish();
        let (true, Some(style)) =
            (self.side == Side::Subject && (wish.to == step + 1 || wish.shown == step), wish.style)
        else {
            return Ok(());
        };
        let name = self.own.plan.steps[step].name().clone();
        if let Some(picture) = preview(&mut *self.engine, &name, &style)? {
            self.own.store().preview = Some((Arc::new(picture), step + 1));
            self.crew.bell.ring();
        }
        Ok(())
    }

    /// The next step, on the own inputs.
    fn run(&mut self, step: usize) -> Result<(), EngineError> {
        self.own.store().states[step] = SideState::Running;
        self.crew.bell.ring();
        let outcome = self.prepare(step).and_then(|()| self.execute(step, true));
        let (duration, outputs) = match outcome {
            Ok(done) => done,
            Err(error) => {
                self.own.store().states[step] = SideState::Waiting;
                return Err(error);
            }
        };
        self.own.publish(self.kept(outputs)?, self.crew.goal.wish().shown);
        {
            let mut store = self.own.store();
            store.states[step] = SideState::Done { duration };
            store.done = step + 1;
        }
        let last_reads = &self.last_reads;
        let over: Vec<TensorName> =
            self.holding.keys().filter(|n| last_reads.get(*n).is_none_or(|&last| last <= step)).cloned().collect();
        for name in over {
            self.engine.release(&name);
            self.holding.remove(&name);
        }
        Ok(())
    }

    /// Puts tensors within the window's budget.
    fn kept(&self, tensors: Vec<Tensor>) -> Result<Vec<Tensor>, EngineError> {
        tensors.into_iter().map(|tensor| Ok(self.crew.keeper.keep(tensor)?)).collect()
    }

    /// Writes a step's inputs, making those again that were dropped.
    fn prepare(&mut self, step: usize) -> Result<(), EngineError> {
        let plan = Arc::clone(&self.own.plan);
        for name in plan.steps[step].op.inputs() {
            if self.holding.get(name) == Some(&true) {
                continue;
            }
            if self.own.tensor(name).is_none() {
                self.again(plan.tensor(name).step.unwrap_or(step))?;
            }
            if let Some(tensor) = self.own.tensor(name) {
                self.write(tensor, true)?;
            }
        }
        Ok(())
    }

    /// A step whose tensors were dropped, from the nearest kept ones.
    fn again(&mut self, step: usize) -> Result<(), EngineError> {
        let plan = Arc::clone(&self.own.plan);
        let kept: BTreeMap<TensorName, Tensor> = self.own.store().tensors.clone();
        let steps = closure(&plan, step, |name| kept.contains_key(name)).unwrap_or_default();
        for again in steps {
            for name in plan.steps[again].op.inputs() {
                if let Some(tensor) = kept.get(name) {
                    self.write(tensor.clone(), true)?;
                }
            }
            let (_, outputs) = self.execute(again, true)?;
            if again == step {
                self.own.publish(self.kept(outputs)?, step);
            }
        }
        Ok(())
    }

    /// Both verdicts about a step that both sides have, or cannot have.
    fn judge(&mut self, step: usize) -> Result<(), EngineError> {
        let Some(other) = self.other().cloned() else { return Ok(()) };
        let (accumulated, exact) = self.accumulated(step, &other);
        let (isolated, tensors) = match accumulated.verdict {
            Verdict::NotCompared => (accumulated.clone(), Vec::new()),
            Verdict::Exact | Verdict::ZeroSign | Verdict::Differs => self.isolated(step, &other, &accumulated)?,
        };
        let tensors = self.kept(tensors)?;
        let diverges = matches!(isolated.verdict, Verdict::Differs | Verdict::ZeroSign);
        {
            let mut store = self.crew.pair.store();
            store.exact.extend(exact);
            store.tensors.extend(tensors.into_iter().map(|tensor| (tensor.name.clone(), tensor)));
            store.accumulated[step] = accumulated;
            store.isolated[step] = isolated;
            store.judged = store.judged.max(step + 1);
        }
        for name in self.own.plan.steps[step].op.outputs() {
            // What lies on disk need not stay in memory too.
            [self.own.tensor(name), other.tensor(name)].iter().flatten().for_each(Tensor::rest);
        }
        self.crew.goal.change(|wish| {
            if diverges && wish.divergence_from.is_some_and(|from| step >= from) {
                wish.to = step + 1;
                wish.divergence_from = None;
            }
        });
        Ok(())
    }

    /// The step's outputs on both sides as they are.
    fn accumulated(&self, step: usize, other: &Ledger) -> (Judgement, Vec<(TensorName, bool)>) {
        let names = self.own.plan.steps[step].op.outputs();
        let both = |name: &TensorName| Some((self.own.tensor(name)?, other.tensor(name)?));
        let pairs: Vec<(Tensor, Tensor)> = names.into_iter().filter_map(both).collect();
        if pairs.is_empty() {
            return (not_compared("one side does not hold this tensor"), Vec::new());
        }
        let exact = pairs.iter().map(|(a, b)| (a.name.clone(), a.bytes() == b.bytes())).collect();
        (judge(&self.ordered(pairs)), exact)
    }

    /// Subject first.
    fn ordered(&self, pairs: Vec<(Tensor, Tensor)>) -> Vec<(Tensor, Tensor)> {
        match self.side {
            Side::Subject => pairs,
            Side::Reference => pairs.into_iter().map(|(own, other)| (other, own)).collect(),
        }
    }

    /// The step (or, from a recording, the steps since its last boundary) on the other side's inputs.
    fn isolated(
        &mut self,
        step: usize,
        other: &Ledger,
        accumulated: &Judgement,
    ) -> Result<(Judgement, Vec<Tensor>), EngineError> {
        let plan = Arc::clone(&self.own.plan);
        let given: BTreeMap<TensorName, Tensor> = other.store().tensors.clone();
        let Some(steps) = closure(&plan, step, |name| given.contains_key(name)) else {
            return Ok((not_compared("the other side does not hold what this step reads"), Vec::new()));
        };
        let leaves: Vec<&TensorName> =
            steps.iter().flat_map(|&s| plan.steps[s].op.inputs()).filter(|name| given.contains_key(*name)).collect();
        let same = {
            let store = self.crew.pair.store();
            let features = |name: &TensorName| plan.tensor(name).step.is_none();
            leaves.iter().all(|name| features(name) || store.exact.get(*name) == Some(&true))
        };
        if same {
            return Ok((accumulated.clone(), Vec::new()));
        }
        let mut outputs = Vec::new();
        for &inner in &steps {
            for name in plan.steps[inner].op.inputs() {
                if let Some(tensor) = given.get(name) {
                    self.holding.remove(name);
                    self.write(tensor.clone(), false)?;
                }
            }
            outputs = self.execute(inner, false)?.1;
        }
        let pairs: Vec<(Tensor, Tensor)> =
            outputs.iter().filter_map(|own| Some((own.clone(), given.get(&own.name)?.clone()))).collect();
        Ok((judge(&self.ordered(pairs)), outputs))
    }
}
