//! What panels will show, asked of the desk: at most one of a kind in flight, and the newest wish after it.

use super::attention::AttentionOrder;
use super::paint::{MarksOrder, Order, Style};
use super::work::desk::{Answer, Job};
use super::{Mode, Overlay, Session, Side, Tab, WhatIf, look};
use crate::tensor::Tensor;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What was asked last, by kind: asking again for the same is free.
#[derive(Debug, Default)]
pub(super) struct Asked {
    canvas: Option<CanvasKey>,
    /// Tensors and mask that the marks were asked for.
    marks: Option<([usize; 2], usize)>,
    thumbnails: Option<usize>,
    attention: Option<AttentionKey>,
    statistics: Option<[usize; 2]>,
    trace: Option<([usize; 2], usize, usize)>,
}

type CanvasKey = ([usize; 3], Style);
type AttentionKey = ([usize; 2], usize, (usize, usize), usize, usize, BTreeSet<WhatIf>);

/// A tensor's identity: where its bytes lie.
fn identity(tensor: Option<&Tensor>) -> usize {
    tensor.map_or(0, |tensor| tensor.bytes().as_ptr() as usize)
}

impl Session {
    /// Hands the desk's answers to the panels.
    pub(super) fn take_answers(&mut self) {
        let answers = self.desk.as_ref().map(super::work::desk::Desk::take).unwrap_or_default();
        for answer in answers {
            match answer {
                Answer::Canvas(Ok(painted)) => {
                    let [subject, reference] =
                        [Side::Subject, Side::Reference].map(|side| self.absence(side).to_owned());
                    let either = if painted.subject.is_some() { &reference } else { &subject }.clone();
                    let first_look = || self.previewed().cloned().ok_or(subject);
                    let subject = painted.subject.map_or_else(first_look, Ok);
                    self.canvas.subject.answer(subject);
                    self.canvas.reference.answer(painted.reference.ok_or(reference));
                    self.canvas.difference.answer(painted.difference.ok_or(either));
                    self.canvas.input.answer(painted.input.ok_or_else(|| "there is no input image".to_owned()));
                    self.canvas.output = painted.output;
                }
                Answer::Marks(answer) => self.canvas.marks.answer(answer),
                Answer::Canvas(Err(reason)) => {
                    let canvas = &mut self.canvas;
                    for picture in
                        [&mut canvas.subject, &mut canvas.reference, &mut canvas.difference, &mut canvas.input]
                    {
                        picture.answer(Err(reason.clone()));
                    }
                }
                Answer::Thumbnails(answer) => self.thumbnails.answer(answer),
                Answer::Attention(answer) => self.attention.answer(answer),
                Answer::Statistics(answer) => self.statistics.answer(answer),
                Answer::Trace(answer) => self.trace.answer(answer),
                Answer::Events(answer) => self.take_events(answer),
            }
        }
    }

    /// Why a side does not show what is selected, and what to do.
    fn absence(&self, side: Side) -> &'static str {
        match self.ledger(side) {
            Some(ledger) if ledger.watched => "it has not come yet",
            Some(ledger) if ledger.recording => "the recording does not hold this tensor",
            _ => "not computed yet: step with Space, or run to it with Ctrl+F10",
        }
    }

    /// Asks for whatever the selection and the view now want.
    pub(super) fn ask(&mut self) {
        self.ask_canvas();
        self.ask_marks();
        self.ask_thumbnails();
        self.ask_attention();
        self.ask_statistics();
        self.ask_trace();
        self.ask_events();
    }

    pub(super) fn send(&self, job: Job) {
        if let Some(desk) = &self.desk {
            desk.send(job);
        }
    }

    fn ask_canvas(&mut self) {
        if self.canvas.subject.is_pending() {
            return;
        }
        let (subject, reference) = (self.shown_tensor(Side::Subject), self.shown_tensor(Side::Reference));
        let features = self.tensors.iter().find_map(|side| side.get("features")).cloned();
        let style = Style {
            image: self.view.image,
            reduction: self.view.reduction,
            channel: self.selection.channel,
            rgb: self.selection.rgb,
            map: self.view.map,
            range: self.view.range,
            log: self.view.log,
            difference: self.view.difference,
            valid: self.plan.geometry.valid,
            with_difference: self.view.mode == Mode::Difference,
        };
        let ids = [identity(subject.as_ref()), identity(reference.as_ref()), identity(features.as_ref())];
        self.goal.change(|wish| wish.style = Some(style));
        if let Some(picture) = self.previewed().cloned()
            && self.canvas.subject.shown().is_none_or(|shown| shown.id != picture.id)
        {
            self.canvas.subject.answer(Ok(picture));
        }
        let key = (ids, style);
        if self.asked.canvas == Some(key) {
            return;
        }
        self.asked.canvas = Some(key);
        for picture in
            [&mut self.canvas.subject, &mut self.canvas.reference, &mut self.canvas.difference, &mut self.canvas.input]
        {
            picture.ask();
        }
        self.send(Job::Canvas(Box::new(Order { subject, reference, features, style })));
    }

    /// Marks are asked for when a layer shows them: at 4K they cost more than the picture.
    fn ask_marks(&mut self) {
        let shown = [Overlay::Mismatches, Overlay::Explained].iter().any(|layer| self.view.overlays.contains(layer));
        if !shown || self.canvas.marks.is_pending() {
            return;
        }
        let (subject, reference) = (self.shown_tensor(Side::Subject), self.shown_tensor(Side::Reference));
        let mask = self.diagnosis.shown().and_then(|found| found.mask_of(&self.selection.tensor)).cloned();
        let mask_id = mask.as_ref().map_or(0, |mask| Arc::as_ptr(mask) as usize);
        let key = ([identity(subject.as_ref()), identity(reference.as_ref())], mask_id);
        if self.asked.marks != Some(key) {
            self.asked.marks = Some(key);
            self.canvas.marks.ask();
            self.send(Job::Marks(Box::new(MarksOrder { subject, reference, mask })));
        }
    }

    fn ask_thumbnails(&mut self) {
        let name = self.selection.tensor.clone();
        let tensor = self.tensor(Side::Subject, &name).or_else(|| self.tensor(Side::Reference, &name)).cloned();
        let id = identity(tensor.as_ref());
        if self.thumbnails.is_pending() || self.asked.thumbnails == Some(id) {
            return;
        }
        if let Some(tensor) = tensor {
            self.asked.thumbnails = Some(id);
            self.thumbnails.ask();
            self.send(Job::Thumbnails(tensor));
        }
    }

    fn ask_attention(&mut self) {
        if self.view.tab != Tab::Attention || self.attention.is_pending() {
            return;
        }
        let step = self.attention_step();
        let (Some(step), Some((_, model))) = (step, self.model.clone()) else {
            if self.asked.attention.take().is_some() || matches!(self.attention, super::Requested::Nothing) {
                self.attention.answer(Err("this block has no attention".to_owned()));
            }
            return;
        };
        let input = self.plan.steps[step].op.inputs()[0].clone();
        // A recording ran under nobody's rules: it is shown under the network's own.
        let of = |side: Side| {
            let plan = self.ledger(side).map(|ledger| &ledger.plan);
            let step = plan.unwrap_or(&self.plan).steps.get(step)?.clone();
            Some((step, self.tensor(side, &input)?.clone()))
        };
        let sides = [of(Side::Subject), of(Side::Reference)];
        let s = &self.selection;
        let ids = [0, 1].map(|side: usize| identity(sides[side].as_ref().map(|(_, tensor)| tensor)));
        let key = (ids, step, s.window, s.head, s.query, self.view.what_if.clone());
        if self.asked.attention.as_ref() == Some(&key) {
            return;
        }
        self.asked.attention = Some(key);
        if ids == [0, 0] {
            self.attention.answer(Err("this block has not run yet".to_owned()));
            return;
        }
        let (window, head, query) = (s.window, s.head, s.query);
        let what_if = self.view.what_if.clone();
        let order = AttentionOrder { model, sides, window, head, query, what_if };
        self.attention.ask();
        self.send(Job::Attention(Box::new(order)));
    }

    fn ask_statistics(&mut self) {
        if self.view.tab != Tab::Statistics || self.statistics.is_pending() {
            return;
        }
        let name = self.selection.tensor.clone();
        let sides = [Side::Subject, Side::Reference].map(|side| self.tensor(side, &name).cloned());
        let ids = [identity(sides[0].as_ref()), identity(sides[1].as_ref())];
        if self.asked.statistics == Some(ids) {
            return;
        }
        self.asked.statistics = Some(ids);
        if ids == [0, 0] {
            self.statistics.answer(Err("this tensor has not been computed yet".to_owned()));
            return;
        }
        self.statistics.ask();
        let grid = self.grid();
        self.send(Job::Statistics(sides, grid));
    }

    fn ask_trace(&mut self) {
        if self.view.tab != Tab::Trace || self.trace.is_pending() {
            return;
        }
        let s = &self.selection;
        let made = self.plan.tensor(&s.tensor).step;
        let (Some(token), Some(step), Some((_, model))) = (s.token, made, self.model.clone()) else {
            if self.asked.trace.take().is_some() || matches!(self.trace, super::Requested::Nothing) {
                self.trace.answer(Err("Click a token on the picture: its story is told here".to_owned()));
            }
            return;
        };
        let ids = [Side::Subject, Side::Reference].map(|side| identity(self.tensor(side, &s.tensor)));
        let at = (token.index(self.plan.shape(&s.tensor).size.width), s.channel);
        let key = (ids, at.0, at.1);
        if self.asked.trace == Some(key) {
            return;
        }
        let tensor = s.tensor.clone();
        self.asked.trace = Some(key);
        let isolated = self.view.basis == super::Basis::Isolated;
        let of = |side: Side| -> Option<look::TraceSide> {
            let plan = Arc::clone(&self.ledger(side)?.plan);
            // In isolation the subject read what the reference made.
            let read = if isolated { Side::Reference } else { side };
            let inputs = plan.steps[step].op.inputs().into_iter();
            let mut tensors: std::collections::BTreeMap<_, _> = inputs
                .map(|n| Some((n.clone(), self.tensors[read as usize].get(n)?.clone())))
                .collect::<Option<_>>()?;
            tensors.insert(tensor.clone(), self.tensor(side, &tensor)?.clone());
            Some((plan, tensors))
        };
        let sides = [of(Side::Subject), of(Side::Reference)];
        self.trace.ask();
        self.send(Job::Trace(Box::new(look::TraceOrder { model, sides, step, tensor, at })));
    }
}
