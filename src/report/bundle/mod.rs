//! A repro bundle: one divergence as a folder that can be checked alone, without the program that made it.
//!
//! ```text
//! manifest.json      what everything is (schema below)        README.md   the same for people, with the rules
//! inputs/*.npy       what the kernel reads                     expected/*.npy, got/*.npy   both results
//! parameters/*.npy   weights, priors and scales of the kernel, in plain order
//! ```
//!
//! `manifest.json`, schema 1. Every array is row-major, little-endian `.npy`; E4M3 is stored as bytes (`u1`).
//! * `format` is `"blockscope repro bundle"`, `schema` 1, `program` the writer.
//! * `subject`, `reference`: what was compared, as a command line spells it. `model`, `modelDigest`: whose weights.
//! * `size`, `field`: `[width, height]` of the image and of the padded plane.
//! * `steps[]`: the kernels in order: `name`, `block`, `kernel`, `op`, `inputs`, `outputs`, `parameters`, `attributes`.
//! * `inputs[]`, `expected[]`, `got[]`: `tensor`, `file`, `sha256`, `element` (`e4m3`, `f16`, `f32`), `width`,
//!   `height`, `channels` of the whole tensor, and `rows`: the tokens (`y * width + x`) that the file holds, in order,
//!   as `[first, end)` pairs. The array is `[tokens held][channels]`.
//! * `parameters[]`: `name`, `block`, `kind`, `file` and `sha256` (both null when weights were left out), `shape`.
//! * `weights`: `"included"` or `"left out"`.
//!
//! **Invariants**
//! * A bundle appears under its name whole or not at all, and is read whole or refused with every problem.
//! * The same divergence gives the same bytes.

mod parameters;
mod read;
mod readme;
pub mod replay;
mod rows;
mod write;

pub use read::Bundle;
pub use write::{Labels, write};

use std::path::PathBuf;

/// Version of the manifest.
pub const SCHEMA: usize = 1;
/// `format` in the manifest.
const FORMAT: &str = "blockscope repro bundle";
/// Activations of more bytes than this are cropped to a choice of tokens.
const LIMIT: usize = 16 << 20;

/// Why a bundle cannot be written or used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is damaged; nothing of it is used.
    #[error("the bundle is refused: {problems}\n  path {}", path.display())]
    Refused {
        /// The folder.
        path: PathBuf,
        /// Everything that is wrong.
        problems: crate::model::Problems,
    },
    /// The target is not free.
    #[error("there is something already, and it is not overwritten; choose another folder or remove it; path {}", path.display())]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// The target cannot be written; nothing is left behind.
    #[error("the bundle cannot be written: {source}; path {}", path.display())]
    Write {
        /// The target.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
