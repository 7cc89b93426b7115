//! The Causes tab's job: known causes tested on one divergent step, on a thread.

use super::insight::{CauseFound, Diagnosis};
use super::work::{guarded, lock};
use super::{Mask, Place, Session, Severity, Verdict, veil};
use crate::diagnosis::explain::{self, Segment};
use crate::diagnosis::{Explained, Profile, Tested};
use crate::engine::{self, Control, EngineSpec};
use crate::model::Model;
use crate::plan::Plan;
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Where a job leaves its answer.
pub(super) type Answer = Arc<Mutex<Option<Result<Diagnosis, String>>>>;

/// Everything that a job needs.
struct Order {
    plan: Arc<Plan>,
    model: Arc<Model>,
    step: usize,
    known: BTreeMap<TensorName, Tensor>,
    observed: Vec<(Tensor, Tensor)>,
}

impl Session {
    /// Starts testing causes on the selected step if it diverges, else on the first divergent one.
    pub(super) fn diagnose(&mut self) {
        self.view.tab = super::Tab::Causes;
        if self.diagnosis.is_pending() {
            return;
        }
        let diverges =
            |step: usize| matches!(self.run.steps[step].isolated.verdict, Verdict::Differs | Verdict::ZeroSign);
        let step = Some(self.selection.step).filter(|step| diverges(*step)).or(self.run.first_isolated);
        let (Some(step), Some((_, model))) = (step, self.model.clone()) else {
            self.say(Severity::Info, Place::Run, "nothing diverges so far: run on, or choose another subject");
            return;
        };
        let before = |name: &TensorName| self.plan.tensor(name).step.is_none_or(|made| made < step);
        let [own, exact] = &self.tensors;
        let known = exact.iter().filter(|(name, _)| before(name)).map(|(n, t)| (n.clone(), t.clone())).collect();
        let observe = |name: &TensorName| {
            let subject = self.isolated.get(name).or_else(|| own.get(name))?;
            Some((subject.clone(), exact.get(name)?.clone()))
        };
        let observed = self.plan.steps[step].op.outputs().into_iter().filter_map(observe).collect();
        let order = Order { plan: Arc::clone(&self.plan), model, step, known, observed };
        let control = Control::new();
        self.diagnosing = control.clone();
        let (answer, bell) = (Arc::clone(&self.diagnosed), Arc::clone(&self.bell));
        let work = move || {
            *lock(&answer) = Some(guarded(|| order.test(&control)));
            bell.ring();
        };
        match std::thread::Builder::new().name("diagnosis".to_owned()).spawn(work) {
            Ok(_detached) => self.diagnosis.ask(),
            Err(error) => self.say(Severity::Error, Place::Run, format!("cannot start a thread: {error}")),
        }
    }

    /// Takes a finished job's answer.
    pub(super) fn take_diagnosis(&mut self) -> bool {
        let answer = lock(&self.diagnosed).take();
        let came = answer.is_some();
        if let Some(answer) = answer {
            self.diagnosis.answer(answer.map(Arc::new));
        }
        came
    }
}

impl Order {
    fn test(self, control: &Control) -> Result<Diagnosis, String> {
        let Self { plan, model, step, known, observed } = self;
        let seen = observed.clone();
        let between = BTreeMap::new();
        let segment =
            Segment { plan: &plan, model: &model, steps: step..step + 1, known: &known, between: &between, observed };
        let found = explain::explain(&segment, &[], control, &|_, _| {}).map_err(|error| error.to_string())?;
        let cause = |tested: &Tested| CauseFound {
            ids: tested.causes.iter().map(|id| (*id).to_owned()).collect(),
            name: tested.names(),
            subject: format!("cpu+{}", tested.profile),
            differing: tested.differing,
            explained: tested.explained,
            newly_wrong: tested.newly_wrong,
            exact: tested.exact() && tested.whole,
        };
        let masks = match found.tested.first() {
            Some(best) => masks(&plan, &model, step, &known, &seen, best, control).unwrap_or_default(),
            None => Vec::new(),
        };
        Ok(Diagnosis {
            step,
            masks,
            explained: found.explained == Explained::Exactly,
            tried: found.tried,
            causes: found.tested.iter().map(cause).collect(),
        })
    }
}

/// What a cause does to each token of the tensors that a step writes: the step again, with the cause switched on.
fn masks(
    plan: &Plan,
    model: &Arc<Model>,
    step: usize,
    known: &BTreeMap<TensorName, Tensor>,
    observed: &[(Tensor, Tensor)],
    tested: &Tested,
    control: &Control,
) -> Option<Vec<Arc<Mask>>> {
    let spec: EngineSpec = format!("cpu+{}", tested.profile).parse().ok()?;
    let changed = Arc::new(Profile::new(&spec.changes).ok()?.apply(plan).ok()?);
    let mut engine = engine::open(&spec).ok()?;
    engine.load(&changed, model).ok()?;
    for input in changed.steps[step].op.inputs() {
        engine.write(known.get(input)?.clone()).ok()?;
    }
    engine.run(&changed.steps[step], control).ok()?;
    let one = |(subject, exact): &(Tensor, Tensor)| {
        let tried = engine.read(&exact.name).ok()?;
        veil::mask(&exact.name, subject, exact, &tried).map(Arc::new)
    };
    Some(observed.iter().filter_map(one).collect())
}
