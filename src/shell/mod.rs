//! The window: three shells around one `ui`.
//!
//! * [`eframe`](mod@eframe): the default; OpenGL, with or without Vulkan.
//! * [`vulkan`]: `--shell vulkan`, winit and egui-ash-renderer.
//! * [`offscreen`]: egui-ash-renderer into an image, without a display: screenshots and play scripts.
//!
//! A shell owns a [`Session`], feeds it the commands of the panels, polls it once a frame, and does what only a
//! shell can do (clipboard, file dialogs, closing).
//!
//! **Invariants**
//! * Idle means no repaint: a frame is drawn for input, for an animation, or because a worker woke the shell.
//! * `unsafe` lives in [`raw`] alone.

pub mod bench;
mod desk;
pub mod dialogs;
pub mod eframe;
pub mod offscreen;
mod plain;
pub mod play;
pub mod raw;
pub mod vulkan;

pub use desk::Desk;

use crate::session::Session;

/// Why a shell did not open.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The window system or its OpenGL refused.
    #[error("cannot open a window: {message}; without a display use `blockscope play` or `blockscope screenshot`")]
    Window {
        /// What it said.
        message: String,
    },
    /// Vulkan refused.
    #[error("{0}")]
    Vulkan(#[from] crate::engine::vulkan::raw::VulkanError),
    /// The renderer refused.
    #[error("the Vulkan renderer: {0}")]
    Renderer(#[from] egui_ash_renderer::RendererError),
    /// A Vulkan call of a shell failed.
    #[error("{call}: {result}")]
    Call {
        /// The call.
        call: &'static str,
        /// What it returned.
        result: ash::vk::Result,
    },
    /// The window closed, and its session is lost.
    #[error("the session could not be saved: {message}")]
    Save {
        /// Why, with the path.
        message: String,
    },
    /// The validation layer had something to say.
    #[error("the validation layer reports:\n{0}")]
    Validation(String),
}

/// The window's title.
fn title(session: &Session) -> String {
    let sources = session.sources();
    format!("Blockscope: {} against {}", sources.subject, sources.reference)
}
