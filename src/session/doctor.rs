//! The doctor from the window: an examination of this machine's engines on a thread, its checks as they end.

use super::poll::DOCTOR;
use super::work::{guarded, lock};
use super::{JobView, Place, Session, Severity};
use crate::diagnosis::trust::{self, Check, Depth, Outcome};
use crate::engine::{Control, EngineError};
use std::sync::{Arc, Mutex};

/// An examination, as far as it is.
#[derive(Clone, Debug, Default)]
pub struct Examination {
    /// How thorough it is; `None` when nobody asked yet.
    pub depth: Option<Depth>,
    /// Checks that ended, in order.
    pub checks: Vec<Check>,
    /// What is checked now; `None` when it is over.
    pub now: Option<String>,
    /// Why it ended early.
    pub ended: Option<String>,
}

impl Examination {
    /// Whether checks are still to come.
    pub fn is_running(&self) -> bool {
        self.now.is_some()
    }

    /// Checks that ended so.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.checks.iter().filter(|check| check.outcome == outcome).count()
    }

    /// How it ended, in a sentence.
    pub fn conclusion(&self) -> String {
        let (all, failed, skipped) = (self.checks.len(), self.count(Outcome::Failed), self.count(Outcome::Skipped));
        match (&self.ended, failed) {
            (Some(why), _) => format!("{why} after {all} checks, {failed} of them failed"),
            (None, 0) if skipped == 0 => format!("Nothing failed in {all} checks"),
            (None, 0) => format!("Nothing failed; {skipped} of {all} checks skipped"),
            (None, _) => format!("{failed} of {all} checks failed"),
        }
    }

    /// A table as text.
    pub fn text(&self) -> String {
        let line = |check: &Check| {
            let remedy = check.remedy.as_ref().map_or_else(String::new, |remedy| format!("; what to do: {remedy}"));
            let outcome = check.outcome.word();
            format!("{outcome:8} {:26} {:18} {}{remedy}", check.subject, check.what, check.text)
        };
        self.checks.iter().map(line).chain([self.conclusion()]).collect::<Vec<_>>().join("\n")
    }
}

/// The examination with its thread's end of it.
#[derive(Debug, Default)]
pub(super) struct Doctor {
    /// What panels see.
    pub(super) seen: Examination,
    shared: Arc<Mutex<Examination>>,
    control: Control,
}

impl Session {
    /// The last examination.
    pub fn examination(&self) -> &Examination {
        &self.doctor.seen
    }

    /// Starts an examination, unless one runs.
    pub(super) fn examine(&mut self, depth: Depth) {
        self.dialog = Some(super::Dialog::Doctor);
        if self.doctor.seen.is_running() {
            return;
        }
        let begin = || Examination { depth: Some(depth), now: Some("the machine".to_owned()), ..Default::default() };
        let shared = Arc::new(Mutex::new(begin()));
        let control = Control::new();
        let (bell, answers, stop) = (Arc::clone(&self.bell), Arc::clone(&shared), control.clone());
        let work = move || {
            let mut begin = |what: &str| {
                lock(&answers).now = Some(what.to_owned());
                bell.ring();
            };
            let mut done = |check: &Check| lock(&answers).checks.push(check.clone());
            let outcome = guarded(|| match trust::examine(depth, &stop, &mut begin, &mut done) {
                Ok(_checks) => Ok(None),
                Err(EngineError::Cancelled) => Ok(Some("Cancelled".to_owned())),
                Err(error) => Err(error.to_string()),
            });
            {
                let mut found = lock(&answers);
                found.now = None;
                found.ended = outcome.unwrap_or_else(Some);
            }
            bell.ring();
        };
        match std::thread::Builder::new().name("doctor".to_owned()).spawn(work) {
            Ok(_detached) => self.doctor = Doctor { seen: begin(), shared, control },
            Err(error) => self.say(Severity::Error, Place::Window, format!("cannot start a thread: {error}")),
        }
        self.refresh();
    }

    /// Takes what the thread has found.
    pub(super) fn take_examination(&mut self) {
        self.doctor.seen = lock(&self.doctor.shared).clone();
    }

    /// Ends the examination after the check in hand.
    pub(super) fn cancel_examination(&self) {
        self.doctor.control.cancel();
    }

    /// The examination as a job of the bottom panel.
    pub(super) fn examination_job(&self) -> Option<JobView> {
        let what = format!("checking {}", self.doctor.seen.now.as_ref()?);
        Some(JobView { id: DOCTOR, what, share: None, cancellable: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_examination_concludes_in_a_sentence() {
        let check = |outcome| Check {
            subject: "cpu".to_owned(),
            what: "repetition",
            outcome,
            text: "a second run".to_owned(),
            remedy: (outcome == Outcome::Failed).then(|| "look".to_owned()),
            seconds: 0.5,
        };
        let mut found =
            Examination { checks: [Outcome::Fine, Outcome::Skipped].map(check).into(), ..Default::default() };
        assert_eq!(found.conclusion(), "Nothing failed; 1 of 2 checks skipped");
        found.checks.push(check(Outcome::Failed));
        assert_eq!(found.conclusion(), "1 of 3 checks failed");
        assert!(found.text().contains("what to do: look"), "{}", found.text());
        found.ended = Some("Cancelled".to_owned());
        assert!(found.conclusion().starts_with("Cancelled after 3"), "{}", found.conclusion());
    }
}
