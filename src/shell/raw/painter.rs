//! Draws egui's meshes into a framebuffer.

use super::call;
use super::gamma::Gamma;
use super::nearest::Nearest;
use crate::engine::vulkan::raw::Device;
use crate::shell::ShellError;
use crate::shell::plain::Area;
use ash::vk;
use egui::epaint::{ImageData, ImageDelta, Primitive};
use egui::{ClippedPrimitive, Color32, ColorImage, TextureId, TextureOptions, TexturesDelta};
use egui_ash_renderer::allocator::DefaultAllocator;
use egui_ash_renderer::{Options, RenderMode, Renderer};
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// What is drawn in one frame, and where.
pub(super) struct Frame<'a> {
    pub(super) framebuffer: vk::Framebuffer,
    pub(super) extent: vk::Extent2D,
    pub(super) pixels_per_point: f32,
    /// Under everything.
    pub(super) areas: &'a [Area],
    pub(super) primitives: Vec<ClippedPrimitive>,
}

/// A renderer with its pass, commands and fence.
pub struct Painter {
    device: Arc<Device>,
    renderer: ManuallyDrop<Renderer<DefaultAllocator>>,
    nearest: ManuallyDrop<Nearest>,
    gamma: Gamma,
    /// Whole images: a partial update of the renderer's would lose what it does not touch.
    images: BTreeMap<TextureId, (ColorImage, TextureOptions)>,
    pass: vk::RenderPass,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    fence: vk::Fence,
}

impl std::fmt::Debug for Painter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Painter").field("textures", &self.images.len()).finish_non_exhaustive()
    }
}

impl Painter {
    /// A painter for images of a format that end in a layout.
    ///
    /// # Errors
    /// When the device refuses something.
    pub fn new(device: &Arc<Device>, format: vk::Format, last: vk::ImageLayout) -> Result<Self, ShellError> {
        let pass = render_pass(device, format, last)?;
        let vulkan = device.handle();
        let create = vk::CommandPoolCreateInfo::default()
            .queue_family_index(device.family())
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        // SAFETY: the family is the one that the device was made with.
        let pool = call(unsafe { vulkan.create_command_pool(&create, None) }, "vkCreateCommandPool")?;
        let wanted = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        // SAFETY: the pool was just made.
        let commands = call(unsafe { vulkan.allocate_command_buffers(&wanted) }, "vkAllocateCommandBuffers")?[0];
        // SAFETY: no arguments that could be wrong.
        let fence = call(unsafe { vulkan.create_fence(&vk::FenceCreateInfo::default(), None) }, "vkCreateFence")?;
        let renderer = Renderer::with_default_allocator(
            device.instance().handle(),
            device.physical(),
            vulkan.clone(),
            RenderMode::RenderPass(pass),
            // The images drawn into are UNORM: what is left out is the way back from linear light, see `gamma`.
            Options { in_flight_frames: 1, srgb_framebuffer: true, ..Options::default() },
        )?;
        let nearest = Nearest::new(device)?;
        Ok(Self {
            device: Arc::clone(device),
            renderer: ManuallyDrop::new(renderer),
            nearest: ManuallyDrop::new(nearest),
            gamma: Gamma::new(),
            images: BTreeMap::new(),
            pass,
            pool,
            commands,
            fence,
        })
    }

    /// The device drawn on.
    pub(super) fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The pass that framebuffers must fit.
    pub(super) fn pass(&self) -> vk::RenderPass {
        self.pass
    }

    /// Takes new and changed textures. Before anything is acquired.
    ///
    /// # Errors
    /// When an upload fails.
    pub fn set_textures(&mut self, delta: &mut TexturesDelta) -> Result<(), ShellError> {
        let set: BTreeMap<TextureId, _> = std::mem::take(&mut delta.set).into_iter().collect();
        for (id, deltas) in set {
            for delta in deltas {
                self.set_texture(id, &delta)?;
            }
        }
        Ok(())
    }

    fn set_texture(&mut self, id: TextureId, delta: &ImageDelta) -> Result<(), ShellError> {
        let ImageData::Color(part) = &delta.image;
        match (delta.pos, self.images.get_mut(&id)) {
            (Some([x, y]), Some((whole, _))) => {
                let (width, stride) = (part.size[0], whole.size[0]);
                for row in 0..part.size[1] {
                    let to = (y + row) * stride + x;
                    whole.pixels[to..to + width].copy_from_slice(&part.pixels[row * width..][..width]);
                }
            }
            _ => drop(self.images.insert(id, (ColorImage::clone(part), delta.options))),
        }
        let (image, options) = &self.images[&id];
        if *options == TextureOptions::NEAREST {
            let queue = self.device.queue();
            return self.nearest.set(id, image, &mut self.renderer, (self.pool, *queue, self.fence));
        }
        let whole = ImageDelta::full(self.gamma.texels(image), *options);
        let queue = self.device.queue();
        self.renderer.set_texture(*queue, self.pool, id, &whole)?;
        Ok(())
    }

    /// Forgets textures. After the frame is done.
    ///
    /// # Errors
    /// When the renderer refuses.
    pub fn free_textures(&mut self, delta: &mut TexturesDelta) -> Result<(), ShellError> {
        let free: std::collections::BTreeSet<TextureId> = std::mem::take(&mut delta.free).into_iter().collect();
        for id in free {
            self.images.remove(&id);
            if !self.nearest.free(id, &mut self.renderer)? {
                self.renderer.free_texture(id)?;
            }
        }
        Ok(())
    }

    /// Records a frame; `after` may add commands behind the pass.
    pub(super) fn record(
        &mut self,
        frame: Frame<'_>,
        after: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<vk::CommandBuffer, ShellError> {
        let Frame { framebuffer, extent, pixels_per_point, areas, mut primitives } = frame;
        for clipped in &mut primitives {
            if let Primitive::Mesh(mesh) = &mut clipped.primitive {
                mesh.texture_id = self.nearest.drawn(mesh.texture_id);
                self.gamma.vertices(&mut mesh.vertices);
            }
        }
        let (vulkan, commands) = (self.device.handle().clone(), self.commands);
        let begin = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the last submission of this buffer was waited for.
        call(unsafe { vulkan.begin_command_buffer(commands, &begin) }, "vkBeginCommandBuffer")?;
        let clear = [clear_value(Color32::BLACK)];
        let area = vk::Rect2D { offset: vk::Offset2D::default(), extent };
        let pass = vk::RenderPassBeginInfo::default()
            .render_pass(self.pass)
            .framebuffer(framebuffer)
            .render_area(area)
            .clear_values(&clear);
        // SAFETY: the buffer records; the framebuffer was made for this pass and extent.
        unsafe { vulkan.cmd_begin_render_pass(commands, &pass, vk::SubpassContents::INLINE) };
        for area in areas {
            clear_area(&vulkan, commands, area, extent);
        }
        let drawn = self.renderer.cmd_draw(commands, extent, pixels_per_point, &primitives);
        // SAFETY: the pass was begun above.
        unsafe { vulkan.cmd_end_render_pass(commands) };
        after(&vulkan, commands);
        // SAFETY: the buffer records.
        call(unsafe { vulkan.end_command_buffer(commands) }, "vkEndCommandBuffer")?;
        drawn?;
        Ok(commands)
    }

    /// Submits recorded commands and waits for them.
    pub(super) fn submit(&self, submit: vk::SubmitInfo<'_>) -> Result<(), ShellError> {
        let vulkan = self.device.handle();
        {
            let queue = self.device.queue();
            // SAFETY: the queue is locked, the commands are complete, the fence is unsignalled.
            call(unsafe { vulkan.queue_submit(*queue, &[submit], self.fence) }, "vkQueueSubmit")?;
        }
        // SAFETY: the fence was just submitted.
        call(unsafe { vulkan.wait_for_fences(&[self.fence], true, u64::MAX) }, "vkWaitForFences")?;
        // SAFETY: the fence is signalled and not in use.
        call(unsafe { vulkan.reset_fences(&[self.fence]) }, "vkResetFences")
    }
}

impl Drop for Painter {
    fn drop(&mut self) {
        // SAFETY: waiting has no preconditions; a lost device answers at once.
        unsafe { self.device.handle().device_wait_idle() }.unwrap_or_default();
        // SAFETY: never used again; the device is idle.
        unsafe { ManuallyDrop::drop(&mut self.nearest) };
        // SAFETY: never used again; the device is idle.
        unsafe { ManuallyDrop::drop(&mut self.renderer) };
        let vulkan = self.device.handle();
        // SAFETY: the device is idle.
        unsafe { vulkan.destroy_fence(self.fence, None) };
        // SAFETY: the device is idle; this frees the command buffer.
        unsafe { vulkan.destroy_command_pool(self.pool, None) };
        // SAFETY: the pipelines made for it are gone.
        unsafe { vulkan.destroy_render_pass(self.pass, None) };
    }
}

fn clear_value(colour: Color32) -> vk::ClearValue {
    let float32 = colour.to_array().map(|byte| f32::from(byte) / 255.0);
    vk::ClearValue { color: vk::ClearColorValue { float32 } }
}

/// Clears an area, as far as it lies on the image.
fn clear_area(vulkan: &ash::Device, commands: vk::CommandBuffer, area: &Area, extent: vk::Extent2D) {
    let (from, to) = (area.pixels.min, area.pixels.max);
    let (x, y) = (from.x as u32, from.y as u32);
    let (width, height) = ((to.x as u32).min(extent.width), (to.y as u32).min(extent.height));
    let (Some(width), Some(height)) = (width.checked_sub(x), height.checked_sub(y)) else { return };
    if width == 0 || height == 0 {
        return;
    }
    let attachment =
        vk::ClearAttachment::default().aspect_mask(vk::ImageAspectFlags::COLOR).clear_value(clear_value(area.colour));
    let rect = vk::Rect2D { offset: vk::Offset2D { x: x as i32, y: y as i32 }, extent: vk::Extent2D { width, height } };
    let rects = [vk::ClearRect { rect, base_array_layer: 0, layer_count: 1 }];
    // SAFETY: a pass with one colour attachment of this extent is being recorded, and the area lies in it.
    unsafe { vulkan.cmd_clear_attachments(commands, &[attachment], &rects) };
}

/// One colour attachment, cleared, ending in a layout.
fn render_pass(device: &Device, format: vk::Format, last: vk::ImageLayout) -> Result<vk::RenderPass, ShellError> {
    let attachments = [vk::AttachmentDescription::default()
        .format(format)
        .samples(vk::SampleCountFlags::TYPE_1)
        .load_op(vk::AttachmentLoadOp::CLEAR)
        .store_op(vk::AttachmentStoreOp::STORE)
        .initial_layout(vk::ImageLayout::UNDEFINED)
        .final_layout(last)];
    let colour = [vk::AttachmentReference { attachment: 0, layout: vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL }];
    let subpasses = [vk::SubpassDescription::default()
        .pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS)
        .color_attachments(&colour)];
    let write = vk::AccessFlags::COLOR_ATTACHMENT_WRITE;
    let stage = vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT;
    let dependencies = [
        vk::SubpassDependency::default()
            .src_subpass(vk::SUBPASS_EXTERNAL)
            .dst_subpass(0)
            .src_stage_mask(stage)
            .dst_stage_mask(stage)
            .dst_access_mask(write),
        vk::SubpassDependency::default()
            .src_subpass(0)
            .dst_subpass(vk::SUBPASS_EXTERNAL)
            .src_stage_mask(stage)
            .src_access_mask(write)
            .dst_stage_mask(vk::PipelineStageFlags::TRANSFER | vk::PipelineStageFlags::BOTTOM_OF_PIPE)
            .dst_access_mask(vk::AccessFlags::TRANSFER_READ),
    ];
    let create =
        vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses).dependencies(&dependencies);
    // SAFETY: the arrays outlive the call.
    call(unsafe { device.handle().create_render_pass(&create, None) }, "vkCreateRenderPass")
}
