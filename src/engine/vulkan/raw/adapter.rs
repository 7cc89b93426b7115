//! A physical device: what it is, what it can, how it is chosen.

use super::bfloat16;
use super::error::{Context as _, VulkanError};
use super::instance::{Instance, names};
use ash::{amd, khr, nv, vk};
use serde::Serialize;
use std::ffi::CStr;
use std::fmt;
use std::sync::Arc;

/// What is known about a device before it is opened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdapterInfo {
    /// Position in the driver's list: `vulkan:0`.
    pub index: usize,
    /// The device's name.
    pub name: String,
    /// `cpu`, `integrated`, `discrete`, `virtual` or `other`.
    pub kind: &'static str,
    /// PCI vendor.
    pub vendor: u32,
    /// PCI device.
    pub device: u32,
    /// Vulkan version that it speaks.
    pub api: String,
    /// The driver's name and its own version text, where the driver tells.
    pub driver: String,
    /// The driver's version number.
    pub driver_version: u32,
    /// Hexadecimal UUID of the device.
    pub uuid: String,
    /// Hexadecimal UUID under which pipeline caches are valid.
    pub cache_uuid: String,
    /// Sizes that bound what can run.
    pub limits: Limits,
    /// Subgroups.
    pub subgroups: Subgroups,
    /// Optional features, as found.
    pub features: Features,
    /// Cooperative matrix shapes with f16 or bfloat16 operands, where the device has them.
    pub cooperative: Vec<CooperativeMatrix>,
    /// Memory heaps.
    pub memory: Vec<Memory>,
}

/// Limits that bound kernels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Limits {
    /// Bytes of a buffer that a shader can see.
    pub storage_range: u64,
    /// Shared memory of a workgroup, in bytes.
    pub shared_memory: u32,
    /// Invocations of a workgroup.
    pub invocations: u32,
    /// Largest side of an image.
    pub image_side: u32,
    /// Workgroups of one dispatch along x.
    pub groups: u32,
    /// Bytes of push constants.
    pub push_constants: u32,
    /// Alignment of a buffer's part that is bound on its own.
    pub storage_alignment: u64,
    /// Nanoseconds of one timestamp unit; 0 without timestamps.
    pub timestamp_period: f32,
    /// Processors that work side by side (multiprocessors, compute units, cores): what the driver tells, or a guess.
    pub processors: u32,
}

/// Subgroups of the compute stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Subgroups {
    /// Invocations of a subgroup.
    pub size: u32,
    /// Bits of `VkSubgroupFeatureFlagBits`.
    pub operations: u32,
    /// Whether the compute stage has them.
    pub compute: bool,
}

impl Subgroups {
    /// Whether invocations of a compute shader can combine values over their subgroup and shuffle them in it.
    pub fn can_shuffle(&self) -> bool {
        let wanted = vk::SubgroupFeatureFlags::ARITHMETIC | vk::SubgroupFeatureFlags::SHUFFLE;
        self.compute && vk::SubgroupFeatureFlags::from_raw(self.operations).contains(wanted)
    }
}

/// Optional features; all that are found are enabled when a device is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "one flag for each feature of the API")]
pub struct Features {
    /// Timeline semaphores; fences are used without.
    pub timeline: bool,
    /// f16 arithmetic in shaders.
    pub float16: bool,
    /// 8-bit integers in shaders.
    pub int8: bool,
    /// 16-bit integers in shaders.
    pub int16: bool,
    /// 64-bit integers in shaders.
    pub int64: bool,
    /// 8-bit storage buffers.
    pub storage8: bool,
    /// 16-bit storage buffers.
    pub storage16: bool,
    /// Buffer device addresses.
    pub addresses: bool,
    /// Scalar block layout.
    pub scalar_layout: bool,
    /// The Vulkan memory model.
    pub memory_model: bool,
    /// Subgroup operations on 8- and 16-bit types.
    pub subgroup_extended: bool,
    /// Choosing the subgroup size.
    pub subgroup_size_control: bool,
    /// Full subgroups on demand.
    pub full_subgroups: bool,
    /// Integer dot products.
    pub integer_dot: bool,
    /// `VK_KHR_cooperative_matrix`.
    pub cooperative_matrix: bool,
    /// Cooperative matrices of bfloat16 (`VK_KHR_shader_bfloat16`).
    pub bfloat16_matrix: bool,
    /// f32 rounding toward zero can be asked for.
    pub round_to_zero_f32: bool,
    /// f32 rounding to nearest even can be asked for.
    pub round_to_even_f32: bool,
    /// f32 subnormals can be preserved.
    pub preserve_subnormals_f32: bool,
}

/// One shape of a cooperative matrix product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CooperativeMatrix {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Component type of A and B: `f16` or `bf16`.
    pub operands: &'static str,
    /// Component type of C and of the result: `f16` or `f32`.
    pub accumulator: &'static str,
}

/// One memory heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it is the device's own.
    pub local: bool,
}

/// A physical device of an instance.
#[derive(Clone)]
pub struct Adapter {
    pub(super) instance: Arc<Instance>,
    pub(super) handle: vk::PhysicalDevice,
    pub(super) extensions: Vec<vk::ExtensionProperties>,
    pub(super) api: u32,
    info: AdapterInfo,
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adapter").field("info", &self.info).finish_non_exhaustive()
    }
}

impl Adapter {
    pub(super) fn new(instance: &Arc<Instance>, index: usize, handle: vk::PhysicalDevice) -> Result<Self, VulkanError> {
        let vulkan = instance.handle();
        // SAFETY: the handle was enumerated from this instance.
        let api = unsafe { vulkan.get_physical_device_properties(handle) }.api_version;
        let object = format!("device {index}");
        // SAFETY: as above.
        let extensions = unsafe { vulkan.enumerate_device_extension_properties(handle) };
        let extensions = extensions.context("vkEnumerateDeviceExtensionProperties", &object)?;
        let mut adapter =
            Self { instance: Arc::clone(instance), handle, extensions, api, info: AdapterInfo::unknown(index) };
        adapter.describe();
        adapter.info.features = adapter.features();
        if adapter.info.features.cooperative_matrix {
            adapter.info.cooperative = adapter.cooperative()?;
        }
        Ok(adapter)
    }

    /// What the device is and can.
    pub fn info(&self) -> &AdapterInfo {
        &self.info
    }

    /// Takes less of a buffer for visible than the device allows.
    pub(super) fn limit_storage(&mut self, bytes: u64) {
        self.info.limits.storage_range = self.info.limits.storage_range.min(bytes);
    }

    /// Whether the device offers an extension.
    pub(crate) fn offers(&self, name: &CStr) -> bool {
        names(&self.extensions, name)
    }

    fn describe(&mut self) {
        let (mut ids, mut groups) =
            (vk::PhysicalDeviceIDProperties::default(), vk::PhysicalDeviceSubgroupProperties::default());
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut controls = vk::PhysicalDeviceFloatControlsProperties::default();
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut ids).push_next(&mut groups);
        if self.api >= vk::API_VERSION_1_2 {
            all = all.push_next(&mut driver).push_next(&mut controls);
        }
        // SAFETY: the chain holds structures that this device's version knows.
        unsafe { self.instance.handle().get_physical_device_properties2(self.handle, &mut all) };
        let properties = all.properties;
        // SAFETY: the handle was enumerated from this instance.
        let memory = unsafe { self.instance.handle().get_physical_device_memory_properties(self.handle) };
        let processors = self.processors();
        let info = &mut self.info;
        info.name = text(properties.device_name_as_c_str().ok());
        info.kind = kind(properties.device_type);
        (info.vendor, info.device) = (properties.vendor_id, properties.device_id);
        info.api = version(properties.api_version);
        let (name, about) = (text(driver.driver_name_as_c_str().ok()), text(driver.driver_info_as_c_str().ok()));
        info.driver = [name, about].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ");
        info.driver_version = properties.driver_version;
        info.uuid = hex(&ids.device_uuid);
        info.cache_uuid = hex(&properties.pipeline_cache_uuid);
        let limits = properties.limits;
        let processors = processors.unwrap_or_else(|| guess(info.kind));
        info.limits = Limits {
            processors,
            storage_range: u64::from(limits.max_storage_buffer_range),
            shared_memory: limits.max_compute_shared_memory_size,
            invocations: limits.max_compute_work_group_invocations,
            image_side: limits.max_image_dimension2_d,
            groups: limits.max_compute_work_group_count[0],
            push_constants: limits.max_push_constants_size,
            storage_alignment: limits.min_storage_buffer_offset_alignment,
            timestamp_period: if limits.timestamp_compute_and_graphics == vk::TRUE {
                limits.timestamp_period
            } else {
                0.0
            },
        };
        let compute = groups.supported_stages.contains(vk::ShaderStageFlags::COMPUTE);
        info.subgroups =
            Subgroups { size: groups.subgroup_size, operations: groups.supported_operations.as_raw(), compute };
        info.features.round_to_zero_f32 = controls.shader_rounding_mode_rtz_float32 == vk::TRUE;
        info.features.round_to_even_f32 = controls.shader_rounding_mode_rte_float32 == vk::TRUE;
        info.features.preserve_subnormals_f32 = controls.shader_denorm_preserve_float32 == vk::TRUE;
        let heaps = memory.memory_heaps_as_slice().iter();
        info.memory = heaps
            .map(|h| Memory { bytes: h.size, local: h.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL) })
            .collect();
    }

    /// Processors, where a vendor's extension tells.
    fn processors(&self) -> Option<u32> {
        let mut nvidia = vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV::default();
        let mut amd = vk::PhysicalDeviceShaderCorePropertiesAMD::default();
        let mut all = vk::PhysicalDeviceProperties2::default();
        if self.offers(nv::shader_sm_builtins::NAME) {
            all = all.push_next(&mut nvidia);
        }
        if self.offers(amd::shader_core_properties::NAME) {
            all = all.push_next(&mut amd);
        }
        // SAFETY: the chain holds structures of extensions that this device has.
        unsafe { self.instance.handle().get_physical_device_properties2(self.handle, &mut all) };
        let units = amd.shader_engine_count * amd.shader_arrays_per_engine_count * amd.compute_units_per_shader_array;
        [nvidia.shader_sm_count, units].into_iter().find(|&count| count > 0)
    }

    /// Optional features. Float controls were read with the properties.
    fn features(&self) -> Features {
        let chain = self.query_features();
        let yes = |flag: vk::Bool32| flag == vk::TRUE;
        let (core, v11, v12, v13) = (&chain.core, &chain.v11, &chain.v12, &chain.v13);
        Features {
            timeline: yes(v12.timeline_semaphore),
            float16: yes(v12.shader_float16),
            int8: yes(v12.shader_int8),
            int16: yes(core.shader_int16),
            int64: yes(core.shader_int64),
            storage8: yes(v12.storage_buffer8_bit_access),
            storage16: yes(v11.storage_buffer16_bit_access),
            addresses: yes(v12.buffer_device_address),
            scalar_layout: yes(v12.scalar_block_layout),
            memory_model: yes(v12.vulkan_memory_model),
            subgroup_extended: yes(v12.shader_subgroup_extended_types),
            subgroup_size_control: yes(v13.subgroup_size_control),
            full_subgroups: yes(v13.compute_full_subgroups),
            integer_dot: yes(v13.shader_integer_dot_product),
            cooperative_matrix: yes(chain.cooperative.cooperative_matrix),
            bfloat16_matrix: yes(chain.bfloat16.types) && yes(chain.bfloat16.cooperative_matrix),
            ..self.info.features
        }
    }

    /// Asks for the features that a device of this version knows.
    pub(super) fn query_features(&self) -> FeatureChain {
        let mut chain = FeatureChain::default();
        let mut all = vk::PhysicalDeviceFeatures2::default();
        if self.api >= vk::API_VERSION_1_2 {
            all = all.push_next(&mut chain.v11).push_next(&mut chain.v12);
        }
        if self.api >= vk::API_VERSION_1_3 {
            all = all.push_next(&mut chain.v13);
        }
        if self.offers(khr::cooperative_matrix::NAME) {
            all = all.push_next(&mut chain.cooperative);
        }
        if self.offers(bfloat16::NAME) {
            all = all.push_next(&mut chain.bfloat16);
        }
        // SAFETY: the chain holds structures that this device's version or extensions know.
        unsafe { self.instance.handle().get_physical_device_features2(self.handle, &mut all) };
        chain.core = all.features;
        chain.unlink();
        chain
    }

    fn cooperative(&self) -> Result<Vec<CooperativeMatrix>, VulkanError> {
        let loader = khr::cooperative_matrix::Instance::new(self.instance.entry(), self.instance.handle());
        // SAFETY: the device offers the extension.
        let shapes = unsafe { loader.get_physical_device_cooperative_matrix_properties(self.handle) };
        let shapes = shapes.context("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", &self.info.name)?;
        let (half, single) = (vk::ComponentTypeKHR::FLOAT16, vk::ComponentTypeKHR::FLOAT32);
        let known = |s: &vk::CooperativeMatrixPropertiesKHR<'_>| {
            [half, bfloat16::COMPONENT].contains(&s.a_type) && [half, single].contains(&s.c_type)
        };
        let fits = shapes.into_iter().filter(|s| {
            known(s) && s.a_type == s.b_type && s.c_type == s.result_type && s.scope == vk::ScopeKHR::SUBGROUP
        });
        let shape = |s: vk::CooperativeMatrixPropertiesKHR<'_>| CooperativeMatrix {
            m: s.m_size,
            n: s.n_size,
            k: s.k_size,
            operands: if s.a_type == half { "f16" } else { "bf16" },
            accumulator: if s.c_type == half { "f16" } else { "f32" },
        };
        Ok(fits.map(shape).collect())
    }
}

/// Feature structures of one device, without links between them.
#[derive(Default)]
pub(super) struct FeatureChain {
    pub(super) core: vk::PhysicalDeviceFeatures,
    pub(super) v11: vk::PhysicalDeviceVulkan11Features<'static>,
    pub(super) v12: vk::PhysicalDeviceVulkan12Features<'static>,
    pub(super) v13: vk::PhysicalDeviceVulkan13Features<'static>,
    pub(super) cooperative: vk::PhysicalDeviceCooperativeMatrixFeaturesKHR<'static>,
    pub(super) bfloat16: bfloat16::Features,
}

impl FeatureChain {
    /// Forgets the links, which point into the structure's former place.
    fn unlink(&mut self) {
        self.v11.p_next = std::ptr::null_mut();
        self.v12.p_next = std::ptr::null_mut();
        self.v13.p_next = std::ptr::null_mut();
        self.cooperative.p_next = std::ptr::null_mut();
        self.bfloat16.p_next = std::ptr::null_mut();
    }
}

impl AdapterInfo {
    fn unknown(index: usize) -> Self {
        Self {
            index,
            name: String::new(),
            kind: "other",
            vendor: 0,
            device: 0,
            api: String::new(),
            driver: String::new(),
            driver_version: 0,
            uuid: String::new(),
            cache_uuid: String::new(),
            limits: Limits {
                storage_range: 0,
                shared_memory: 0,
                invocations: 0,
                image_side: 0,
                groups: 0,
                push_constants: 0,
                storage_alignment: 0,
                timestamp_period: 0.0,
                processors: 1,
            },
            subgroups: Subgroups { size: 0, operations: 0, compute: false },
            features: Features::default(),
            cooperative: Vec::new(),
            memory: Vec::new(),
        }
    }

    /// Whether a person's words mean this device: its index, its UUID, or a part of its name in any case.
    pub fn matches(&self, wanted: &str) -> bool {
        match wanted.parse::<usize>() {
            Ok(index) => index == self.index,
            Err(_) => self.uuid == wanted || self.name.to_lowercase().contains(&wanted.to_lowercase()),
        }
    }

    /// Name, driver and version in one line.
    pub fn line(&self) -> String {
        format!("{} ({}, Vulkan {})", self.name, self.driver, self.api)
    }

    /// Sorting key of the default choice: discrete first, software last.
    fn rank(&self) -> usize {
        ["discrete", "integrated", "virtual", "other", "cpu"].iter().position(|k| *k == self.kind).unwrap_or(9)
    }
}

/// The device that a person means, or the best one.
pub(super) fn choose(adapters: Vec<Adapter>, wanted: Option<&str>) -> Result<Adapter, VulkanError> {
    let list: Vec<String> = adapters.iter().map(|a| format!("{}: {}", a.info.index, a.info.name)).collect();
    let found = if list.is_empty() { "no device at all".to_owned() } else { list.join(", ") };
    let fits = adapters.into_iter().filter(|a| wanted.is_none_or(|w| a.info.matches(w)));
    fits.min_by_key(|a| (a.info.rank(), a.info.index))
        .ok_or_else(|| VulkanError::NoDevice { wanted: wanted.unwrap_or("any").to_owned(), found })
}

/// A version for people.
pub(super) fn version(v: u32) -> String {
    format!("{}.{}.{}", vk::api_version_major(v), vk::api_version_minor(v), vk::api_version_patch(v))
}

fn text(bytes: Option<&CStr>) -> String {
    bytes.map_or_else(String::new, |s| s.to_string_lossy().into_owned())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").expect("strings take everything");
        out
    })
}

fn kind(kind: vk::PhysicalDeviceType) -> &'static str {
    match kind {
        vk::PhysicalDeviceType::CPU => "cpu",
        vk::PhysicalDeviceType::INTEGRATED_GPU => "integrated",
        vk::PhysicalDeviceType::DISCRETE_GPU => "discrete",
        vk::PhysicalDeviceType::VIRTUAL_GPU => "virtual",
        _ => "other",
    }
}

/// Processors of a device that does not tell: a processor's threads, a small or a middling graphics card's units.
fn guess(kind: &str) -> u32 {
    match kind {
        "cpu" => std::thread::available_parallelism().map_or(4, |threads| threads.get() as u32),
        "integrated" => 12,
        _ => 48,
    }
}
