//! A logical device: its queue, memory, pipeline cache, and the names of its objects.

use super::adapter::{Adapter, AdapterInfo, choose};
use super::error::{Context as _, VulkanError};
use super::instance::Instance;
use super::{bfloat16, cache, cache_folder};
use ash::{ext, khr, vk};
use gpu_allocator::AllocationError;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, Allocator, AllocatorCreateDesc};
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// How a device is chosen and opened.
#[derive(Clone, Debug, Default)]
pub struct DeviceOptions {
    /// Index, UUID or a part of the name; else the variable `BLOCKSCOPE_DEVICE`; else the best one.
    pub wanted: Option<String>,
    /// Bytes that buffers may take together; no limit but the device's without.
    pub budget: Option<u64>,
    /// Further device extensions, all required: a window's swapchain.
    pub extensions: Vec<CString>,
    /// Bytes of a buffer that a shader may see, where that is to be less than what the device allows: to try what happens
    /// on devices with less.
    pub storage_range: Option<u64>,
}

/// A failure that a test asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next submission loses the device.
    Lost,
    /// The next allocation finds no memory.
    OutOfMemory,
}

/// An open device. Shared by `Arc`: buffers, pipelines and recorders hold it.
pub struct Device {
    adapter: Adapter,
    handle: ash::Device,
    naming: Option<ext::debug_utils::Device>,
    family: u32,
    timestamp_bits: u32,
    queue: Mutex<vk::Queue>,
    allocator: Mutex<Option<Allocator>>,
    held: AtomicU64,
    budget: u64,
    pipelines: vk::PipelineCache,
    pipelines_path: Option<PathBuf>,
    /// Whether the pipeline cache was found on disk.
    warm: bool,
    fault: Mutex<Option<Fault>>,
    /// What was found out about the device's matrix unit, once for all engines on it.
    pub(crate) matrix_unit: OnceLock<Result<(), String>>,
    instance: Arc<Instance>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.info().name).field("held", &self.held()).finish_non_exhaustive()
    }
}

impl Device {
    /// Opens a device of an instance.
    ///
    /// # Errors
    /// When none matches, or it cannot be opened.
    pub fn open(instance: &Arc<Instance>, options: &DeviceOptions) -> Result<Arc<Self>, VulkanError> {
        let environment = || std::env::var("BLOCKSCOPE_DEVICE").ok().filter(|value| !value.is_empty());
        let wanted = options.wanted.clone().or_else(environment);
        let adapter = choose(instance.adapters()?, wanted.as_deref())?;
        Self::from_adapter(adapter, options)
    }

    /// Opens a given adapter.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn from_adapter(mut adapter: Adapter, options: &DeviceOptions) -> Result<Arc<Self>, VulkanError> {
        if let Some(range) = options.storage_range {
            adapter.limit_storage(range);
        }
        let instance = Arc::clone(&adapter.instance);
        let name = adapter.info().name.clone();
        let (family, timestamp_bits) = compute_family(&adapter)?;
        let handle = create(&adapter, family, options)?;
        // SAFETY: the family and its first queue were asked for at creation.
        let queue = unsafe { handle.get_device_queue(family, 0) };
        let naming = instance.has_debug_utils().then(|| ext::debug_utils::Device::new(instance.handle(), &handle));
        let mut device = Self {
            handle,
            naming,
            family,
            timestamp_bits,
            queue: Mutex::new(queue),
            allocator: Mutex::new(None),
            held: AtomicU64::new(0),
            budget: options.budget.unwrap_or(u64::MAX),
            pipelines: vk::PipelineCache::null(),
            pipelines_path: None,
            warm: false,
            fault: Mutex::new(None),
            matrix_unit: OnceLock::new(),
            instance,
            adapter,
        };
        device.name(queue, "compute queue");
        device.start_allocator(&name)?;
        device.load_pipelines()?;
        Ok(Arc::new(device))
    }

    fn start_allocator(&mut self, name: &str) -> Result<(), VulkanError> {
        let wanted = AllocatorCreateDesc {
            instance: self.instance.handle().clone(),
            device: self.handle.clone(),
            physical_device: self.adapter.handle,
            debug_settings: gpu_allocator::AllocatorDebugSettings::default(),
            buffer_device_address: false,
            allocation_sizes: gpu_allocator::AllocationSizes::default(),
        };
        let object = || format!("allocator of {name}");
        let made =
            Allocator::new(&wanted).map_err(|source| VulkanError::Memory { object: object(), bytes: 0, source })?;
        *self.allocator.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(made);
        Ok(())
    }

    /// Starts the pipeline cache from the file of this device and driver.
    fn load_pipelines(&mut self) -> Result<(), VulkanError> {
        let info = self.adapter.info();
        let file = format!("pipelines-{}-{}-{:x}.bin", info.uuid, info.cache_uuid, info.driver_version);
        let path = cache_folder().map(|folder| folder.join(file));
        let data = path.as_deref().map(cache::read).unwrap_or_default();
        self.warm = !data.is_empty();
        let create = vk::PipelineCacheCreateInfo::default().initial_data(&data);
        // SAFETY: drivers check the data's header and ignore what is not theirs.
        let made = unsafe { self.handle.create_pipeline_cache(&create, None) };
        self.pipelines = made.context("vkCreatePipelineCache", "pipelines")?;
        self.pipelines_path = path;
        self.name(self.pipelines, "pipelines");
        Ok(())
    }

    /// Keeps the compiled pipelines for the next run. Also done when the device is dropped.
    pub fn save_pipelines(&self) {
        let Some(path) = &self.pipelines_path else { return };
        // SAFETY: the cache is alive; reading it needs no external synchronization.
        if let Ok(data) = unsafe { self.handle.get_pipeline_cache_data(self.pipelines) } {
            cache::write(path, &data);
        }
    }

    /// What the device is and can.
    pub fn info(&self) -> &AdapterInfo {
        self.adapter.info()
    }

    /// The instance.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Bytes that buffers take now.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Bytes that buffers may take together: the budget, and no more than the device's own memory.
    pub(crate) fn memory_limit(&self) -> u64 {
        let local = self.info().memory.iter().filter(|heap| heap.local).map(|heap| heap.bytes).max();
        self.budget.min(local.unwrap_or(0))
    }

    /// Whether compiled pipelines of an earlier run were found when the device was opened.
    pub fn starts_warm(&self) -> bool {
        self.warm
    }

    /// Lets the next call of the fault's kind fail as if the driver had: how tests lose a device.
    pub fn fail_next(&self, fault: Fault) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
    }

    /// Whether this fault was asked for; it happens once.
    pub(super) fn fails(&self, fault: Fault) -> bool {
        let mut asked = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        asked.take_if(|asked| *asked == fault).is_some()
    }

    /// Bits of a timestamp that count; 0 without timestamps.
    pub(super) fn timestamp_bits(&self) -> u32 {
        self.timestamp_bits
    }

    /// The pipeline cache.
    pub(super) fn pipelines(&self) -> vk::PipelineCache {
        self.pipelines
    }

    /// The device's functions.
    pub(crate) fn handle(&self) -> &ash::Device {
        &self.handle
    }

    /// The physical device.
    pub fn physical(&self) -> vk::PhysicalDevice {
        self.adapter.handle
    }

    /// The family of [`Self::queue`].
    pub(crate) fn family(&self) -> u32 {
        self.family
    }

    /// The one queue, locked: hold it for a submission or a presentation, no longer.
    pub(crate) fn queue(&self) -> MutexGuard<'_, vk::Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names an object for validation messages and captures.
    pub(crate) fn name<H: vk::Handle>(&self, handle: H, name: &str) {
        let Some(naming) = &self.naming else { return };
        let Ok(name) = CString::new(name) else { return };
        let info = vk::DebugUtilsObjectNameInfoEXT::default().object_handle(handle).object_name(&name);
        // SAFETY: the object is alive and used by one thread while it is being made. A name is never worth an error.
        unsafe { naming.set_debug_utils_object_name(&info) }.unwrap_or_default();
    }

    pub(super) fn allocate(&self, wanted: &AllocationCreateDesc<'_>) -> Result<Allocation, VulkanError> {
        let (object, bytes, budget) = (wanted.name.to_owned(), wanted.requirements.size, self.budget);
        let held = self.held.fetch_add(bytes, Ordering::Relaxed);
        let refuse = |error| {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
            Err(error)
        };
        if held.saturating_add(bytes) > budget {
            return refuse(VulkanError::Budget { object, bytes, held, budget });
        }
        if self.fails(Fault::OutOfMemory) {
            return refuse(VulkanError::Memory { object, bytes, source: AllocationError::OutOfMemory });
        }
        let mut allocator = self.allocator.lock().unwrap_or_else(PoisonError::into_inner);
        let allocator = allocator.as_mut().expect("lives until the device is dropped");
        allocator.allocate(wanted).or_else(|source| refuse(VulkanError::Memory { object, bytes, source }))
    }

    pub(super) fn free(&self, allocation: Allocation) {
        self.held.fetch_sub(allocation.size(), Ordering::Relaxed);
        let mut allocator = self.allocator.lock().unwrap_or_else(PoisonError::into_inner);
        let allocator = allocator.as_mut().expect("lives until the device is dropped");
        allocator.free(allocation).expect("the allocation is this allocator's");
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the device is alive; a lost one answers at once.
        unsafe { self.handle.device_wait_idle() }.unwrap_or_default();
        self.save_pipelines();
        // SAFETY: made by this device, destroyed once.
        unsafe { self.handle.destroy_pipeline_cache(self.pipelines, None) };
        drop(self.allocator.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        // SAFETY: buffers, pipelines and recorders hold the device by `Arc`, so none is left.
        unsafe { self.handle.destroy_device(None) };
    }
}

/// A queue family for kernels; one that can also draw is preferred, so that a window may share it.
fn compute_family(adapter: &Adapter) -> Result<(u32, u32), VulkanError> {
    let vulkan = adapter.instance.handle();
    // SAFETY: the handle was enumerated from this instance.
    let families = unsafe { vulkan.get_physical_device_queue_family_properties(adapter.handle) };
    let compute = families.iter().enumerate().filter(|(_, f)| f.queue_flags.contains(vk::QueueFlags::COMPUTE));
    let best = compute.min_by_key(|(i, f)| (!f.queue_flags.contains(vk::QueueFlags::GRAPHICS), *i));
    let lacks = || VulkanError::Unfit { device: adapter.info().name.clone(), lacks: "a compute queue".to_owned() };
    best.map(|(index, family)| (index as u32, family.timestamp_valid_bits)).ok_or_else(lacks)
}

/// Makes the logical device with every feature of [`super::Features`] that it has.
fn create(adapter: &Adapter, family: u32, options: &DeviceOptions) -> Result<ash::Device, VulkanError> {
    let info = adapter.info();
    let lacks = |lacks: String| VulkanError::Unfit { device: info.name.clone(), lacks };
    if adapter.api < vk::API_VERSION_1_1 {
        return Err(lacks(format!("Vulkan 1.1 (it has {})", info.api)));
    }
    let mut extensions: Vec<*const c_char> = Vec::new();
    let optional: [&CStr; 3] = [khr::portability_subset::NAME, khr::cooperative_matrix::NAME, bfloat16::NAME];
    extensions.extend(optional.into_iter().filter(|name| adapter.offers(name)).map(CStr::as_ptr));
    for extension in &options.extensions {
        if !adapter.offers(extension) {
            return Err(lacks(format!("the extension {}", extension.to_string_lossy())));
        }
        extensions.push(extension.as_ptr());
    }
    let found = info.features;
    let offered = adapter.query_features();
    let core = vk::PhysicalDeviceFeatures::default().shader_int16(found.int16).shader_int64(found.int64);
    let mut v11 = vk::PhysicalDeviceVulkan11Features::default().storage_buffer16_bit_access(found.storage16);
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default()
        .timeline_semaphore(found.timeline)
        .shader_float16(found.float16)
        .shader_int8(found.int8)
        .storage_buffer8_bit_access(found.storage8)
        .buffer_device_address(found.addresses)
        .scalar_block_layout(found.scalar_layout)
        .vulkan_memory_model(found.memory_model)
        .vulkan_memory_model_device_scope(offered.v12.vulkan_memory_model_device_scope == vk::TRUE)
        .shader_subgroup_extended_types(found.subgroup_extended);
    let mut v13 = vk::PhysicalDeviceVulkan13Features::default()
        .subgroup_size_control(found.subgroup_size_control)
        .compute_full_subgroups(found.full_subgroups)
        .shader_integer_dot_product(found.integer_dot)
        .synchronization2(offered.v13.synchronization2 == vk::TRUE)
        .maintenance4(offered.v13.maintenance4 == vk::TRUE);
    let mut cooperative =
        vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default().cooperative_matrix(found.cooperative_matrix);
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&priorities)];
    let mut wanted = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .enabled_features(&core);
    if adapter.api >= vk::API_VERSION_1_2 {
        wanted = wanted.push_next(&mut v11).push_next(&mut v12);
    }
    if adapter.api >= vk::API_VERSION_1_3 {
        wanted = wanted.push_next(&mut v13);
    }
    if found.cooperative_matrix {
        wanted = wanted.push_next(&mut cooperative);
    }
    let mut bfloat16 = bfloat16::Features::wanted();
    if found.bfloat16_matrix {
        wanted = wanted.push_next(&mut bfloat16);
    }
    // SAFETY: all pointers in `wanted` outlive the call; every feature and extension was found on the device.
    let made = unsafe { adapter.instance.handle().create_device(adapter.handle, &wanted, None) };
    made.context("vkCreateDevice", &info.name)
}
