//! The window without a window: frames are drawn into an image on any Vulkan device, software ones included.

use super::raw::Target;
use super::{Desk, ShellError, plain};
use crate::engine::vulkan::raw::{Device, DeviceOptions, Instance, InstanceOptions};
use egui::{Event, RawInput};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Largest side of a texture where nothing is drawn: what every desktop device has.
const UNDRAWN_SIDE: usize = 16_384;

/// A window's size and how large its text is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Screen {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Pixels per point.
    pub scale: f32,
}

impl Default for Screen {
    fn default() -> Self {
        Self { width: 1600, height: 900, scale: 1.0 }
    }
}

/// What one frame took, without rasterising.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameTime {
    /// Taking finished work.
    pub poll: Duration,
    /// Layout and commands.
    pub layout: Duration,
    /// Shapes to meshes.
    pub shapes: Duration,
}

impl FrameTime {
    /// All of it.
    pub fn total(&self) -> Duration {
        self.poll + self.layout + self.shapes
    }
}

/// An offscreen window.
#[derive(Debug)]
pub struct Offscreen {
    /// The window's content.
    pub desk: Desk,
    ctx: egui::Context,
    target: Option<Target>,
    instance: Option<Arc<Instance>>,
    screen: Screen,
    start: Instant,
    /// Textures that the next picture needs.
    textures: egui::TexturesDelta,
    /// When the next frame is wanted, seen from the last one.
    due: Duration,
    /// Largest side of a texture on the device.
    texture_side: usize,
}

impl Drop for Offscreen {
    fn drop(&mut self) {
        // egui insists that nobody forgets a texture by accident.
        self.textures.clear();
    }
}

impl Offscreen {
    /// A window on a device; without one, frames are laid out and never drawn.
    ///
    /// # Errors
    /// When there is no Vulkan.
    pub fn new(desk: Desk, screen: Screen, drawn: bool) -> Result<Self, ShellError> {
        super::raw::calm();
        let ctx = egui::Context::default();
        crate::ui::install(&ctx);
        let (mut instance, mut target, mut texture_side) = (None, None, UNDRAWN_SIDE);
        if drawn {
            let made = Instance::new(&InstanceOptions::from_environment())?;
            let device = Device::open(&made, &DeviceOptions::default())?;
            texture_side = device.info().limits.image_side as usize;
            target = Some(Target::new(&device, screen.width, screen.height)?);
            instance = Some(made);
        }
        Ok(Self {
            desk,
            ctx,
            target,
            instance,
            screen,
            start: Instant::now(),
            textures: egui::TexturesDelta::default(),
            due: Duration::ZERO,
            texture_side,
        })
    }

    /// When the last frame wants the next one by itself; [`Duration::MAX`] when only input or a worker does.
    pub fn due(&self) -> Duration {
        self.due
    }

    /// The egui context.
    pub fn context(&self) -> &egui::Context {
        &self.ctx
    }

    /// One frame: poll, lay out, make meshes, and draw them if that is asked for.
    ///
    /// # Errors
    /// When the device fails.
    pub fn frame(&mut self, events: Vec<Event>, drawn: bool) -> Result<FrameTime, ShellError> {
        let Screen { width, height, scale } = self.screen;
        let begin = Instant::now();
        self.desk.poll();
        let poll = begin.elapsed();
        let size = egui::vec2(width as f32, height as f32) / scale;
        let mut input = RawInput {
            max_texture_side: Some(self.texture_side),
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size)),
            time: Some(self.start.elapsed().as_secs_f64()),
            events,
            focused: true,
            ..RawInput::default()
        };
        input.viewports.entry(input.viewport_id).or_default().native_pixels_per_point = Some(scale);
        let begin = Instant::now();
        let desk = &mut self.desk;
        let mut output = self.ctx.run_ui(input, |ui| desk.draw(ui));
        let layout = begin.elapsed();
        let root = output.viewport_output.get(&self.ctx.viewport_id());
        self.due = root.map_or(Duration::MAX, |viewport| viewport.repaint_delay);
        self.textures.append(output.textures_delta);
        if self.target.is_none() {
            self.textures.clear();
        }
        let begin = Instant::now();
        let areas = plain::take(&mut output.shapes, output.pixels_per_point);
        let meshes = self.ctx.tessellate(output.shapes, output.pixels_per_point);
        let shapes = begin.elapsed();
        if let Some(target) = self.target.as_mut().filter(|_| drawn) {
            target.painter().set_textures(&mut self.textures)?;
            target.draw(output.pixels_per_point, &areas, meshes)?;
            target.painter().free_textures(&mut self.textures)?;
            let messages = self.instance.as_ref().map(|instance| instance.take_messages()).unwrap_or_default();
            if !messages.is_empty() {
                return Err(ShellError::Validation(messages.join("\n")));
            }
        }
        Ok(FrameTime { poll, layout, shapes })
    }

    /// A picture as PNG bytes, once animations have settled.
    ///
    /// # Errors
    /// When the device fails.
    pub fn picture(&mut self) -> Result<Vec<u8>, ShellError> {
        for _ in 0..3 {
            self.frame(Vec::new(), false)?;
            // Animations run by the clock.
            std::thread::sleep(Duration::from_millis(120));
        }
        self.frame(Vec::new(), false)?;
        self.frame(Vec::new(), true)?;
        let pixels = self.target.as_ref().map_or(&[][..], Target::pixels);
        let mut png = std::io::Cursor::new(Vec::new());
        let (width, height) = (self.screen.width, self.screen.height);
        let (colours, format) = (image::ExtendedColorType::Rgba8, image::ImageFormat::Png);
        image::write_buffer_with_format(&mut png, pixels, width, height, colours, format)
            .map_err(|error| ShellError::Window { message: error.to_string() })?;
        Ok(png.into_inner())
    }
}
