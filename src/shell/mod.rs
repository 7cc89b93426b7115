//! The window: eframe, Vulkan and offscreen shells around the same `ui`.
