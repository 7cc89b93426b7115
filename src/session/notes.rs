//! What a person leaves behind: pins, bookmarks, recent files; and what the program has to say.

use super::{Selection, Token, View};
use crate::tensor::TensorName;
use std::path::PathBuf;

/// A place kept in the probe.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pin {
    /// Its name.
    pub name: String,
    /// The tensor that it was set on.
    #[serde(with = "super::name_text")]
    pub tensor: TensorName,
    /// The token.
    pub token: Token,
    /// The channel.
    pub channel: usize,
}

/// A place and a view to come back to.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bookmark {
    /// What it is about.
    pub note: String,
    /// The selection then.
    pub selection: Selection,
    /// The view then.
    pub view: View,
}

/// Something opened before.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Recent {
    /// The line that opens it again.
    pub command: String,
    /// The path.
    pub path: PathBuf,
}

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Done as asked.
    Info,
    /// Done, with something to know.
    Warning,
    /// Not done.
    Error,
}

/// Where a message belongs: it is shown there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Beside the model's field.
    Model,
    /// Beside the input's field.
    Input,
    /// Beside the subject.
    Subject,
    /// Beside the reference.
    Reference,
    /// Beside the transport.
    Run,
    /// On the canvas.
    Canvas,
    /// The window as a whole.
    Window,
}

/// Something that the program has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// A number that never returns.
    pub id: u64,
    /// How serious.
    pub severity: Severity,
    /// Where it belongs.
    pub place: Place,
    /// One line.
    pub text: String,
    /// All problems, when there are several.
    pub details: Vec<String>,
}

/// A job in the bottom panel.
#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    /// A number that never returns.
    pub id: u64,
    /// What it does.
    pub what: String,
    /// Share done, where known.
    pub share: Option<f32>,
    /// Whether it can be cancelled.
    pub cancellable: bool,
}

/// What only a shell can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Put this on the clipboard.
    Clipboard(String),
    /// Open a file dialog, and apply what comes of it.
    Browse(super::Browse),
    /// Close the window.
    Quit,
}
