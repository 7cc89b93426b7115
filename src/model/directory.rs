//! Model directories: read and checked whole, described, written.
//!
//! Stages are read and hashed on all cores. Nothing of a directory is used while anything in it is wrong, and all
//! that is wrong is in one error.

use super::fields::{self, Problems};
use super::manifest::{self, Manifest, Place, Stage};
use super::{Finding, Model, ModelError, layout, place};
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The manifest's name.
pub const MANIFEST: &str = "manifest.json";
/// The folder of the stage files.
const FOLDER: &str = "model";

/// Called with the bytes read so far and in all.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// What a directory says about itself.
#[derive(Clone, Debug)]
pub struct Info {
    /// `format` of the manifest, if it has one.
    pub format: Option<String>,
    /// Stage files in the manifest's order.
    pub stages: Vec<Stage>,
    /// Where every record lies.
    pub records: Vec<Place>,
}

impl Info {
    /// Bytes of all records.
    pub fn bytes(&self) -> u64 {
        self.records.iter().map(|record| record.bytes as u64).sum()
    }
}

/// What [`check`] found.
#[derive(Clone, Debug)]
pub struct Check {
    /// Everything that makes the directory unusable.
    pub problems: Problems,
    /// What is odd but usable, such as weight bytes that encode a NaN.
    pub findings: Vec<Finding>,
}

/// Reads and verifies a model directory.
///
/// # Errors
/// Refuses the directory whole, with every problem of the manifest, or else of the stage files.
pub fn read(path: &Path, progress: Progress<'_>) -> Result<Model, ModelError> {
    let (manifest, mut problems) = manifest_of(path);
    if !problems.is_empty() {
        // Nothing is hashed for a manifest that is wrong, but sizes are cheap.
        check_sizes(path, manifest.as_ref(), &mut problems);
    }
    let manifest = manifest.filter(|_| problems.is_empty()).ok_or_else(|| refused(path, problems))?;
    let total = manifest.stages.iter().map(|stage| stage.bytes as u64).sum();
    let done = AtomicU64::new(0);
    let read: Vec<_> = manifest
        .stages
        .par_iter()
        .enumerate()
        .map(|(index, stage)| {
            let bytes = read_stage(path, stage)?;
            let whole = done.fetch_add(stage.bytes as u64, Ordering::Relaxed) + stage.bytes as u64;
            progress(whole, total);
            let here = manifest.records.iter().filter(|record| record.stage == index);
            let slice = |r: &Place| (r.name.clone(), Arc::from(&bytes[r.offset..r.offset + r.bytes]));
            Ok(here.map(slice).collect::<Vec<(String, Arc<[u8]>)>>())
        })
        .collect();
    let mut problems = Problems::default();
    let records: Vec<_> = read.into_iter().filter_map(|stage: Result<_, String>| problems.take(stage)).collect();
    if !problems.is_empty() {
        return Err(refused(path, problems));
    }
    Ok(Model::from_records(path.display().to_string(), records.into_iter().flatten().collect()))
}

/// Checks a model directory and lists everything that is wrong or odd with it.
pub fn check(path: &Path, progress: Progress<'_>) -> Check {
    match read(path, progress) {
        Ok(model) => Check { problems: Problems::default(), findings: model.findings() },
        Err(ModelError::Refused { problems, .. }) => Check { problems, findings: Vec::new() },
        Err(other) => {
            let mut problems = Problems::default();
            problems.add(other);
            Check { problems, findings: Vec::new() }
        }
    }
}

/// What a directory's manifest says; stage files are not read.
///
/// # Errors
/// When the manifest is refused.
pub fn info(path: &Path) -> Result<Info, ModelError> {
    open(path).map(Info::from)
}

/// What the bytes of a manifest say, checked for everything that needs no stage file.
///
/// # Errors
/// Every problem of it.
pub fn parse(bytes: &[u8]) -> Result<Info, Problems> {
    let mut problems = Problems::default();
    let value = fields::parse(MANIFEST, bytes, &mut problems);
    let manifest = value.and_then(|value| manifest::parse(&value, &mut problems));
    manifest.filter(|_| problems.is_empty()).map(Info::from).ok_or(problems)
}

impl From<Manifest> for Info {
    fn from(manifest: Manifest) -> Self {
        Self { format: manifest.format, stages: manifest.stages, records: manifest.records }
    }
}

/// Writes a model as a directory with the published stages. It appears whole or not at all.
///
/// # Errors
/// When the path exists and is not an empty directory, or cannot be written.
pub fn write(path: &Path, model: &Model, seed: Option<u32>) -> Result<(), ModelError> {
    let fail = |source| ModelError::Write { path: path.to_owned(), source };
    if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) || path.is_file() {
        return Err(ModelError::Exists { path: path.to_owned() });
    }
    let parent = super::make_parent(path).map_err(fail)?;
    let draft = tempfile::Builder::new().prefix(".model-").tempdir_in(parent).map_err(fail)?;
    fs::create_dir_all(draft.path().join(FOLDER).join("stages")).map_err(fail)?;
    model.complete();
    let mut offsets = BTreeMap::new();
    let stages = (0..layout::STAGES.len()).map(|stage| pack(model, stage, &mut offsets)).collect::<Vec<_>>();
    let stages: Vec<Stage> = stages
        .into_par_iter()
        .enumerate()
        .map(|(index, bytes)| {
            let id = manifest::stage_id(index);
            let file = format!("stages/{id}.bin");
            fs::write(draft.path().join(FOLDER).join(&file), &bytes)?;
            Ok(Stage { id, file, bytes: bytes.len(), sha256: hex(&bytes) })
        })
        .collect::<Result<_, std::io::Error>>()
        .map_err(fail)?;
    let text = format!("{:#}\n", manifest::write(&stages, &offsets, seed));
    fs::write(draft.path().join(MANIFEST), text).map_err(fail)?;
    super::publish_directory(draft, path).map_err(fail)
}

/// The bytes of a stage: records at multiples of 16, nothing behind the last.
fn pack(model: &Model, stage: usize, offsets: &mut BTreeMap<&'static str, usize>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in layout::records().iter().filter(|record| record.stage == stage) {
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        offsets.insert(&record.name, bytes.len());
        bytes.extend_from_slice(model.record(&record.name).expect("a model has every record"));
    }
    bytes
}

/// What a manifest says, and everything that is wrong with it alone.
fn manifest_of(path: &Path) -> (Option<Manifest>, Problems) {
    let mut problems = Problems::default();
    let value = fields::load(&path.join(MANIFEST), &mut problems);
    (value.and_then(|value| manifest::parse(&value, &mut problems)), problems)
}

/// A manifest without a problem, whose stage files are there and have their sizes.
fn open(path: &Path) -> Result<Manifest, ModelError> {
    let (manifest, mut problems) = manifest_of(path);
    check_sizes(path, manifest.as_ref(), &mut problems);
    manifest.filter(|_| problems.is_empty()).ok_or_else(|| refused(path, problems))
}

fn check_sizes(path: &Path, manifest: Option<&Manifest>, problems: &mut Problems) {
    for stage in manifest.iter().flat_map(|manifest| &manifest.stages) {
        let size = place::inside(&path.join(FOLDER), &stage.file)
            .and_then(|file| file.metadata().map_err(|e| format!("file \"{}\" cannot be read: {e}", stage.file)))
            .and_then(|metadata| place::check_size(&stage.file, stage.bytes, metadata.len()));
        problems.take(size);
    }
}

fn read_stage(path: &Path, stage: &Stage) -> Result<Vec<u8>, String> {
    let file = place::inside(&path.join(FOLDER), &stage.file)?;
    let bytes = place::read_sized(&file, &stage.file, stage.bytes)?;
    let found = hex(&bytes);
    if found != stage.sha256 {
        return Err(format!("file \"{}\" has the wrong SHA-256: expected {}, found {found}", stage.file, stage.sha256));
    }
    Ok(bytes)
}

fn refused(path: &Path, problems: Problems) -> ModelError {
    ModelError::Refused { path: path.to_owned(), problems }
}

/// The SHA-256 of bytes as 64 lower-case digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).expect("a nibble is a digit");
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
