//! Draws egui's meshes into a framebuffer.

use super::call;
use super::pipeline::Pipeline;
use super::runs::{Kind, runs};
use super::textures::{Commands, Textures};
use crate::engine::vulkan::raw::{Buffer, Device, Place};
use crate::shell::ShellError;
use ash::vk;
use egui::epaint::{Primitive, Vertex};
use egui::{ClippedPrimitive, Rect, TextureId, TexturesDelta};
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A pipeline with its textures, meshes, commands and fence.
pub struct Painter {
    device: Arc<Device>,
    pipeline: ManuallyDrop<Pipeline>,
    textures: ManuallyDrop<Textures>,
    /// Vertices and indices of the frame in hand, grown when they do not fit.
    meshes: [Option<Buffer>; 2],
    pass: vk::RenderPass,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    fence: vk::Fence,
}

impl std::fmt::Debug for Painter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Painter").field("textures", &self.textures.len()).finish_non_exhaustive()
    }
}

/// One mesh of a frame, or a run of its triangles.
struct Draw {
    kind: Kind,
    scissor: vk::Rect2D,
    texture: TextureId,
    first_index: u32,
    indices: u32,
    first_vertex: i32,
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
        let pipeline = Pipeline::new(device, pass)?;
        let textures = Textures::new(device, pipeline.set_layout)?;
        Ok(Self {
            device: Arc::clone(device),
            pipeline: ManuallyDrop::new(pipeline),
            textures: ManuallyDrop::new(textures),
            meshes: [None, None],
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
        let commands = Commands { pool: self.pool, fence: self.fence };
        for (id, deltas) in set {
            for delta in deltas {
                self.textures.change(id, &delta, commands)?;
            }
        }
        Ok(())
    }

    /// Forgets textures. After the frame is done.
    ///
    /// # Errors
    /// When the device refuses.
    pub fn free_textures(&mut self, delta: &mut TexturesDelta) -> Result<(), ShellError> {
        std::mem::take(&mut delta.free).into_iter().try_for_each(|id| self.textures.free(id))
    }

    /// Records a frame; `after` may add commands behind the pass.
    pub(super) fn record(
        &mut self,
        framebuffer: vk::Framebuffer,
        extent: vk::Extent2D,
        pixels_per_point: f32,
        primitives: &[ClippedPrimitive],
        after: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<vk::CommandBuffer, ShellError> {
        let draws = self.upload(extent, pixels_per_point, primitives)?;
        let (vulkan, commands) = (self.device.handle().clone(), self.commands);
        let begin = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the last submission of this buffer was waited for.
        call(unsafe { vulkan.begin_command_buffer(commands, &begin) }, "vkBeginCommandBuffer")?;
        let clear = [vk::ClearValue { color: vk::ClearColorValue { float32: [0.0, 0.0, 0.0, 1.0] } }];
        let area = vk::Rect2D { offset: vk::Offset2D::default(), extent };
        let pass = vk::RenderPassBeginInfo::default()
            .render_pass(self.pass)
            .framebuffer(framebuffer)
            .render_area(area)
            .clear_values(&clear);
        // SAFETY: the buffer records; the framebuffer was made for this pass and extent.
        unsafe { vulkan.cmd_begin_render_pass(commands, &pass, vk::SubpassContents::INLINE) };
        self.draw(&vulkan, extent, pixels_per_point, &draws);
        // SAFETY: the pass was begun above.
        unsafe { vulkan.cmd_end_render_pass(commands) };
        after(&vulkan, commands);
        // SAFETY: the buffer records.
        call(unsafe { vulkan.end_command_buffer(commands) }, "vkEndCommandBuffer")?;
        Ok(commands)
    }

    /// Puts all meshes into one buffer of vertices and one of indices.
    fn upload(
        &mut self,
        extent: vk::Extent2D,
        pixels_per_point: f32,
        primitives: &[ClippedPrimitive],
    ) -> Result<Vec<Draw>, ShellError> {
        let meshes = || {
            primitives.iter().filter_map(|clipped| match &clipped.primitive {
                Primitive::Mesh(mesh) if !mesh.indices.is_empty() => Some((clipped.clip_rect, mesh)),
                Primitive::Mesh(_) | Primitive::Callback(_) => None,
            })
        };
        let (vertices, indices) =
            meshes().fold((0, 0), |(v, i), (_, mesh)| (v + mesh.vertices.len(), i + mesh.indices.len()));
        let wanted = [(vertices * size_of::<Vertex>()) as u64, (indices * size_of::<u32>()) as u64];
        for ((held, wanted), name) in self.meshes.iter_mut().zip(wanted).zip(["vertices", "indices"]) {
            if held.as_ref().is_none_or(|held| held.bytes() < wanted) {
                *held = Some(Buffer::new(&self.device, name, wanted.next_power_of_two().max(1 << 16), Place::Draw)?);
            }
        }
        let [Some(vertices), Some(indices)] = &mut self.meshes else { return Ok(Vec::new()) };
        let (vertices, indices) = (vertices.mapped_mut(), indices.mapped_mut());
        let (mut draws, mut vertex, mut index) = (Vec::new(), 0, 0);
        for (clip, mesh) in meshes() {
            let from: &[u8] = bytemuck::cast_slice(&mesh.vertices);
            vertices[vertex * size_of::<Vertex>()..][..from.len()].copy_from_slice(from);
            let from: &[u8] = bytemuck::cast_slice(&mesh.indices);
            indices[index * size_of::<u32>()..][..from.len()].copy_from_slice(from);
            if let Some(scissor) = scissor(clip, pixels_per_point, extent) {
                draws.extend(runs(mesh).into_iter().map(|run| Draw {
                    kind: run.kind,
                    scissor,
                    texture: mesh.texture_id,
                    first_index: (index + run.first) as u32,
                    indices: run.count as u32,
                    first_vertex: vertex as i32,
                }));
            }
            (vertex, index) = (vertex + mesh.vertices.len(), index + mesh.indices.len());
        }
        Ok(draws)
    }

    fn draw(&self, vulkan: &ash::Device, extent: vk::Extent2D, pixels_per_point: f32, draws: &[Draw]) {
        let [Some(vertices), Some(indices)] = &self.meshes else { return };
        let (commands, layout) = (self.commands, self.pipeline.layout);
        let (width, height) = (extent.width as f32, extent.height as f32);
        let viewport = [vk::Viewport { width, height, max_depth: 1.0, ..vk::Viewport::default() }];
        let scale = [2.0 * pixels_per_point / width, 2.0 * pixels_per_point / height];
        // SAFETY: a dynamic state of every pipeline.
        unsafe { vulkan.cmd_set_viewport(commands, 0, &viewport) };
        let stage = vk::ShaderStageFlags::VERTEX;
        // SAFETY: the layout has eight bytes for this stage.
        unsafe { vulkan.cmd_push_constants(commands, layout, stage, 0, bytemuck::bytes_of(&scale)) };
        // SAFETY: the buffer holds vertices of the pipeline's format.
        unsafe { vulkan.cmd_bind_vertex_buffers(commands, 0, &[vertices.handle()], &[0]) };
        // SAFETY: the buffer holds indices of this type.
        unsafe { vulkan.cmd_bind_index_buffer(commands, indices.handle(), 0, vk::IndexType::UINT32) };
        let point = vk::PipelineBindPoint::GRAPHICS;
        let (mut bound, mut kind) = (None, None);
        for draw in draws {
            let Some(set) = self.textures.set_of(draw.texture) else { continue };
            if kind != Some(draw.kind) {
                // SAFETY: inside the pass that the pipeline was made for.
                unsafe { vulkan.cmd_bind_pipeline(commands, point, self.pipeline.of(draw.kind)) };
                kind = Some(draw.kind);
            }
            if bound != Some(set) {
                // SAFETY: the set has the pipeline's layout and lives until the frame is done.
                unsafe { vulkan.cmd_bind_descriptor_sets(commands, point, layout, 0, &[set], &[]) };
                bound = Some(set);
            }
            // SAFETY: the rectangle lies inside the framebuffer.
            unsafe { vulkan.cmd_set_scissor(commands, 0, &[draw.scissor]) };
            // SAFETY: indices and vertices of this mesh lie in the bound buffers.
            unsafe { vulkan.cmd_draw_indexed(commands, draw.indices, 1, draw.first_index, draw.first_vertex, 0) };
        }
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
        unsafe { ManuallyDrop::drop(&mut self.textures) };
        // SAFETY: never used again; the device is idle.
        unsafe { ManuallyDrop::drop(&mut self.pipeline) };
        let vulkan = self.device.handle();
        // SAFETY: the device is idle.
        unsafe { vulkan.destroy_fence(self.fence, None) };
        // SAFETY: the device is idle; this frees the command buffer.
        unsafe { vulkan.destroy_command_pool(self.pool, None) };
        // SAFETY: the pipelines made for it are gone.
        unsafe { vulkan.destroy_render_pass(self.pass, None) };
    }
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

/// The pixels that a clip rectangle leaves, if any.
fn scissor(clip: Rect, pixels_per_point: f32, extent: vk::Extent2D) -> Option<vk::Rect2D> {
    let pixel = |at: f32, most: u32| (at * pixels_per_point).round().clamp(0.0, most as f32) as u32;
    let (left, right) = (pixel(clip.left(), extent.width), pixel(clip.right(), extent.width));
    let (top, bottom) = (pixel(clip.top(), extent.height), pixel(clip.bottom(), extent.height));
    let extent = vk::Extent2D { width: right.checked_sub(left)?, height: bottom.checked_sub(top)? };
    let offset = vk::Offset2D { x: left as i32, y: top as i32 };
    (extent.width > 0 && extent.height > 0).then_some(vk::Rect2D { offset, extent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scissor_stays_inside_the_framebuffer() {
        let extent = vk::Extent2D { width: 100, height: 50 };
        let of = |x: (f32, f32), y: (f32, f32)| {
            let clip = Rect::from_min_max(egui::pos2(x.0, y.0), egui::pos2(x.1, y.1));
            scissor(clip, 2.0, extent).map(|r| (r.offset.x, r.offset.y, r.extent.width, r.extent.height))
        };
        assert_eq!(of((-5.0, 1000.0), (0.0, 10.2)), Some((0, 0, 100, 20)), "cut off at the edges, rounded");
        assert_eq!(of((60.0, 70.0), (0.0, 10.0)), None, "outside");
        assert_eq!(of((30.0, 20.0), (0.0, 10.0)), None, "inside out");
        assert_eq!(of((f32::NEG_INFINITY, f32::INFINITY), (0.0, 5.0)), Some((0, 0, 100, 10)), "endless");
    }
}
