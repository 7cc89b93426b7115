//! What commands are called in menus and in the palette.

use super::command::{Browse, Command, CopyWhat, Select, Transport, ViewChange};
use super::{
    AttentionPart, Basis, ColourMap, Dialog, Difference, EventKind, Image, KeyOrder, Mode, Numbers, Overlay, Range,
    Reduction, Side, Tab, Theme, WhatIf,
};
use crate::diagnosis::trust::Depth;
use crate::engine::memory;

/// What parts a title's name from its explanation.
const DASH: &str = " \u{2013} ";

impl Command {
    /// The title without its explanation.
    pub fn short_title(&self) -> String {
        let title = self.title();
        title.split(DASH).next().unwrap_or_default().to_owned()
    }

    /// The command's name for people: `Step one kernel`, `Show: difference`.
    pub fn title(&self) -> String {
        match self {
            Self::Open(path) => format!("Open {path}"),
            Self::Model(spec) => format!("Model: {spec}"),
            Self::Input(spec) => format!("Input: {spec}"),
            Self::Size(size) => format!("Size: {size}"),
            Self::Subject(spec) => format!("Subject: {spec}"),
            Self::Reference(spec) => format!("Reference: {spec}"),
            Self::Watch(folder) => format!("Watch {folder} as the subject"),
            Self::Memory(None) => "Memory: no limit".to_owned(),
            Self::Memory(Some(bytes)) => format!("Memory: at most {}", memory::words(*bytes)),
            Self::Spill(None) => "Spill to the system's temporary folder".to_owned(),
            Self::Spill(Some(folder)) => format!("Spill to {folder}"),
            Self::Swap => "Swap subject and reference".to_owned(),
            Self::Browse(what) => {
                let title = what.title();
                title[..1].to_uppercase() + &title[1..] + "\u{2026}"
            }
            Self::Run(transport) => transport.title().to_owned(),
            Self::Select(select) => select.title(),
            Self::View(change) => change.title(),
            Self::Show(None) => "Close the dialog".to_owned(),
            Self::Show(Some(dialog)) => dialog.title().to_owned(),
            Self::Define(term) => format!("Glossary: {term}"),
            Self::Tour(0) => "End the tour".to_owned(),
            Self::Tour(step) => format!("Tour, step {step}"),
            Self::Pin(name) if name.is_empty() => "Pin the selected value".to_owned(),
            Self::Pin(name) => format!("Pin the selected value as {name}"),
            Self::Unpin(pin) => format!("Remove pin {}", pin + 1),
            Self::RenamePin(pin, name) => format!("Rename pin {} to {name}", pin + 1),
            Self::GoPin(pin) => format!("Go to pin {}", pin + 1),
            Self::Bookmark(note) if note.is_empty() => "Bookmark this view".to_owned(),
            Self::Bookmark(note) => format!("Bookmark this view: {note}"),
            Self::GoBookmark(bookmark) => format!("Go to bookmark {}", bookmark + 1),
            Self::NoteBookmark(bookmark, _) => format!("Note on bookmark {}", bookmark + 1),
            Self::RemoveBookmark(bookmark) => format!("Remove bookmark {}", bookmark + 1),
            Self::Undo => "Undo the view change".to_owned(),
            Self::Redo => "Redo the view change".to_owned(),
            Self::Copy(what) => what.title().to_owned(),
            Self::ExportCanvas(path) => format!("Export the canvas to {path}"),
            Self::ExportTensor(path) => format!("Export the tensor to {path}"),
            Self::Report(path) => format!("Write a report to {path}"),
            Self::Bundle { weights: true, path } => format!("Write a repro bundle to {path}"),
            Self::Bundle { weights: false, path } => format!("Write a repro bundle without weights to {path}"),
            Self::Diagnose => "Test the known causes".to_owned(),
            Self::Doctor(Depth::Quick) => "Check this machine's engines quickly".to_owned(),
            Self::Doctor(Depth::Whole) => "Check this machine's engines with the whole network".to_owned(),
            Self::Cancel(job) => format!("Cancel job {job}"),
            Self::Dismiss(_) => "Close the message".to_owned(),
            Self::Quit => "Quit".to_owned(),
        }
    }

    /// The commands that the palette lists, without what only lists can offer (paths, pins, messages).
    pub fn palette() -> Vec<Self> {
        let view = |changes: Vec<ViewChange>| changes.into_iter().map(Self::View);
        let each = |f: &dyn Fn() -> Vec<ViewChange>| view(f());
        let run = [
            Transport::StepKernel,
            Transport::StepBlock,
            Transport::Back,
            Transport::ToDivergence,
            Transport::ToSelection,
            Transport::All,
            Transport::First,
            Transport::Stop,
        ];
        let mut all: Vec<Self> = run.map(Self::Run).into();
        all.extend([Dialog::Open, Dialog::Sources].map(|dialog| Self::Show(Some(dialog))));
        all.extend([Select::Divergence, Select::Difference].map(Self::Select));
        all.extend([1, -1].map(|by| Self::Select(Select::BlockBy(by))));
        all.extend([1, -1].map(|by| Self::Select(Select::StepBy(by))));
        all.extend([1, -1].map(|by| Self::Select(Select::ChannelBy(by))));
        all.extend(each(&|| Mode::ALL.iter().map(|mode| ViewChange::Mode(*mode)).collect()));
        all.extend(each(&|| Basis::ALL.iter().map(|basis| ViewChange::Basis(*basis)).collect()));
        all.extend(each(&|| Image::ALL.iter().map(|image| ViewChange::Image(*image)).collect()));
        all.extend(each(&|| Reduction::ALL.iter().map(|reduction| ViewChange::Reduction(*reduction)).collect()));
        all.extend(each(&|| Difference::ALL.iter().map(|difference| ViewChange::Difference(*difference)).collect()));
        all.extend(each(&|| Overlay::ALL.iter().map(|overlay| ViewChange::Overlay(*overlay, None)).collect()));
        all.extend(each(&|| ColourMap::ALL.iter().map(|map| ViewChange::Map(*map)).collect()));
        all.extend(view(vec![
            ViewChange::Range(Range::Auto),
            ViewChange::Range(Range::Percentile(99.0)),
            ViewChange::Log(true),
            ViewChange::Log(false),
            ViewChange::Zoom(None),
            ViewChange::Zoom(Some(1.0)),
            ViewChange::ZoomBy(1.25),
            ViewChange::ZoomBy(0.8),
        ]));
        all.extend(each(&|| Tab::ALL.iter().map(|tab| ViewChange::Tab(*tab)).collect()));
        all.extend(each(&|| KeyOrder::ALL.iter().map(|order| ViewChange::Keys(*order)).collect()));
        all.extend(each(&|| Numbers::ALL.iter().map(|numbers| ViewChange::Numbers(*numbers)).collect()));
        all.extend(each(&|| AttentionPart::ALL.iter().map(|part| ViewChange::Attention(*part)).collect()));
        all.extend(each(&|| WhatIf::ALL.iter().map(|what| ViewChange::WhatIf(*what, None)).collect()));
        all.extend(each(&|| EventKind::ALL.iter().map(|kind| ViewChange::Event(*kind, None)).collect()));
        all.extend(each(&|| Theme::ALL.iter().map(|theme| ViewChange::Theme(*theme)).collect()));
        all.extend([0.8, 1.0, 1.25, 1.5, 2.0].map(|scale| Self::View(ViewChange::Scale(scale))));
        all.extend(
            [Dialog::Keys, Dialog::Glossary, Dialog::Doctor, Dialog::About].map(|dialog| Self::Show(Some(dialog))),
        );
        all.extend(Browse::ALL.iter().map(|(what, _)| Self::Browse(*what)));
        all.extend(CopyWhat::ALL.iter().map(|(what, _)| Self::Copy(*what)));
        all.extend([
            Self::Swap,
            Self::Pin(String::new()),
            Self::Bookmark(String::new()),
            Self::Undo,
            Self::Redo,
            Self::Diagnose,
            Self::Doctor(Depth::Quick),
            Self::Doctor(Depth::Whole),
            Self::Memory(None),
            Self::Memory(Some(4 << 30)),
            Self::Memory(Some(8 << 30)),
            Self::Memory(Some(16 << 30)),
            Self::Tour(1),
            Self::Quit,
        ]);
        all
    }
}

impl Transport {
    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::First => "Go to the start",
            Self::Back => "Step back",
            Self::StepKernel => "Step one kernel",
            Self::StepBlock => "Step one block",
            Self::ToSelection => "Run to the selection",
            Self::ToDivergence => "Run to the next divergence",
            Self::All => "Run all",
            Self::Stop => "Stop",
        }
    }
}

impl Browse {
    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::Model => "open a model directory",
            Self::Input => "open an image, features or a capture as input",
            Self::Subject => "open a capture as the subject",
            Self::Reference => "open a capture as the reference",
            Self::Watch => "watch a folder of dumps as the subject",
            Self::Spill => "choose the folder for what exceeds the memory",
            Self::ExportCanvas => "export the canvas as PNG",
            Self::ExportTensor => "export the tensor as .npy",
            Self::Report => "write a report",
            Self::Bundle => "write a repro bundle of the first divergence",
            Self::BundleWithoutWeights => "write a repro bundle without weights",
        }
    }
}

impl CopyWhat {
    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::Probe => "Copy the probed value",
            Self::Trace => "Copy the trace",
            Self::Verdict => "Copy the verdict",
            Self::CommandLine => "Copy the command line that reproduces this",
            Self::Doctor => "Copy what the check of this machine found",
        }
    }
}

impl Select {
    /// What it is called.
    pub fn title(&self) -> String {
        match self {
            Self::Block(block) => format!("Select block {block}"),
            Self::Step(step) => format!("Select step {step}"),
            Self::Tensor(name) => format!("Select {name}"),
            Self::StepBy(by) => format!("Select the {} kernel", towards(*by)),
            Self::BlockBy(by) => format!("Select the {} block", towards(*by)),
            Self::Channel(channel) => format!("Select channel {channel}"),
            Self::ChannelBy(by) => format!("Select the {} channel", towards(*by)),
            Self::Rgb([r, g, b]) => format!("Channels {r}, {g}, {b} as RGB"),
            Self::Token(None) => "Select no token".to_owned(),
            Self::Token(Some(token)) => format!("Select token {token}"),
            Self::TokenBy(1, 0) => "Select the token to the right".to_owned(),
            Self::TokenBy(-1, 0) => "Select the token to the left".to_owned(),
            Self::TokenBy(0, 1) => "Select the token below".to_owned(),
            Self::TokenBy(0, -1) => "Select the token above".to_owned(),
            Self::TokenBy(x, y) => format!("Move the token by ({x}, {y})"),
            Self::Hover(_) => "Point at a token".to_owned(),
            Self::Window(x, y) => format!("Select window ({x}, {y})"),
            Self::Head(head) => format!("Select head {head}"),
            Self::Query(query) => format!("Select query {query}"),
            Self::Divergence => "Select the first divergence".to_owned(),
            Self::Difference => "Select the first differing value".to_owned(),
        }
    }
}

fn towards(by: isize) -> &'static str {
    if by < 0 { "previous" } else { "next" }
}

/// A title of a group, a word and what it means; [`Command::short_title`] cuts at the dash.
fn named(group: &str, word: &str, about: &str) -> String {
    format!("{group}: {word}{DASH}{about}")
}

/// The ending of a toggle's title.
fn switched(on: Option<bool>) -> &'static str {
    match on {
        None => "",
        Some(true) => ": on",
        Some(false) => ": off",
    }
}

impl ViewChange {
    /// What it is called.
    pub fn title(&self) -> String {
        match self {
            Self::Mode(mode) => named("View", mode.word(), mode.title()),
            Self::Image(image) => named("Image", image.word(), image.title()),
            Self::Basis(basis) => named("Subject", basis.word(), basis.title()),
            Self::Split(_) => "Move the divider".to_owned(),
            Self::Flick(Side::Subject) => "Flick to the subject".to_owned(),
            Self::Flick(Side::Reference) => "Flick to the reference".to_owned(),
            Self::Reduction(reduction) => named("Reduction", reduction.word(), reduction.title()),
            Self::Map(map) => named("Colour map", map.word(), map.title()),
            Self::Range(Range::Auto) => "Range: automatic".to_owned(),
            Self::Range(Range::Percentile(percent)) => format!("Range: percentile {percent}"),
            Self::Range(Range::Fixed(low, high)) => format!("Range: {low} to {high}"),
            Self::Log(true) => "Logarithmic magnitudes".to_owned(),
            Self::Log(false) => "Linear magnitudes".to_owned(),
            Self::Difference(difference) => named("Difference", difference.word(), difference.title()),
            Self::Overlay(layer, on) => named("Layer", layer.word(), layer.title()) + switched(*on),
            Self::Zoom(None) => "Zoom: fit".to_owned(),
            Self::Zoom(Some(1.0)) => "Zoom: 1:1".to_owned(),
            Self::Zoom(Some(zoom)) => format!("Zoom: {zoom}"),
            Self::ZoomBy(factor) if *factor < 1.0 => "Zoom out".to_owned(),
            Self::ZoomBy(_) => "Zoom in".to_owned(),
            Self::Centre(..) => "Pan".to_owned(),
            Self::Tab(tab) => named("Tab", tab.word(), tab.title()),
            Self::Keys(order) => named("Key order", order.word(), order.title()),
            Self::Numbers(numbers) => named("Numbers", numbers.word(), numbers.title()),
            Self::Attention(part) => named("Attention", part.word(), part.title()),
            Self::WhatIf(what, on) => named("What if", what.word(), what.title()) + switched(*on),
            Self::Event(kind, on) => named("Events", kind.word(), kind.title()) + switched(*on),
            Self::Theme(theme) => format!("Theme: {}", theme.title()),
            Self::Scale(scale) => format!("Interface scale: {} %", scale * 100.0),
        }
    }
}
