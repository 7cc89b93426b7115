//! Recorded runs: tensors by plan name that an engine, another program or another machine once made.
//!
//! A [`Recording`] is a capture directory, a digest file or an import of foreign dumps; whoever compares sees names
//! and bytes only. A recording is checked whole before anything of it is used, and then read tensor by tensor, so
//! that a large one does not have to fit memory.
//!
//! Extensions of the capture format that this program writes and reads, all optional and ignored by others:
//! * `sha256` beside every `file`: checked when present.
//! * `intermediates[]`: `{name, dtype, width, height, channels, file}`: any other tensor of the plan (pools, merges,
//!   kernels inside blocks), `dtype` one of `e4m3`, `f16`, `f32`.
//! * `recordedBy`: free JSON about the run. This program writes `program`, `engine` (as a command line spells it),
//!   `device`, `exact`, `facts` (name and value: of a Vulkan device its driver, subgroup size, kernels, half-probe and
//!   self-test), `model`, `modelDigest` and `input`.
//!
//! **Invariants**
//! * A tensor that is not recorded says why; it is never made up.
//! * A capture appears under its name whole or not at all.

mod digests;
mod error;
pub mod import;
pub mod input;
mod manifest;
mod read;
pub mod watch;
mod write;

pub use digests::{parse_digests, write_digests};
pub use error::CaptureError;
pub use manifest::{Claim, Proxy, claims};
pub use read::NativeOutput;
pub use write::Writer;

use crate::frame::{Conditions, Picture};
use crate::geometry::Geometry;
use crate::model::place;
use crate::plan::{Plan, names};
use crate::tensor::{Bytes, Digest, Shape, Tensor, TensorName};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A recorded run.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where it came from.
    pub source: String,
    /// The sizes it was recorded at.
    pub geometry: Geometry,
    /// What a person should know: old form, assumptions.
    pub notes: Vec<String>,
    /// Free facts about the run that made it.
    pub metadata: Option<Value>,
    /// The final image, if it was recorded.
    pub output: Option<NativeOutput>,
    pub(crate) input: RecordedInput,
    pub(crate) tensors: BTreeMap<TensorName, Stored>,
    pub(crate) omitted: BTreeMap<TensorName, String>,
}

/// What the recorded run was fed with.
#[derive(Clone, Debug)]
pub(crate) enum RecordedInput {
    /// Recorded under the name of the features.
    Features,
    /// An image and its conditions.
    Proxy(Picture, Conditions),
    /// Nothing was recorded, for this reason.
    Unknown(String),
}

/// Where the bytes of a tensor are.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    /// In a file that was checked.
    File { path: PathBuf, shape: Shape },
    /// In memory.
    Held(Tensor),
    /// Nowhere: only their digest is known.
    Digest(Digest),
}

impl Recording {
    /// Opens a capture directory, a folder of dumps that carries its mapping, or a digest file, and checks it whole.
    ///
    /// # Errors
    /// Lists everything that is wrong with it.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let (is_dir, is_capture) = (path.is_dir(), path.join("manifest.json").exists());
        match is_dir {
            true if !is_capture && path.join(import::IN_FOLDER).exists() => import::open_folder(path),
            true if !is_capture => Err(CaptureError::NotImported { path: path.to_owned() }),
            true => read::open(path),
            false if import::is_container(path) => Err(CaptureError::NotImported { path: path.to_owned() }),
            false => digests::open(path),
        }
    }

    /// A recording of tensors in memory: an import, or a run of this program.
    pub fn of(source: String, geometry: Geometry, tensors: Vec<Tensor>, omitted: BTreeMap<TensorName, String>) -> Self {
        let features = tensors.iter().any(|t| t.name == names::features());
        let unknown = RecordedInput::Unknown("it came without input features".to_owned());
        let input = if features { RecordedInput::Features } else { unknown };
        let tensors = tensors.into_iter().map(|t| (t.name.clone(), Stored::Held(t))).collect();
        Self { source, geometry, notes: Vec::new(), metadata: None, output: None, input, tensors, omitted }
    }

    /// What the recording says about the run that made it, flattened to names and values; see `recordedBy`.
    pub fn facts(&self) -> Vec<(String, String)> {
        let Some(Value::Object(about)) = &self.metadata else { return Vec::new() };
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut out = Vec::new();
        for (name, value) in about {
            match value {
                Value::Object(inner) => out.extend(inner.iter().map(|(name, value)| (name.clone(), text(value)))),
                value => out.push((name.clone(), text(value))),
            }
        }
        out
    }

    /// The names of everything recorded, bytes or digest.
    pub fn names(&self) -> impl Iterator<Item = &TensorName> {
        self.tensors.keys()
    }

    /// Whether only digests are known of everything.
    pub fn is_digests(&self) -> bool {
        self.tensors.values().all(|stored| matches!(stored, Stored::Digest(_)))
    }

    /// Whether the bytes of a tensor are recorded.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.get(name).is_some_and(|stored| !matches!(stored, Stored::Digest(_)))
    }

    /// Why a tensor is not recorded, in the recording's own words.
    pub fn omitted(&self, name: &str) -> Option<&str> {
        self.omitted.get(name).map(String::as_str)
    }

    /// A tensor's bytes.
    ///
    /// # Errors
    /// When it is not recorded, with the reason; or its file changed since it was checked.
    pub fn tensor(&self, name: &TensorName) -> Result<Tensor, CaptureError> {
        match self.tensors.get(name) {
            Some(Stored::Held(tensor)) => Ok(tensor.clone()),
            Some(Stored::File { path, shape }) => {
                let shown = path.display().to_string();
                let changed = |reason| CaptureError::Changed { tensor: name.clone(), reason };
                let bytes = place::read_sized(path, &shown, shape.bytes()).map_err(changed)?;
                Ok(Tensor::new(name.clone(), *shape, Bytes::copy(&bytes)).expect("the size was checked"))
            }
            Some(Stored::Digest(_)) => Err(self.missing(name, "only its digest is known")),
            None => Err(self.missing(name, "the recording does not have it")),
        }
    }

    /// A tensor's digest.
    ///
    /// # Errors
    /// As [`Self::tensor`].
    pub fn digest(&self, name: &TensorName) -> Result<Digest, CaptureError> {
        match self.tensors.get(name) {
            Some(Stored::Digest(digest)) => Ok(*digest),
            _ => self.tensor(name).map(|tensor| tensor.digest()),
        }
    }

    /// The input features: recorded, or made from the recorded image.
    ///
    /// # Errors
    /// When neither was recorded.
    pub fn features(&self) -> Result<Tensor, CaptureError> {
        match &self.input {
            RecordedInput::Features => self.tensor(&names::features()),
            RecordedInput::Proxy(picture, conditions) => {
                Ok(crate::frame::input::features(&self.geometry, picture, conditions, None))
            }
            RecordedInput::Unknown(reason) => {
                Err(CaptureError::Missing { tensor: names::features(), reason: reason.clone() })
            }
        }
    }

    /// The recorded image and its conditions, where it was recorded instead of the features.
    pub fn picture(&self) -> Option<(Picture, Conditions)> {
        match &self.input {
            RecordedInput::Proxy(picture, conditions) => Some((picture.clone(), *conditions)),
            RecordedInput::Features | RecordedInput::Unknown(_) => None,
        }
    }

    fn missing(&self, name: &TensorName, fallback: &str) -> CaptureError {
        let reason = self.omitted(name.as_str()).unwrap_or(fallback).to_owned();
        CaptureError::Missing { tensor: name.clone(), reason }
    }
}

/// The 75 boundaries that captures carry: all blocks but the last, and the five encoder transitions.
pub fn carried(plan: &Plan) -> impl Iterator<Item = &TensorName> {
    plan.published().filter(|n| n.as_str().starts_with("block-") || n.as_str().starts_with("transition-"))
}
