//! `VK_KHR_shader_bfloat16`, which is younger than the bindings: its name, its features, its component type.

use ash::vk;
use std::ffi::{CStr, c_void};

/// The extension.
pub(super) const NAME: &CStr = c"VK_KHR_shader_bfloat16";

/// Component type of a cooperative matrix (`VK_COMPONENT_TYPE_BFLOAT16_KHR`).
pub(super) const COMPONENT: vk::ComponentTypeKHR = vk::ComponentTypeKHR::from_raw(1_000_141_000);

/// `VkPhysicalDeviceShaderBfloat16FeaturesKHR`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Features {
    s_type: vk::StructureType,
    pub(super) p_next: *mut c_void,
    pub(super) types: vk::Bool32,
    dot_product: vk::Bool32,
    pub(super) cooperative_matrix: vk::Bool32,
}

impl Features {
    /// The features that kernels use, asked for when a device is opened.
    pub(super) fn wanted() -> Self {
        Self { types: vk::TRUE, cooperative_matrix: vk::TRUE, ..Self::default() }
    }
}

impl Default for Features {
    fn default() -> Self {
        Self {
            s_type: vk::StructureType::from_raw(1_000_141_000),
            p_next: std::ptr::null_mut(),
            types: vk::FALSE,
            dot_product: vk::FALSE,
            cooperative_matrix: vk::FALSE,
        }
    }
}

// SAFETY: the structure begins with `sType` and `pNext` and lies in memory as the specification of the extension has it,
// which lets it extend `VkPhysicalDeviceFeatures2`.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for Features {}
// SAFETY: as above; it also extends `VkDeviceCreateInfo`.
unsafe impl vk::ExtendsDeviceCreateInfo for Features {}
