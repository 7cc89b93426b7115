//! The network's weights: a model directory read and checked, or the deterministic synthetic one.
//!
//! Apart from the plan because the plan names parameters and never holds them. Weights are never part of this
//! project: users bring a directory; everything is tested with the synthetic generator.
//!
//! **Invariants**
//! * [`layout`] is the only place that knows where a parameter lies in its record.
//! * A directory is refused whole, with every problem listed, before any of it is used.

pub mod directory;
pub(crate) mod fields;
pub mod fragment;
pub mod layout;
mod manifest;
mod parameter;
pub(crate) mod place;
mod record;
pub mod synthetic;

pub use fields::Problems;
pub use layout::{Contents, RecordLayout, Region};
pub use manifest::{Place, Stage};
pub use parameter::{Matrix, Parameter, ParameterKind};

use crate::numerics::f16;
use crate::tensor::Digest;
use rayon::prelude::*;
use record::Record;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a model cannot be had, or not be written.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The text names no model.
    #[error(
        "model \"{spec}\": expected \"synthetic\", \"synthetic:SEED\" with a seed of 0 to 4294967295, or a directory \
         with a manifest.json; {reason}"
    )]
    NotAModel {
        /// What was given.
        spec: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The directory is wrong; nothing of it is used.
    #[error("the model directory is refused: {problems}\n  path {}", path.display())]
    Refused {
        /// The directory.
        path: PathBuf,
        /// Everything that is wrong.
        problems: Problems,
    },
    /// The target is not free.
    #[error("there is something already, and it is not overwritten; choose another folder or remove it; path {}", path.display())]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// The target cannot be written; nothing is left behind.
    #[error("the model directory cannot be written: {source}; path {}", path.display())]
    Write {
        /// The target.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Opens the model that a person names: `synthetic`, `synthetic:SEED` or a directory.
///
/// # Errors
/// When the text names none, or the directory is refused.
pub fn open(spec: &str) -> Result<Model, ModelError> {
    open_with(spec, &|_, _| {})
}

/// [`open`], reporting bytes read and in all.
///
/// # Errors
/// As [`open`].
pub fn open_with(spec: &str, progress: directory::Progress<'_>) -> Result<Model, ModelError> {
    let not = |reason| ModelError::NotAModel { spec: spec.to_owned(), reason };
    match spec.split_once(':') {
        None if spec == "synthetic" => Ok(synthetic::model(1)),
        Some(("synthetic", seed)) => seed
            .parse()
            .map(synthetic::model)
            .map_err(|_: std::num::ParseIntError| not("the seed is not such a number")),
        _ if Path::new(spec).is_dir() => directory::read(Path::new(spec), progress),
        _ if Path::new(spec).exists() => Err(not("this is not a directory")),
        _ => Err(not("there is no such directory")),
    }
}

/// Something odd in a model that does not make it unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The parameter.
    pub parameter: Parameter,
    /// The record it lies in.
    pub record: String,
    /// Weight bytes that encode a NaN (`0x7f` or `0xff`); they are used as +0.
    pub nan_codes: usize,
    /// Offset of the first one inside the record.
    pub first: usize,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, parameter, record) = (self.nan_codes, self.parameter, &self.record);
        let first = self.first;
        write!(
            f,
            "{parameter}: {count} weight bytes are 0x7f or 0xff (NaN), used as +0; the first at byte {first} of {record}"
        )
    }
}

/// Makes the folder that a path lies in.
pub(crate) fn make_parent(path: &Path) -> std::io::Result<&Path> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(|error| match error.kind() {
        // What is there is no folder.
        std::io::ErrorKind::AlreadyExists => std::io::ErrorKind::NotADirectory.into(),
        _ => error,
    })?;
    Ok(parent)
}

/// Moves a finished draft to its final name; an empty directory there is replaced.
pub(crate) fn publish_directory(draft: tempfile::TempDir, path: &Path) -> std::io::Result<()> {
    // Temporary directories are private; a result is as readable as its parent.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(draft.path(), std::fs::Permissions::from_mode(0o755))?;
    }
    std::fs::rename(draft.path(), path)?;
    // Renamed away: there is nothing left to remove.
    drop(draft.keep());
    Ok(())
}

/// A draft beside a file's final name, as readable as the result is to be. Dropped, it leaves nothing behind.
pub(crate) fn draft_file(path: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o644));
    }
    builder.prefix(".blockscope-").tempfile_in(folder)
}

/// Writes a file beside its final name and moves it there: a reader sees the old one or the new one, never half of it.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut draft = draft_file(path)?;
    std::io::Write::write_all(&mut draft, bytes)?;
    draft.as_file().sync_all()?;
    draft.persist(path).map(drop).map_err(|error| error.error)
}

/// All records of one model. Clones share them.
#[derive(Clone, Debug)]
pub struct Model {
    /// Where it came from: `synthetic:1`, or a path.
    pub source: String,
    records: BTreeMap<String, Arc<Record>>,
}

impl Model {
    /// A model from the bytes of every record of [`layout::records`].
    ///
    /// # Panics
    /// When a record is missing or has another length: readers check first.
    pub fn from_records(source: String, records: BTreeMap<String, Arc<[u8]>>) -> Self {
        Self::of(source, records.into_iter().map(|(name, bytes)| (name, Arc::new(Record::of(bytes)))).collect())
    }

    fn of(source: String, records: BTreeMap<String, Arc<Record>>) -> Self {
        for record in layout::records() {
            let found = records.get(&record.name).map(|record| record.len());
            assert_eq!(found, Some(record.length), "record {} was checked by its reader", record.name);
        }
        Self { source, records }
    }

    /// Waits until every record is made: synthetic ones are made when they are first wanted.
    pub fn complete(&self) {
        self.records.par_iter().for_each(|(_, record)| record.make());
    }

    /// The bytes of one record.
    pub fn record(&self, name: &str) -> Option<&[u8]> {
        self.records.get(name).map(|record| record.bytes())
    }

    /// Bytes of all records.
    pub fn bytes(&self) -> u64 {
        self.records.values().map(|record| record.len() as u64).sum()
    }

    /// The bytes and contents of a parameter's region.
    ///
    /// # Panics
    /// When the block has no such parameter: plans only name those of [`layout`].
    pub fn region(&self, parameter: Parameter) -> (&[u8], Contents) {
        let (record, region) = layout::find(parameter).unwrap_or_else(|| panic!("no parameter {parameter}"));
        (&self.records[&record].bytes()[region.offset..][..region.contents.bytes()], region.contents)
    }

    /// An FP8 matrix in plain order: `codes[group][k][n]`, k the activation channel. NaN codes become +0.
    pub fn matrix(&self, parameter: Parameter) -> Matrix {
        let (bytes, contents) = self.region(parameter);
        match contents {
            Contents::Fp8 { groups, k, n } => fragment::unpack_fp8(bytes, groups, k, n),
            other => panic!("{parameter} is {other:?}, not an fp8 matrix"),
        }
    }

    /// An f16 matrix in plain order `[k][n]`.
    pub fn matrix_f16(&self, parameter: Parameter) -> Vec<f16> {
        let (bytes, contents) = self.region(parameter);
        match contents {
            Contents::HalfMatrix { k, n } => fragment::unpack_f16(bytes, k, n),
            other => panic!("{parameter} is {other:?}, not an f16 matrix"),
        }
    }

    /// A vector of halves (a scale per channel).
    pub fn halves(&self, parameter: Parameter) -> Vec<f16> {
        let (bytes, contents) = self.region(parameter);
        match contents {
            Contents::Halves(_) => halves(bytes),
            other => panic!("{parameter} is {other:?}, not halves"),
        }
    }

    /// A head's attention prior in physical order of both: `[head][query][key]`.
    pub fn prior(&self, parameter: Parameter) -> Vec<f16> {
        let (bytes, contents) = self.region(parameter);
        match contents {
            Contents::Prior { heads } => fragment::unpack_prior(bytes, heads),
            other => panic!("{parameter} is {other:?}, not a prior"),
        }
    }

    /// A vector of singles (a scale per head).
    pub fn floats(&self, parameter: Parameter) -> Vec<f32> {
        let (bytes, contents) = self.region(parameter);
        match contents {
            Contents::HeadScales(n) => {
                bytes.as_chunks::<4>().0.iter().take(n).map(|&b| f32::from_le_bytes(b)).collect()
            }
            other => panic!("{parameter} is {other:?}, not singles"),
        }
    }

    /// Everything odd about the weights: see [`Finding`].
    pub fn findings(&self) -> Vec<Finding> {
        let regions: Vec<_> = layout::records().iter().flat_map(|r| r.regions.iter().map(move |g| (r, g))).collect();
        let scan = |(record, region): (&RecordLayout, &Region)| {
            let Contents::Fp8 { .. } = region.contents else { return None };
            let parameter = Parameter::new(record.block, region.kind);
            let (bytes, _) = self.region(parameter);
            let nan_codes = bytes.chunks(1 << 12).map(count_nan).sum();
            let first = (nan_codes > 0).then(|| bytes.iter().position(|b| b & 0x7f == 0x7f)).flatten()?;
            Some(Finding { parameter, record: record.name.clone(), nan_codes, first: region.offset + first })
        };
        regions.into_par_iter().filter_map(scan).collect()
    }

    /// A digest of all records, in order: the model's identity in reports.
    pub fn digest(&self) -> Digest {
        let parts: Vec<Digest> =
            layout::records().par_iter().map(|record| Digest::of(self.records[&record.name].bytes())).collect();
        crate::tensor::run_digest(parts)
    }

    /// The blend scale of the composition with history.
    pub fn blend_scale(&self) -> f16 {
        self.halves(Parameter::new(70, ParameterKind::BlendScale))[0]
    }
}

fn count_nan(bytes: &[u8]) -> usize {
    bytes.iter().map(|b| usize::from(b & 0x7f == 0x7f)).sum()
}

fn halves(bytes: &[u8]) -> Vec<f16> {
    bytes.as_chunks::<2>().0.iter().map(|&b| f16::from_le_bytes(b)).collect()
}
