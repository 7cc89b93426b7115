//! Egui's textures in device memory: the font atlas, sampled linearly and changed in parts, and pictures of tensors,
//! where a token is a square.

use super::image::Image;
use super::{COLOUR, call};
use crate::engine::vulkan::raw::{Buffer, Device, Place};
use crate::shell::ShellError;
use ash::vk;
use egui::epaint::{ImageData, ImageDelta};
use egui::{TextureFilter, TextureId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Textures at a time.
const MOST: u32 = 512;

struct Texture {
    set: vk::DescriptorSet,
    image: Image,
}

/// All textures of a painter.
pub(super) struct Textures {
    device: Arc<Device>,
    /// Linear and nearest.
    samplers: [vk::Sampler; 2],
    layout: vk::DescriptorSetLayout,
    sets: vk::DescriptorPool,
    held: BTreeMap<TextureId, Texture>,
}

/// What an upload is recorded and submitted with.
#[derive(Clone, Copy)]
pub(super) struct Commands {
    pub(super) pool: vk::CommandPool,
    pub(super) fence: vk::Fence,
}

impl Textures {
    pub(super) fn new(device: &Arc<Device>, layout: vk::DescriptorSetLayout) -> Result<Self, ShellError> {
        // From here on `drop` cleans up.
        let mut textures = Self {
            device: Arc::clone(device),
            samplers: [vk::Sampler::null(); 2],
            layout,
            sets: vk::DescriptorPool::null(),
            held: BTreeMap::new(),
        };
        for (sampler, filter) in textures.samplers.iter_mut().zip([vk::Filter::LINEAR, vk::Filter::NEAREST]) {
            let create = vk::SamplerCreateInfo::default()
                .mag_filter(filter)
                .min_filter(filter)
                .address_mode_u(vk::SamplerAddressMode::CLAMP_TO_EDGE)
                .address_mode_v(vk::SamplerAddressMode::CLAMP_TO_EDGE)
                .address_mode_w(vk::SamplerAddressMode::CLAMP_TO_EDGE);
            // SAFETY: the info is complete.
            *sampler = call(unsafe { device.handle().create_sampler(&create, None) }, "vkCreateSampler")?;
        }
        let sizes = [vk::DescriptorPoolSize { ty: vk::DescriptorType::COMBINED_IMAGE_SAMPLER, descriptor_count: MOST }];
        let create = vk::DescriptorPoolCreateInfo::default()
            .pool_sizes(&sizes)
            .max_sets(MOST)
            .flags(vk::DescriptorPoolCreateFlags::FREE_DESCRIPTOR_SET);
        // SAFETY: the array outlives the call.
        let made = unsafe { device.handle().create_descriptor_pool(&create, None) };
        textures.sets = call(made, "vkCreateDescriptorPool")?;
        Ok(textures)
    }

    /// Textures held.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// What a mesh with this texture binds.
    pub(super) fn set_of(&self, id: TextureId) -> Option<vk::DescriptorSet> {
        self.held.get(&id).map(|texture| texture.set)
    }

    /// Makes a texture, replaces it, or changes a part of it. No frame is in flight.
    pub(super) fn change(&mut self, id: TextureId, delta: &ImageDelta, commands: Commands) -> Result<(), ShellError> {
        let ImageData::Color(pixels) = &delta.image;
        let [width, height] = pixels.size.map(|side| side as u32);
        let extent = vk::Extent2D { width, height };
        let bytes: &[u8] = bytemuck::cast_slice(&pixels.pixels);
        let mut buffer = Buffer::new(&self.device, "texture upload", bytes.len() as u64, Place::Upload)?;
        buffer.mapped_mut()[..bytes.len()].copy_from_slice(bytes);
        if let (Some([x, y]), Some(texture)) = (delta.pos, self.held.get(&id)) {
            let at = vk::Offset2D { x: x as i32, y: y as i32 };
            let before = vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL;
            return self.upload(&texture.image, &buffer, (at, extent), before, commands);
        }
        self.free(id)?;
        let usage = vk::ImageUsageFlags::TRANSFER_DST | vk::ImageUsageFlags::SAMPLED;
        let image = Image::new(&self.device, "texture", vk::Format::R8G8B8A8_UNORM, extent, usage)?;
        let whole = (vk::Offset2D::default(), extent);
        self.upload(&image, &buffer, whole, vk::ImageLayout::UNDEFINED, commands)?;
        let nearest = delta.options.magnification == TextureFilter::Nearest;
        let set = self.describe(&image, self.samplers[usize::from(nearest)])?;
        self.held.insert(id, Texture { set, image });
        Ok(())
    }

    fn describe(&self, image: &Image, sampler: vk::Sampler) -> Result<vk::DescriptorSet, ShellError> {
        let vulkan = self.device.handle();
        let layouts = [self.layout];
        let wanted = vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.sets).set_layouts(&layouts);
        // SAFETY: the pool and the layout are alive.
        let set = call(unsafe { vulkan.allocate_descriptor_sets(&wanted) }, "vkAllocateDescriptorSets")?[0];
        let sampled = [vk::DescriptorImageInfo {
            sampler,
            image_view: image.view,
            image_layout: vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL,
        }];
        let write = [vk::WriteDescriptorSet::default()
            .dst_set(set)
            .descriptor_type(vk::DescriptorType::COMBINED_IMAGE_SAMPLER)
            .image_info(&sampled)];
        // SAFETY: the set is fresh; view and sampler live as long as it.
        unsafe { vulkan.update_descriptor_sets(&write, &[]) };
        Ok(set)
    }

    fn upload(
        &self,
        image: &Image,
        buffer: &Buffer,
        (at, extent): (vk::Offset2D, vk::Extent2D),
        before: vk::ImageLayout,
        Commands { pool, fence }: Commands,
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
            .old_layout(before)
            .new_layout(vk::ImageLayout::TRANSFER_DST_OPTIMAL)
            .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE)];
        let none = vk::DependencyFlags::empty();
        // SAFETY: the buffer records; no frame is in flight, so nothing reads the image.
        unsafe { vulkan.cmd_pipeline_barrier(commands[0], top, transfer, none, &[], &[], &first) };
        let layers = vk::ImageSubresourceLayers {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            mip_level: 0,
            base_array_layer: 0,
            layer_count: 1,
        };
        let region = [vk::BufferImageCopy::default()
            .image_subresource(layers)
            .image_offset(vk::Offset3D { x: at.x, y: at.y, z: 0 })
            .image_extent(extent.into())];
        let into = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
        // SAFETY: the buffer holds every texel of the extent, which lies inside the image.
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
        {
            let queue = self.device.queue();
            let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
            // SAFETY: the queue is locked; the fence is unsignalled.
            call(unsafe { vulkan.queue_submit(*queue, &submit, fence) }, "vkQueueSubmit")?;
        }
        // SAFETY: the fence was just submitted.
        call(unsafe { vulkan.wait_for_fences(&[fence], true, u64::MAX) }, "vkWaitForFences")?;
        // SAFETY: the fence is signalled.
        call(unsafe { vulkan.reset_fences(&[fence]) }, "vkResetFences")?;
        // SAFETY: the submission is done.
        unsafe { vulkan.free_command_buffers(pool, &commands) };
        Ok(())
    }

    /// Forgets a texture. No frame is in flight.
    pub(super) fn free(&mut self, id: TextureId) -> Result<(), ShellError> {
        let Some(texture) = self.held.remove(&id) else { return Ok(()) };
        // SAFETY: the set came from this pool, and no frame uses it.
        call(unsafe { self.device.handle().free_descriptor_sets(self.sets, &[texture.set]) }, "vkFreeDescriptorSets")
    }
}

impl Drop for Textures {
    fn drop(&mut self) {
        self.held.clear();
        let vulkan = self.device.handle();
        // SAFETY: the painter has waited for the device; null is ignored.
        unsafe { vulkan.destroy_descriptor_pool(self.sets, None) };
        for sampler in self.samplers {
            // SAFETY: as above.
            unsafe { vulkan.destroy_sampler(sampler, None) };
        }
    }
}
