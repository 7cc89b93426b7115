//! A compute pipeline: one shader with its specialization, storage buffers in set 0 and push constants.

use super::device::Device;
use super::error::{Context as _, VulkanError};
use ash::vk;
use std::fmt;
use std::sync::Arc;

/// What a pipeline is made of.
#[derive(Clone, Copy, Debug)]
pub struct PipelineOptions<'a> {
    /// Its name.
    pub name: &'a str,
    /// SPIR-V with the entry point `main`.
    pub code: &'a [u32],
    /// Storage buffers at bindings `0 .. bindings` of set 0.
    pub bindings: u32,
    /// Bytes of push constants.
    pub push: u32,
    /// Values of the specialization constants 0, 1, ...
    pub constants: &'a [u32],
    /// The subgroup size that the shader was written for; needs `subgroup_size_control`.
    pub subgroup: Option<u32>,
}

/// A compute pipeline and its layout.
pub struct Pipeline {
    device: Arc<Device>,
    set: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    handle: vk::Pipeline,
    bindings: u32,
    name: String,
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pipeline \"{}\"", self.name)
    }
}

impl Pipeline {
    /// Compiles a pipeline through the device's cache.
    ///
    /// # Errors
    /// When the driver refuses it.
    pub fn new(device: &Arc<Device>, options: PipelineOptions<'_>) -> Result<Self, VulkanError> {
        let name = options.name;
        let mut pipeline = Self {
            device: Arc::clone(device),
            set: vk::DescriptorSetLayout::null(),
            layout: vk::PipelineLayout::null(),
            handle: vk::Pipeline::null(),
            bindings: options.bindings,
            name: name.to_owned(),
        };
        let bindings: Vec<_> = (0..options.bindings).map(storage).collect();
        let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: the create structure is complete.
        let set = unsafe { device.handle().create_descriptor_set_layout(&create, None) };
        pipeline.set = set.context("vkCreateDescriptorSetLayout", name)?;
        let sets = [pipeline.set];
        let stage = vk::ShaderStageFlags::COMPUTE;
        let ranges = [vk::PushConstantRange::default().stage_flags(stage).size(options.push)];
        let mut create = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        if options.push > 0 {
            create = create.push_constant_ranges(&ranges);
        }
        // SAFETY: the set layout was just made.
        let layout = unsafe { device.handle().create_pipeline_layout(&create, None) };
        pipeline.layout = layout.context("vkCreatePipelineLayout", name)?;
        pipeline.handle = compile(device, pipeline.layout, &options)?;
        device.name(pipeline.set, name);
        device.name(pipeline.layout, name);
        device.name(pipeline.handle, name);
        Ok(pipeline)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of storage buffers.
    pub(super) fn bindings(&self) -> u32 {
        self.bindings
    }

    pub(super) fn set(&self) -> vk::DescriptorSetLayout {
        self.set
    }

    pub(super) fn layout(&self) -> vk::PipelineLayout {
        self.layout
    }

    pub(super) fn handle(&self) -> vk::Pipeline {
        self.handle
    }
}

fn storage(binding: u32) -> vk::DescriptorSetLayoutBinding<'static> {
    vk::DescriptorSetLayoutBinding::default()
        .binding(binding)
        .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
        .descriptor_count(1)
        .stage_flags(vk::ShaderStageFlags::COMPUTE)
}

fn compile(
    device: &Device,
    layout: vk::PipelineLayout,
    options: &PipelineOptions<'_>,
) -> Result<vk::Pipeline, VulkanError> {
    let create = vk::ShaderModuleCreateInfo::default().code(options.code);
    // SAFETY: the code is whole SPIR-V words; the tests validate every module.
    let module = unsafe { device.handle().create_shader_module(&create, None) };
    let module = module.context("vkCreateShaderModule", options.name)?;
    device.name(module, options.name);
    let entries: Vec<_> = (0..options.constants.len() as u32)
        .map(|id| vk::SpecializationMapEntry::default().constant_id(id).offset(4 * id).size(4))
        .collect();
    let data: &[u8] = bytemuck::cast_slice(options.constants);
    let constants = vk::SpecializationInfo::default().map_entries(&entries).data(data);
    let mut size = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default();
    let mut stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module)
        .name(c"main")
        .specialization_info(&constants);
    if let Some(subgroup) = options.subgroup {
        size = size.required_subgroup_size(subgroup);
        stage = stage.push_next(&mut size);
        if device.info().features.full_subgroups {
            stage = stage.flags(vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS);
        }
    }
    let create = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
    // SAFETY: module and layout are alive, and the specialization data outlives the call.
    let made = unsafe { device.handle().create_compute_pipelines(device.pipelines(), &create, None) };
    // SAFETY: a pipeline does not need its module once it is made.
    unsafe { device.handle().destroy_shader_module(module, None) };
    let made = made.map_err(|(_, result)| result).context("vkCreateComputePipelines", options.name)?;
    Ok(made[0])
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: submissions hold their pipelines until they are done; null handles are ignored.
        unsafe { self.device.handle().destroy_pipeline(self.handle, None) };
        // SAFETY: as above.
        unsafe { self.device.handle().destroy_pipeline_layout(self.layout, None) };
        // SAFETY: as above.
        unsafe { self.device.handle().destroy_descriptor_set_layout(self.set, None) };
    }
}
