//! A colour image with its memory and view.

use super::{COLOUR, call};
use crate::engine::vulkan::raw::Device;
use crate::shell::ShellError;
use ash::vk;
use std::sync::Arc;

/// An image in device memory; destroyed with the value.
pub(super) struct Image {
    device: Arc<Device>,
    pub(super) handle: vk::Image,
    memory: vk::DeviceMemory,
    pub(super) view: vk::ImageView,
}

impl Image {
    pub(super) fn new(
        device: &Arc<Device>,
        name: &str,
        format: vk::Format,
        extent: vk::Extent2D,
        usage: vk::ImageUsageFlags,
    ) -> Result<Self, ShellError> {
        let create = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(format)
            .extent(extent.into())
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(usage);
        // SAFETY: the device is alive, the info is complete.
        let handle = call(unsafe { device.handle().create_image(&create, None) }, "vkCreateImage")?;
        let mut image =
            Self { device: Arc::clone(device), handle, memory: vk::DeviceMemory::null(), view: vk::ImageView::null() };
        device.name(handle, name);
        // SAFETY: the image was just made by this device.
        let needs = unsafe { device.handle().get_image_memory_requirements(handle) };
        let kind = memory_type(device, needs.memory_type_bits);
        let wanted = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(kind);
        // SAFETY: the type is one that the requirements allow.
        image.memory = call(unsafe { device.handle().allocate_memory(&wanted, None) }, "vkAllocateMemory")?;
        // SAFETY: the memory is fresh and large enough.
        call(unsafe { device.handle().bind_image_memory(handle, image.memory, 0) }, "vkBindImageMemory")?;
        let view = vk::ImageViewCreateInfo::default()
            .image(handle)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(format)
            .subresource_range(COLOUR);
        // SAFETY: the image is bound and of this format.
        image.view = call(unsafe { device.handle().create_image_view(&view, None) }, "vkCreateImageView")?;
        Ok(image)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let device = self.device.handle();
        // SAFETY: the owner has waited for every submission that uses it; null is ignored.
        unsafe { device.destroy_image_view(self.view, None) };
        // SAFETY: as above, and no view is left.
        unsafe { device.destroy_image(self.handle, None) };
        // SAFETY: as above, and nothing is bound to it.
        unsafe { device.free_memory(self.memory, None) };
    }
}

/// The first allowed memory type, device-local if there is one.
fn memory_type(device: &Device, allowed: u32) -> u32 {
    let vulkan = device.instance().handle();
    // SAFETY: the physical device belongs to this instance.
    let memory = unsafe { vulkan.get_physical_device_memory_properties(device.physical()) };
    let types = &memory.memory_types[..memory.memory_type_count as usize];
    let fits = |i: &usize| allowed & (1 << i) != 0;
    let local = |i: &usize| types[*i].property_flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL);
    let all = || (0..types.len()).filter(fits);
    all().find(local).or_else(|| all().next()).unwrap_or(0) as u32
}
