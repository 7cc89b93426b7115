//! One step being run: what a kernel may read, and how its rows are shared out among the threads.

use super::Level;
use super::weights::Weights;
use crate::engine::{Control, EngineError};
use crate::model::Model;
use crate::plan::Plan;
use crate::tensor::{Bytes, Tensor, TensorName};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Everything a kernel reads.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) level: Level,
    pub(super) plan: &'a Plan,
    pub(super) model: &'a Model,
    pub(super) tensors: &'a BTreeMap<TensorName, Tensor>,
    pub(super) weights: &'a Weights,
    pub(super) control: &'a Control,
}

impl<'a> Job<'a> {
    /// An input; the engine checked that it is there.
    pub(super) fn tensor(&self, name: &TensorName) -> &'a Tensor {
        self.tensors.get(name).unwrap_or_else(|| panic!("input {name} was checked to be there"))
    }

    /// Runs tasks on all threads, with a look at the cancel flag before each; every task reports its products.
    pub(super) fn each<T: Send>(
        &self,
        tasks: impl IndexedParallelIterator<Item = T>,
        products: u64,
        work: impl Fn(T) + Sync + Send,
    ) -> Result<(), EngineError> {
        let (count, control) = (tasks.len().max(1) as u64, self.control);
        tasks.enumerate().try_for_each(|(i, task)| {
            if control.is_cancelled() {
                return Err(EngineError::Cancelled);
            }
            work(task);
            let i = i as u64;
            control.advance(products * (i + 1) / count - products * i / count);
            Ok(())
        })
    }

    /// Runs `work(first row, bytes)` for every tile of `rows` rows of a buffer whose rows have `width` bytes.
    pub(super) fn rows(
        &self,
        buffer: &mut Buffer,
        width: usize,
        rows: usize,
        products: u64,
        work: impl Fn(usize, &mut [u8]) + Sync + Send,
    ) -> Result<(), EngineError> {
        let tasks = buffer.bytes().par_chunks_mut(width * rows).enumerate();
        self.each(tasks, products, |(i, bytes)| work(i * rows, bytes))
    }
}

/// Tiles of `width` codes of a published output, each with its halves before publication; none where nobody wants
/// those.
pub(super) fn tiles<'b>(
    published: &'b mut Buffer,
    raw: &'b mut Buffer,
    width: usize,
) -> Vec<(&'b mut [u8], &'b mut [u16])> {
    let mut halves = bytemuck::cast_slice_mut(raw.bytes()).chunks_mut(width);
    published.bytes().chunks_mut(width).map(|codes| (codes, halves.next().unwrap_or_default())).collect()
}

/// An output being written.
pub(super) struct Buffer {
    words: Vec<u64>,
    len: usize,
}

impl Buffer {
    /// Zeroed bytes.
    pub(super) fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(8)], len }
    }

    /// As [`Self::new`], empty if nobody wants the output.
    pub(super) fn wanted(wanted: bool, len: usize) -> Self {
        Self::new(if wanted { len } else { 0 })
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }

    /// As many pieces of `size` bytes as there are tasks; empty ones of an output that nobody wants.
    pub(super) fn pieces(&mut self, size: usize, tasks: usize) -> Vec<&mut [u8]> {
        if self.len == 0 {
            return (0..tasks).map(|_| <&mut [u8]>::default()).collect();
        }
        self.bytes().chunks_mut(size).collect()
    }

    pub(super) fn finish(self) -> Bytes {
        Bytes::Heap(self.words, self.len)
    }
}
