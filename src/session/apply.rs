//! What each command does.

use super::report::What;
use super::{
    Bookmark, Command, CopyWhat, Effect, Pin, Place, Session, Severity, Side, Sources, Transport, View, ViewChange,
    export,
};
use crate::engine::trace;
use crate::report::quoted;
use std::collections::BTreeSet;
use std::path::Path;

/// Longest history of undo.
const HISTORY: usize = 200;
/// Kernels and blocks that may wait behind the one that runs.
const QUEUE: (usize, usize) = (32, 8);
/// Smallest and largest points per token.
const ZOOM: (f32, f32) = (0.02, 256.0);

impl Session {
    /// Does what a command says. Never waits.
    pub fn apply(&mut self, command: Command) {
        match command {
            Command::Open(path) => self.open(&path),
            Command::Model(spec) => self.change_sources(|sources| sources.model = spec),
            Command::Input(spec) => self.change_sources(|sources| sources.input = spec),
            Command::Size(size) => self.change_sources(|sources| sources.size = size),
            Command::Subject(spec) => self.change_sources(|sources| sources.subject = spec),
            Command::Reference(spec) => self.change_sources(|sources| sources.reference = spec),
            Command::Watch(folder) => {
                // The reference is what dumps are read against: it runs to the end.
                self.goal.change(|wish| wish.to = usize::MAX);
                self.change_sources(|sources| sources.subject = Sources::watching(&folder));
            }
            Command::Memory(bytes) => self.change_sources(|sources| sources.memory = bytes),
            Command::Spill(folder) => self.change_sources(|sources| sources.spill = folder),
            Command::Swap => self.change_sources(|s| std::mem::swap(&mut s.subject, &mut s.reference)),
            Command::Browse(what) => self.effects.push(Effect::Browse(what)),
            Command::Run(transport) => self.transport(transport),
            Command::Select(select) => {
                self.remember(&select.to_string(), !matches!(select, super::Select::Hover(_)));
                self.select(select);
            }
            Command::View(change) => {
                self.remember(&change.to_string(), !matches!(change, ViewChange::Flick(_)));
                change_view(&mut self.view, &change);
            }
            // Escape closes what is on top: a dialog, then the tour.
            Command::Show(None) if self.dialog.is_none() => self.tour = 0,
            Command::Show(dialog) => self.dialog = dialog,
            Command::Define(term) => {
                self.term = term;
                self.dialog = Some(super::Dialog::Glossary);
            }
            Command::Tour(step) => self.tour = if step > 5 { 0 } else { step },
            Command::Undo => self.undo(),
            Command::Redo => self.redo(),
            Command::Copy(what) => self.effects.push(Effect::Clipboard(self.copied(what))),
            Command::ExportCanvas(path) => export::canvas(self, &path),
            Command::ExportTensor(path) => export::tensor(self, &path),
            Command::Report(path) => self.report(What::Report, &path),
            Command::Bundle { weights, path } => self.report(What::Bundle { weights }, &path),
            Command::Diagnose => self.diagnose(),
            Command::Cancel(super::poll::DIAGNOSIS) => self.diagnosing.cancel(),
            Command::Doctor(depth) => self.examine(depth),
            Command::Cancel(super::poll::WATCH) => self.stop_watching(),
            Command::Cancel(super::poll::REPORT) => self.cancel_report(),
            Command::Cancel(super::poll::DOCTOR) => self.cancel_examination(),
            Command::Cancel(_) => self.transport(Transport::Stop),
            Command::Dismiss(id) => self.messages.retain(|message| message.id != id),
            Command::Quit => self.effects.push(Effect::Quit),
            Command::Pin(_)
            | Command::Unpin(_)
            | Command::RenamePin(..)
            | Command::GoPin(_)
            | Command::Bookmark(_)
            | Command::GoBookmark(_)
            | Command::NoteBookmark(..)
            | Command::RemoveBookmark(_) => self.note(command),
        }
    }

    fn note(&mut self, command: Command) {
        match command {
            Command::Pin(name) => self.pin(name),
            Command::Unpin(pin) if pin < self.pins.len() => drop(self.pins.remove(pin)),
            Command::RenamePin(pin, name) => {
                if let Some(pin) = self.pins.get_mut(pin) {
                    pin.name = name;
                }
            }
            Command::GoPin(pin) => {
                if let Some(pin) = self.pins.get(pin).cloned() {
                    self.remember("go", true);
                    self.select(super::Select::Tensor(pin.tensor));
                    self.select(super::Select::Channel(pin.channel));
                    self.select(super::Select::Token(Some(pin.token)));
                }
            }
            Command::Bookmark(note) => {
                let note = if note.is_empty() { self.selection.tensor.to_string() } else { note };
                self.bookmarks.push(Bookmark { note, selection: self.selection.clone(), view: self.view.clone() });
            }
            Command::GoBookmark(bookmark) => {
                if let Some(bookmark) = self.bookmarks.get(bookmark).cloned() {
                    self.remember("go", true);
                    self.selection = bookmark.selection;
                    self.view = bookmark.view;
                    self.settle();
                }
            }
            Command::NoteBookmark(bookmark, note) => {
                if let Some(bookmark) = self.bookmarks.get_mut(bookmark) {
                    bookmark.note = note;
                }
            }
            Command::RemoveBookmark(bookmark) if bookmark < self.bookmarks.len() => {
                drop(self.bookmarks.remove(bookmark));
            }
            _ => {}
        }
    }

    fn pin(&mut self, name: String) {
        let Some(token) = self.selection.token.or(self.selection.hover) else {
            self.say(Severity::Warning, Place::Canvas, "select a token first, then pin it");
            return;
        };
        let name = if name.is_empty() { format!("pin {}", self.pins.len() + 1) } else { name };
        let (tensor, channel) = (self.selection.tensor.clone(), self.selection.channel);
        self.pins.push(Pin { name, tensor, token, channel });
    }

    /// Opens a path by what it is: a directory with stages is a model, one with a manifest a recording.
    fn open(&mut self, text: &str) {
        let path = Path::new(text);
        let is_dir = path.is_dir();
        if text.starts_with("synthetic") || path.is_file() {
            self.apply(Command::Input(text.to_owned()));
        } else if is_dir && path.join("stages").is_dir() || path.join("model").join("stages").is_dir() {
            self.apply(Command::Model(text.to_owned()));
        } else if is_dir {
            self.apply(Command::Subject(text.to_owned()));
        } else {
            self.say(Severity::Error, Place::Window, format!("there is nothing to open at {text}"));
        }
    }

    /// Remembers the view for undo. Changes of one kind in a row are one step.
    fn remember(&mut self, text: &str, undoable: bool) {
        if !undoable {
            return;
        }
        let word = text.split(' ').next().unwrap_or_default();
        let drag = ["split", "centre", "zoom", "zoom-by", "token", "token-by", "scale"].contains(&word);
        if !(drag && self.gesture == word) {
            self.undo.push((self.selection.clone(), self.view.clone()));
            if self.undo.len() > HISTORY {
                self.undo.remove(0);
            }
        }
        word.clone_into(&mut self.gesture);
        self.redo.clear();
    }

    fn undo(&mut self) {
        if let Some((selection, view)) = self.undo.pop() {
            self.redo
                .push((std::mem::replace(&mut self.selection, selection), std::mem::replace(&mut self.view, view)));
            self.gesture.clear();
            self.settle();
        }
    }

    fn redo(&mut self) {
        if let Some((selection, view)) = self.redo.pop() {
            self.undo
                .push((std::mem::replace(&mut self.selection, selection), std::mem::replace(&mut self.view, view)));
            self.gesture.clear();
            self.settle();
        }
    }

    fn transport(&mut self, transport: Transport) {
        let (steps, playhead) = (self.plan.steps.len(), self.run.playhead);
        self.follow = true;
        // Steps asked for while one runs queue behind it, as in debuggers; a step during a run breaks in instead.
        let wish = self.goal.wish();
        let stepping = matches!(transport, Transport::StepKernel | Transport::StepBlock);
        let queues = stepping && wish.stepping && self.run.activity.is_some();
        let from = if queues { wish.to.max(playhead) } else { playhead };
        let block_of = |step: usize| self.plan.steps[step.min(steps - 1)].block;
        let block_end = |from: usize| {
            let block = block_of(from);
            self.plan.steps.iter().rposition(|step| step.block == block).map_or(steps, |last| last + 1)
        };
        let (to, divergence) = match transport {
            Transport::First => (0, None),
            Transport::Back => (playhead.saturating_sub(1), None),
            Transport::StepKernel if from - playhead >= QUEUE.0 => (from, None),
            Transport::StepKernel => (from + 1, None),
            Transport::StepBlock if block_of(from) - block_of(playhead) >= QUEUE.1 => (from, None),
            Transport::StepBlock => (block_end(from), None),
            Transport::ToSelection => (self.selection.step + 1, None),
            Transport::ToDivergence => match self.next_divergence(playhead) {
                Some(step) => (step + 1, None),
                None => (steps, Some(playhead)),
            },
            Transport::All => (steps, None),
            // Where both engines stand: else the slower one would run on to the faster one's place.
            Transport::Stop => (playhead.min(self.standing().unwrap_or(playhead)), None),
        };
        let to = to.min(steps);
        self.goal.change(|wish| {
            wish.to = to;
            wish.stepping = stepping;
            wish.divergence_from = divergence;
            if !queues {
                wish.began = Some((std::time::Instant::now(), playhead));
            }
        });
        if transport == Transport::Stop {
            self.goal.cancel();
        }
        self.bell.ring();
        self.refresh();
    }

    /// Steps that every engine has run.
    fn standing(&self) -> Option<usize> {
        let engines = self.crew.iter().flat_map(|crew| crew.sides.iter().flatten()).filter(|side| !side.recording);
        engines.map(|side| side.store().done).min()
    }

    /// A divergence that is known already, from a step on.
    fn next_divergence(&self, from: usize) -> Option<usize> {
        let bad = |step: &super::StepState| {
            matches!(step.isolated.verdict, super::Verdict::Differs | super::Verdict::ZeroSign)
        };
        (from..self.run.steps.len()).find(|&step| bad(&self.run.steps[step]))
    }

    /// The text that a copy command takes.
    pub fn copied(&self, what: CopyWhat) -> String {
        let s = &self.selection;
        match what {
            CopyWhat::Probe => {
                let Some(token) = s.token.or(s.hover) else { return "nothing is selected".to_owned() };
                let side = |side: Side| {
                    let tensor = self.tensor(side, &s.tensor)?;
                    let index = token.index(tensor.shape.size.width);
                    let (value, bits) = (tensor.value(index, s.channel), tensor.bits(index, s.channel));
                    let digits = tensor.shape.element.bytes() * 2;
                    Some(format!("{side} {value} (0x{bits:0digits$x})"))
                };
                let sides: Vec<String> = Side::ALL.iter().filter_map(|s| side(*s)).collect();
                format!("{} token {token} channel {}: {}", s.tensor, s.channel, sides.join(", "))
            }
            CopyWhat::Trace => {
                let text = self.trace.shown().and_then(|trace| trace.subject.clone());
                text.map_or_else(|| "no trace is shown".to_owned(), |told| trace::text::lines(&told).join("\n"))
            }
            CopyWhat::Verdict => {
                let step = &self.run.steps[s.step];
                let line = |name: &str, j: &super::Judgement| {
                    format!("{name}: {}, {} of {} elements differ", j.verdict.title(), j.differing, j.total)
                };
                let (a, i) = (line("accumulated", &step.accumulated), line("isolated", &step.isolated));
                format!("{}\n{a}\n{i}", s.tensor)
            }
            CopyWhat::Doctor => self.examination().text(),
            CopyWhat::CommandLine => {
                let Sources { model, input, size, subject, reference, .. } = &self.sources;
                let subject = match Sources::watched(subject) {
                    Some(folder) => format!("--watch {}", quoted(folder)),
                    None => format!("--subject {}", quoted(subject)),
                };
                let [r, m, i] = [reference, model, input].map(|word| quoted(word));
                format!("blockscope parity {subject} --reference {r} --model {m} --input {i} --size {size}")
            }
        }
    }
}

fn toggle<T: Ord>(set: &mut BTreeSet<T>, value: T, on: Option<bool>) {
    if on.unwrap_or(!set.contains(&value)) {
        set.insert(value);
    } else {
        set.remove(&value);
    }
}

fn change_view(view: &mut View, change: &ViewChange) {
    match *change {
        ViewChange::Mode(mode) => view.mode = mode,
        ViewChange::Image(image) => view.image = image,
        ViewChange::Basis(basis) => view.basis = basis,
        ViewChange::Split(at) => view.split = at.clamp(0.0, 1.0),
        ViewChange::Flick(side) => view.flick = side,
        ViewChange::Reduction(reduction) => view.reduction = reduction,
        ViewChange::Map(map) => view.map = map,
        ViewChange::Range(range) => view.range = range,
        ViewChange::Log(on) => view.log = on,
        ViewChange::Difference(difference) => view.difference = difference,
        ViewChange::Overlay(overlay, on) => toggle(&mut view.overlays, overlay, on),
        ViewChange::Zoom(None) => view.camera = super::Camera::default(),
        ViewChange::Zoom(Some(zoom)) => view.camera.zoom = Some(zoom.clamp(ZOOM.0, ZOOM.1)),
        ViewChange::ZoomBy(factor) => {
            view.camera.zoom = Some((view.camera.zoom.unwrap_or(2.0) * factor).clamp(ZOOM.0, ZOOM.1));
        }
        ViewChange::Centre(x, y) => view.camera.centre = (x.clamp(0.0, 1.0), y.clamp(0.0, 1.0)),
        ViewChange::Tab(tab) => view.tab = tab,
        ViewChange::Keys(order) => view.keys = order,
        ViewChange::Numbers(numbers) => view.numbers = numbers,
        ViewChange::Attention(part) => view.attention = part,
        ViewChange::WhatIf(what, on) => toggle(&mut view.what_if, what, on),
        ViewChange::Event(kind, on) => toggle(&mut view.events, kind, on),
        ViewChange::Theme(theme) => view.theme = theme,
        ViewChange::Scale(scale) => view.scale = scale.clamp(0.5, 4.0),
    }
}

/// A view after a change.
pub fn changed(view: &View, change: &ViewChange) -> View {
    let mut view = view.clone();
    change_view(&mut view, change);
    view
}
