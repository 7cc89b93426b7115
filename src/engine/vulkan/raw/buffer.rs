//! Buffers: storage for kernels, and mapped staging for copies.

use super::device::Device;
use super::error::{Context as _, VulkanError};
use ash::vk;
use gpu_allocator::MemoryLocation;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme};
use std::fmt;
use std::sync::Arc;

/// Where a buffer lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the device: kernels read and write it.
    Device,
    /// Mapped, written by the host.
    Upload,
    /// Mapped, read by the host.
    Download,
}

/// A buffer and its memory.
pub struct Buffer {
    device: Arc<Device>,
    handle: vk::Buffer,
    allocation: Option<Allocation>,
    bytes: u64,
    name: String,
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "buffer \"{}\" of {} bytes", self.name, self.bytes)
    }
}

/// A part of a buffer that a kernel sees.
#[derive(Clone, Debug)]
pub struct Slice {
    /// The buffer.
    pub buffer: Arc<Buffer>,
    /// First byte, a multiple of the device's storage alignment.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Buffer {
    /// A buffer of at least `bytes` bytes, rounded up to whole words.
    ///
    /// # Errors
    /// When memory or the budget is exhausted, or a kernel could not see the whole of it.
    pub fn new(device: &Arc<Device>, name: &str, bytes: u64, place: Place) -> Result<Self, VulkanError> {
        let bytes = Self::rounded(bytes);
        let limit = device.info().limits.storage_range;
        if place == Place::Device && bytes > limit {
            return Err(VulkanError::Range { object: name.to_owned(), bytes, limit });
        }
        let copies = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        let usage = if place == Place::Device { copies | vk::BufferUsageFlags::STORAGE_BUFFER } else { copies };
        let create = vk::BufferCreateInfo::default().size(bytes).usage(usage);
        // SAFETY: the create structure is complete and the device alive.
        let handle = unsafe { device.handle().create_buffer(&create, None) }.context("vkCreateBuffer", name)?;
        // From here on `drop` cleans up.
        let mut buffer = Self { device: Arc::clone(device), handle, allocation: None, bytes, name: name.to_owned() };
        // SAFETY: the buffer was just made by this device.
        let requirements = unsafe { device.handle().get_buffer_memory_requirements(handle) };
        let location = match place {
            Place::Device => MemoryLocation::GpuOnly,
            Place::Upload => MemoryLocation::CpuToGpu,
            Place::Download => MemoryLocation::GpuToCpu,
        };
        let scheme = AllocationScheme::GpuAllocatorManaged;
        let wanted = AllocationCreateDesc { name, requirements, location, linear: true, allocation_scheme: scheme };
        let allocation = buffer.allocation.insert(device.allocate(&wanted)?);
        // SAFETY: the allocation is live and used by nothing else.
        let memory = unsafe { allocation.memory() };
        // SAFETY: memory and buffer belong together by the requirements asked for above.
        let bound = unsafe { device.handle().bind_buffer_memory(handle, memory, allocation.offset()) };
        bound.context("vkBindBufferMemory", name)?;
        device.name(handle, name);
        Ok(buffer)
    }

    /// The size of a buffer for so many bytes: whole words, one at least.
    pub(crate) fn rounded(bytes: u64) -> u64 {
        bytes.max(4).next_multiple_of(4)
    }

    /// Names the handle anew, for validation messages and captures, when the buffer is taken for something else.
    pub(crate) fn rename(&self, name: &str) {
        self.device.name(self.handle, name);
    }

    /// The whole buffer, for a kernel.
    pub fn whole(self: &Arc<Self>) -> Slice {
        Slice { buffer: Arc::clone(self), offset: 0, bytes: self.bytes }
    }

    /// Number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The mapped bytes of a download buffer.
    pub fn mapped(&self) -> &[u8] {
        let slice = self.allocation.as_ref().and_then(Allocation::mapped_slice);
        &slice.expect("download buffers are mapped")[..self.bytes as usize]
    }

    /// The mapped bytes of an upload buffer.
    pub fn mapped_mut(&mut self) -> &mut [u8] {
        let slice = self.allocation.as_mut().and_then(Allocation::mapped_slice_mut);
        &mut slice.expect("upload buffers are mapped")[..self.bytes as usize]
    }

    /// The handle.
    pub(crate) fn handle(&self) -> vk::Buffer {
        self.handle
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: submissions hold their buffers until they are done, so nothing uses this one.
        unsafe { self.device.handle().destroy_buffer(self.handle, None) };
        if let Some(allocation) = self.allocation.take() {
            self.device.free(allocation);
        }
    }
}
