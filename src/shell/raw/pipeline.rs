//! How egui's meshes are drawn: with a texture, in plain colour, or hiding what was there; blended as they are.
//!
//! Textures, colours and framebuffer hold the same gamma-encoded values, so that a pixel is a product and a blend and
//! nothing is converted on the way: exact for the picture of a tensor, and fast on a software driver, which would else
//! raise every pixel to two powers.

use super::call;
use super::runs::Kind;
use crate::engine::vulkan::raw::Device;
use crate::shell::ShellError;
use ash::vk;
use std::sync::Arc;

/// The shaders; a test compiles them anew from the files beside them.
const SHADERS: [&[u8]; 3] = [
    include_bytes!("shaders/window.vert.spv"),
    include_bytes!("shaders/window.frag.spv"),
    include_bytes!("shaders/solid.frag.spv"),
];

/// The pipelines with their layout; destroyed with the value.
pub(super) struct Pipeline {
    device: Arc<Device>,
    /// One sampled texture.
    pub(super) set_layout: vk::DescriptorSetLayout,
    pub(super) layout: vk::PipelineLayout,
    /// In the order of [`Kind`].
    handles: [vk::Pipeline; 3],
}

impl Pipeline {
    /// A pipeline for a pass of one colour attachment.
    pub(super) fn new(device: &Arc<Device>, pass: vk::RenderPass) -> Result<Self, ShellError> {
        let vulkan = device.handle();
        let bindings = [vk::DescriptorSetLayoutBinding::default()
            .descriptor_type(vk::DescriptorType::COMBINED_IMAGE_SAMPLER)
            .descriptor_count(1)
            .stage_flags(vk::ShaderStageFlags::FRAGMENT)];
        let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: the array outlives the call.
        let made = unsafe { vulkan.create_descriptor_set_layout(&create, None) };
        let set_layout = call(made, "vkCreateDescriptorSetLayout")?;
        // From here on `drop` cleans up.
        let mut pipeline = Self {
            device: Arc::clone(device),
            set_layout,
            layout: vk::PipelineLayout::null(),
            handles: [vk::Pipeline::null(); 3],
        };
        let sets = [set_layout];
        let ranges = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::VERTEX).size(8)];
        let create = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&ranges);
        // SAFETY: the arrays outlive the call.
        let made = unsafe { vulkan.create_pipeline_layout(&create, None) };
        pipeline.layout = call(made, "vkCreatePipelineLayout")?;
        let modules = [module(device, SHADERS[0])?, module(device, SHADERS[1])?, module(device, SHADERS[2])?];
        let mut outcome = Ok(());
        for kind in [Kind::Textured, Kind::Solid, Kind::Opaque] {
            let shaders = [modules[0], modules[if kind == Kind::Textured { 1 } else { 2 }]];
            match graphics(device, pipeline.layout, pass, (shaders, kind != Kind::Opaque)) {
                Ok(made) => pipeline.handles[kind as usize] = made,
                Err(error) => outcome = Err(error),
            }
        }
        for module in modules {
            // SAFETY: pipelines keep what they need of a module.
            unsafe { vulkan.destroy_shader_module(module, None) };
        }
        outcome.map(|()| pipeline)
    }

    /// The pipeline of a kind of triangles.
    pub(super) fn of(&self, kind: Kind) -> vk::Pipeline {
        self.handles[kind as usize]
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        let vulkan = self.device.handle();
        for handle in self.handles {
            // SAFETY: the painter has waited for the device; null is ignored.
            unsafe { vulkan.destroy_pipeline(handle, None) };
        }
        // SAFETY: as above.
        unsafe { vulkan.destroy_pipeline_layout(self.layout, None) };
        // SAFETY: as above, and no set of it is used any more.
        unsafe { vulkan.destroy_descriptor_set_layout(self.set_layout, None) };
    }
}

fn module(device: &Device, spirv: &[u8]) -> Result<vk::ShaderModule, ShellError> {
    let words: Vec<u32> = spirv.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
    let create = vk::ShaderModuleCreateInfo::default().code(&words);
    // SAFETY: the words are a whole module, compiled from the source beside it.
    call(unsafe { device.handle().create_shader_module(&create, None) }, "vkCreateShaderModule")
}

/// Egui's vertex: position, texture coordinates, colour; alpha is premultiplied.
fn graphics(
    device: &Device,
    layout: vk::PipelineLayout,
    pass: vk::RenderPass,
    ([vertex, fragment], blended): ([vk::ShaderModule; 2], bool),
) -> Result<vk::Pipeline, ShellError> {
    let stage = |stage, module| vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module).name(c"main");
    let stages = [stage(vk::ShaderStageFlags::VERTEX, vertex), stage(vk::ShaderStageFlags::FRAGMENT, fragment)];
    let bindings = [vk::VertexInputBindingDescription::default().stride(size_of::<egui::epaint::Vertex>() as u32)];
    let attribute =
        |location, format, offset| vk::VertexInputAttributeDescription { location, binding: 0, format, offset };
    let attributes = [
        attribute(0, vk::Format::R32G32_SFLOAT, 0),
        attribute(1, vk::Format::R32G32_SFLOAT, 8),
        attribute(2, vk::Format::R8G8B8A8_UNORM, 16),
    ];
    let vertices = vk::PipelineVertexInputStateCreateInfo::default()
        .vertex_binding_descriptions(&bindings)
        .vertex_attribute_descriptions(&attributes);
    let triangles = vk::PipelineInputAssemblyStateCreateInfo::default().topology(vk::PrimitiveTopology::TRIANGLE_LIST);
    let viewport = vk::PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1);
    let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
    let samples = vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(vk::SampleCountFlags::TYPE_1);
    let blends = [vk::PipelineColorBlendAttachmentState::default()
        .blend_enable(blended)
        .src_color_blend_factor(vk::BlendFactor::ONE)
        .dst_color_blend_factor(vk::BlendFactor::ONE_MINUS_SRC_ALPHA)
        .src_alpha_blend_factor(vk::BlendFactor::ONE)
        .dst_alpha_blend_factor(vk::BlendFactor::ONE_MINUS_SRC_ALPHA)
        .color_write_mask(vk::ColorComponentFlags::RGBA)];
    let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
    let moving = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR];
    let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&moving);
    let create = [vk::GraphicsPipelineCreateInfo::default()
        .stages(&stages)
        .vertex_input_state(&vertices)
        .input_assembly_state(&triangles)
        .viewport_state(&viewport)
        .rasterization_state(&raster)
        .multisample_state(&samples)
        .color_blend_state(&blend)
        .dynamic_state(&dynamic)
        .layout(layout)
        .render_pass(pass)];
    // SAFETY: every state outlives the call; modules, layout and pass are this device's.
    let made = unsafe { device.handle().create_graphics_pipelines(vk::PipelineCache::null(), &create, None) };
    call(made.map_err(|(_, result)| result), "vkCreateGraphicsPipelines").map(|pipelines| pipelines[0])
}
