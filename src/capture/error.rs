//! Why a recording cannot be used or written.

use crate::model::Problems;
use crate::tensor::TensorName;
use std::path::PathBuf;

/// Why a recording cannot be used or written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The recording is wrong; nothing of it is used.
    #[error("the recording is refused: {problems}\n  path {}", path.display())]
    Refused {
        /// The directory or file.
        path: PathBuf,
        /// Everything that is wrong.
        problems: Problems,
    },
    /// The path holds dumps, perhaps, but no capture.
    #[error(
        "this is no capture (there is no manifest.json); foreign dumps are imported first: blockscope import {path} \
         --size WxH --input I --model M --out CAPTURE", path = path.display()
    )]
    NotImported {
        /// The folder or file.
        path: PathBuf,
    },
    /// The recording does not have this tensor.
    #[error("tensor \"{tensor}\" is not recorded: {reason}")]
    Missing {
        /// The tensor.
        tensor: TensorName,
        /// Why not: the recording's own words, where it has some.
        reason: String,
    },
    /// A file of the recording changed or vanished after it was checked.
    #[error("tensor \"{tensor}\" cannot be read any more: {reason}")]
    Changed {
        /// The tensor.
        tensor: TensorName,
        /// What is wrong now.
        reason: String,
    },
    /// Nothing was wrong: the user cancelled, and nothing is left behind.
    #[error("cancelled")]
    Cancelled,
    /// The target is not free.
    #[error("there is something already, and it is not overwritten; choose another folder or remove it; path {}", path.display())]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// The target cannot be written; nothing is left behind.
    #[error("the capture cannot be written: {source}; path {}", path.display())]
    Write {
        /// The target, or the file of it that failed.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
