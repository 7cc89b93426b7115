//! Comparison on the device: two tensors are counted where they lie, and only the counts are read.

use super::constants::{COMPARE_LANES, ComparePush};
use super::gemm::element;
use super::kernel::Dispatch;
use super::raw::Slice;
use super::runner::Stop;
use super::shaders::COMPARE;
use super::{Vulkan, failed};
use crate::engine::{Control, EngineError};
use crate::geometry::{WindowGrid, window};
use crate::tensor::{Shape, Tensor, TensorName};
use std::time::Duration;

/// Classes that are counted, in the order of the comparison's own list: equal, sign of zero, NaN -> +0, NaN code,
/// saturation, one code, several codes, unwritten.
pub const CLASSES: usize = 8;
/// Words of the counts: classes, differing bytes, first index.
const COUNTS: usize = CLASSES + 2;
/// Workgroups that walk over a tensor together.
const GROUPS: u32 = 1024;

/// What a comparison on the device found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceComparison {
    /// Elements by class.
    pub classes: [u64; CLASSES],
    /// Bytes that differ.
    pub differing_bytes: u64,
    /// Index of the first element that differs.
    pub first: Option<usize>,
    /// Differing elements by channel.
    pub channels: Vec<u64>,
    /// Differing elements by window, row-major; empty without a grid.
    pub windows: Vec<u64>,
    /// Differing elements by natural position inside the window.
    pub positions: Vec<u64>,
    /// What the kernel took.
    pub duration: Duration,
}

/// The name under which a tensor's reference lies on the device.
fn reference_name(name: &TensorName) -> TensorName {
    TensorName::new(format!("reference/{name}"))
}

/// The name of the buffer of differing elements by token.
fn tokens_name(name: &TensorName) -> TensorName {
    TensorName::new(format!("differences/{name}"))
}

impl Vulkan {
    /// Puts a reference tensor on the device, beside the tensor of the same name that the engine computes.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn write_reference(&mut self, reference: &Tensor) -> Result<(), EngineError> {
        let mut named = reference.clone();
        named.name = reference_name(&reference.name);
        self.store.write(&named).map_err(|error| failed(&self.device, &error))
    }

    /// Forgets a reference and what was computed from it.
    pub fn release_reference(&mut self, name: &TensorName) {
        self.store.release(&reference_name(name));
        self.store.release(&tokens_name(name));
    }

    /// Compares a held tensor with its reference from [`Self::write_reference`]; `None` when either is not held or their
    /// shapes differ. With a sentinel, a differing element that still holds it counts as unwritten.
    ///
    /// # Errors
    /// When the device fails.
    pub fn compare(
        &mut self,
        name: &TensorName,
        grid: Option<&WindowGrid>,
        sentinel: Option<u8>,
    ) -> Result<Option<DeviceComparison>, EngineError> {
        let (subject, reference) = (self.store.shape(name), self.store.shape(&reference_name(name)));
        let Some(shape) = subject.filter(|shape| Some(*shape) == reference) else { return Ok(None) };
        let grid = grid.filter(|grid| grid.size == shape.size);
        let found = self.count(name, shape, grid, sentinel);
        found.map(Some).map_err(|stop| self.stopped(stop))
    }

    /// Differing elements of every token, as the last comparison left them.
    ///
    /// # Errors
    /// When the device fails.
    pub fn differing_tokens(&mut self, name: &TensorName) -> Result<Option<Vec<u32>>, EngineError> {
        let read = self.store.read(&tokens_name(name)).map_err(|error| failed(&self.device, &error))?;
        Ok(read.map(|tensor| bytemuck::cast_slice(tensor.bytes()).to_vec()))
    }

    fn count(
        &mut self,
        name: &TensorName,
        shape: Shape,
        grid: Option<&WindowGrid>,
        sentinel: Option<u8>,
    ) -> Result<DeviceComparison, Stop> {
        let words = (shape.bytes() / 4) as u32;
        let windows = grid.map_or(0, WindowGrid::len);
        let one_per_token = Shape::new(crate::tensor::Element::F32, shape.size, 1);
        let counts = self.store.scratch("comparison counts", COUNTS)?;
        let tokens = self.store.output(&tokens_name(name), one_per_token)?;
        let channels = self.store.scratch("comparison channels", shape.channels)?;
        let places = self.store.scratch("comparison windows", windows + window::TOKENS)?;
        for slice in [&counts, &tokens, &channels, &places] {
            self.runner.fill(slice, 0)?;
        }
        let first = Slice { offset: 4 * (CLASSES as u64 + 1), bytes: 4, ..counts.clone() };
        self.runner.fill(&first, u32::MAX)?;
        let held = |name: &TensorName| self.store.slice(name).expect("its shape was found");
        let buffers =
            vec![held(name), held(&reference_name(name)), counts.clone(), tokens, channels.clone(), places.clone()];
        let push = ComparePush {
            first: 0,
            words,
            channels: shape.channels as u32,
            width: shape.size.width as u32,
            shift_x: grid.map_or(0, |g| g.shift.0 as u32),
            shift_y: grid.map_or(0, |g| g.shift.1 as u32),
            windows: grid.map_or(0, |g| g.windows.width as u32),
            positions: windows as u32,
            sentinel: sentinel.map_or(u32::MAX, u32::from),
        };
        let groups = [words.div_ceil(COMPARE_LANES).min(GROUPS), 1, 1];
        // A walk over the grid must not be split: its cost is kept at nothing.
        let dispatch =
            Dispatch::new(&COMPARE, buffers, &push, groups).specialized(vec![element(shape.element)]).costing(0);
        let mut times = [Duration::ZERO];
        self.runner.record(0, &[dispatch], &mut times, &Control::new())?;
        self.runner.flush(&mut times)?;
        let counts = self.store.words(&counts, COUNTS)?;
        let places = self.store.words(&places, windows + window::TOKENS)?;
        let wide = |words: &[u32]| words.iter().map(|&word| u64::from(word)).collect::<Vec<u64>>();
        let mut classes: [u64; CLASSES] = std::array::from_fn(|i| u64::from(counts[i]));
        classes[0] = shape.elements() as u64 - classes[1..].iter().sum::<u64>();
        let first = counts[CLASSES + 1];
        Ok(DeviceComparison {
            classes,
            differing_bytes: u64::from(counts[CLASSES]),
            first: (first != u32::MAX).then_some(first as usize),
            channels: wide(&self.store.words(&channels, shape.channels)?),
            windows: wide(&places[..windows]),
            positions: if grid.is_some() { wide(&places[windows..]) } else { Vec::new() },
            duration: times[0],
        })
    }
}
