//! An image to draw into and read back: the offscreen shell's screen.

use super::image::Image;
use super::painter::{Frame, Painter};
use super::{FORMAT, call};
use crate::engine::vulkan::raw::{Buffer, Device, Place};
use crate::shell::ShellError;
use crate::shell::plain::Area;
use ash::vk;
use egui::ClippedPrimitive;
use std::sync::Arc;

/// An image with a painter for it.
pub struct Target {
    painter: Painter,
    image: Image,
    framebuffer: vk::Framebuffer,
    extent: vk::Extent2D,
    pixels: Buffer,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").field("extent", &self.extent).finish_non_exhaustive()
    }
}

impl Target {
    /// An image of this many pixels.
    ///
    /// # Errors
    /// When the device refuses something.
    pub fn new(device: &Arc<Device>, width: u32, height: u32) -> Result<Self, ShellError> {
        let extent = vk::Extent2D { width, height };
        let painter = Painter::new(device, FORMAT, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?;
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
        let image = Image::new(device, "offscreen", FORMAT, extent, usage)?;
        let views = [image.view];
        let create = vk::FramebufferCreateInfo::default()
            .render_pass(painter.pass())
            .attachments(&views)
            .width(width)
            .height(height)
            .layers(1);
        // SAFETY: the view fits the pass.
        let framebuffer = call(unsafe { device.handle().create_framebuffer(&create, None) }, "vkCreateFramebuffer")?;
        let bytes = u64::from(width) * u64::from(height) * 4;
        let pixels = Buffer::new(device, "offscreen pixels", bytes, Place::Download)?;
        Ok(Self { painter, image, framebuffer, extent, pixels })
    }

    /// The painter, for textures.
    pub fn painter(&mut self) -> &mut Painter {
        &mut self.painter
    }

    /// The RGBA pixels of the last frame.
    pub fn pixels(&self) -> &[u8] {
        self.pixels.mapped()
    }

    /// Draws a frame.
    ///
    /// # Errors
    /// When the device fails.
    pub(in crate::shell) fn draw(
        &mut self,
        pixels_per_point: f32,
        areas: &[Area],
        primitives: Vec<ClippedPrimitive>,
    ) -> Result<(), ShellError> {
        let (from, to, extent) = (self.image.handle, self.pixels.handle(), self.extent);
        let copy = move |vulkan: &ash::Device, commands: vk::CommandBuffer| {
            let layers = vk::ImageSubresourceLayers {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                mip_level: 0,
                base_array_layer: 0,
                layer_count: 1,
            };
            let region = [vk::BufferImageCopy::default().image_subresource(layers).image_extent(extent.into())];
            let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
            // SAFETY: the pass left the image in this layout; the buffer holds every pixel.
            unsafe { vulkan.cmd_copy_image_to_buffer(commands, from, layout, to, &region) };
            let done = [vk::MemoryBarrier::default()
                .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
                .dst_access_mask(vk::AccessFlags::HOST_READ)];
            let (transfer, host) = (vk::PipelineStageFlags::TRANSFER, vk::PipelineStageFlags::HOST);
            // SAFETY: the buffer records.
            unsafe {
                vulkan.cmd_pipeline_barrier(commands, transfer, host, vk::DependencyFlags::empty(), &done, &[], &[]);
            }
        };
        let frame = Frame { framebuffer: self.framebuffer, extent, pixels_per_point, areas, primitives };
        let commands = [self.painter.record(frame, copy)?];
        self.painter.submit(vk::SubmitInfo::default().command_buffers(&commands))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // SAFETY: every draw was waited for.
        unsafe { self.painter.device().handle().destroy_framebuffer(self.framebuffer, None) };
    }
}
