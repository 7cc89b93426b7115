//! The bytes behind a tensor: on the heap, or in a memory-mapped file when a run is larger than its budget.

#![expect(unsafe_code, reason = "mapping a file, and letting go of its pages")]

use std::fmt;
use std::fs::File;
use std::io;

/// Immutable bytes, aligned to 8.
pub enum Bytes {
    /// On the heap; the second field is the length in bytes.
    Heap(Vec<u64>, usize),
    /// In a mapped file that has no name and that nobody else writes.
    Mapped(memmap2::Mmap),
}

impl Bytes {
    /// Zeroed heap bytes, handed to `fill` before they become immutable.
    pub fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        let mut words = vec![0_u64; len.div_ceil(8)];
        fill(&mut bytemuck::cast_slice_mut(&mut words)[..len]);
        Self::Heap(words, len)
    }

    /// Copies a slice of elements.
    pub fn copy<T: bytemuck::NoUninit>(elements: &[T]) -> Self {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        Self::build(bytes.len(), |out| out.copy_from_slice(bytes))
    }

    /// Maps a whole file of this process that nobody writes any more.
    pub(super) fn map(file: &File) -> io::Result<Self> {
        // SAFETY: the file is temporary, without a name, and its only handle ends here: nobody can change it.
        let map = unsafe { memmap2::Mmap::map(file) }?;
        Ok(Self::Mapped(map))
    }

    /// Tells the system that the bytes are not read for a while: mapped pages leave memory and come back from the
    /// file when they are read.
    pub fn rest(&self) {
        #[cfg(unix)]
        if let Self::Mapped(map) = self {
            // SAFETY: the mapping is shared and read-only, so that dropped pages are read from the file again.
            let advised = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
            // Advice: where it is not taken, the bytes only stay in memory longer.
            drop(advised);
        }
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Heap(words, len) => &bytemuck::cast_slice(words)[..*len],
            Self::Mapped(map) => map,
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self {
            Self::Heap(..) => "heap",
            Self::Mapped(_) => "mapped",
        };
        write!(f, "{} bytes ({place})", self.len())
    }
}
