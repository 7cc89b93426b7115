//! The watched subject as the window tells it: how much has come, and that it can be ended.

use super::poll::WATCH;
use super::work::{self, Crew};
use super::{JobView, Place, Session, Severity, Side, Sources};
use crate::capture::watch::Watch;
use crate::engine::Control;
use crate::tensor::TensorName;
use std::sync::Arc;

/// A folder that is watched.
#[derive(Debug)]
pub(super) struct Watching {
    control: Control,
    /// What came last, as far as the window has gone there.
    shown: Option<TensorName>,
}

impl Session {
    /// Starts to watch for a new crew; whatever was watched before has ended with its crew.
    pub(super) fn watch(&mut self, watch: Option<Watch>, crew: &Crew) {
        self.watching = None;
        let Some(watch) = watch else { return };
        let control = Control::new();
        match work::watch::start(watch, crew.clone(), control.clone(), Arc::clone(&self.post)) {
            Ok(()) => {
                self.watching = Some(Watching { control, shown: None });
                self.follow = true;
            }
            Err(error) => self.say(Severity::Error, Place::Subject, format!("cannot start a thread: {error}")),
        }
    }

    /// Goes to what came last, until somebody goes elsewhere.
    pub(super) fn follow_watched(&mut self) {
        let latest = self.ledger(Side::Subject).and_then(|ledger| ledger.store().latest.clone());
        let (Some(latest), Some(watching)) = (latest, &mut self.watching) else { return };
        if watching.shown.as_ref() != Some(&latest) {
            watching.shown = Some(latest.clone());
            if self.follow {
                self.select_tensor(&latest);
                self.settle();
            }
        }
    }

    /// Ends watching; what has come stays as a recording.
    pub(super) fn stop_watching(&mut self) {
        if let Some(watching) = self.watching.take() {
            watching.control.cancel();
            let (came, all) = self.came();
            let text = format!("no longer watching; {came} of {all} boundaries have come");
            self.say(Severity::Info, Place::Subject, text);
            self.refresh();
        }
    }

    /// Published boundaries that a watched subject has, of all.
    pub fn came(&self) -> (usize, usize) {
        let all = self.plan.published().count();
        (self.plan.published().filter(|name| self.tensors[Side::Subject as usize].contains_key(*name)).count(), all)
    }

    /// Watching as a job of the bottom panel.
    pub(super) fn watch_job(&self) -> Option<JobView> {
        self.watching.as_ref()?;
        let folder = Sources::watched(&self.sources.subject)?;
        let (came, all) = self.came();
        let name = std::path::Path::new(folder).file_name().map_or(folder.into(), |name| name.to_string_lossy());
        let what = format!("{came} of {all} boundaries from {name}");
        Some(JobView { id: WATCH, what, share: Some(came as f32 / all.max(1) as f32), cancellable: true })
    }

    /// Bytes that lie in temporary files because of the memory budget, so far.
    pub fn spilled(&self) -> u64 {
        self.crew.as_ref().map_or(0, |crew| crew.keeper.spilled())
    }
}
