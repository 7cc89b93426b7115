//! The Vulkan window: winit, egui-winit and egui-ash-renderer on the compute engine's kind of device.

use super::raw::{Surface, extensions};
use super::{Desk, ShellError, plain, title};
use crate::engine::vulkan::raw::{Device, DeviceOptions, Instance, InstanceOptions};
use crate::session::{Session, Waker};
use egui_winit::accesskit_winit;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use winit::application::ApplicationHandler;
use winit::event::{StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::window::{Window, WindowId};

/// What wakes the loop from outside.
#[derive(Debug)]
enum Wake {
    /// A worker has finished something, or egui wants a frame.
    Frame,
    /// What a screen reader asks.
    Access(accesskit_winit::Event),
}

impl From<accesskit_winit::Event> for Wake {
    fn from(event: accesskit_winit::Event) -> Self {
        Self::Access(event)
    }
}

/// Opens the window and returns when it is closed. `make` builds the session from its waker.
///
/// # Errors
/// When there is no display or no Vulkan, or the device fails.
pub fn run(file: Option<PathBuf>, make: impl FnOnce(Waker) -> Session + 'static) -> Result<(), ShellError> {
    super::raw::calm();
    let window = |error: winit::error::EventLoopError| ShellError::Window { message: error.to_string() };
    let event_loop = EventLoop::<Wake>::with_user_event().build().map_err(window)?;
    let proxy = event_loop.create_proxy();
    let mut app = App { proxy, make: Some(Box::new(make)), file, open: None, failed: None, due: None };
    event_loop.run_app(&mut app).map_err(window)?;
    app.failed.map_or(Ok(()), Err)
}

/// Everything of an open window; fields are dropped in this order.
struct Open {
    desk: Desk,
    state: egui_winit::State,
    surface: Surface,
    window: Arc<Window>,
    instance: Arc<Instance>,
    title: String,
    textures: egui::TexturesDelta,
}

impl Drop for Open {
    fn drop(&mut self) {
        // egui insists that nobody forgets a texture by accident.
        self.textures.clear();
    }
}

type Make = Box<dyn FnOnce(Waker) -> Session>;

struct App {
    proxy: EventLoopProxy<Wake>,
    make: Option<Make>,
    file: Option<PathBuf>,
    open: Option<Open>,
    failed: Option<ShellError>,
    /// When the next frame is due by itself.
    due: Option<Instant>,
}

impl App {
    fn start(&mut self, event_loop: &ActiveEventLoop) -> Result<(), ShellError> {
        let Some(make) = self.make.take() else { return Ok(()) };
        let attributes = Window::default_attributes()
            .with_title("Blockscope")
            .with_inner_size(winit::dpi::LogicalSize::new(1600.0, 900.0))
            // A screen reader must know the window before it is seen.
            .with_visible(false);
        let refused = |error: winit::error::OsError| ShellError::Window { message: error.to_string() };
        let window = Arc::new(event_loop.create_window(attributes).map_err(refused)?);
        let options = InstanceOptions { extensions: extensions(&window)?, ..InstanceOptions::from_environment() };
        let instance = Instance::new(&options)?;
        let swapchain = vec![ash::khr::swapchain::NAME.to_owned()];
        let device = Device::open(&instance, &DeviceOptions { extensions: swapchain, ..DeviceOptions::default() })?;
        let texture_side = device.info().limits.image_side as usize;
        let surface = Surface::new(&device, &window)?;
        let ctx = egui::Context::default();
        crate::ui::install(&ctx);
        let proxy = self.proxy.clone();
        ctx.set_request_repaint_callback(move |_| proxy.send_event(Wake::Frame).unwrap_or_default());
        let waker = ctx.clone();
        let session = make(Waker::new(move || waker.request_repaint()));
        let viewport = ctx.viewport_id();
        let scale = Some(window.scale_factor() as f32);
        let mut state = egui_winit::State::new(ctx, viewport, &window, scale, None, Some(texture_side));
        state.init_accesskit(event_loop, &window, self.proxy.clone());
        window.set_visible(true);
        let desk = Desk::new(session, self.file.clone());
        let textures = egui::TexturesDelta::default();
        self.open = Some(Open { desk, state, surface, window, instance, title: String::new(), textures });
        Ok(())
    }

    fn fail(&mut self, error: ShellError, event_loop: &ActiveEventLoop) {
        self.failed = Some(error);
        self.close(event_loop);
    }

    fn close(&mut self, event_loop: &ActiveEventLoop) {
        if let Some(Err(error)) = self.open.as_mut().map(|open| open.desk.save()) {
            self.failed.get_or_insert(error);
        }
        self.open = None;
        event_loop.exit();
    }

    fn redraw(&mut self, event_loop: &ActiveEventLoop) {
        let Some(open) = &mut self.open else { return };
        match open.frame() {
            Ok(delay) => {
                self.due = Instant::now().checked_add(delay).filter(|_| delay < Duration::from_hours(1));
                if delay.is_zero() {
                    open.window.request_redraw();
                }
                if open.desk.is_closing() {
                    self.close(event_loop);
                }
            }
            Err(error) => self.fail(error, event_loop),
        }
    }
}

impl Open {
    /// One frame; returns when egui wants the next.
    fn frame(&mut self) -> Result<Duration, ShellError> {
        self.desk.poll();
        let title = title(&self.desk.session);
        if title != self.title {
            self.window.set_title(&title);
            self.title = title;
        }
        let input = self.state.take_egui_input(&self.window);
        let ctx = self.state.egui_ctx().clone();
        let desk = &mut self.desk;
        let mut output = ctx.run_ui(input, |ui| desk.draw(ui));
        self.state.handle_platform_output(&self.window, output.platform_output);
        self.textures.append(output.textures_delta);
        let areas = plain::take(&mut output.shapes, output.pixels_per_point);
        let meshes = ctx.tessellate(output.shapes, output.pixels_per_point);
        self.surface.painter().set_textures(&mut self.textures)?;
        self.surface.draw(output.pixels_per_point, &areas, meshes)?;
        self.surface.painter().free_textures(&mut self.textures)?;
        let messages = self.instance.take_messages();
        if !messages.is_empty() {
            return Err(ShellError::Validation(messages.join("\n")));
        }
        let root = output.viewport_output.get(&ctx.viewport_id());
        Ok(root.map_or(Duration::MAX, |viewport| viewport.repaint_delay))
    }
}

impl ApplicationHandler<Wake> for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if let Err(error) = self.start(event_loop) {
            self.fail(error, event_loop);
        }
    }

    fn user_event(&mut self, _event_loop: &ActiveEventLoop, wake: Wake) {
        let Some(open) = &mut self.open else { return };
        if let Wake::Access(event) = wake {
            let ctx = open.state.egui_ctx().clone();
            match event.window_event {
                accesskit_winit::WindowEvent::InitialTreeRequested => ctx.enable_accesskit(),
                accesskit_winit::WindowEvent::ActionRequested(request) => {
                    open.state.on_accesskit_action_request(request);
                }
                accesskit_winit::WindowEvent::AccessibilityDeactivated => ctx.disable_accesskit(),
            }
        }
        open.window.request_redraw();
    }

    fn new_events(&mut self, _event_loop: &ActiveEventLoop, _cause: StartCause) {
        if self.due.is_some_and(|due| due <= Instant::now()) {
            self.due = None;
            if let Some(open) = &self.open {
                open.window.request_redraw();
            }
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        event_loop.set_control_flow(self.due.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _id: WindowId, event: WindowEvent) {
        let Some(open) = &mut self.open else { return };
        let response = open.state.on_window_event(&open.window, &event);
        if response.repaint {
            open.window.request_redraw();
        }
        match event {
            WindowEvent::CloseRequested => self.close(event_loop),
            WindowEvent::Resized(_) => {
                open.surface.resized();
                open.window.request_redraw();
            }
            WindowEvent::RedrawRequested => self.redraw(event_loop),
            _ => {}
        }
    }
}
