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

pub mod command;
mod insight;
mod keys;
mod notes;
mod picture;
mod requested;
mod run;
mod selection;
mod sources;
mod stage;
mod text;
mod title;
mod view;
mod waker;
mod words;

pub use command::{Browse, Command, CopyWhat, Select, Transport, ViewChange};
pub use insight::{Attention, AttentionSide, Histogram, Statistics, Trace};
pub use keys::{Binding, FLICK, bindings, key_of};
pub use notes::{Bookmark, JobView, Message, Pin, Place, Recent, Severity};
pub use picture::{Canvas, Legend, LegendClass, Marks, Picture, Thumbnails};
pub use requested::Requested;
pub use run::{Activity, EventKind, EventPlace, Judgement, Run, Side, SideState, StepState, Verdict};
pub use selection::{Selection, Token};
pub use sources::{Choice, Loading, SourceStates, Sources};
pub use stage::Stage;
pub use view::{
    AttentionPart, Basis, Camera, ColourMap, Dialog, Difference, Image, KeyOrder, Mode, Numbers, Overlay, Range,
    Reduction, Tab, Theme, View, WhatIf,
};
pub use waker::Waker;

use crate::geometry::Geometry;
use crate::plan::{Detail, Plan};
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that a window shows.
#[derive(Debug)]
pub struct Session {
    sources: Sources,
    states: SourceStates,
    choices: Vec<Choice>,
    plan: Arc<Plan>,
    selection: Selection,
    view: View,
    dialog: Option<Dialog>,
    term: String,
    tour: usize,
    run: Run,
    tensors: [BTreeMap<TensorName, Tensor>; 2],
    canvas: Canvas,
    thumbnails: Requested<Thumbnails>,
    attention: Requested<Attention>,
    trace: Requested<Trace>,
    statistics: Requested<Statistics>,
    events: Vec<EventPlace>,
    pins: Vec<Pin>,
    bookmarks: Vec<Bookmark>,
    recent: Vec<Recent>,
    messages: Vec<Message>,
    jobs: Vec<JobView>,
    undo: Vec<(Selection, View)>,
    redo: Vec<(Selection, View)>,
    #[expect(dead_code, reason = "workers take it in the next landing")]
    waker: Waker,
}

impl Session {
    /// A session on these sources; nothing is loaded until the first `poll`.
    pub fn new(sources: Sources, waker: Waker) -> Self {
        let geometry = Geometry::new(sources.size).or_else(|_refused| Geometry::new(Sources::default().size));
        let plan = Arc::new(Plan::new(geometry.expect("the default size is accepted"), Detail::Raw));
        let run = Run { steps: vec![StepState::default(); plan.steps.len()], ..Run::default() };
        Self {
            sources,
            states: SourceStates::default(),
            choices: Vec::new(),
            plan,
            selection: Selection::default(),
            view: View::default(),
            dialog: None,
            term: String::new(),
            tour: 1,
            run,
            tensors: Default::default(),
            canvas: Canvas::default(),
            thumbnails: Requested::default(),
            attention: Requested::default(),
            trace: Requested::default(),
            statistics: Requested::default(),
            events: Vec::new(),
            pins: Vec::new(),
            bookmarks: Vec::new(),
            recent: Vec::new(),
            messages: Vec::new(),
            jobs: Vec::new(),
            undo: Vec::new(),
            redo: Vec::new(),
            waker,
        }
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

    /// A side's tensor, if it was computed and is kept. Cheap: the bytes are shared.
    pub fn tensor(&self, side: Side, name: &TensorName) -> Option<&Tensor> {
        self.tensors[side as usize].get(name)
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

    /// Events with their places, in the order of steps.
    pub fn events(&self) -> &[EventPlace] {
        &self.events
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
