//! Recording dispatches and copies, submitting them, waiting, and reading their timestamps.
//!
//! One recorder is one command buffer. Work inside runs in order: every dispatch and copy waits for those before
//! it, which is what a chain of kernels needs.

use super::buffer::{Buffer, Slice};
use super::device::{Device, Fault};
use super::error::{Context as _, VulkanError};
use super::pipeline::Pipeline;
use ash::vk;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Descriptor sets of one pool.
const SETS: u32 = 256;
/// Descriptors of one pool.
const DESCRIPTORS: u32 = SETS * 8;
/// Timestamps of one submission.
pub(crate) const STAMPS: u32 = 2048;

/// Times between the marks of one submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Time of every mark since the first; empty on a device without timestamps.
    pub marks: Vec<Duration>,
}

impl Timing {
    /// Time between two marks.
    pub fn between(&self, from: usize, to: usize) -> Option<Duration> {
        Some(self.marks.get(to)?.saturating_sub(*self.marks.get(from)?))
    }
}

/// What signals that a submission is done.
enum Signal {
    /// A timeline semaphore and its last value.
    Timeline(vk::Semaphore, u64),
    /// Where there are none.
    Fence(vk::Fence),
}

/// A command buffer with the descriptor sets and timestamps that it needs.
pub struct Recorder {
    device: Arc<Device>,
    name: String,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    descriptors: Vec<vk::DescriptorPool>,
    /// Sets taken from all pools together since the last submission.
    sets: u32,
    queries: vk::QueryPool,
    marks: u32,
    signal: Signal,
    recording: bool,
    /// Whatever the commands use, alive until they are done.
    buffers: Vec<Arc<Buffer>>,
    pipelines: Vec<Arc<Pipeline>>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("name", &self.name).field("recording", &self.recording).finish_non_exhaustive()
    }
}

impl Recorder {
    /// An empty recorder.
    ///
    /// # Errors
    /// When the device is out of memory.
    pub fn new(device: &Arc<Device>, name: &str) -> Result<Self, VulkanError> {
        let vulkan = device.handle();
        let null = vk::Semaphore::null();
        let mut recorder = Self {
            device: Arc::clone(device),
            name: name.to_owned(),
            pool: vk::CommandPool::null(),
            commands: vk::CommandBuffer::null(),
            descriptors: Vec::new(),
            sets: 0,
            queries: vk::QueryPool::null(),
            marks: 0,
            signal: Signal::Timeline(null, 0),
            recording: false,
            buffers: Vec::new(),
            pipelines: Vec::new(),
        };
        let create = vk::CommandPoolCreateInfo::default().queue_family_index(device.family());
        // SAFETY: the family is the device's.
        let pool = unsafe { vulkan.create_command_pool(&create, None) };
        recorder.pool = pool.context("vkCreateCommandPool", name)?;
        let wanted = vk::CommandBufferAllocateInfo::default().command_pool(recorder.pool).command_buffer_count(1);
        // SAFETY: the pool was just made.
        let commands = unsafe { vulkan.allocate_command_buffers(&wanted) };
        recorder.commands = commands.context("vkAllocateCommandBuffers", name)?[0];
        recorder.signal = signal(device, name)?;
        if device.timestamp_bits() > 0 && device.info().limits.timestamp_period > 0.0 {
            let create = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(STAMPS);
            // SAFETY: the create structure is complete.
            let queries = unsafe { vulkan.create_query_pool(&create, None) };
            recorder.queries = queries.context("vkCreateQueryPool", name)?;
            device.name(recorder.queries, name);
        }
        device.name(recorder.pool, name);
        device.name(recorder.commands, name);
        Ok(recorder)
    }

    /// Starts recording unless it has started.
    fn begin(&mut self) -> Result<(), VulkanError> {
        if self.recording {
            return Ok(());
        }
        let vulkan = self.device.handle();
        for &pool in &self.descriptors {
            // SAFETY: the submission that used the sets is done.
            let reset = unsafe { vulkan.reset_descriptor_pool(pool, vk::DescriptorPoolResetFlags::empty()) };
            reset.context("vkResetDescriptorPool", &self.name)?;
        }
        // SAFETY: the submission that used the commands is done.
        let reset = unsafe { vulkan.reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty()) };
        reset.context("vkResetCommandPool", &self.name)?;
        let begin = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the command buffer was reset with its pool.
        let begun = unsafe { vulkan.begin_command_buffer(self.commands, &begin) };
        begun.context("vkBeginCommandBuffer", &self.name)?;
        if self.queries != vk::QueryPool::null() {
            // SAFETY: recording, outside a render pass; the pool has that many queries.
            unsafe { vulkan.cmd_reset_query_pool(self.commands, self.queries, 0, STAMPS) };
        }
        (self.recording, self.sets, self.marks) = (true, 0, 0);
        Ok(())
    }

    /// Makes everything recorded before visible to everything recorded after.
    fn barrier(&self) {
        let stages = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
        let writes = vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE;
        let reads = vk::AccessFlags::SHADER_READ | vk::AccessFlags::TRANSFER_READ;
        let barriers = [vk::MemoryBarrier::default().src_access_mask(writes | reads).dst_access_mask(writes | reads)];
        let none = vk::DependencyFlags::empty();
        // SAFETY: recording, outside a render pass.
        unsafe { self.device.handle().cmd_pipeline_barrier(self.commands, stages, stages, none, &barriers, &[], &[]) };
    }

    /// Records a kernel behind a barrier.
    ///
    /// # Errors
    /// When the device is out of memory.
    pub fn dispatch(
        &mut self,
        pipeline: &Arc<Pipeline>,
        buffers: &[Slice],
        push: &[u8],
        groups: [u32; 3],
    ) -> Result<(), VulkanError> {
        self.begin()?;
        self.barrier();
        let set = self.descriptor_set(pipeline, buffers)?;
        let (vulkan, commands, layout) = (self.device.handle(), self.commands, pipeline.layout());
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: recording; the pipeline is kept until the submission is done.
        unsafe { vulkan.cmd_bind_pipeline(commands, point, pipeline.handle()) };
        // SAFETY: the set was allocated with this pipeline's layout.
        unsafe { vulkan.cmd_bind_descriptor_sets(commands, point, layout, 0, &[set], &[]) };
        if !push.is_empty() {
            // SAFETY: the layout declares a range of that many bytes for the compute stage.
            unsafe { vulkan.cmd_push_constants(commands, layout, vk::ShaderStageFlags::COMPUTE, 0, push) };
        }
        // SAFETY: everything the shader needs is bound; callers keep within the device's limits.
        unsafe { vulkan.cmd_dispatch(commands, groups[0], groups[1], groups[2]) };
        self.buffers.extend(buffers.iter().map(|slice| Arc::clone(&slice.buffer)));
        self.pipelines.push(Arc::clone(pipeline));
        Ok(())
    }

    /// Records a copy behind a barrier.
    ///
    /// # Errors
    /// When the device is out of memory.
    pub fn copy(&mut self, (from, from_offset): (&Buffer, u64), to: &Slice) -> Result<(), VulkanError> {
        self.begin()?;
        self.barrier();
        let regions = [vk::BufferCopy { src_offset: from_offset, dst_offset: to.offset, size: to.bytes }];
        // SAFETY: recording; the regions lie inside both buffers, whose owners wait for the submission.
        unsafe { self.device.handle().cmd_copy_buffer(self.commands, from.handle(), to.buffer.handle(), &regions) };
        self.buffers.push(Arc::clone(&to.buffer));
        Ok(())
    }

    /// Records a copy to the host: as [`Self::copy`], and the host may read afterwards.
    ///
    /// # Errors
    /// When the device is out of memory.
    pub fn copy_to_host(&mut self, from: &Slice, to: &Buffer) -> Result<(), VulkanError> {
        self.begin()?;
        self.barrier();
        let regions = [vk::BufferCopy { src_offset: from.offset, dst_offset: 0, size: from.bytes }];
        let vulkan = self.device.handle();
        // SAFETY: recording; the regions lie inside both buffers, whose owners wait for the submission.
        unsafe { vulkan.cmd_copy_buffer(self.commands, from.buffer.handle(), to.handle(), &regions) };
        let barriers = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
            .dst_access_mask(vk::AccessFlags::HOST_READ)];
        let (from_stage, to_stage) = (vk::PipelineStageFlags::TRANSFER, vk::PipelineStageFlags::HOST);
        let none = vk::DependencyFlags::empty();
        // SAFETY: recording, outside a render pass.
        unsafe { vulkan.cmd_pipeline_barrier(self.commands, from_stage, to_stage, none, &barriers, &[], &[]) };
        self.buffers.push(Arc::clone(&from.buffer));
        Ok(())
    }

    /// Fills a buffer with a word.
    ///
    /// # Errors
    /// When the device is out of memory.
    pub fn fill(&mut self, to: &Slice, word: u32) -> Result<(), VulkanError> {
        self.begin()?;
        self.barrier();
        // SAFETY: recording; offset and size are whole words inside the buffer.
        unsafe { self.device.handle().cmd_fill_buffer(self.commands, to.buffer.handle(), to.offset, to.bytes, word) };
        self.buffers.push(Arc::clone(&to.buffer));
        Ok(())
    }

    /// Marks a time; its index in [`Timing::marks`]. Marks beyond [`STAMPS`] are dropped.
    ///
    /// # Errors
    /// When the device is out of memory.
    pub fn mark(&mut self) -> Result<usize, VulkanError> {
        self.begin()?;
        let index = self.marks;
        if self.queries != vk::QueryPool::null() && index < STAMPS {
            let stage = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
            // SAFETY: recording; the query was reset at the beginning of this command buffer.
            unsafe { self.device.handle().cmd_write_timestamp(self.commands, stage, self.queries, index) };
            self.marks += 1;
        }
        Ok(index as usize)
    }

    /// Submits what was recorded and waits for it. Nothing recorded is nothing done.
    ///
    /// # Errors
    /// When the device is lost or out of memory.
    pub fn submit(&mut self) -> Result<Timing, VulkanError> {
        if !self.recording {
            return Ok(Timing::default());
        }
        self.recording = false;
        let done = self.run();
        self.buffers.clear();
        self.pipelines.clear();
        done?;
        self.times()
    }

    /// Forgets what was recorded.
    pub fn discard(&mut self) {
        self.recording = false;
        self.buffers.clear();
        self.pipelines.clear();
    }

    fn run(&mut self) -> Result<(), VulkanError> {
        let (vulkan, name) = (self.device.handle(), &self.name);
        if self.device.fails(Fault::Lost) {
            return Err(vk::Result::ERROR_DEVICE_LOST).context("vkQueueSubmit", name);
        }
        // SAFETY: recording has begun.
        unsafe { vulkan.end_command_buffer(self.commands) }.context("vkEndCommandBuffer", name)?;
        let commands = [self.commands];
        let submit = vk::SubmitInfo::default().command_buffers(&commands);
        match &mut self.signal {
            Signal::Timeline(semaphore, value) => {
                *value += 1;
                let (semaphores, values) = ([*semaphore], [*value]);
                let mut timeline = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&values);
                let submit = [submit.signal_semaphores(&semaphores).push_next(&mut timeline)];
                let queue = self.device.queue();
                // SAFETY: the queue is locked; everything that the commands use is kept until they are done.
                let submitted = unsafe { vulkan.queue_submit(*queue, &submit, vk::Fence::null()) };
                drop(queue);
                submitted.context("vkQueueSubmit", name)?;
                let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
                // SAFETY: the submission signals this value.
                unsafe { vulkan.wait_semaphores(&wait, u64::MAX) }.context("vkWaitSemaphores", name)
            }
            Signal::Fence(fence) => {
                let queue = self.device.queue();
                // SAFETY: as above; the fence is unsignalled.
                let submitted = unsafe { vulkan.queue_submit(*queue, &[submit], *fence) };
                drop(queue);
                submitted.context("vkQueueSubmit", name)?;
                // SAFETY: the submission signals this fence.
                unsafe { vulkan.wait_for_fences(&[*fence], true, u64::MAX) }.context("vkWaitForFences", name)?;
                // SAFETY: nothing waits for it any more.
                unsafe { vulkan.reset_fences(&[*fence]) }.context("vkResetFences", name)
            }
        }
    }

    fn times(&self) -> Result<Timing, VulkanError> {
        if self.marks == 0 {
            return Ok(Timing::default());
        }
        let mut ticks = vec![0_u64; self.marks as usize];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        // SAFETY: these queries were written by the submission that is done.
        let read = unsafe { self.device.handle().get_query_pool_results(self.queries, 0, &mut ticks, flags) };
        read.context("vkGetQueryPoolResults", &self.name)?;
        let period = f64::from(self.device.info().limits.timestamp_period);
        let mask = u64::MAX >> (64 - self.device.timestamp_bits().min(64));
        let first = ticks[0];
        let since = |tick: &u64| Duration::from_nanos((tick.wrapping_sub(first) & mask) as f64 as u64);
        let scale = |d: Duration| Duration::from_nanos((d.as_nanos() as f64 * period) as u64);
        Ok(Timing { marks: ticks.iter().map(since).map(scale).collect() })
    }

    /// A set of storage buffers for one dispatch.
    fn descriptor_set(&mut self, pipeline: &Pipeline, buffers: &[Slice]) -> Result<vk::DescriptorSet, VulkanError> {
        debug_assert_eq!(buffers.len(), pipeline.bindings() as usize, "{}", pipeline.name());
        let pool = (self.sets / SETS) as usize;
        if pool == self.descriptors.len() {
            let made = descriptor_pool(&self.device, &self.name)?;
            self.descriptors.push(made);
        }
        self.sets += 1;
        let layouts = [pipeline.set()];
        let wanted =
            vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.descriptors[pool]).set_layouts(&layouts);
        // SAFETY: the pool has room by the count above.
        let sets = unsafe { self.device.handle().allocate_descriptor_sets(&wanted) };
        let set = sets.context("vkAllocateDescriptorSets", pipeline.name())?[0];
        let info =
            |s: &Slice| [vk::DescriptorBufferInfo { buffer: s.buffer.handle(), offset: s.offset, range: s.bytes }];
        let infos: Vec<_> = buffers.iter().map(info).collect();
        let write = |(binding, info)| {
            vk::WriteDescriptorSet::default()
                .dst_set(set)
                .dst_binding(binding as u32)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .buffer_info(info)
        };
        let writes: Vec<_> = infos.iter().map(|info| &info[..]).enumerate().map(write).collect();
        // SAFETY: the set is not in use yet.
        unsafe { self.device.handle().update_descriptor_sets(&writes, &[]) };
        Ok(set)
    }
}

fn descriptor_pool(device: &Device, name: &str) -> Result<vk::DescriptorPool, VulkanError> {
    let sizes = [vk::DescriptorPoolSize { ty: vk::DescriptorType::STORAGE_BUFFER, descriptor_count: DESCRIPTORS }];
    let create = vk::DescriptorPoolCreateInfo::default().max_sets(SETS).pool_sizes(&sizes);
    // SAFETY: the create structure is complete.
    let made = unsafe { device.handle().create_descriptor_pool(&create, None) };
    let made = made.context("vkCreateDescriptorPool", name)?;
    device.name(made, name);
    Ok(made)
}

fn signal(device: &Device, name: &str) -> Result<Signal, VulkanError> {
    let vulkan = device.handle();
    if !device.info().features.timeline {
        // SAFETY: the create structure is complete.
        let fence = unsafe { vulkan.create_fence(&vk::FenceCreateInfo::default(), None) };
        return fence.context("vkCreateFence", name).map(Signal::Fence);
    }
    let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let create = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
    // SAFETY: timeline semaphores were enabled at creation of the device.
    let semaphore = unsafe { vulkan.create_semaphore(&create, None) }.context("vkCreateSemaphore", name)?;
    device.name(semaphore, name);
    Ok(Signal::Timeline(semaphore, 0))
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let vulkan = self.device.handle();
        // `submit` waits, so that nothing here is in use; null handles are ignored.
        match self.signal {
            // SAFETY: no submission is pending.
            Signal::Timeline(semaphore, _) => unsafe { vulkan.destroy_semaphore(semaphore, None) },
            // SAFETY: no submission is pending.
            Signal::Fence(fence) => unsafe { vulkan.destroy_fence(fence, None) },
        }
        for &pool in &self.descriptors {
            // SAFETY: no submission is pending.
            unsafe { vulkan.destroy_descriptor_pool(pool, None) };
        }
        // SAFETY: no submission is pending.
        unsafe { vulkan.destroy_query_pool(self.queries, None) };
        // SAFETY: no submission is pending; the command buffer goes with its pool.
        unsafe { vulkan.destroy_command_pool(self.pool, None) };
    }
}
