//! A report or a repro bundle from the window: what the session holds, written by the report library on a thread of
//! its own.
//!
//! Verdicts and tensors are those of the run as it stands: what was not run, or was dropped, is listed as not compared
//! and never run again behind a person's back.

mod order;

use super::poll::REPORT;
use super::work::{Ledger, guarded, lock};
use super::{Place, Session, Severity, Side};
use crate::engine::Control;
use crate::model::Model;
use crate::report::Fact;
use crate::report::compose::Pins;
use order::Order;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A report; the path's ending names the format, a path without one is a folder for all.
    Report,
    /// A repro bundle of the first divergence, with the kernel's weights or without.
    Bundle { weights: bool },
}

impl What {
    /// Its word, for jobs and messages.
    fn word(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Bundle { .. } => "repro bundle",
        }
    }
}

/// A report or bundle that is being written.
#[derive(Clone, Debug)]
pub(super) struct Reporting {
    what: What,
    pub(super) control: Control,
    progress: Arc<Mutex<Progress>>,
}

#[derive(Debug, Default)]
struct Progress {
    what: &'static str,
    share: f32,
    done: bool,
}

impl Reporting {
    /// What it is doing, how far it is, and whether it is over.
    pub(super) fn look(&self) -> (&'static str, f32, bool) {
        let progress = lock(&self.progress);
        (progress.what, progress.share, progress.done)
    }

    fn at(&self, what: &'static str, share: f32) -> Result<(), String> {
        let mut progress = lock(&self.progress);
        (progress.what, progress.share) = (what, share);
        if self.control.is_cancelled() { Err(CANCELLED.to_owned()) } else { Ok(()) }
    }
}

/// What a cancelled report says.
const CANCELLED: &str = "cancelled";

impl Session {
    /// Starts writing a report or a bundle.
    pub(super) fn report(&mut self, what: What, path: &str) {
        if let Some(reporting) = &self.reporting {
            let text = format!("a {} is being written; wait for it, or cancel it", reporting.what.word());
            self.say(Severity::Info, Place::Window, text);
            return;
        }
        let Some((_, model)) = self.model.clone().filter(|_| self.run.steps.iter().any(|s| s.subject.is_done())) else {
            self.say(Severity::Warning, Place::Window, "nothing was run yet: there is nothing to report");
            return;
        };
        let order = self.report_order(model, path);
        let reporting = Reporting { what, control: Control::new(), progress: Arc::default() };
        self.reporting = Some(reporting.clone());
        let (post, bell) = (Arc::clone(&self.post), Arc::clone(&self.bell));
        let work = move || {
            let ring = || bell.ring();
            let word = what.word();
            let written = guarded(|| match what {
                What::Report => order.report(&reporting, &ring),
                What::Bundle { weights } => order.bundle(weights, &reporting, &ring),
            });
            lock(&post).push(match written {
                Ok(path) => (Severity::Info, Place::Window, format!("wrote the {word} {path}")),
                Err(text) if text == CANCELLED => {
                    (Severity::Info, Place::Window, format!("the {word} was cancelled; nothing was written"))
                }
                Err(text) => (Severity::Error, Place::Window, format!("the {word} was not written: {text}")),
            });
            lock(&reporting.progress).done = true;
            ring();
        };
        if let Err(error) = std::thread::Builder::new().name("report".to_owned()).spawn(work) {
            self.reporting = None;
            self.say(Severity::Error, Place::Window, format!("cannot start a thread: {error}"));
        }
        self.refresh();
    }

    fn report_order(&self, model: Arc<Model>, path: &str) -> Order {
        let info = [&self.states.subject_info, &self.states.reference_info];
        let mut facts = Vec::new();
        for (side, info) in Side::ALL.iter().zip(info) {
            facts.extend(info.iter().map(|info| Fact::new(format!("{side} runs on"), &info.device)));
            let own = self.facts[*side as usize].iter();
            facts.extend(own.map(|(name, value)| Fact::new(format!("{side} {name}"), value)));
        }
        let pins = self.pins.iter().map(|pin| {
            let token = self.plan.tensors.get(&pin.tensor).map(|info| pin.token.index(info.shape.size.width));
            (pin.name.clone(), pin.tensor.clone(), token.unwrap_or(usize::MAX), pin.channel)
        });
        Order {
            plan: Arc::clone(&self.plan),
            own: self.ledger(Side::Subject).filter(|l| !l.recording).map(|l| Arc::clone(&l.plan)),
            model,
            sources: self.sources.clone(),
            verdicts: self.run.steps.iter().map(|s| [s.accumulated.clone(), s.isolated.clone()]).collect(),
            tensors: self.tensors.clone(),
            isolated: self.isolated.clone(),
            recorded: [Side::Subject, Side::Reference].map(|side| self.ledger(side).is_some_and(|l| l.recording)),
            facts,
            pins: Pins::new(pins.collect()),
            path: PathBuf::from(path),
        }
    }

    /// A side's results, once it is loaded.
    pub(super) fn ledger(&self, side: Side) -> Option<&Arc<Ledger>> {
        self.crew.as_ref()?.sides[side as usize].as_ref()
    }

    /// Takes a finished report's place away.
    pub(super) fn take_report(&mut self) {
        if self.reporting.as_ref().is_some_and(|reporting| reporting.look().2) {
            self.reporting = None;
        }
    }

    /// Cancels the report with this job's number.
    pub(super) fn cancel_report(&self) {
        self.reporting.iter().for_each(|reporting| reporting.control.cancel());
    }

    /// The report as a job of the bottom panel.
    pub(super) fn report_job(&self) -> Option<super::JobView> {
        let reporting = self.reporting.as_ref()?;
        let (stage, share, _) = reporting.look();
        let what = format!("{}: {stage}", reporting.what.word());
        Some(super::JobView { id: REPORT, what, share: Some(share), cancellable: true })
    }
}
