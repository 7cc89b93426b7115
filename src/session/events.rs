//! Events of the subject's kernels, found in the background: the selected step's first, then every other step's
//! while nothing else runs.
//!
//! **Invariants**
//! * One question at a time; the selected step's ends one that is only for the map.
//! * Counts of all steps are kept; places and masks only of the steps looked at last.

use super::work::desk::Job;
use super::{EventKind, Requested, Session, Side};
use crate::engine::events::{self, Events};
use crate::engine::reference::Sources;
use crate::engine::{Control, EngineError};
use crate::model::Model;
use crate::plan::Plan;
use crate::tensor::{Tensor, TensorName};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Steps whose events are kept whole.
const WHOLE: usize = 8;

/// What is known about the current subject's events.
#[derive(Debug, Default)]
pub(super) struct Happened {
    /// Changes with the subject: late answers about another are dropped.
    subject: String,
    /// Counts by step.
    pub(super) counts: BTreeMap<usize, BTreeMap<EventKind, u64>>,
    /// The last ones, newest last.
    whole: VecDeque<Arc<Events>>,
    /// Steps that cannot be told: their inputs are not kept, or the question failed.
    refused: BTreeSet<usize>,
    /// The step in question, and how to end it.
    running: Option<(usize, Control)>,
}

impl Happened {
    /// Forgets everything when the subject is another.
    pub(super) fn about(&mut self, subject: &str) {
        self.refused.clear();
        if self.subject != subject {
            self.cancel();
            *self = Self { subject: subject.to_owned(), running: self.running.take(), ..Self::default() };
        }
    }

    pub(super) fn cancel(&self) {
        if let Some((_, control)) = &self.running {
            control.cancel();
        }
    }

    /// Whether a question is open.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    fn keep(&mut self, events: Arc<Events>) {
        self.whole.retain(|other| other.step != events.step);
        self.whole.push_back(events);
        if self.whole.len() > WHOLE {
            self.whole.pop_front();
        }
    }
}

/// What to look into.
#[derive(Debug)]
pub(crate) struct EventsOrder {
    subject: String,
    plan: Arc<Plan>,
    model: Arc<Model>,
    step: usize,
    tensors: BTreeMap<TensorName, Tensor>,
    control: Control,
}

/// What was found, about whom.
#[derive(Debug)]
pub(crate) struct EventsFound {
    subject: String,
    step: usize,
    /// Nothing when the question was cancelled.
    found: Option<Result<Arc<Events>, String>>,
}

impl EventsOrder {
    /// Looks.
    pub(crate) fn look(&self) -> Result<Option<Arc<Events>>, String> {
        let sources = Sources { plan: &self.plan, model: &self.model, tensors: &self.tensors };
        match events::of_step(&self.plan.steps[self.step], sources, None, &self.control) {
            Ok(events) => Ok(Some(Arc::new(events))),
            Err(EngineError::Cancelled) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Labels an answer.
    pub(crate) fn answered(self, found: Result<Option<Arc<Events>>, String>) -> EventsFound {
        EventsFound { subject: self.subject, step: self.step, found: found.transpose() }
    }
}

impl Session {
    /// Events of the selected step's kernel on the subject, on its own results.
    pub fn events(&self) -> &Requested<Events> {
        &self.events
    }

    /// Steps whose events are counted.
    pub fn counted(&self) -> usize {
        self.happened.counts.len()
    }

    /// Takes an answer.
    pub(super) fn take_events(&mut self, answer: EventsFound) {
        self.happened.running = None;
        if answer.subject != self.happened.subject {
            return;
        }
        match answer.found {
            None => {}
            Some(Err(reason)) => {
                self.happened.refused.insert(answer.step);
                if answer.step == self.selection.step {
                    self.events.answer(Err(reason));
                }
            }
            Some(Ok(events)) => {
                self.happened.counts.insert(answer.step, events.counts.clone());
                if let Some(state) = self.run.steps.get_mut(answer.step) {
                    state.events.clone_from(&events.counts);
                }
                if answer.step == self.selection.step {
                    self.happened.keep(Arc::clone(&events));
                    self.events.answer(Ok(events));
                }
            }
        }
    }

    /// Asks for the selected step's events, then for those of the others.
    pub(super) fn ask_events(&mut self) {
        let selected = self.selection.step;
        let shown = self.events.shown().is_some_and(|events| events.step == selected) && !self.events.is_pending();
        let kept = self.happened.whole.iter().find(|events| events.step == selected).cloned();
        let done = self.run.steps.get(selected).is_some_and(|step| step.side(Side::Subject).is_done());
        match kept {
            Some(_) if shown => {}
            Some(events) => self.events.answer(Ok(events)),
            None if !done => self.refuse_events("this kernel has not run yet"),
            None if self.happened.refused.contains(&selected) => {
                self.refuse_events("what this kernel read is not kept any longer");
            }
            None => {
                let running = self.happened.running.as_ref().map(|(step, _)| *step);
                if running.is_some_and(|step| step != selected) {
                    self.happened.cancel();
                }
                if !self.events.is_pending() {
                    self.events.ask();
                }
                if running.is_none() {
                    self.start_events(selected);
                }
            }
        }
        if !self.happened.is_running() && self.run.activity.is_none() && self.order.is_none() {
            let open = |step: &usize| {
                self.run.steps[*step].side(Side::Subject).is_done()
                    && !self.happened.counts.contains_key(step)
                    && !self.happened.refused.contains(step)
            };
            if let Some(step) = (0..self.run.steps.len()).find(open) {
                self.start_events(step);
            }
        }
    }

    fn refuse_events(&mut self, reason: &str) {
        if self.events.reason() != Some(reason) {
            self.events.answer(Err(reason.to_owned()));
        }
    }

    /// Starts the question about a step, if its inputs are there.
    fn start_events(&mut self, step: usize) {
        let plan = self.ledger(Side::Subject).map(|ledger| Arc::clone(&ledger.plan));
        let (Some(plan), Some((_, model))) = (plan, self.model.clone()) else { return };
        let names = plan.steps[step].op.tensors();
        let own = &self.tensors[Side::Subject as usize];
        let tensors: BTreeMap<_, _> = names.filter_map(|name| Some((name.clone(), own.get(name)?.clone()))).collect();
        if !plan.steps[step].op.inputs().iter().all(|name| tensors.contains_key(*name)) {
            self.happened.refused.insert(step);
            return;
        }
        let control = Control::new();
        self.happened.running = Some((step, control.clone()));
        let subject = self.happened.subject.clone();
        self.send(Job::Events(Box::new(EventsOrder { subject, plan, model, step, tensors, control })));
    }
}
