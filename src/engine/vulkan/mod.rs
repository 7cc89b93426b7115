//! The Vulkan engine: every step as GLSL compute, the same bytes as the reference on every driver.

pub mod raw;
