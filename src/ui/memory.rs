//! What the window remembers by itself: nothing that a saved session would restore.

use crate::session::Token;
use crate::tensor::TensorName;
use egui::{TextureHandle, TextureId};
use std::collections::BTreeMap;

/// Half-typed texts, textures of pictures, and what animations run from.
#[derive(Default)]
pub struct Memory {
    /// The palette's search text and the row it stands at.
    pub(super) palette: (String, usize),
    /// The glossary's search text.
    pub(super) glossary: String,
    /// A path being typed in the open dialog.
    pub(super) path: String,
    /// A source being typed for subject and reference.
    pub(super) specs: [Option<String>; 2],
    /// A memory budget being typed.
    pub(super) budget: Option<String>,
    /// A size being typed.
    pub(super) size: Option<String>,
    /// What is searched in the list of causes, and the blocks that a cause is switched on in.
    pub(super) what_if: (String, Option<String>),
    /// A name being typed for a pin or a bookmark.
    pub(super) note: String,
    /// The filter of the events list.
    pub(super) event_filter: String,
    /// Whether the events tab lists kernels instead of places.
    pub(super) event_kernels: bool,
    /// The filtered list of events.
    pub(super) events: super::panels::Listed,
    /// Groups of a trace that are open, by stage and group; empty stands for the first interesting one.
    pub(super) trace_open: std::collections::BTreeSet<(usize, usize)>,
    /// The value whose groups those are.
    pub(super) trace_of: String,
    /// Textures of pictures shown, by picture and how often it was halved.
    pub(super) textures: BTreeMap<(u64, usize), (TextureHandle, u64)>,
    /// Textures that the shell owns, by picture.
    external: BTreeMap<u64, TextureId>,
    /// When each passing message was first shown, in seconds.
    pub(super) told: BTreeMap<u64, f64>,
    /// Frames drawn: textures unused for some frames are let go.
    pub(super) frame: u64,
    /// The tensor and the token that were selected in the last frame.
    pub(super) place: Option<(TensorName, Option<Token>)>,
    /// The window shift shown last, from which the grid glides, and when it left.
    pub(super) shift: Option<Glide>,
}

/// A grid on its way from one phase to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Glide {
    /// Where it was, in tokens.
    pub(super) from: (f32, f32),
    /// Where it goes.
    pub(super) to: (f32, f32),
    /// When it left, in seconds.
    pub(super) start: f64,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory")
            .field("frame", &self.frame)
            .field("textures", &self.textures.len())
            .finish_non_exhaustive()
    }
}

impl Memory {
    /// Forgets what was half typed in a dialog: the next one begins with what is.
    pub(super) fn forget_typed(&mut self) {
        self.palette = Default::default();
        self.specs = Default::default();
        (self.size, self.budget) = (None, None);
    }

    /// Draws a picture from a texture that the shell owns, instead of uploading its pixels; `None` takes it back.
    pub fn external(&mut self, picture: u64, texture: Option<TextureId>) {
        match texture {
            Some(texture) => self.external.insert(picture, texture),
            None => self.external.remove(&picture),
        };
    }

    /// The shell's texture for a picture.
    pub(super) fn external_of(&self, picture: u64) -> Option<TextureId> {
        self.external.get(&picture).copied()
    }
}
