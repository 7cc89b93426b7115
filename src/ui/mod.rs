//! egui only: draws a session, sends commands.
//!
//! Panels read a [`crate::session`] and push commands; nothing here opens a file, computes a tensor, or knows a
//! device. What a panel must remember by itself (a search text, an animation) lives in [`Memory`].

pub mod format;
pub mod glossary;
pub mod icons;
pub mod mark;
pub mod style;
pub mod theme;
pub mod widgets;

pub use style::install;

/// What the window remembers by itself: animations and half-typed texts, nothing that a session would restore.
#[derive(Debug, Default)]
pub struct Memory {}
