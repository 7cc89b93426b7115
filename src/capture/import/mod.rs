//! Import of foreign dumps: a folder of raw files, `.npy`, `.npz`, `.safetensors` and images, as other programs write
//! them, into a capture that everything here reads.
//!
//! 1. [`Survey`] lists what is there and what each name means. 2. [`Survey::decide`] finds element format and layout
//!    of each dump, by evidence, best against the tensors that the reference makes from the same input. 3. What is
//!    clear is translated exactly; what is not is refused with the ranked readings, and a [`Mapping`] corrects it.
//!
//! **Invariants**
//! * Nothing is guessed silently: each decision carries its evidence and goes into the mapping.
//! * Nothing is rounded: a value that the plan's tensor cannot hold refuses the import.
//! * Dumps are untrusted: a size is checked before bytes are read, and a container's claims before they are believed.

mod dump;
mod element;
mod layout;
mod mapping;
mod name;
mod npz;
mod permutation;
mod sample;
mod search;
mod tensors;

pub use element::Format;
pub use layout::{Layout, Order, Places};
pub use mapping::{Entry, IN_FOLDER, Mapping};
pub use search::{Inexact, Reading, Verdict};

use super::{CaptureError, Recording, Writer};
use crate::engine::Control;
use crate::frame::{Composed, Picture};
use crate::geometry::Geometry;
use crate::model::Problems;
use crate::numerics::f16;
use crate::plan::{Detail, Plan};
use crate::tensor::{Bytes, Tensor, TensorName};
use dump::Dump;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Words that name an image in front of the network; any other image is its output.
const INPUTS: [&str; 7] = ["input", "proxy", "source", "before", "frame", "scene", "in"];
/// Readings shown where none is clear.
const SHOWN: usize = 8;

/// The dumps at a path, each with the tensor that it is.
#[derive(Debug)]
pub struct Survey {
    /// The network at the size of the dumps.
    pub plan: Plan,
    /// What is there and is not imported, and why.
    pub skipped: Vec<(String, String)>,
    /// An image in front of the network.
    pub input: Option<PathBuf>,
    /// The image that came out.
    pub output: Option<PathBuf>,
    path: PathBuf,
    items: Vec<Item>,
    /// Keys of everything that was found, imported or not.
    there: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Item {
    dump: Dump,
    tensor: TensorName,
    entry: Entry,
}

/// What was decided about one dump.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The dump: a file or an array.
    pub key: String,
    /// The tensor that it is.
    pub tensor: TensorName,
    /// The reading; or why there is none, with what to do.
    pub reading: Result<Reading, String>,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// Other readings, best first.
    pub others: Vec<Reading>,
    item: usize,
}

impl Survey {
    /// Lists the dumps at a path.
    ///
    /// # Errors
    /// When there are none, a container is damaged, two dumps are one tensor, or the mapping names what is not there.
    pub fn new(path: &Path, geometry: Geometry, mapping: &Mapping) -> Result<Self, CaptureError> {
        let mut problems = Problems::default();
        let refuse = |problems: Problems| CaptureError::Refused { path: path.to_owned(), problems };
        let mut survey = Self::empty(path, geometry);
        let Some(found) = problems.take(survey.scan(path, mapping)) else { return Err(refuse(problems)) };
        survey.sort(found, mapping, &mut problems);
        survey.check(mapping, &mut problems);
        if problems.is_empty() { Ok(survey) } else { Err(refuse(problems)) }
    }

    fn empty(path: &Path, geometry: Geometry) -> Self {
        Self {
            plan: Plan::new(geometry, Detail::Raw),
            skipped: Vec::new(),
            input: None,
            output: None,
            path: path.to_owned(),
            items: Vec::new(),
            there: BTreeSet::new(),
        }
    }

    /// One file of a folder that is being written; a name that means no tensor is no error.
    pub(super) fn of_file(
        root: &Path,
        file: &Path,
        geometry: Geometry,
        mapping: &Mapping,
    ) -> Result<Self, CaptureError> {
        let mut problems = Problems::default();
        let mut survey = Self::empty(file, geometry);
        let wanted = |key: &str, stem: &str| survey.wants(mapping, key, stem);
        let found = dump::scan_file(root, file, &wanted);
        survey.sort(found, mapping, &mut problems);
        if problems.is_empty() { Ok(survey) } else { Err(CaptureError::Refused { path: file.to_owned(), problems }) }
    }

    fn wants(&self, mapping: &Mapping, key: &str, stem: &str) -> bool {
        match mapping.dumps.get(key) {
            Some(entry) if entry.tensor.is_some() => entry.skip.is_none(),
            _ => name::resolve(&self.plan, stem).is_some(),
        }
    }

    fn scan(&self, path: &Path, mapping: &Mapping) -> Result<dump::Found, String> {
        dump::scan(path, &|key, stem| self.wants(mapping, key, stem))
    }

    /// Gives every dump its tensor.
    fn sort(&mut self, found: dump::Found, mapping: &Mapping, problems: &mut Problems) {
        self.there.extend(found.ignored.iter().map(|one| one.0.clone()));
        self.there.extend(found.refused.iter().map(|one| one.0.clone()));
        self.there.extend(found.dumps.iter().map(|dump| dump.key.clone()));
        self.there.extend(found.images.iter().map(|one| one.0.clone()));
        self.skipped.extend(found.ignored.into_iter().filter(|(key, _)| !key.ends_with(IN_FOLDER)));
        for (key, stem, reason) in found.refused {
            let entry = mapping.dumps.get(&key);
            let named = entry.is_some_and(|e| e.tensor.is_some()) || name::resolve(&self.plan, &stem).is_some();
            let container = ["npz", "safetensors"].iter().any(|ending| key.ends_with(ending));
            match entry.and_then(|e| e.skip.clone()) {
                Some(skip) => self.skipped.push((key, skip)),
                None if named || container => problems.add(format_args!("{key}: {reason}")),
                None => self.skipped.push((key, "its name means no tensor of this network".to_owned())),
            }
        }
        for dump in found.dumps {
            let entry = mapping.dumps.get(&dump.key).cloned().unwrap_or_default();
            if let Some(reason) = entry.skip {
                self.skipped.push((dump.key, reason));
                continue;
            }
            let tensor = match &entry.tensor {
                Some(text) if self.plan.tensors.contains_key(text.as_str()) => Some(TensorName::new(text)),
                Some(text) => {
                    problems.add(format_args!(
                        "{}: the mapping says \"{text}\", which is no tensor of this network; \
                                               `blockscope plan` lists them",
                        dump.key
                    ));
                    continue;
                }
                None => name::resolve(&self.plan, &dump.stem),
            };
            match tensor {
                Some(tensor) => self.items.push(Item { dump, tensor, entry }),
                None => self.skipped.push((dump.key, "its name means no tensor of this network".to_owned())),
            }
        }
        for (key, path) in found.images {
            if let Some(reason) = mapping.dumps.get(&key).and_then(|e| e.skip.clone()) {
                self.skipped.push((key, reason));
                continue;
            }
            let lower = key.to_ascii_lowercase();
            let mut words = lower.split(|c: char| !c.is_ascii_alphabetic());
            let input = words.any(|word| INPUTS.contains(&word));
            let place = if input { &mut self.input } else { &mut self.output };
            if let Some(other) = place.replace(path) {
                let kind = if input { "input" } else { "output" };
                problems.add(format_args!("{key}: a second image of the {kind}, beside {}", other.display()));
            }
        }
    }

    fn check(&mut self, mapping: &Mapping, problems: &mut Problems) {
        let mut by_tensor: BTreeMap<&TensorName, Vec<&str>> = BTreeMap::new();
        self.items.iter().for_each(|item| by_tensor.entry(&item.tensor).or_default().push(&item.dump.key));
        for (tensor, keys) in by_tensor.iter().filter(|(_, keys)| keys.len() > 1) {
            problems.add(format_args!(
                "\"{tensor}\" is there {} times: {}; skip all but one with --map",
                keys.len(),
                keys.join(", ")
            ));
        }
        for key in mapping.dumps.keys().filter(|key| !self.there.contains(*key)) {
            problems.add(format_args!("the mapping names {key}, which is not there"));
        }
        if self.items.is_empty() && self.output.is_none() && problems.is_empty() {
            let names: Vec<&str> = self.skipped.iter().take(8).map(|(key, _)| key.as_str()).collect();
            let found = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
            problems.add(format_args!(
                "expected dumps named after blocks, such as block-12.bin, b12_qkv.f16 or an array \"block-12\"; found \
                 {found}; name the tensors with --map"
            ));
        }
        let order = |item: &Item| self.plan.tensor(&item.tensor).step;
        self.items.sort_by_key(order);
    }

    /// The tensors that are there, as far as names tell.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorName> {
        self.items.iter().map(|item| &item.tensor)
    }

    /// Finds the reading of every dump. `expected` are tensors that the reference made from the same input, if any.
    pub fn decide(&self, expected: &dyn Fn(&TensorName) -> Option<Tensor>) -> Vec<Decided> {
        let judged = self.items.iter().enumerate().map(|(i, item)| judge(&self.plan, i, item, expected));
        let mut all: Vec<Decided> = judged.collect();
        vote(&mut all);
        all
    }

    /// Finds the reading of one tensor.
    pub fn decide_one(&self, name: &TensorName, expected: Option<&Tensor>) -> Option<Decided> {
        let (i, item) = self.items.iter().enumerate().find(|(_, item)| item.tensor == *name)?;
        Some(judge(&self.plan, i, item, &|_| expected.cloned()))
    }

    /// Reads a dump as it was decided.
    ///
    /// # Errors
    /// When nothing was decided, the file changed, or a value has no exact translation.
    pub fn read(&self, decided: &Decided) -> Result<Tensor, String> {
        let item = &self.items[decided.item];
        let shape = self.plan.shape(&item.tensor);
        let reading = decided.reading.as_ref().map_err(Clone::clone)?;
        let said = |reason: String| format!("{} as {}: {reason}", item.dump.key, item.tensor);
        let bytes = item.dump.read().map_err(said)?;
        let translated = search::translate(reading, &bytes, shape).map_err(|e| said(e.explain(shape)))?;
        Ok(Tensor::new(item.tensor.clone(), shape, Bytes::copy(&translated)).expect("translated to its shape"))
    }

    /// What was decided, as the mapping that makes it so.
    pub fn mapping(&self, decided: &[Decided], tested_against: &str) -> Mapping {
        let mut mapping = Mapping::new(self.plan.geometry.valid);
        mapping.source = self.path.display().to_string();
        tested_against.clone_into(&mut mapping.tested_against);
        for one in decided {
            let mut entry = self.items[one.item].entry.clone();
            entry.tensor = Some(one.tensor.to_string());
            entry.alternatives = one.others.iter().take(SHOWN).map(ToString::to_string).collect();
            match &one.reading {
                Ok(reading) => {
                    entry.fix(reading.format, &reading.layout);
                    entry.confidence = Some((one.confidence * 1000.0).round() / 1000.0);
                    entry.evidence = vec![reading.evidence.clone()];
                }
                Err(reason) => entry.evidence = vec![format!("not clear: {reason}")],
            }
            mapping.dumps.insert(one.key.clone(), entry);
        }
        for (key, reason) in &self.skipped {
            let entry = Entry { skip: Some(reason.clone()), ..Entry::default() };
            mapping.dumps.insert(key.clone(), entry);
        }
        mapping
    }

    /// Translates all dumps and writes them as a capture, with `features` as its input unless they are among them.
    ///
    /// # Errors
    /// When one cannot be read, the target cannot be written, or the control cancels; then nothing is.
    pub fn write(
        &self,
        decided: &[Decided],
        features: Option<&Tensor>,
        target: &Path,
        control: &Control,
    ) -> Result<(), CaptureError> {
        let mut problems = Problems::default();
        let mut writer = Writer::create(target, self.plan.geometry)?;
        for one in decided {
            if control.is_cancelled() {
                return Err(CaptureError::Cancelled);
            }
            if let Some(tensor) = problems.take(self.read(one)) {
                writer.add(&tensor)?;
            }
        }
        // What the dumps have already is not added a second time.
        features.map_or(Ok(()), |features| writer.add(features))?;
        if let Some(path) = &self.output
            && let Some(composed) = problems.take(self.composed(path))
        {
            writer.output(&composed)?;
        }
        if !problems.is_empty() {
            return Err(CaptureError::Refused { path: self.path.clone(), problems });
        }
        let about = json!({
            "program": concat!("blockscope ", env!("CARGO_PKG_VERSION")), "importedFrom": self.path.display().to_string(),
        });
        writer.finish("not among the imported dumps", Some(about))
    }

    /// An image as the network's output.
    fn composed(&self, path: &Path) -> Result<Composed, String> {
        let picture = Picture::open(path, 1.0).map_err(|e| e.to_string())?;
        let size = self.plan.geometry.valid;
        if picture.size != size {
            return Err(format!("expected an image of {size}, found {}; path {}", picture.size, path.display()));
        }
        let pixel = |p: &[f32; 3]| [p[0], p[1], p[2], 1.0].map(f16::from_f32);
        Ok(Composed { size, pixels: picture.pixels.iter().map(pixel).collect() })
    }
}

fn judge(plan: &Plan, index: usize, item: &Item, expected: &dyn Fn(&TensorName) -> Option<Tensor>) -> Decided {
    let Item { dump, tensor, entry } = item;
    let shape = plan.shape(tensor);
    let mut decided = Decided {
        key: dump.key.clone(),
        tensor: tensor.clone(),
        reading: Err(String::new()),
        confidence: 0.0,
        others: Vec::new(),
        item: index,
    };
    if let Some((format, layout)) = entry.fixed() {
        let fits = layout.places(shape, format.bytes()).and_then(|places| {
            let expected = places.elements() * format.bytes();
            let name = format.name();
            places.fits(dump.bytes, format.bytes()).then_some(()).ok_or_else(|| {
                format!("the mapping says {name} {layout}, which is {expected} bytes of {shape}; found {}", dump.bytes)
            })
        });
        decided.confidence = 1.0;
        decided.reading = fits.map(|()| Reading {
            format,
            layout,
            score: 1.0,
            evidence: "the mapping says so".to_owned(),
            agreement: None,
        });
        return decided;
    }
    let expected = expected(tensor).filter(|t| t.shape == shape);
    let verdict = search::fits(dump, shape, entry)
        .and_then(|()| dump.read())
        .and_then(|bytes| search::rank(dump, &bytes, shape, entry, expected.as_ref()));
    let verdict = match verdict {
        Ok(verdict) => verdict,
        Err(reason) => {
            decided.reading = Err(reason);
            return decided;
        }
    };
    let mut ranked = verdict.ranked.into_iter();
    let best = ranked.next().expect("a size that fits has a reading");
    decided.others = ranked.collect();
    match verdict.confidence {
        Some(confidence) => (decided.reading, decided.confidence) = (Ok(best), confidence),
        None => {
            decided.others.insert(0, best);
            decided.reading = Err(unclear(&decided.others, expected.is_some()));
        }
    }
    decided
}

/// Why none is taken, and how to go on.
fn unclear(ranked: &[Reading], tested: bool) -> String {
    let readings: Vec<String> =
        ranked.iter().take(SHOWN).enumerate().map(|(i, r)| format!("\n      {}. {r}", i + 1)).collect();
    let advice = if tested { "" } else { "give --model and --input, so that the reference tells them apart; or " };
    format!(
        "no reading is clear; {advice}fix \"element\" and \"layout\" in a mapping file (--map). Best first:{}",
        readings.concat()
    )
}

/// Dumps of one program mostly have one layout: where a dump is not clear alone, the clear ones vote.
fn vote(all: &mut [Decided]) {
    let kind = |reading: &Reading| (reading.format, reading.layout.order);
    let mut votes: BTreeMap<(Format, Order), usize> = BTreeMap::new();
    for reading in all.iter().filter_map(|one| one.reading.as_ref().ok()) {
        *votes.entry(kind(reading)).or_default() += 1;
    }
    for one in all.iter_mut().filter(|one| one.reading.is_err() && !one.others.is_empty()) {
        let near = one.others[0].score - 0.15;
        let candidates =
            one.others.iter().filter(|reading| reading.score >= near && reading.layout.permutation.is_none());
        let best = candidates.filter_map(|r| votes.get(&kind(r)).map(|count| (*count, r))).max_by_key(|v| v.0);
        let Some((count, reading)) = best else { continue };
        let mut reading = reading.clone();
        reading.evidence = format!("{}; not clear alone, read as {count} other dumps are", reading.evidence);
        let chosen = (reading.format, reading.layout.clone());
        one.others.retain(|other| (other.format, &other.layout) != (chosen.0, &chosen.1));
        (one.reading, one.confidence) = (Ok(reading), 0.6);
    }
}

/// Imports a folder that carries its mapping ([`IN_FOLDER`]) into memory.
///
/// # Errors
/// When the mapping is wrong, or a dump is refused.
pub(super) fn open_folder(path: &Path) -> Result<Recording, CaptureError> {
    let refuse = |problem: String| {
        let mut problems = Problems::default();
        problems.add(problem);
        CaptureError::Refused { path: path.to_owned(), problems }
    };
    let mapping = Mapping::open(&path.join(IN_FOLDER)).map_err(refuse)?;
    let size = mapping.size().ok_or_else(|| refuse(format!("{IN_FOLDER}: expected \"size\": [width, height]")))?;
    let geometry = Geometry::new(size).map_err(|e| refuse(e.to_string()))?;
    let survey = Survey::new(path, geometry, &mapping)?;
    let mut problems = Problems::default();
    let read = survey.decide(&|_| None).into_iter().filter_map(|one| {
        let tensor = survey.read(&one).map_err(|e| format!("{}: {e}", one.key));
        problems.take(tensor)
    });
    let tensors: Vec<Tensor> = read.collect();
    if !problems.is_empty() {
        return Err(CaptureError::Refused { path: path.to_owned(), problems });
    }
    let there: BTreeSet<TensorName> = tensors.iter().map(|t| t.name.clone()).collect();
    let missing = survey.plan.boundaries.iter().filter(|name| !there.contains(*name));
    let omitted = missing.map(|name| (name.clone(), "not among the dumps".to_owned())).collect();
    let mut recording = Recording::of(path.display().to_string(), geometry, tensors, omitted);
    recording.notes.push(format!("dumps, imported as their {IN_FOLDER} says"));
    Ok(recording)
}

/// Whether a file's ending is that of dumps.
pub(super) fn is_container(path: &Path) -> bool {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    ending.is_some_and(|e| ["npy", "npz", "safetensors", "bin", "raw", "f16", "f32", "u8"].contains(&e.as_str()))
}
