//! What can go wrong on a device, naming the call and the object.

use ash::vk;

/// Why something on a Vulkan device failed.
#[derive(Debug, thiserror::Error)]
pub enum VulkanError {
    /// The machine has no Vulkan.
    #[error(
        "no Vulkan loader found ({source}); install your GPU's driver (on Debian: libvulkan1 and mesa-vulkan-drivers), or use the cpu engine"
    )]
    NoLoader {
        /// What the system said.
        source: ash::LoadingError,
    },
    /// The machine's Vulkan is too old.
    #[error("Vulkan {found} is too old, 1.1 is needed; update the GPU's driver, or use the cpu engine")]
    TooOld {
        /// Version found.
        found: String,
    },
    /// No device fits the name or index asked for.
    #[error("no Vulkan device matches \"{wanted}\"; found {found}")]
    NoDevice {
        /// What was asked for.
        wanted: String,
        /// What is there.
        found: String,
    },
    /// The device lacks something that cannot be done without.
    #[error("device {device} lacks {lacks}; choose another one with --device, or use the cpu engine")]
    Unfit {
        /// The device.
        device: String,
        /// What is missing.
        lacks: String,
    },
    /// A call failed.
    #[error("{call} \"{object}\": {result:?}{}", advice(*.result))]
    Call {
        /// The Vulkan function.
        call: &'static str,
        /// The object's name.
        object: String,
        /// What it returned.
        result: vk::Result,
    },
    /// Memory could not be had.
    #[error("cannot allocate {bytes} bytes for \"{object}\": {source}; use a smaller size, or release tensors")]
    Memory {
        /// The object.
        object: String,
        /// Bytes wanted.
        bytes: u64,
        /// What the allocator said.
        source: gpu_allocator::AllocationError,
    },
    /// The budget does not allow it.
    #[error(
        "\"{object}\" needs {bytes} bytes, but {held} of the budget of {budget} bytes are in use; raise --vram, or use a smaller size"
    )]
    Budget {
        /// The object.
        object: String,
        /// Bytes wanted.
        bytes: u64,
        /// Bytes in use.
        held: u64,
        /// Bytes allowed.
        budget: u64,
    },
    /// A buffer is larger than what a shader may see of it.
    #[error(
        "\"{object}\" has {bytes} bytes, but a shader on this device sees at most {limit} of a buffer; use a smaller size"
    )]
    Range {
        /// The object.
        object: String,
        /// Its size.
        bytes: u64,
        /// The device's limit.
        limit: u64,
    },
    /// The validation layer was asked for and is not installed.
    #[error("validation was asked for, but the layer VK_LAYER_KHRONOS_validation is not installed")]
    NoValidation,
}

/// What to do about a result, where there is something.
fn advice(result: vk::Result) -> &'static str {
    match result {
        vk::Result::ERROR_DEVICE_LOST => {
            "; the driver reset the device (a crash, or a kernel that ran too long): open it again"
        }
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY => {
            "; use a smaller size, or set a budget with --vram"
        }
        vk::Result::ERROR_INCOMPATIBLE_DRIVER | vk::Result::ERROR_INITIALIZATION_FAILED => {
            "; the driver could not start: check its installation with vulkaninfo"
        }
        _ => "",
    }
}

/// Adds call and object to a result.
pub(crate) trait Context<T> {
    fn context(self, call: &'static str, object: &str) -> Result<T, VulkanError>;
}

impl<T> Context<T> for ash::prelude::VkResult<T> {
    fn context(self, call: &'static str, object: &str) -> Result<T, VulkanError> {
        self.map_err(|result| VulkanError::Call { call, object: object.to_owned(), result })
    }
}
