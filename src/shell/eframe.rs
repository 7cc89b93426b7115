//! The default window: eframe with OpenGL. Kernels run on worker threads, on whatever device they want.

use super::{Desk, ShellError, title};
use crate::session::{Session, Waker};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Opens the window and returns when it is closed. `make` builds the session from its waker.
///
/// # Errors
/// When there is no display, or no OpenGL.
pub fn run(file: Option<PathBuf>, make: impl FnOnce(Waker) -> Session + 'static) -> Result<(), ShellError> {
    super::raw::calm();
    let viewport = ::eframe::egui::ViewportBuilder::default()
        .with_title("Blockscope")
        .with_app_id("blockscope")
        .with_inner_size([1600.0, 900.0])
        .with_min_inner_size([960.0, 600.0])
        .with_drag_and_drop(true);
    let options = ::eframe::NativeOptions { viewport, ..Default::default() };
    let unsaved = Arc::new(Mutex::new(None));
    let last = Arc::clone(&unsaved);
    let create = move |context: &::eframe::CreationContext<'_>| -> Result<Box<dyn ::eframe::App>, _> {
        let ctx = context.egui_ctx.clone();
        let session = make(Waker::new(move || ctx.request_repaint()));
        crate::ui::install(&context.egui_ctx);
        Ok(Box::new(Window { desk: Desk::new(session, file), title: String::new(), unsaved: last }))
    };
    ::eframe::run_native("blockscope", options, Box::new(create))
        .map_err(|error| ShellError::Window { message: error.to_string() })?;
    let unsaved = unsaved.lock().unwrap_or_else(PoisonError::into_inner).take();
    unsaved.map_or(Ok(()), Err)
}

struct Window {
    desk: Desk,
    title: String,
    /// Why the last save failed, for after the window.
    unsaved: Arc<Mutex<Option<ShellError>>>,
}

impl ::eframe::App for Window {
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut ::eframe::Frame) {
        self.desk.poll();
        let title = title(&self.desk.session);
        if title != self.title {
            self.title.clone_from(&title);
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title));
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut ::eframe::Frame) {
        self.desk.draw(ui);
    }

    fn on_exit(&mut self, _gl: Option<&::eframe::glow::Context>) {
        *self.unsaved.lock().unwrap_or_else(PoisonError::into_inner) = self.desk.save().err();
    }
}
