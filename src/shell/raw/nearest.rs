//! Textures that are sampled to the nearest texel: pictures of tensors, where a token is a square.
//!
//! The renderer samples its own textures linearly whatever they ask for, so these are made here and drawn as
//! the renderer's user textures, with texels as they are.

use super::image::Image;
use super::{COLOUR, FORMAT, call};
use crate::engine::vulkan::raw::{Buffer, Device, Place};
use crate::shell::ShellError;
use ash::vk;
use egui::{ColorImage, TextureId};
use egui_ash_renderer::Renderer;
use egui_ash_renderer::allocator::DefaultAllocator;
use egui_ash_renderer::vulkan::{create_vulkan_descriptor_set, create_vulkan_descriptor_set_layout};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Pictures at a time.
const MOST: u32 = 256;

struct Texture {
    drawn: TextureId,
    set: vk::DescriptorSet,
    _image: Image,
}

/// All nearest textures of a painter.
pub(super) struct Nearest {
    device: Arc<Device>,
    sampler: vk::Sampler,
    layout: vk::DescriptorSetLayout,
    sets: vk::DescriptorPool,
    textures: BTreeMap<TextureId, Texture>,
}

impl Nearest {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self, ShellError> {
        let create = vk::SamplerCreateInfo::default()
            .address_mode_u(vk::SamplerAddressMode::CLAMP_TO_EDGE)
            .address_mode_v(vk::SamplerAddressMode::CLAMP_TO_EDGE)
            .address_mode_w(vk::SamplerAddressMode::CLAMP_TO_EDGE);
        // SAFETY: the info is complete.
        let sampler = call(unsafe { device.handle().create_sampler(&create, None) }, "vkCreateSampler")?;
        let layout = create_vulkan_descriptor_set_layout(device.handle())?;
        let sizes = [vk::DescriptorPoolSize { ty: vk::DescriptorType::COMBINED_IMAGE_SAMPLER, descriptor_count: MOST }];
        let create = vk::DescriptorPoolCreateInfo::default()
            .pool_sizes(&sizes)
            .max_sets(MOST)
            .flags(vk::DescriptorPoolCreateFlags::FREE_DESCRIPTOR_SET);
        // SAFETY: the array outlives the call.
        let sets = call(unsafe { device.handle().create_descriptor_pool(&create, None) }, "vkCreateDescriptorPool")?;
        Ok(Self { device: Arc::clone(device), sampler, layout, sets, textures: BTreeMap::new() })
    }

    /// The texture that a mesh is really drawn with.
    pub(super) fn drawn(&self, id: TextureId) -> TextureId {
        self.textures.get(&id).map_or(id, |texture| texture.drawn)
    }

    /// Makes or replaces a texture. The pool's buffers and the fence are free to use.
    pub(super) fn set(
        &mut self,
        id: TextureId,
        pixels: &ColorImage,
        renderer: &mut Renderer<DefaultAllocator>,
        (pool, queue, fence): (vk::CommandPool, vk::Queue, vk::Fence),
    ) -> Result<(), ShellError> {
        self.free(id, renderer)?;
        let extent = vk::Extent2D { width: pixels.size[0] as u32, height: pixels.size[1] as u32 };
        let usage = vk::ImageUsageFlags::TRANSFER_DST | vk::ImageUsageFlags::SAMPLED;
        let image = Image::new(&self.device, "picture", FORMAT, extent, usage)?;
        let bytes: Vec<u8> = pixels.pixels.iter().flat_map(egui::Color32::to_array).collect();
        let mut buffer = Buffer::new(&self.device, "picture upload", bytes.len() as u64, Place::Upload)?;
        buffer.mapped_mut()[..bytes.len()].copy_from_slice(&bytes);
        self.upload(&image, &buffer, extent, (pool, queue, fence))?;
        let vulkan = self.device.handle();
        let set = create_vulkan_descriptor_set(vulkan, self.layout, self.sets, image.view, self.sampler)?;
        let drawn = renderer.add_user_texture(set);
        self.textures.insert(id, Texture { drawn, set, _image: image });
        Ok(())
    }

    fn upload(
        &self,
        image: &Image,
        buffer: &Buffer,
        extent: vk::Extent2D,
        (pool, queue, fence): (vk::CommandPool, vk::Queue, vk::Fence),
    ) -> Result<(), ShellError> {
        let vulkan = self.device.handle();
        let wanted = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        // SAFETY: the pool belongs to this device and thread.
        let commands = call(unsafe { vulkan.allocate_command_buffers(&wanted) }, "vkAllocateCommandBuffers")?;
        let begin = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the buffer is fresh.
        call(unsafe { vulkan.begin_command_buffer(commands[0], &begin) }, "vkBeginCommandBuffer")?;
        let (top, transfer, fragment) = (
            vk::PipelineStageFlags::TOP_OF_PIPE,
            vk::PipelineStageFlags::TRANSFER,
            vk::PipelineStageFlags::FRAGMENT_SHADER,
        );
        let barrier = vk::ImageMemoryBarrier::default()
            .image(image.handle)
            .subresource_range(COLOUR)
            .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED);
        let first = [barrier
            .new_layout(vk::ImageLayout::TRANSFER_DST_OPTIMAL)
            .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE)];
        let none = vk::DependencyFlags::empty();
        // SAFETY: the buffer records; the image is new, so nothing is lost.
        unsafe { vulkan.cmd_pipeline_barrier(commands[0], top, transfer, none, &[], &[], &first) };
        let layers = vk::ImageSubresourceLayers {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            mip_level: 0,
            base_array_layer: 0,
            layer_count: 1,
        };
        let region = [vk::BufferImageCopy::default().image_subresource(layers).image_extent(extent.into())];
        let into = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
        // SAFETY: the buffer holds every texel of the extent.
        unsafe { vulkan.cmd_copy_buffer_to_image(commands[0], buffer.handle(), image.handle, into, &region) };
        let last = [barrier
            .old_layout(vk::ImageLayout::TRANSFER_DST_OPTIMAL)
            .new_layout(vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL)
            .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
            .dst_access_mask(vk::AccessFlags::SHADER_READ)];
        // SAFETY: the buffer records.
        unsafe { vulkan.cmd_pipeline_barrier(commands[0], transfer, fragment, none, &[], &[], &last) };
        // SAFETY: the buffer records.
        call(unsafe { vulkan.end_command_buffer(commands[0]) }, "vkEndCommandBuffer")?;
        let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
        // SAFETY: the caller holds the queue's lock; the fence is unsignalled.
        call(unsafe { vulkan.queue_submit(queue, &submit, fence) }, "vkQueueSubmit")?;
        // SAFETY: the fence was just submitted.
        call(unsafe { vulkan.wait_for_fences(&[fence], true, u64::MAX) }, "vkWaitForFences")?;
        // SAFETY: the fence is signalled.
        call(unsafe { vulkan.reset_fences(&[fence]) }, "vkResetFences")?;
        // SAFETY: the submission is done.
        unsafe { vulkan.free_command_buffers(pool, &commands) };
        Ok(())
    }

    /// Forgets a texture; says whether it was one of these. No frame is in flight.
    pub(super) fn free(
        &mut self,
        id: TextureId,
        renderer: &mut Renderer<DefaultAllocator>,
    ) -> Result<bool, ShellError> {
        let Some(texture) = self.textures.remove(&id) else { return Ok(false) };
        renderer.remove_user_texture(texture.drawn);
        // SAFETY: the set came from this pool, and no frame uses it.
        call(unsafe { self.device.handle().free_descriptor_sets(self.sets, &[texture.set]) }, "vkFreeDescriptorSets")?;
        Ok(true)
    }
}

impl Drop for Nearest {
    fn drop(&mut self) {
        self.textures.clear();
        let vulkan = self.device.handle();
        // SAFETY: the painter has waited for the device.
        unsafe { vulkan.destroy_descriptor_pool(self.sets, None) };
        // SAFETY: as above.
        unsafe { vulkan.destroy_descriptor_set_layout(self.layout, None) };
        // SAFETY: as above.
        unsafe { vulkan.destroy_sampler(self.sampler, None) };
    }
}
