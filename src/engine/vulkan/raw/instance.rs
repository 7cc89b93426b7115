//! The loader and the instance, with the validation layer on demand.

use super::adapter::Adapter;
use super::error::{Context as _, VulkanError};
use ash::{ext, vk};
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

const VALIDATION: &CStr = c"VK_LAYER_KHRONOS_validation";

/// How an instance is made.
#[derive(Clone, Debug, Default)]
pub struct InstanceOptions {
    /// Load the validation layer, synchronization validation included.
    pub validation: bool,
    /// Further instance extensions, all required: a window's surface extensions.
    pub extensions: Vec<CString>,
}

impl InstanceOptions {
    /// The default, with validation when the variable `BLOCKSCOPE_VALIDATION` is 1.
    pub fn from_environment() -> Self {
        let validation = std::env::var_os("BLOCKSCOPE_VALIDATION").is_some_and(|value| value == "1");
        Self { validation, extensions: Vec::new() }
    }
}

/// What the validation layer said.
#[derive(Debug, Default)]
struct Messages(Mutex<Vec<String>>);

/// The loader, an instance, and the messenger that collects validation messages.
pub struct Instance {
    entry: ash::Entry,
    handle: ash::Instance,
    messenger: Option<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    messages: Box<Messages>,
    has_debug_utils: bool,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("validation", &self.messenger.is_some()).finish_non_exhaustive()
    }
}

impl Instance {
    /// Loads Vulkan and makes an instance.
    ///
    /// # Errors
    /// When there is no Vulkan, it is too old, or an extension or the wanted layer is missing.
    pub fn new(options: &InstanceOptions) -> Result<Arc<Self>, VulkanError> {
        // SAFETY: loading a shared library runs its initialisers; the system's Vulkan loader is trusted.
        let entry = unsafe { ash::Entry::load() }.map_err(|source| VulkanError::NoLoader { source })?;
        // SAFETY: no arguments; the entry was just loaded.
        let version = unsafe { entry.try_enumerate_instance_version() };
        let version = version.context("vkEnumerateInstanceVersion", "loader")?.unwrap_or(vk::API_VERSION_1_0);
        if version < vk::API_VERSION_1_1 {
            return Err(VulkanError::TooOld { found: super::adapter::version(version) });
        }
        let available = Available::new(&entry)?;
        if options.validation && !available.layer(VALIDATION) {
            return Err(VulkanError::NoValidation);
        }
        let has_debug_utils = available.extension(ext::debug_utils::NAME);
        let mut extensions: Vec<*const c_char> = options.extensions.iter().map(|name| name.as_ptr()).collect();
        let mut flags = vk::InstanceCreateFlags::empty();
        if has_debug_utils {
            extensions.push(ext::debug_utils::NAME.as_ptr());
        }
        if available.extension(ash::khr::portability_enumeration::NAME) {
            extensions.push(ash::khr::portability_enumeration::NAME.as_ptr());
            flags |= vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR;
        }
        let validate_features = options.validation && available.validation_features;
        if validate_features {
            extensions.push(ext::validation_features::NAME.as_ptr());
        }
        let layers = if options.validation { vec![VALIDATION.as_ptr()] } else { Vec::new() };
        let application = vk::ApplicationInfo::default()
            .application_name(c"blockscope")
            .engine_name(c"blockscope")
            .api_version(version.min(vk::API_VERSION_1_3));
        let enabled = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
        let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&enabled);
        let mut create = vk::InstanceCreateInfo::default()
            .flags(flags)
            .application_info(&application)
            .enabled_extension_names(&extensions)
            .enabled_layer_names(&layers);
        if validate_features {
            create = create.push_next(&mut features);
        }
        // SAFETY: all pointers in `create` outlive the call.
        let handle = unsafe { entry.create_instance(&create, None) }.context("vkCreateInstance", "blockscope")?;
        let mut instance = Self { entry, handle, messenger: None, messages: Box::default(), has_debug_utils };
        if options.validation && has_debug_utils {
            instance.listen()?;
        }
        Ok(Arc::new(instance))
    }

    /// Installs the messenger that fills [`Self::take_messages`].
    fn listen(&mut self) -> Result<(), VulkanError> {
        use vk::{DebugUtilsMessageSeverityFlagsEXT as Severity, DebugUtilsMessageTypeFlagsEXT as Type};
        let user: *const Messages = &raw const *self.messages;
        let create = vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(Severity::WARNING | Severity::ERROR)
            .message_type(Type::VALIDATION | Type::PERFORMANCE)
            .pfn_user_callback(Some(collect))
            .user_data(user.cast_mut().cast());
        let loader = ext::debug_utils::Instance::new(&self.entry, &self.handle);
        // SAFETY: the callback's user data is boxed in `self` and outlives the messenger, which `drop` destroys first.
        let messenger = unsafe { loader.create_debug_utils_messenger(&create, None) };
        self.messenger = Some((loader, messenger.context("vkCreateDebugUtilsMessengerEXT", "messenger")?));
        Ok(())
    }

    /// The devices of this machine, in the driver's order.
    ///
    /// # Errors
    /// When the loader fails.
    pub fn adapters(self: &Arc<Self>) -> Result<Vec<Adapter>, VulkanError> {
        // SAFETY: the instance is alive.
        let devices = unsafe { self.handle.enumerate_physical_devices() };
        let devices = devices.context("vkEnumeratePhysicalDevices", "instance")?;
        devices.into_iter().enumerate().map(|(index, device)| Adapter::new(self, index, device)).collect()
    }

    /// Validation messages since the last call; always empty without the layer.
    pub fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut self.messages.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the validation layer listens.
    pub fn validates(&self) -> bool {
        self.messenger.is_some()
    }

    /// Whether objects can be named.
    pub(super) fn has_debug_utils(&self) -> bool {
        self.has_debug_utils
    }

    /// The loader's functions.
    pub(crate) fn entry(&self) -> &ash::Entry {
        &self.entry
    }

    /// The instance's functions.
    pub(crate) fn handle(&self) -> &ash::Instance {
        &self.handle
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some((loader, messenger)) = self.messenger.take() {
            // SAFETY: made by this loader, destroyed once, before its instance.
            unsafe { loader.destroy_debug_utils_messenger(messenger, None) };
        }
        // SAFETY: devices hold this instance by `Arc`, so none is left.
        unsafe { self.handle.destroy_instance(None) };
    }
}

/// The messenger's callback: keeps the text.
unsafe extern "system" fn collect(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer passes a valid structure for the time of the call.
    let data = unsafe { &*data };
    // SAFETY: `user` is the instance's boxed `Messages`, alive as long as the messenger.
    let messages = unsafe { &*user.cast::<Messages>() };
    // SAFETY: its message is a valid string, or null.
    let text = unsafe { data.message_as_c_str() };
    let text = text.map_or_else(String::new, |text| text.to_string_lossy().into_owned());
    messages.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    vk::FALSE
}

/// Layers and extensions that the loader offers.
struct Available {
    layers: Vec<vk::LayerProperties>,
    extensions: Vec<vk::ExtensionProperties>,
    validation_features: bool,
}

impl Available {
    fn new(entry: &ash::Entry) -> Result<Self, VulkanError> {
        let call = "vkEnumerateInstanceExtensionProperties";
        // SAFETY: no arguments.
        let layers = unsafe { entry.enumerate_instance_layer_properties() };
        let layers = layers.context("vkEnumerateInstanceLayerProperties", "loader")?;
        // SAFETY: no layer named.
        let extensions = unsafe { entry.enumerate_instance_extension_properties(None) }.context(call, "loader")?;
        let mut available = Self { layers, extensions, validation_features: false };
        if available.layer(VALIDATION) {
            // SAFETY: the name is a valid string.
            let of_layer = unsafe { entry.enumerate_instance_extension_properties(Some(VALIDATION)) };
            available.validation_features =
                names(&of_layer.context(call, "validation layer")?, ext::validation_features::NAME);
        }
        Ok(available)
    }

    fn layer(&self, name: &CStr) -> bool {
        self.layers.iter().any(|layer| layer.layer_name_as_c_str() == Ok(name))
    }

    fn extension(&self, name: &CStr) -> bool {
        names(&self.extensions, name)
    }
}

/// Whether a list names an extension.
pub(super) fn names(list: &[vk::ExtensionProperties], name: &CStr) -> bool {
    list.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name))
}
