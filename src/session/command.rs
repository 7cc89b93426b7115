//! Everything a person can do, as one closed enum with a line-of-text form.
//!
//! Panels, keys, the palette, `blockscope play` and saved recent entries all speak this language.
//!
//! **Invariants**
//! * `parse(command.to_string()) == command` for every command; a test walks them all.
//! * A command carries everything it needs; applying it never asks back.

use super::{
    AttentionPart, Basis, ColourMap, Dialog, Difference, EventKind, Image, KeyOrder, Mode, Numbers, Overlay, Range,
    Reduction, Side, Tab, Theme, Token, WhatIf,
};
use crate::diagnosis::trust::Depth;
use crate::geometry::Size;
use crate::tensor::TensorName;

/// Everything a person can do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Open a path of any kind: recognised by what it is.
    Open(String),
    /// Take another model: `synthetic[:SEED]` or a directory.
    Model(String),
    /// Take another input: `synthetic[:SEED]`, an image, features or a capture.
    Input(String),
    /// Another valid size.
    Size(Size),
    /// Another subject: an engine, an engine with causes, or a capture.
    Subject(String),
    /// Another reference.
    Reference(String),
    /// A folder that a running port writes, as the subject: its dumps are compared as they come.
    Watch(String),
    /// Bytes that the window may take; `None` for no limit.
    Memory(Option<u64>),
    /// The folder for what exceeds them; `None` for the system's temporary one.
    Spill(Option<String>),
    /// Subject and reference change places.
    Swap,
    /// A file dialog for this kind of thing.
    Browse(Browse),
    /// Transport.
    Run(Transport),
    /// Another selection.
    Select(Select),
    /// Another view.
    View(ViewChange),
    /// Show a dialog, or close the one shown.
    Show(Option<Dialog>),
    /// Look a term up in the glossary.
    Define(String),
    /// Go to a step of the tour (1 to 5), or end it with 0.
    Tour(usize),
    /// Keep the selected place in the probe, under a name.
    Pin(String),
    /// Forget a pin.
    Unpin(usize),
    /// Give a pin another name.
    RenamePin(usize, String),
    /// Select a pin's place.
    GoPin(usize),
    /// Remember selection and view with a note.
    Bookmark(String),
    /// Go to a bookmark.
    GoBookmark(usize),
    /// Change a bookmark's note.
    NoteBookmark(usize, String),
    /// Forget a bookmark.
    RemoveBookmark(usize),
    /// Take the last view change back.
    Undo,
    /// Do it again.
    Redo,
    /// Put text about the selection on the clipboard.
    Copy(CopyWhat),
    /// Write the canvas' picture as PNG.
    ExportCanvas(String),
    /// Write the selected tensor (of the shown side) as .npy.
    ExportTensor(String),
    /// Write a report; the ending names its kind.
    Report(String),
    /// Write a repro bundle of the first divergence into a new folder.
    Bundle {
        /// Whether the kernel's weights go with it.
        weights: bool,
        /// The folder.
        path: String,
    },
    /// Test the known causes on the first divergent step, or on the selected one.
    Diagnose,
    /// Check this machine's engines.
    Doctor(Depth),
    /// Cancel a job.
    Cancel(u64),
    /// Close a message.
    Dismiss(u64),
    /// Close the window.
    Quit,
}

/// What a file dialog is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Browse {
    /// A model directory.
    Model,
    /// An image, features or a capture as input.
    Input,
    /// A capture as subject.
    Subject,
    /// A capture as reference.
    Reference,
    /// A folder to watch as the subject.
    Watch,
    /// A folder to spill to.
    Spill,
    /// A PNG to write.
    ExportCanvas,
    /// A .npy to write.
    ExportTensor,
    /// A report to write.
    Report,
    /// A repro bundle to write, with the kernel's weights.
    Bundle,
    /// A repro bundle to write, without them.
    BundleWithoutWeights,
}

/// The transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// To the start.
    First,
    /// One step back.
    Back,
    /// Run one kernel.
    StepKernel,
    /// Run to the end of the block.
    StepBlock,
    /// Run until the selected step has run.
    ToSelection,
    /// Run until a step's verdict is not exact.
    ToDivergence,
    /// Run to the end.
    All,
    /// Stop after the tile in hand.
    Stop,
}

/// A change of the selection.
#[derive(Clone, Debug, PartialEq)]
pub enum Select {
    /// A block: its last computed step.
    Block(usize),
    /// A step of the plan.
    Step(usize),
    /// A tensor by name, and the step that makes it.
    Tensor(TensorName),
    /// The next or previous step.
    StepBy(isize),
    /// The next or previous block.
    BlockBy(isize),
    /// A channel.
    Channel(usize),
    /// The next or previous channel.
    ChannelBy(isize),
    /// Channels for red, green and blue.
    Rgb([usize; 3]),
    /// A token, or none.
    Token(Option<Token>),
    /// The token right, left, below or above: columns and rows to go.
    TokenBy(isize, isize),
    /// The token under the pointer, or none.
    Hover(Option<Token>),
    /// A window of the block's grid.
    Window(usize, usize),
    /// A head.
    Head(usize),
    /// A query: natural index in the window, or a token of level 5.
    Query(usize),
    /// The first step whose isolated verdict is not exact.
    Divergence,
    /// The first differing element of the selected tensor.
    Difference,
}

/// A change of the view.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewChange {
    /// What the canvas draws.
    Mode(Mode),
    /// Which image it is about.
    Image(Image),
    /// Which of the subject's two results is shown.
    Basis(Basis),
    /// The divider of the split view, 0..=1.
    Split(f32),
    /// The side that flicking shows now.
    Flick(Side),
    /// How channels become one value.
    Reduction(Reduction),
    /// Colours of values.
    Map(ColourMap),
    /// The values that the colours span.
    Range(Range),
    /// Logarithmic magnitudes.
    Log(bool),
    /// What a difference measures.
    Difference(Difference),
    /// A layer, shown or not; `None` toggles.
    Overlay(Overlay, Option<bool>),
    /// Points per token; `None` fits.
    Zoom(Option<f32>),
    /// Zoom by a factor around the middle.
    ZoomBy(f32),
    /// The plane's point in the middle of the canvas, as shares of width and height.
    Centre(f32, f32),
    /// The right panel's tab.
    Tab(Tab),
    /// Order of keys in the attention tab.
    Keys(KeyOrder),
    /// What numbers are written as.
    Numbers(Numbers),
    /// What the attention heatmaps show.
    Attention(AttentionPart),
    /// A what-if change of the attention tab; `None` toggles.
    WhatIf(WhatIf, Option<bool>),
    /// An event kind in the list, shown or not; `None` toggles.
    Event(EventKind, Option<bool>),
    /// Colours of the window.
    Theme(Theme),
    /// Size of text and controls.
    Scale(f32),
}

/// What goes to the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyWhat {
    /// Value, code, bits and place on both sides.
    Probe,
    /// The trace.
    Trace,
    /// Verdict and counts of the selected tensor.
    Verdict,
    /// The command line that reproduces this session's comparison.
    CommandLine,
    /// What the doctor found.
    Doctor,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At least one of every command, every palette entry, and every key.
    fn samples() -> Vec<Command> {
        let lines = [
            "open a b/c d.png",
            "model synthetic:3",
            "input photo.png",
            "size 512x256",
            "subject cpu+mask-outside@9-14",
            "reference captures/small",
            "tour 3",
            "tour 0",
            "define phase",
            "pin corner of window",
            "unpin 2",
            "rename-pin 1 left edge",
            "go-pin 0",
            "bookmark here it starts",
            "go-bookmark 1",
            "note-bookmark 0 why",
            "remove-bookmark 4",
            "export canvas out dir/a.png",
            "export tensor b.npy",
            "report r.html",
            "bundle with-weights out/first divergence",
            "bundle without-weights b",
            "cancel 7",
            "dismiss 9",
            "select block 12",
            "select step 3",
            "select tensor block-12/qkv",
            "select channel 31",
            "select rgb 3 2 1",
            "select token 4 5",
            "select token none",
            "select token-by -1 0",
            "select hover 1 2",
            "select window 2 3",
            "select head 1",
            "select query 63",
            "view split 0.25",
            "view flick reference",
            "view range fixed -1.5 2",
            "view range percentile 99.5",
            "view overlay windows on",
            "view overlay nan off",
            "view zoom 12.5",
            "view centre 0.25 0.75",
            "view what-if true-exp on",
            "view event tie off",
            "view basis isolated",
            "watch out/dumps of today",
            "memory 800MiB",
            "memory 1000001",
            "memory unlimited",
            "spill /var/tmp/some where",
            "spill temporary",
            "doctor quick",
            "doctor whole",
            "copy doctor",
        ];
        let parsed = lines.map(|line| line.parse::<Command>().unwrap_or_else(|error| panic!("{line}: {error}")));
        for (line, command) in lines.iter().zip(&parsed) {
            assert_eq!(command.to_string(), *line, "{command:?}");
        }
        let keys = crate::session::bindings().into_iter().map(|binding| binding.command);
        parsed.into_iter().chain(Command::palette()).chain(keys).collect()
    }

    #[test]
    fn every_command_reads_back_from_its_own_text() {
        for command in samples() {
            assert_eq!(command.to_string().trim().parse(), Ok(command.clone()), "\"{command}\"");
            assert!(!command.title().is_empty(), "{command:?} has a title");
        }
    }

    #[test]
    fn what_is_no_command_is_refused_with_what_was_found() {
        for line in [
            "",
            "jump",
            "select",
            "select block",
            "select block x",
            "view mode upside-down",
            "size 3",
            "export x",
            "bundle out",
            "bundle with-weights",
            "watch",
            "memory much",
        ] {
            let error = line.parse::<Command>().unwrap_err();
            assert!(!error.is_empty(), "\"{line}\" says why");
        }
    }

    #[test]
    fn titles_in_the_palette_are_distinct() {
        let mut titles: Vec<String> = Command::palette().iter().map(Command::title).collect();
        let count = titles.len();
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), count, "no two entries read the same");
    }
}
