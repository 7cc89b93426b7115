//! A window's swapchain: acquired, drawn into, presented, made again when the window changes.

use super::painter::{self, Painter};
use super::{COLOUR, call};
use crate::engine::vulkan::raw::Device;
use crate::shell::ShellError;
use crate::shell::plain::Area;
use ash::{khr, vk};
use egui::ClippedPrimitive;
use std::sync::Arc;
use winit::raw_window_handle::{HasDisplayHandle as _, HasWindowHandle as _, RawDisplayHandle, RawWindowHandle};
use winit::window::Window;

/// What a swapchain image needs.
struct Frame {
    view: vk::ImageView,
    framebuffer: vk::Framebuffer,
    /// Signalled when drawn; one for each image, since a presentation may still wait on it.
    drawn: vk::Semaphore,
}

/// A window's surface with its swapchain and painter.
pub struct Surface {
    painter: Painter,
    surfaces: khr::surface::Instance,
    swapchains: khr::swapchain::Device,
    handle: vk::SurfaceKHR,
    swapchain: vk::SwapchainKHR,
    format: vk::SurfaceFormatKHR,
    extent: vk::Extent2D,
    frames: Vec<Frame>,
    acquired: vk::Semaphore,
    stale: bool,
    /// Last, so that the surface is destroyed first.
    window: Arc<Window>,
}

impl std::fmt::Debug for Surface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surface").field("extent", &self.extent).finish_non_exhaustive()
    }
}

/// The instance extensions that a window of this display needs.
///
/// # Errors
/// When the window system is not known.
pub(crate) fn extensions(window: &Window) -> Result<Vec<std::ffi::CString>, ShellError> {
    let display = window.display_handle().map_err(|e| ShellError::Window { message: e.to_string() })?;
    let own = match display.as_raw() {
        RawDisplayHandle::Xlib(_) => khr::xlib_surface::NAME,
        RawDisplayHandle::Xcb(_) => khr::xcb_surface::NAME,
        RawDisplayHandle::Wayland(_) => khr::wayland_surface::NAME,
        RawDisplayHandle::Windows(_) => khr::win32_surface::NAME,
        other => return Err(ShellError::Window { message: format!("no Vulkan surface for {other:?}") }),
    };
    Ok(vec![khr::surface::NAME.to_owned(), own.to_owned()])
}

impl Surface {
    /// The surface of a window on a device that was opened with [`extensions`] and the swapchain extension.
    ///
    /// # Errors
    /// When the device cannot present to the window.
    pub fn new(device: &Arc<Device>, window: &Arc<Window>) -> Result<Self, ShellError> {
        let instance = device.instance();
        let surface = create(device, window)?;
        let surfaces = khr::surface::Instance::new(instance.entry(), instance.handle());
        let physical = device.physical();
        // SAFETY: all handles belong to this instance.
        let presents = unsafe { surfaces.get_physical_device_surface_support(physical, device.family(), surface) };
        if !call(presents, "vkGetPhysicalDeviceSurfaceSupportKHR")? {
            let message = format!("{} cannot present to this window", device.info().name);
            return Err(ShellError::Window { message });
        }
        // SAFETY: as above.
        let formats = unsafe { surfaces.get_physical_device_surface_formats(physical, surface) };
        let formats = call(formats, "vkGetPhysicalDeviceSurfaceFormatsKHR")?;
        let unorm =
            |f: &&vk::SurfaceFormatKHR| matches!(f.format, vk::Format::B8G8R8A8_UNORM | vk::Format::R8G8B8A8_UNORM);
        let format = formats.iter().find(unorm).or(formats.first()).copied();
        let format = format.ok_or_else(|| ShellError::Window { message: "the surface has no format".to_owned() })?;
        let painter = Painter::new(device, format.format, vk::ImageLayout::PRESENT_SRC_KHR)?;
        let semaphore = vk::SemaphoreCreateInfo::default();
        // SAFETY: no arguments that could be wrong.
        let acquired = call(unsafe { device.handle().create_semaphore(&semaphore, None) }, "vkCreateSemaphore")?;
        let mut made = Self {
            painter,
            surfaces,
            swapchains: khr::swapchain::Device::new(instance.handle(), device.handle()),
            handle: surface,
            swapchain: vk::SwapchainKHR::null(),
            format,
            extent: vk::Extent2D::default(),
            frames: Vec::new(),
            acquired,
            stale: true,
            window: Arc::clone(window),
        };
        made.renew()?;
        Ok(made)
    }

    /// The painter, for textures.
    pub fn painter(&mut self) -> &mut Painter {
        &mut self.painter
    }

    /// The window changed size: the next frame makes a new swapchain.
    pub fn resized(&mut self) {
        self.stale = true;
    }

    /// Draws and presents a frame. A window without area is skipped.
    ///
    /// # Errors
    /// When the device fails; a swapchain out of date is made again instead.
    pub(in crate::shell) fn draw(
        &mut self,
        pixels_per_point: f32,
        areas: &[Area],
        primitives: Vec<ClippedPrimitive>,
    ) -> Result<(), ShellError> {
        if self.stale {
            self.renew()?;
        }
        if self.extent.width == 0 || self.extent.height == 0 {
            return Ok(());
        }
        // SAFETY: the semaphore is unsignalled: the frame that waited on it is done.
        let image =
            unsafe { self.swapchains.acquire_next_image(self.swapchain, u64::MAX, self.acquired, vk::Fence::null()) };
        let image = match image {
            Ok((image, suboptimal)) => {
                self.stale |= suboptimal;
                image
            }
            Err(vk::Result::ERROR_OUT_OF_DATE_KHR) => {
                self.stale = true;
                self.window.request_redraw();
                return Ok(());
            }
            Err(result) => return Err(ShellError::Call { call: "vkAcquireNextImageKHR", result }),
        };
        let frame = &self.frames[image as usize];
        let (framebuffer, drawn) = (frame.framebuffer, [frame.drawn]);
        let frame = painter::Frame { framebuffer, extent: self.extent, pixels_per_point, areas, primitives };
        let commands = [self.painter.record(frame, |_, _| {})?];
        let wait = [self.acquired];
        let stages = [vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT];
        let submit = vk::SubmitInfo::default()
            .command_buffers(&commands)
            .wait_semaphores(&wait)
            .wait_dst_stage_mask(&stages)
            .signal_semaphores(&drawn);
        self.painter.submit(submit)?;
        self.window.pre_present_notify();
        let (chains, images) = ([self.swapchain], [image]);
        let present = vk::PresentInfoKHR::default().wait_semaphores(&drawn).swapchains(&chains).image_indices(&images);
        let queue = self.painter.device().queue();
        // SAFETY: the queue is locked; the image was acquired and drawn.
        match unsafe { self.swapchains.queue_present(*queue, &present) } {
            Ok(suboptimal) => self.stale |= suboptimal,
            Err(vk::Result::ERROR_OUT_OF_DATE_KHR) => self.stale = true,
            Err(result) => return Err(ShellError::Call { call: "vkQueuePresentKHR", result }),
        }
        Ok(())
    }

    /// Makes the swapchain of the window's present size.
    fn renew(&mut self) -> Result<(), ShellError> {
        let device = Arc::clone(self.painter.device());
        // SAFETY: waiting has no preconditions.
        call(unsafe { device.handle().device_wait_idle() }, "vkDeviceWaitIdle")?;
        // SAFETY: the surface is alive.
        let can = unsafe { self.surfaces.get_physical_device_surface_capabilities(device.physical(), self.handle) };
        let can = call(can, "vkGetPhysicalDeviceSurfaceCapabilitiesKHR")?;
        let size = self.window.inner_size();
        let extent = match can.current_extent.width {
            u32::MAX => vk::Extent2D {
                width: size.width.clamp(can.min_image_extent.width, can.max_image_extent.width),
                height: size.height.clamp(can.min_image_extent.height, can.max_image_extent.height),
            },
            _ => can.current_extent,
        };
        self.extent = extent;
        if extent.width == 0 || extent.height == 0 {
            return Ok(());
        }
        let most = if can.max_image_count == 0 { u32::MAX } else { can.max_image_count };
        let old = self.swapchain;
        let create = vk::SwapchainCreateInfoKHR::default()
            .surface(self.handle)
            .min_image_count((can.min_image_count + 1).min(most))
            .image_format(self.format.format)
            .image_color_space(self.format.color_space)
            .image_extent(extent)
            .image_array_layers(1)
            .image_usage(vk::ImageUsageFlags::COLOR_ATTACHMENT)
            .image_sharing_mode(vk::SharingMode::EXCLUSIVE)
            .pre_transform(can.current_transform)
            .composite_alpha(vk::CompositeAlphaFlagsKHR::OPAQUE)
            .present_mode(vk::PresentModeKHR::FIFO)
            .clipped(true)
            .old_swapchain(old);
        // SAFETY: the info fits the surface's capabilities; the old swapchain is retired by this call.
        let made = call(unsafe { self.swapchains.create_swapchain(&create, None) }, "vkCreateSwapchainKHR");
        self.drop_frames();
        // SAFETY: the device is idle and nothing of the old swapchain is left; null is ignored.
        unsafe { self.swapchains.destroy_swapchain(old, None) };
        self.swapchain = vk::SwapchainKHR::null();
        self.swapchain = made?;
        // SAFETY: the swapchain was just made.
        let images = unsafe { self.swapchains.get_swapchain_images(self.swapchain) };
        for image in call(images, "vkGetSwapchainImagesKHR")? {
            let frame = self.frame(&device, image)?;
            self.frames.push(frame);
        }
        self.stale = false;
        Ok(())
    }

    fn frame(&self, device: &Device, image: vk::Image) -> Result<Frame, ShellError> {
        let vulkan = device.handle();
        let view = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(self.format.format)
            .subresource_range(COLOUR);
        // SAFETY: the image belongs to the live swapchain.
        let view = call(unsafe { vulkan.create_image_view(&view, None) }, "vkCreateImageView")?;
        let views = [view];
        let create = vk::FramebufferCreateInfo::default()
            .render_pass(self.painter.pass())
            .attachments(&views)
            .width(self.extent.width)
            .height(self.extent.height)
            .layers(1);
        // SAFETY: the view fits the pass.
        let framebuffer = call(unsafe { vulkan.create_framebuffer(&create, None) }, "vkCreateFramebuffer")?;
        let semaphore = vk::SemaphoreCreateInfo::default();
        // SAFETY: no arguments that could be wrong.
        let drawn = call(unsafe { vulkan.create_semaphore(&semaphore, None) }, "vkCreateSemaphore")?;
        Ok(Frame { view, framebuffer, drawn })
    }

    fn drop_frames(&mut self) {
        let device = self.painter.device().handle().clone();
        for frame in self.frames.drain(..) {
            // SAFETY: the device is idle.
            unsafe { device.destroy_framebuffer(frame.framebuffer, None) };
            // SAFETY: the device is idle, the framebuffer is gone.
            unsafe { device.destroy_image_view(frame.view, None) };
            // SAFETY: the device is idle, so no presentation waits on it.
            unsafe { device.destroy_semaphore(frame.drawn, None) };
        }
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        let device = Arc::clone(self.painter.device());
        // SAFETY: waiting has no preconditions.
        unsafe { device.handle().device_wait_idle() }.unwrap_or_default();
        self.drop_frames();
        // SAFETY: the device is idle.
        unsafe { device.handle().destroy_semaphore(self.acquired, None) };
        // SAFETY: the device is idle; null is ignored.
        unsafe { self.swapchains.destroy_swapchain(self.swapchain, None) };
        // SAFETY: its swapchain is gone.
        unsafe { self.surfaces.destroy_surface(self.handle, None) };
    }
}

/// The surface of a window.
fn create(device: &Device, window: &Window) -> Result<vk::SurfaceKHR, ShellError> {
    let refused = |message: String| ShellError::Window { message };
    let display = window.display_handle().map_err(|e| refused(e.to_string()))?.as_raw();
    let handle = window.window_handle().map_err(|e| refused(e.to_string()))?.as_raw();
    let (entry, instance) = (device.instance().entry(), device.instance().handle());
    let made = match (display, handle) {
        (RawDisplayHandle::Xlib(display), RawWindowHandle::Xlib(window)) => {
            let create = vk::XlibSurfaceCreateInfoKHR::default()
                .dpy(display.display.map_or(std::ptr::null_mut(), |display| display.as_ptr().cast()))
                .window(window.window);
            // SAFETY: display and window live as long as winit's window, which the surface keeps.
            unsafe { khr::xlib_surface::Instance::new(entry, instance).create_xlib_surface(&create, None) }
        }
        (RawDisplayHandle::Xcb(display), RawWindowHandle::Xcb(window)) => {
            let create = vk::XcbSurfaceCreateInfoKHR::default()
                .connection(display.connection.map_or(std::ptr::null_mut(), std::ptr::NonNull::as_ptr))
                .window(window.window.get());
            // SAFETY: as for Xlib.
            unsafe { khr::xcb_surface::Instance::new(entry, instance).create_xcb_surface(&create, None) }
        }
        (RawDisplayHandle::Wayland(display), RawWindowHandle::Wayland(window)) => {
            let create = vk::WaylandSurfaceCreateInfoKHR::default()
                .display(display.display.as_ptr())
                .surface(window.surface.as_ptr());
            // SAFETY: as for Xlib.
            unsafe { khr::wayland_surface::Instance::new(entry, instance).create_wayland_surface(&create, None) }
        }
        (display, _) => return Err(refused(format!("no Vulkan surface for {display:?}"))),
    };
    call(made, "vkCreateSurfaceKHR")
}
