//! What a path holds: raw files, arrays and images, each with its name, its size and what its container says of it.
//!
//! Only headers are read here; bytes are read one dump at a time, and never more of them than a tensor could have.

use super::{Format, npz, tensors};
use crate::tensor::npy::{self, NpyType};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Files of one import at most.
const MAX_FILES: usize = 20_000;
/// Folders inside folders at most.
const MAX_DEPTH: usize = 4;
/// Bytes in front of an array's data that are read to know it.
pub(super) const HEADER: usize = (1 << 16) + 12;

/// One dump: bytes that may hold a tensor.
#[derive(Clone, Debug)]
pub(super) struct Dump {
    /// Path inside the folder, or `file:array`.
    pub(super) key: String,
    /// The part that names the tensor.
    pub(super) stem: String,
    /// The file.
    pub(super) path: PathBuf,
    /// Bytes of data.
    pub(super) bytes: usize,
    /// Formats that its container or ending allows.
    pub(super) formats: Vec<Format>,
    /// Extents of an array, slowest first; nothing for raw bytes.
    pub(super) extents: Vec<usize>,
    place: Place,
    swapped: Option<usize>,
}

#[derive(Clone, Debug)]
enum Place {
    /// At an offset of a file.
    File(u64),
    /// In a member of an archive, behind so many bytes of header.
    Member(usize, usize),
}

/// What was found at a path.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) dumps: Vec<Dump>,
    /// Images, by key.
    pub(super) images: Vec<(String, PathBuf)>,
    /// What is no dump, or a damaged one: its key, its stem and why.
    pub(super) refused: Vec<(String, String, String)>,
    /// What is no dump at all, and why.
    pub(super) ignored: Vec<(String, String)>,
}

/// Lists what a path holds. Arrays of containers for which `wanted` says no are not opened.
pub(super) fn scan(path: &Path, wanted: &dyn Fn(&str, &str) -> bool) -> Result<Found, String> {
    let mut found = Found::default();
    if path.is_dir() {
        let mut files = Vec::new();
        list(path, path, 0, &mut files)?;
        files.sort();
        for (key, file) in files {
            add(&mut found, key, &file, wanted);
        }
    } else {
        let key = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        add(&mut found, key, path, wanted);
    }
    Ok(found)
}

/// What one file of a folder holds.
pub(super) fn scan_file(root: &Path, file: &Path, wanted: &dyn Fn(&str, &str) -> bool) -> Found {
    let mut found = Found::default();
    let key = file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/");
    add(&mut found, key, file, wanted);
    found
}

fn list(root: &Path, folder: &Path, depth: usize, files: &mut Vec<(String, PathBuf)>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("cannot be listed: {e}; path {}", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if hidden {
            continue;
        }
        if path.is_dir() {
            if depth < MAX_DEPTH {
                list(root, &path, depth + 1, files)?;
            }
        } else if let Ok(relative) = path.strip_prefix(root) {
            files.push((relative.to_string_lossy().replace('\\', "/"), path));
        }
        if files.len() > MAX_FILES {
            return Err(format!("more than {MAX_FILES} files; name a smaller folder; path {}", root.display()));
        }
    }
    Ok(())
}

fn add(found: &mut Found, key: String, path: &Path, wanted: &dyn Fn(&str, &str) -> bool) {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let stem = match key.len().checked_sub(ending.len() + 1) {
        Some(at) if !ending.is_empty() && key.is_char_boundary(at) => key[..at].to_owned(),
        _ => key.clone(),
    };
    let length = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        Ok(_) => return found.ignored.push((key, "not a file".to_owned())),
        Err(error) => return found.refused.push((key, stem, format!("cannot be read: {error}"))),
    };
    let arrays = match ending.as_str() {
        "npz" => npz::list(&key, path, wanted),
        "safetensors" => tensors::list(&key, path, length),
        "npy" => header(path).map(|head| vec![npy_dump(&key, &stem, path, length, &head)]),
        "png" | "ppm" | "pgm" | "pnm" | "pfm" | "exr" | "hdr" | "jpg" | "jpeg" | "webp" | "tif" | "tiff" => {
            return found.images.push((key, path.to_owned()));
        }
        "json" | "txt" | "log" | "md" | "csv" | "xml" | "html" | "py" | "sh" | "toml" | "yaml" | "yml" => {
            return found.ignored.push((key, "not a dump".to_owned()));
        }
        _ => Ok(vec![Ok(Dump {
            formats: formats(&ending),
            bytes: usize::try_from(length).unwrap_or(usize::MAX),
            extents: Vec::new(),
            place: Place::File(0),
            swapped: None,
            path: path.to_owned(),
            key: key.clone(),
            stem: stem.clone(),
        })]),
    };
    match arrays {
        Ok(arrays) => arrays.into_iter().for_each(|array| match array {
            Ok(dump) => found.dumps.push(dump),
            Err(refused) => found.refused.push(refused),
        }),
        Err(reason) => found.refused.push((key, stem, reason)),
    }
}

/// A dump, or key, stem and reason.
pub(super) type Listed = Result<Dump, (String, String, String)>;

/// Formats that a file's ending allows.
fn formats(ending: &str) -> Vec<Format> {
    use Format::{Bf16, E4m3, E4m3Fnuz, E5m2, F16, F32};
    match ending {
        "u8" | "fp8" | "f8" => vec![E4m3, E4m3Fnuz, E5m2],
        "e4m3" | "e4m3fn" => vec![E4m3],
        "fnuz" | "e4m3fnuz" => vec![E4m3Fnuz],
        "e5m2" => vec![E5m2],
        "f16" | "fp16" | "half" | "u16" => vec![F16, Bf16],
        "bf16" => vec![Bf16],
        "f32" | "fp32" | "float" => vec![F32],
        _ => Format::ALL.to_vec(),
    }
}

/// The first bytes of a file.
fn header(path: &Path) -> Result<Vec<u8>, String> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(|e| format!("cannot be read: {e}"))?;
    file.take(HEADER as u64).read_to_end(&mut head).map_err(|e| format!("cannot be read: {e}"))?;
    Ok(head)
}

fn npy_dump(key: &str, stem: &str, path: &Path, length: u64, head: &[u8]) -> Listed {
    let refuse = |reason: String| (key.to_owned(), stem.to_owned(), reason);
    let (header, bytes) = array(head, length).map_err(refuse)?;
    let place = Place::File(header.offset as u64);
    Ok(Dump::of_array(key.to_owned(), stem.to_owned(), path.to_owned(), &header, bytes, place))
}

/// The header of an array whose file (or member) has so many bytes, and the bytes of its data.
pub(super) fn array(head: &[u8], length: u64) -> Result<(npy::Header, usize), String> {
    let header = npy::header(head).map_err(|e| e.to_string())?;
    let bytes = header.bytes().ok_or("its shape has more elements than fit memory")?;
    let (found, shape) = (length.saturating_sub(header.offset as u64), &header.shape);
    if found != bytes as u64 {
        let kind = if found < bytes as u64 { "truncated" } else { "too long" };
        return Err(format!("the array is {kind}: shape {shape:?} needs {bytes} bytes, found {found}"));
    }
    Ok((header, bytes))
}

impl Dump {
    fn of_array(key: String, stem: String, path: PathBuf, header: &npy::Header, bytes: usize, place: Place) -> Self {
        use Format::{Bf16, E4m3, E4m3Fnuz, E5m2, F16, F32};
        let formats = match header.kind {
            NpyType::U1 => vec![E4m3, E4m3Fnuz, E5m2],
            NpyType::U2 => vec![F16, Bf16],
            NpyType::F2 => vec![F16],
            NpyType::F4 => vec![F32],
        };
        let mut extents = header.shape.clone();
        if header.fortran {
            // Memory lists the first axis fastest: the same bytes as the array of the axes reversed.
            extents.reverse();
        }
        let swapped = header.big_endian.then_some(header.kind.bytes());
        Self { key, stem, path, bytes, formats, extents, place, swapped }
    }

    /// An array that is a member of an archive.
    pub(super) fn of_member(
        key: String,
        stem: String,
        path: &Path,
        member: usize,
        head: &(npy::Header, usize),
    ) -> Self {
        let place = Place::Member(member, head.0.offset);
        Self::of_array(key, stem, path.to_owned(), &head.0, head.1, place)
    }

    /// Bytes at an offset of a file.
    pub(super) fn of_range(
        (key, stem): (String, String),
        path: &Path,
        (offset, bytes): (u64, usize),
        formats: Vec<Format>,
        extents: Vec<usize>,
    ) -> Self {
        Self { key, stem, path: path.to_owned(), bytes, formats, extents, place: Place::File(offset), swapped: None }
    }

    /// The data, little-endian.
    pub(super) fn read(&self) -> Result<Vec<u8>, String> {
        let cannot = |e: std::io::Error| format!("cannot be read: {e}");
        let mut data = Vec::new();
        match self.place {
            Place::File(offset) => {
                let mut file = File::open(&self.path).map_err(cannot)?;
                file.seek(SeekFrom::Start(offset)).map_err(cannot)?;
                data.reserve_exact(self.bytes);
                file.take(self.bytes as u64).read_to_end(&mut data).map_err(cannot)?;
            }
            Place::Member(member, skip) => data = npz::read(&self.path, member, skip, self.bytes)?,
        }
        if data.len() != self.bytes {
            return Err(format!("expected {} bytes, found {}: it changed while it was read", self.bytes, data.len()));
        }
        match self.swapped {
            Some(2) => data.as_chunks_mut::<2>().0.iter_mut().for_each(|b| b.reverse()),
            Some(4) => data.as_chunks_mut::<4>().0.iter_mut().for_each(|b| b.reverse()),
            _ => {}
        }
        Ok(data)
    }
}
