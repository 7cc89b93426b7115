//! A folder into which a running program writes its dumps, read as they come.
//!
//! A file is looked at once it has stopped changing for a moment, and believed once its size fits and a reading is
//! clear; until then it is left alone and looked at again. What stays wrong is told once. A file that changes later
//! arrives again.
//!
//! **Invariants**
//! * [`Watch::poll`] never waits for a file: whoever waits decides how often to call it.
//! * A file that changed while it was read has not arrived.

use super::import::{Mapping, Survey};
use crate::geometry::Geometry;
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long a file must have been still before it is read.
const STILL: Duration = Duration::from_millis(200);
/// How long a still file may be wrong before it is told.
const PATIENCE: Duration = Duration::from_secs(3);

/// What has come.
#[derive(Clone, Debug)]
pub enum Arrival {
    /// A tensor.
    Tensor {
        /// The file or array.
        key: String,
        /// The tensor.
        tensor: Tensor,
        /// How it was read, for people.
        reading: String,
        /// Whether it came before, and was written again.
        again: bool,
    },
    /// A file that has been still for a while and cannot be used, and why.
    Refused {
        /// The file or array.
        key: String,
        /// Why.
        reason: String,
    },
}

/// A watched folder.
#[derive(Debug)]
pub struct Watch {
    root: PathBuf,
    geometry: Geometry,
    mapping: Mapping,
    files: BTreeMap<PathBuf, Seen>,
    arrived: BTreeMap<TensorName, PathBuf>,
    still: Duration,
    patience: Duration,
}

/// Length and time of a file.
type Stamp = (u64, Option<SystemTime>);

#[derive(Debug)]
struct Seen {
    stamp: Stamp,
    since: Instant,
    /// Read, or told to be wrong, as it is.
    settled: bool,
}

impl Watch {
    /// Watches a folder, which may not exist yet.
    pub fn new(root: &Path, geometry: Geometry, mapping: Mapping) -> Self {
        let (files, arrived) = (BTreeMap::new(), BTreeMap::new());
        Self { root: root.to_owned(), geometry, mapping, files, arrived, still: STILL, patience: PATIENCE }
    }

    /// With other times: how long a file must be still, and may then be wrong before it is told.
    #[must_use]
    pub fn with_times(self, still: Duration, patience: Duration) -> Self {
        Self { still, patience, ..self }
    }

    /// What has come since the last call. `expected` gives what the reference has for a tensor.
    pub fn poll(&mut self, expected: &dyn Fn(&TensorName) -> Option<Tensor>) -> Vec<Arrival> {
        let now = Instant::now();
        let mut arrivals = Vec::new();
        let mut files = Vec::new();
        list(&self.root, 0, &mut files);
        files.sort();
        for path in files {
            let Some(stamp) = stamp(&path) else { continue };
            let seen = self.files.entry(path.clone()).or_insert(Seen { stamp, since: now, settled: false });
            if seen.stamp != stamp {
                *seen = Seen { stamp, since: now, settled: false };
            }
            let age = now.duration_since(seen.since);
            if seen.settled || age < self.still || stamp.0 == 0 {
                continue;
            }
            let late = age >= self.still + self.patience;
            if let Some(found) = self.read(&path, stamp, late, expected) {
                arrivals.extend(found);
                if let Some(seen) = self.files.get_mut(&path) {
                    seen.settled = true;
                }
            }
        }
        arrivals
    }

    /// What a still file holds; nothing when it is to be looked at again.
    fn read(
        &mut self,
        path: &Path,
        stamp_before: Stamp,
        late: bool,
        expected: &dyn Fn(&TensorName) -> Option<Tensor>,
    ) -> Option<Vec<Arrival>> {
        let key = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        let refused = |key: &str, reason: String| Arrival::Refused { key: key.to_owned(), reason };
        let survey = match Survey::of_file(&self.root, path, self.geometry, &self.mapping) {
            Ok(survey) => survey,
            Err(error) => return late.then(|| vec![refused(&key, error.to_string())]),
        };
        let mut arrivals = Vec::new();
        for decided in survey.decide(expected) {
            let reading = decided.reading.as_ref().map(ToString::to_string).unwrap_or_default();
            match survey.read(&decided) {
                Ok(tensor) => {
                    let key = decided.key.clone();
                    let before = self.arrived.get(&tensor.name);
                    if let Some(other) = before.filter(|other| *other != path) {
                        let reason = format!("{} came from {} already", tensor.name, other.display());
                        arrivals.push(refused(&key, reason));
                        continue;
                    }
                    let again = before.is_some();
                    arrivals.push(Arrival::Tensor { key, tensor, reading, again });
                }
                Err(_) if !late => return None,
                Err(reason) => arrivals.push(refused(&decided.key, reason)),
            }
        }
        if stamp(path) != Some(stamp_before) {
            return None;
        }
        for arrival in &arrivals {
            if let Arrival::Tensor { tensor, .. } = arrival {
                self.arrived.insert(tensor.name.clone(), path.to_owned());
            }
        }
        Some(arrivals)
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some((metadata.len(), metadata.modified().ok()))
}

/// Files of a folder and its folders; what is hidden is not looked at, nor what is written under a name for now.
fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let passing = [".tmp", ".part", ".partial", "~"].iter().any(|ending| name.ends_with(ending));
        if name.starts_with('.') || passing {
            continue;
        }
        if path.is_dir() {
            if depth < 4 {
                list(&path, depth + 1, files);
            }
        } else {
            files.push(path);
        }
    }
}
