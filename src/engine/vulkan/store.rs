//! What lies on the device: tensors by name, weights and tables by key, and the staging buffers between.

use super::raw::{Buffer, Device, Place, Recorder, Slice, VulkanError};
use crate::geometry::Size;
use crate::tensor::{Bytes, Element, Shape, Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a staging buffer: larger tensors travel in parts.
const STAGING: u64 = 32 << 20;

/// Buffers of one engine.
#[derive(Debug)]
pub(crate) struct Store {
    device: Arc<Device>,
    recorder: Recorder,
    upload: Option<Buffer>,
    download: Option<Arc<Buffer>>,
    tensors: BTreeMap<TensorName, (Shape, Arc<Buffer>)>,
    /// Buffers of released tensors by size, the first to be taken for new ones: a driver takes longer to find memory than
    /// most kernels run.
    free: BTreeMap<u64, Vec<Arc<Buffer>>>,
    constants: BTreeMap<String, Arc<Buffer>>,
    /// Constants that a kernel makes, recorded and not known to have run.
    unmade: Vec<String>,
}

impl Store {
    pub(crate) fn new(device: &Arc<Device>) -> Result<Self, VulkanError> {
        Ok(Self {
            device: Arc::clone(device),
            recorder: Recorder::new(device, "transfer")?,
            upload: None,
            download: None,
            tensors: BTreeMap::new(),
            free: BTreeMap::new(),
            constants: BTreeMap::new(),
            unmade: Vec::new(),
        })
    }

    /// Forgets all tensors, and the weights too when another model comes.
    pub(crate) fn clear(&mut self, weights: bool) {
        self.tensors.clear();
        self.free.clear();
        if weights {
            self.constants.clear();
        }
    }

    /// The shape of a held tensor.
    pub(crate) fn shape(&self, name: &TensorName) -> Option<Shape> {
        self.tensors.get(name).map(|(shape, _)| *shape)
    }

    /// A held tensor's buffer.
    pub(crate) fn slice(&self, name: &TensorName) -> Option<Slice> {
        self.tensors.get(name).map(|(_, buffer)| buffer.whole())
    }

    /// A tensor's buffer, made if it is not there or has another shape.
    pub(crate) fn output(&mut self, name: &TensorName, shape: Shape) -> Result<Slice, VulkanError> {
        if let Some((held, buffer)) = self.tensors.get(name)
            && *held == shape
        {
            return Ok(buffer.whole());
        }
        self.release(name);
        let buffer = self.buffer(name.as_str(), shape.bytes() as u64)?;
        self.tensors.insert(name.clone(), (shape, Arc::clone(&buffer)));
        Ok(buffer.whole())
    }

    /// A buffer on the device: one that was released and that nobody uses any more, or a new one.
    fn buffer(&mut self, name: &str, bytes: u64) -> Result<Arc<Buffer>, VulkanError> {
        let key = Buffer::rounded(bytes);
        if let Some(free) = self.free.get_mut(&key)
            && let Some(at) = free.iter().position(|buffer| Arc::strong_count(buffer) == 1)
        {
            let buffer = free.swap_remove(at);
            buffer.rename(name);
            return Ok(buffer);
        }
        let mut made = Buffer::new(&self.device, name, bytes, Place::Device);
        if matches!(made, Err(VulkanError::Budget { .. } | VulkanError::Memory { .. })) && !self.free.is_empty() {
            self.free.clear();
            made = Buffer::new(&self.device, name, bytes, Place::Device);
        }
        made.map(Arc::new)
    }

    /// Bytes that never change, uploaded when they are first asked for.
    pub(crate) fn constant(&mut self, key: &str, make: impl FnOnce() -> Vec<u8>) -> Result<Slice, VulkanError> {
        if let Some(buffer) = self.constants.get(key) {
            return Ok(buffer.whole());
        }
        let bytes = make();
        let buffer = self.buffer(key, bytes.len() as u64)?;
        self.fill(&buffer, &bytes)?;
        self.constants.insert(key.to_owned(), Arc::clone(&buffer));
        Ok(buffer.whole())
    }

    /// A constant that is there.
    pub(crate) fn held_constant(&self, key: &str) -> Option<Slice> {
        self.constants.get(key).map(Buffer::whole)
    }

    /// Room for a constant that a kernel will fill: see [`Self::made`].
    pub(crate) fn reserve_constant(&mut self, key: &str, bytes: u64) -> Result<Slice, VulkanError> {
        let buffer = self.buffer(key, bytes)?;
        self.constants.insert(key.to_owned(), Arc::clone(&buffer));
        self.unmade.push(key.to_owned());
        Ok(buffer.whole())
    }

    /// Keeps the constants whose kernels have run, or forgets those whose kernels may not have.
    pub(crate) fn made(&mut self, ran: bool) {
        for key in self.unmade.drain(..).filter(|_| !ran) {
            self.constants.remove(&key);
        }
    }

    /// Whether luxury of this size leaves half of the memory to what is needed.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        let limit = self.device.memory_limit();
        let free: u64 = self.free.values().flatten().map(|buffer| buffer.bytes()).sum();
        let used = self.device.held().saturating_sub(free);
        bytes <= self.device.info().limits.storage_range && used.saturating_add(bytes) <= limit / 2
    }

    /// Small bytes that change from time to time, uploaded anew each time.
    pub(crate) fn table(&mut self, name: &str, bytes: &[u8]) -> Result<Slice, VulkanError> {
        let slice = self.scratch(name, bytes.len().div_ceil(4))?;
        self.fill(&slice.buffer, bytes)?;
        Ok(slice)
    }

    /// Uploads a tensor.
    pub(crate) fn write(&mut self, tensor: &Tensor) -> Result<(), VulkanError> {
        let buffer = self.output(&tensor.name, tensor.shape)?.buffer;
        let done = self.fill(&buffer, tensor.bytes());
        if done.is_err() {
            self.release(&tensor.name);
        }
        done
    }

    /// Forgets a tensor.
    pub(crate) fn release(&mut self, name: &TensorName) {
        if let Some((_, buffer)) = self.tensors.remove(name) {
            self.free.entry(buffer.bytes()).or_default().push(buffer);
        }
    }

    /// Reads a tensor back.
    pub(crate) fn read(&mut self, name: &TensorName) -> Result<Option<Tensor>, VulkanError> {
        let Some((shape, buffer)) = self.tensors.get(name).cloned() else { return Ok(None) };
        let mut words = vec![0_u64; shape.bytes().div_ceil(8)];
        self.fetch(&buffer.whole(), &mut bytemuck::cast_slice_mut(&mut words)[..shape.bytes()])?;
        let bytes = Bytes::Heap(words, shape.bytes());
        Ok(Some(Tensor::new(name.clone(), shape, bytes).expect("as many bytes as the shape")))
    }

    /// Copies host bytes into a buffer.
    fn fill(&mut self, buffer: &Arc<Buffer>, bytes: &[u8]) -> Result<(), VulkanError> {
        let mut staging = match self.upload.take() {
            Some(staging) => staging,
            None => Buffer::new(&self.device, "upload staging", STAGING, Place::Upload)?,
        };
        for (part, chunk) in bytes.chunks(STAGING as usize).enumerate() {
            staging.mapped_mut()[..chunk.len()].copy_from_slice(chunk);
            let offset = part as u64 * STAGING;
            let size = (chunk.len() as u64).next_multiple_of(4).min(buffer.bytes() - offset);
            self.recorder.copy((&staging, 0), &Slice { buffer: Arc::clone(buffer), offset, bytes: size })?;
            self.recorder.submit()?;
        }
        self.upload = Some(staging);
        Ok(())
    }

    /// Copies the start of a slice to the host.
    pub(crate) fn fetch(&mut self, from: &Slice, out: &mut [u8]) -> Result<(), VulkanError> {
        let staging = if let Some(staging) = &self.download {
            Arc::clone(staging)
        } else {
            let made = Arc::new(Buffer::new(&self.device, "download staging", STAGING, Place::Download)?);
            Arc::clone(self.download.insert(made))
        };
        for (part, chunk) in out.chunks_mut(STAGING as usize).enumerate() {
            let offset = from.offset + part as u64 * STAGING;
            let bytes = (chunk.len() as u64).next_multiple_of(4).min(from.buffer.bytes() - offset);
            self.recorder.copy_to_host(&Slice { buffer: Arc::clone(&from.buffer), offset, bytes }, &staging)?;
            self.recorder.submit()?;
            chunk.copy_from_slice(&staging.mapped()[..chunk.len()]);
        }
        Ok(())
    }

    /// A buffer of words that kernels beside the plan use.
    pub(crate) fn scratch(&mut self, name: &str, words: usize) -> Result<Slice, VulkanError> {
        self.output(&name.into(), Shape::new(Element::F32, Size::new(words, 1), 1))
    }

    /// Reads the first words of a slice.
    pub(crate) fn words(&mut self, from: &Slice, count: usize) -> Result<Vec<u32>, VulkanError> {
        let mut words = vec![0_u32; count];
        self.fetch(from, bytemuck::cast_slice_mut(&mut words))?;
        Ok(words)
    }

    /// Bytes of tensors held.
    pub(crate) fn tensor_bytes(&self) -> u64 {
        self.tensors.values().map(|(_, buffer)| buffer.bytes()).sum()
    }
}
