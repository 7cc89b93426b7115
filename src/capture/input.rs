//! The input that a person names, captures included: what a run starts from.

use super::{CaptureError, Recording};
use crate::frame::{self, Conditions, Input, InputError};
use crate::geometry::Size;
use std::path::Path;

/// Why an input cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A synthetic input, an image or a features file.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A capture.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A capture of another size.
    #[error("the capture was recorded at {found}, and {expected} was asked for; leave out --size; path {spec}")]
    Size {
        /// The capture.
        spec: String,
        /// Size asked for.
        expected: Size,
        /// Size of the capture.
        found: Size,
    },
}

/// Opens an input: `synthetic[:SEED]`, an image, features (.f32, .npy) or a capture directory.
///
/// # Errors
/// When the text names none of them, or what it names is unusable.
pub fn open(spec: &str, size: Option<Size>, conditions: &Conditions) -> Result<Input, OpenError> {
    if !Path::new(spec).is_dir() {
        return Ok(frame::input::open(spec, size, conditions)?);
    }
    let recording = Recording::open(Path::new(spec))?;
    let found = recording.geometry.valid;
    if let Some(expected) = size.filter(|&size| size != found) {
        return Err(OpenError::Size { spec: spec.to_owned(), expected, found });
    }
    let features = recording.features()?;
    let (geometry, picture) = (recording.geometry, recording.picture());
    Ok(Input { geometry, features, source: spec.to_owned(), notes: recording.notes, picture })
}
