//! Opens a capture directory: manifest, then every file it names, before anything is used.

use super::manifest::{self, Claim, Manifest};
use super::{CaptureError, RecordedInput, Recording, Stored};
use crate::frame::Picture;
use crate::geometry::Size;
use crate::model::directory::hex;
use crate::model::fields::{self, Problems};
use crate::model::place;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// The final image of a recorded run: RGBA of the valid size.
#[derive(Clone, Debug)]
pub struct NativeOutput {
    /// Its size.
    pub size: Size,
    /// Whether it is RGBA8; otherwise f32, each value a half's.
    pub is_u8: bool,
    path: PathBuf,
    bytes: usize,
}

impl NativeOutput {
    /// Its bytes: u8, or f32 little-endian.
    ///
    /// # Errors
    /// When the file changed since it was checked.
    pub fn read(&self) -> Result<Vec<u8>, CaptureError> {
        let changed = |reason| CaptureError::Changed { tensor: "output".into(), reason };
        place::read_sized(&self.path, &self.path.display().to_string(), self.bytes).map_err(changed)
    }
}

/// Opens and checks a directory.
pub(super) fn open(path: &Path) -> Result<Recording, CaptureError> {
    let mut problems = Problems::default();
    let value = fields::load(&path.join("manifest.json"), &mut problems);
    let manifest = value.and_then(|value| manifest::parse(&value, &mut problems));
    let recording = manifest.and_then(|manifest| recording(path, manifest, &mut problems));
    recording.filter(|_| problems.is_empty()).ok_or_else(|| CaptureError::Refused { path: path.to_owned(), problems })
}

fn recording(root: &Path, manifest: Manifest, problems: &mut Problems) -> Option<Recording> {
    let checked: Vec<_> = manifest
        .tensors
        .into_par_iter()
        .map(|(name, (shape, claim))| check(root, &claim).map(|path| (name, Stored::File { path, shape })))
        .collect();
    let tensors = checked.into_iter().filter_map(|result| problems.take(result)).collect();
    let output = manifest.output.and_then(|output| {
        let path = problems.take(check(root, &output.claim))?;
        Some(NativeOutput { size: output.size, is_u8: output.is_u8, path, bytes: output.claim.bytes })
    });
    let input = match manifest.proxy {
        None => RecordedInput::Features,
        Some((proxy, claim)) => {
            let path = problems.take(check(root, &claim))?;
            let bytes = problems.take(place::read_sized(&path, &claim.file, claim.bytes))?;
            RecordedInput::Proxy(picture(proxy.size, &bytes), proxy.conditions)
        }
    };
    Some(Recording {
        source: root.display().to_string(),
        geometry: manifest.geometry,
        notes: manifest.notes,
        metadata: manifest.metadata,
        output,
        input,
        tensors,
        omitted: manifest.omitted,
    })
}

/// The path of a claimed file, once its size (and hash, if claimed) is right.
fn check(root: &Path, claim: &Claim) -> Result<PathBuf, String> {
    let path = place::inside(root, &claim.file)?;
    let metadata = path.metadata().map_err(|e| format!("file \"{}\" cannot be read: {e}", claim.file))?;
    place::check_size(&claim.file, claim.bytes, metadata.len())?;
    if let Some(expected) = &claim.sha256 {
        let found = hex(&place::read_sized(&path, &claim.file, claim.bytes)?);
        if found != *expected {
            return Err(format!("file \"{}\" has the wrong SHA-256: expected {expected}, found {found}", claim.file));
        }
    }
    Ok(path)
}

fn picture(size: Size, rgba: &[u8]) -> Picture {
    let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let pixels = rgba.chunks_exact(16).map(|p| [float(&p[..4]), float(&p[4..8]), float(&p[8..12])]).collect();
    Picture { size, pixels }
}
