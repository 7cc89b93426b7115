//! Recorded runs, as a comparison sees them.

use super::{Image, Pixels};
use crate::capture::{CaptureError, Recording};
use crate::tensor::{Digest, Tensor, TensorName};

/// Tensors that somebody recorded. A tensor that is not there says why.
pub trait Recorded {
    /// Whether the bytes of a tensor are known.
    fn has(&self, name: &TensorName) -> bool;

    /// The bytes of a tensor.
    ///
    /// # Errors
    /// Why they are not known.
    fn tensor(&self, name: &TensorName) -> Result<Tensor, String>;

    /// The digest of a tensor, of which perhaps nothing else is known.
    ///
    /// # Errors
    /// Why it is not known.
    fn digest(&self, name: &TensorName) -> Result<Digest, String>;

    /// The run's output image, if it was recorded.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn output(&self) -> Option<Result<Image, String>> {
        None
    }

    /// What is known about the run that made them: name and value.
    fn facts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

impl Recorded for Recording {
    fn has(&self, name: &TensorName) -> bool {
        Self::has(self, name.as_str())
    }

    fn tensor(&self, name: &TensorName) -> Result<Tensor, String> {
        Self::tensor(self, name).map_err(reason)
    }

    fn digest(&self, name: &TensorName) -> Result<Digest, String> {
        Self::digest(self, name).map_err(reason)
    }

    fn output(&self) -> Option<Result<Image, String>> {
        let output = self.output.as_ref()?;
        Some(output.read().map_err(reason).map(|bytes| {
            let single = |b: &[u8; 4]| f32::from_le_bytes(*b);
            let pixels = match output.is_u8 {
                true => Pixels::Codes(bytes),
                false => Pixels::Colours(bytes.as_chunks().0.iter().map(single).collect()),
            };
            Image { size: output.size, pixels }
        }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        Self::facts(self)
    }
}

/// The reason alone: the row names the tensor.
fn reason(error: CaptureError) -> String {
    match error {
        CaptureError::Missing { reason, .. } | CaptureError::Changed { reason, .. } => reason,
        other => other.to_string(),
    }
}
