//! Keeps tensors within a budget: on the heap while it lasts, then each in a mapped file of its own.
//!
//! The files are temporary and have no name where the system allows it: they vanish with the last clone of their
//! tensor, and with the process however it ends. Bytes are written with ordinary writes and only then mapped,
//! because a full disk is an error of a write and would be a crash in a mapping.
//!
//! **Invariants**
//! * A tensor given to [`Keeper::keep`] comes back with the same bytes, or the error says why not.
//! * Heap bytes of live kept tensors never exceed the budget.

use super::{Bytes, Tensor, TensorName};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A tensor that does not fit the budget could not be written to disk.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot keep tensor \"{tensor}\" on disk: {wanted} bytes wanted: {source}; free some space, choose another \
     folder with --spill, or allow more --memory; path {}", path.display()
)]
pub struct SpillError {
    /// The tensor.
    pub tensor: TensorName,
    /// Bytes that were to be written.
    pub wanted: u64,
    /// The folder.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// The budget of everything that is to be kept. Shared by all engines of a process.
#[derive(Debug)]
pub struct Keeper {
    budget: u64,
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Kept on the heap, with their sizes.
    heap: Vec<(Weak<Bytes>, u64)>,
    spilled: u64,
}

impl Keeper {
    /// Keeps everything on the heap.
    pub fn unlimited() -> Self {
        Self::new(u64::MAX, PathBuf::new())
    }

    /// Keeps `budget` bytes on the heap and the rest in files in a folder.
    pub fn new(budget: u64, folder: PathBuf) -> Self {
        Self { budget, folder, state: Mutex::default() }
    }

    /// Fails early when the folder cannot be written.
    ///
    /// # Errors
    /// What the system said.
    pub fn check(folder: &Path) -> io::Result<()> {
        tempfile::tempfile_in(folder).map(drop)
    }

    /// Keeps a tensor: as it is while the budget lasts, else in a file. A tensor that is kept already stays as it is.
    ///
    /// # Errors
    /// When it does not fit the budget, nor the disk.
    pub fn keep(&self, tensor: Tensor) -> Result<Tensor, SpillError> {
        let len = tensor.bytes().len() as u64;
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.heap.retain(|(bytes, _)| bytes.strong_count() > 0);
            let known = |(bytes, _): &(Weak<Bytes>, u64)| bytes.as_ptr() == Arc::as_ptr(&tensor.bytes);
            if matches!(*tensor.bytes, Bytes::Mapped(_)) || state.heap.iter().any(known) {
                return Ok(tensor);
            }
            let held: u64 = state.heap.iter().map(|(_, len)| len).sum();
            if len <= self.budget.saturating_sub(held) {
                state.heap.push((Arc::downgrade(&tensor.bytes), len));
                return Ok(tensor);
            }
            state.spilled += len;
        }
        let written = tempfile::tempfile_in(&self.folder).and_then(|file| spill(file, tensor.bytes()));
        match written {
            Ok(bytes) => Ok(Tensor { name: tensor.name, shape: tensor.shape, bytes: Arc::new(bytes) }),
            Err(source) => Err(SpillError { tensor: tensor.name, wanted: len, path: self.folder.clone(), source }),
        }
    }

    /// Bytes that went to files so far.
    pub fn spilled(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).spilled
    }
}

/// Writes bytes to an empty file and maps them.
fn spill(mut file: File, bytes: &[u8]) -> io::Result<Bytes> {
    file.write_all(bytes)?;
    Bytes::map(&file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Size;
    use crate::tensor::{Element, Shape};

    fn tensor(name: &str, len: usize) -> Tensor {
        let bytes: Vec<u8> = (0..len).map(|i| (i * 31 + name.len()) as u8).collect();
        Tensor::new(name.into(), Shape::new(Element::E4m3, Size::new(len, 1), 1), Bytes::copy(&bytes)).unwrap()
    }

    fn is_mapped(tensor: &Tensor) -> bool {
        matches!(*tensor.bytes, Bytes::Mapped(_))
    }

    #[test]
    fn what_exceeds_the_budget_lies_in_a_file_and_nothing_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::new(10_000, folder.path().to_owned());
        let kept: Vec<Tensor> =
            ["a", "bb", "ccc", "dddd"].iter().map(|name| keeper.keep(tensor(name, 4000)).unwrap()).collect();
        let mapped: Vec<bool> = kept.iter().map(is_mapped).collect();
        assert_eq!((mapped.as_slice(), keeper.spilled()), (&[false, false, true, true][..], 8000), "two fit");
        for tensor_kept in &kept {
            let expected = tensor(tensor_kept.name.as_str(), 4000);
            tensor_kept.rest();
            assert_eq!(tensor_kept.bytes(), expected.bytes(), "{}", tensor_kept.name);
            assert_eq!(tensor_kept.value(77, 0).to_bits(), expected.value(77, 0).to_bits(), "aligned and readable");
        }
        assert!(!is_mapped(&keeper.keep(kept[0].clone()).unwrap()), "kept already: counted once");
    }

    #[test]
    fn a_dropped_tensor_gives_its_budget_back() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::new(5000, folder.path().to_owned());
        let (first, clone) = (keeper.keep(tensor("a", 4000)).unwrap(), keeper.keep(tensor("a", 1)).unwrap());
        assert!(is_mapped(&keeper.keep(tensor("b", 4000)).unwrap()), "no room beside the first");
        let second = first.clone();
        drop((first, clone));
        assert!(is_mapped(&keeper.keep(tensor("b", 4000)).unwrap()), "a clone is alive");
        drop(second);
        assert!(!is_mapped(&keeper.keep(tensor("b", 4000)).unwrap()), "room again");
    }

    #[cfg(unix)]
    #[test]
    fn spilled_files_leave_no_trace_even_while_they_are_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::new(0, folder.path().to_owned());
        let kept = keeper.keep(tensor("a", 100_000)).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no name in the folder");
        assert_eq!(kept.digest(), tensor("a", 100_000).digest(), "the bytes are there");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named_with_what_was_wanted() {
        let folder = tempfile::tempdir().unwrap().path().join("gone");
        assert!(Keeper::check(&folder).is_err(), "found before anything runs");
        let error = Keeper::new(0, folder.clone()).keep(tensor("block-12", 4321)).unwrap_err().to_string();
        for part in ["block-12", "4321 bytes wanted", "--spill", &folder.display().to_string()] {
            assert!(error.contains(part), "\"{part}\" is missing from: {error}");
        }
    }

    /// `/dev/full` takes every open and refuses every write, as a full disk does.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let error = spill(full, &[1; 4096]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{error}");
    }
}
