//! The shells' own Vulkan: a painter for egui's meshes, an image to draw into, a swapchain.
//!
//! Built on the compute engine's device layer, so that a window can share the device with the kernels.
//!
//! **Invariants**
//! * One submission at a time per painter, waited for before its resources are touched again.
//! * Textures are set before anything is acquired or recorded, and freed after the frame is done.
#![expect(unsafe_code, reason = "the shells' Vulkan calls are fenced here")]

mod gamma;
mod image;
mod nearest;
mod painter;
mod priority;
mod surface;
mod target;

pub use painter::Painter;
pub(super) use priority::calm;
pub use surface::Surface;
pub(crate) use surface::extensions;
pub use target::Target;

use super::ShellError;
use ash::vk;

/// Adds the call to a result.
fn call<T>(result: Result<T, vk::Result>, call: &'static str) -> Result<T, ShellError> {
    result.map_err(|result| ShellError::Call { call, result })
}

/// The colour format that shells draw in: UNORM, so that the interface's colours are exact.
const FORMAT: vk::Format = vk::Format::R8G8B8A8_UNORM;

/// The whole of a colour image.
const COLOUR: vk::ImageSubresourceRange = vk::ImageSubresourceRange {
    aspect_mask: vk::ImageAspectFlags::COLOR,
    base_mip_level: 0,
    level_count: 1,
    base_array_layer: 0,
    layer_count: 1,
};
