//! A session in a state made by hand: what workers would have published, without them.
//!
//! For tests and pictures of panels. Nothing here starts work, and a later poll may overwrite it.

use super::{
    Attention, Bookmark, Canvas, Choice, Dialog, Events, JobView, Message, Pin, Requested, Run, Selection, Session,
    SourceStates, Statistics, Thumbnails, Trace, View,
};
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;

/// Everything that a panel reads, to be set.
#[derive(Debug)]
pub struct Stage<'a> {
    /// What the window is about.
    pub selection: &'a mut Selection,
    /// How it is shown.
    pub view: &'a mut View,
    /// The dialog over the window.
    pub dialog: &'a mut Option<Dialog>,
    /// The tour's step.
    pub tour: &'a mut usize,
    /// Steps, verdicts, events, playhead.
    pub run: &'a mut Run,
    /// How far loading is.
    pub states: &'a mut SourceStates,
    /// What the pickers offer.
    pub choices: &'a mut Vec<Choice>,
    /// Tensors of subject and reference.
    pub tensors: &'a mut [BTreeMap<TensorName, Tensor>; 2],
    /// The canvas' pictures.
    pub canvas: &'a mut Canvas,
    /// The channel strip.
    pub thumbnails: &'a mut Requested<Thumbnails>,
    /// Attention of the selection.
    pub attention: &'a mut Requested<Attention>,
    /// The selected value's story.
    pub trace: &'a mut Requested<Trace>,
    /// Counts of the selected tensor.
    pub statistics: &'a mut Requested<Statistics>,
    /// Events of the selected step.
    pub events: &'a mut Requested<Events>,
    /// Pinned places.
    pub pins: &'a mut Vec<Pin>,
    /// Bookmarks.
    pub bookmarks: &'a mut Vec<Bookmark>,
    /// What there is to say.
    pub messages: &'a mut Vec<Message>,
    /// Jobs in progress.
    pub jobs: &'a mut Vec<JobView>,
}

impl Session {
    /// Opens the session's published state for setting by hand.
    pub fn stage(&mut self) -> Stage<'_> {
        Stage {
            selection: &mut self.selection,
            view: &mut self.view,
            dialog: &mut self.dialog,
            tour: &mut self.tour,
            run: &mut self.run,
            states: &mut self.states,
            choices: &mut self.choices,
            tensors: &mut self.tensors,
            canvas: &mut self.canvas,
            thumbnails: &mut self.thumbnails,
            attention: &mut self.attention,
            trace: &mut self.trace,
            statistics: &mut self.statistics,
            events: &mut self.events,
            pins: &mut self.pins,
            bookmarks: &mut self.bookmarks,
            messages: &mut self.messages,
            jobs: &mut self.jobs,
        }
    }
}
