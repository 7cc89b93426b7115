//! What the window knows, without egui: loaded things, selection, commands, jobs, undo, persistence.
//!
//! Panels read a [`Session`] and send [`Command`]s; the shell applies them with [`Session::apply`] and calls
//! [`Session::poll`] once a frame to take what workers have finished. Every shell, the play scripts and the tests
//! drive the same object.
//!
//! **Invariants**
//! * Neither `apply` nor `poll` waits: work happens on named worker threads, which publish, drop their locks and
//!   then wake the shell.
//! * Reading takes no lock: what panels see is the snapshot of the last `poll`.
//! * [`Selection`] is always valid for the plan.
//! * A panic in a job ends the job with a message, never the window.

mod afar;
mod apply;
mod ask;
mod attention;
mod colour;
pub mod command;
mod diagnose;
mod doctor;
mod events;
mod export;
mod insight;
mod keys;
mod look;
mod notes;
mod paint;
mod picture;
mod poll;
mod preview;
mod report;
mod requested;
mod run;
mod select;
mod selection;
mod sources;
mod stage;
pub mod store;
mod survey;
mod text;
mod title;
mod veil;
mod view;
mod waker;
mod watching;
mod words;
mod work;

pub use crate::engine::events::{Events, Kind as EventKind};
pub use apply::changed;
pub use colour::{Scale, class_colour, colour};
pub use command::{Browse, Command, CopyWhat, Select, Transport, ViewChange};
pub use doctor::Examination;
pub use insight::{Attention, AttentionSide, CauseFound, Diagnosis, Histogram, Statistics, Trace};
pub use keys::{Binding, FLICK, bindings, key_of};
pub use notes::{Bookmark, Effect, JobView, Message, Pin, Place, Recent, Severity};
pub use picture::{
    Canvas, Fate, Legend, LegendClass, Marks, Mask, OutputDifference, Picture, Reduced, Thumbnails, Veil,
};
pub use poll::DOCTOR;
pub use requested::Requested;
pub use run::{Activity, Judgement, Run, Side, SideState, StepState, Verdict};
pub use selection::{Selection, Token};
pub use sources::{CausePlace, Choice, Loading, SourceStates, Sources};
pub use stage::Stage;
pub use view::{
    AttentionPart, Basis, Camera, ColourMap, Dialog, Difference, Image, KeyOrder, Mode, Numbers, Overlay, Range,
    Reduction, Tab, Theme, View, WhatIf,
};
pub use waker::Waker;

use crate::geometry::Geometry;
use crate::model::Model;
use crate::plan::{Detail, Plan};
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Everything that a window shows.
pub struct Session {
    sources: Sources,
    states: SourceStates,
    choices: Vec<Choice>,
    devices: Vec<Choice>,
    causes: Vec<CausePlace>,
    surveyed: survey::Found,
    plan: Arc<Plan>,
    products: Vec<u64>,
    model: Option<(String, Arc<Model>)>,
    selection: Selection,
    /// Whether the selection follows the transport.
    follow: bool,
    view: View,
    dialog: Option<Dialog>,
    term: String,
    tour: usize,
    run: Run,
    tensors: [BTreeMap<TensorName, Tensor>; 2],
    isolated: BTreeMap<TensorName, Tensor>,
    canvas: Canvas,
    /// The first look at a tensor that the subject's device has just made.
    preview: Option<Arc<Picture>>,
    thumbnails: Requested<Thumbnails>,
    attention: Requested<Attention>,
    trace: Requested<Trace>,
    statistics: Requested<Statistics>,
    diagnosis: Requested<Diagnosis>,
    diagnosed: diagnose::Answer,
    diagnosing: crate::engine::Control,
    reporting: Option<report::Reporting>,
    doctor: doctor::Doctor,
    watching: Option<watching::Watching>,
    /// What each side's engine says about itself.
    facts: [Vec<(String, String)>; 2],
    asked: ask::Asked,
    events: Requested<Events>,
    happened: events::Happened,
    pins: Vec<Pin>,
    bookmarks: Vec<Bookmark>,
    recent: Vec<Recent>,
    messages: Vec<Message>,
    next_id: u64,
    jobs: Vec<JobView>,
    effects: Vec<Effect>,
    undo: Vec<(Selection, View)>,
    redo: Vec<(Selection, View)>,
    /// The last view command's first word: a drag is one step of undo.
    gesture: String,
    bell: Arc<work::Bell>,
    seen: u64,
    desk: Option<work::desk::Desk>,
    loaded: Arc<Mutex<Vec<work::load::Loaded>>>,
    /// The loader's order that is waited for.
    order: Option<u64>,
    /// Whether the first `poll` is still to come.
    asleep: bool,
    crew: Option<work::Crew>,
    goal: Arc<work::Goal>,
    ledgers: BTreeMap<String, Arc<work::Ledger>>,
    pairs: BTreeMap<String, Arc<work::Pair>>,
    /// Messages of background jobs.
    post: Arc<Mutex<Vec<(Severity, Place, String)>>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("sources", &self.sources)
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.goal.change(|wish| wish.closed = true);
        self.goal.cancel();
        self.diagnosing.cancel();
        self.cancel_report();
        self.cancel_examination();
        self.happened.cancel();
        self.bell.ring();
    }
}

impl Session {
    /// A session on these sources, which start to load at the first `poll`.
    pub fn new(sources: Sources, waker: Waker) -> Self {
        let geometry = Geometry::new(sources.size).or_else(|_refused| Geometry::new(Sources::default().size));
        let plan = Arc::new(Plan::new(geometry.expect("the default size is accepted"), Detail::Raw));
        let run = Run { steps: vec![StepState::default(); plan.steps.len()], ..Run::default() };
        let bell = Arc::new(work::Bell::new(waker));
        let desk = work::desk::Desk::new(&bell);
        let mut session = Self {
            sources,
            states: SourceStates::default(),
            choices: Vec::new(),
            devices: Vec::new(),
            causes: Vec::new(),
            surveyed: survey::Found::default(),
            products: plan.steps.iter().map(|step| step.op.products(&plan)).collect(),
            plan,
            model: None,
            selection: Selection::default(),
            follow: true,
            view: View::default(),
            dialog: None,
            term: String::new(),
            tour: 1,
            run,
            tensors: Default::default(),
            isolated: BTreeMap::new(),
            canvas: Canvas::default(),
            preview: None,
            thumbnails: Requested::default(),
            attention: Requested::default(),
            trace: Requested::default(),
            statistics: Requested::default(),
            diagnosis: Requested::default(),
            diagnosed: diagnose::Answer::default(),
            diagnosing: crate::engine::Control::new(),
            reporting: None,
            doctor: doctor::Doctor::default(),
            watching: None,
            facts: Default::default(),
            asked: ask::Asked::default(),
            events: Requested::default(),
            happened: events::Happened::default(),
            pins: Vec::new(),
            bookmarks: Vec::new(),
            recent: Vec::new(),
            messages: Vec::new(),
            next_id: 1,
            jobs: Vec::new(),
            effects: Vec::new(),
            undo: Vec::new(),
            redo: Vec::new(),
            gesture: String::new(),
            bell,
            seen: 0,
            desk: None,
            loaded: Arc::default(),
            order: None,
            asleep: true,
            crew: None,
            goal: Arc::default(),
            ledgers: BTreeMap::new(),
            pairs: BTreeMap::new(),
            post: Arc::default(),
        };
        match desk {
            Ok(desk) => session.desk = Some(desk),
            Err(error) => session.say(Severity::Error, Place::Window, format!("cannot start a thread: {error}")),
        }
        session.selection.tensor = session.plan.steps[0].name().clone();
        session.list_choices();
        session
    }

    /// What is loaded.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// How far loading is, and what went wrong.
    pub fn source_states(&self) -> &SourceStates {
        &self.states
    }

    /// What the pickers of subject and reference offer.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Known causes that a subject can be given, with the blocks where each has a place; empty until they are
    /// looked up.
    pub fn causes(&self) -> &[CausePlace] {
        &self.causes
    }

    /// The network at the current size.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// What the window is about.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// How it is shown.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The dialog over the window.
    pub fn dialog(&self) -> Option<Dialog> {
        self.dialog
    }

    /// The term that the glossary stands at; empty for its start.
    pub fn term(&self) -> &str {
        &self.term
    }

    /// The tour's step, 1 to 5; 0 when it is over.
    pub fn tour(&self) -> usize {
        self.tour
    }

    /// The run of the current pair.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// A side's tensor, if it was computed and is kept. Cheap: the bytes are shared. The subject's is the one of
    /// the view's basis.
    pub fn tensor(&self, side: Side, name: &TensorName) -> Option<&Tensor> {
        let isolated = side == Side::Subject && self.view.basis == Basis::Isolated;
        let changed = self.isolated.get(name).filter(|_| isolated);
        changed.or_else(|| self.tensors[side as usize].get(name))
    }

    /// The canvas' pictures.
    pub fn canvas(&self) -> &Canvas {
        &self.canvas
    }

    /// The channel strip of the selected tensor.
    pub fn thumbnails(&self) -> &Requested<Thumbnails> {
        &self.thumbnails
    }

    /// Attention of the selected window, head and query.
    pub fn attention(&self) -> &Requested<Attention> {
        &self.attention
    }

    /// How the selected value came to be.
    pub fn trace(&self) -> &Requested<Trace> {
        &self.trace
    }

    /// Counts of the selected tensor.
    pub fn statistics(&self) -> &Requested<Statistics> {
        &self.statistics
    }

    /// Known causes, tested on a divergent step.
    pub fn diagnosis(&self) -> &Requested<Diagnosis> {
        &self.diagnosis
    }

    /// Pinned places.
    pub fn pins(&self) -> &[Pin] {
        &self.pins
    }

    /// Bookmarks.
    pub fn bookmarks(&self) -> &[Bookmark] {
        &self.bookmarks
    }

    /// What was opened before, newest first.
    pub fn recent(&self) -> &[Recent] {
        &self.recent
    }

    /// What there is to say, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Jobs in progress.
    pub fn jobs(&self) -> &[JobView] {
        &self.jobs
    }

    /// What only the shell can do, since the last call.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether everything asked for is there and nothing runs.
    pub fn is_idle(&self) -> bool {
        let waiting = self.canvas.subject.is_pending()
            || self.canvas.marks.is_pending()
            || self.thumbnails.is_pending()
            || self.attention.is_pending()
            || self.statistics.is_pending()
            || self.trace.is_pending()
            || self.happened.is_running()
            || self.diagnosis.is_pending()
            || self.reporting.is_some()
            || self.doctor.seen.is_running();
        !self.asleep && self.order.is_none() && self.run.activity.is_none() && !waiting
    }

    /// Whether nothing is being loaded.
    pub fn is_loaded(&self) -> bool {
        !self.asleep && self.order.is_none()
    }

    /// Says something.
    pub(crate) fn say(&mut self, severity: Severity, place: Place, text: impl Into<String>) {
        self.say_all(severity, place, text, Vec::new());
    }

    /// Says something with details; the same thing is not said twice.
    fn say_all(&mut self, severity: Severity, place: Place, text: impl Into<String>, details: Vec<String>) {
        let text = text.into();
        self.messages.retain(|message| message.text != text || message.place != place);
        self.next_id += 1;
        self.messages.push(Message { id: self.next_id, severity, place, text, details });
        if self.messages.len() > 50 {
            self.messages.remove(0);
        }
    }

    /// Whether undo and redo have something to do.
    pub fn can_undo_redo(&self) -> (bool, bool) {
        (!self.undo.is_empty(), !self.redo.is_empty())
    }
}

/// Tensor names as plain text in saved sessions.
mod name_text {
    use crate::tensor::TensorName;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(name: &TensorName, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(name.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TensorName, D::Error> {
        Ok(TensorName::new(String::deserialize(deserializer)?))
    }
}
