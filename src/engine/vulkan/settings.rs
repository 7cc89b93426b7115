//! What the command line says about devices once for the whole process: which one, how much of it, checked or not.

use super::raw::{DeviceOptions, InstanceOptions};
use std::sync::OnceLock;

/// Settings of all devices that this process opens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Index, UUID or part of a name of the default device (`--device`).
    pub device: Option<String>,
    /// Bytes that one engine's buffers may take together (`--vram`).
    pub budget: Option<u64>,
    /// Load the validation layer, and fail on its messages (`--validation`).
    pub validation: bool,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Sets them, once and before the first device is opened; later calls change nothing.
pub fn configure(settings: Settings) {
    SETTINGS.get_or_init(|| settings);
}

/// The settings, and the environment where they are silent (`BLOCKSCOPE_DEVICE` is read when a device is chosen).
pub fn instance_options() -> InstanceOptions {
    let environment = InstanceOptions::from_environment();
    let asked = SETTINGS.get().is_some_and(|settings| settings.validation);
    InstanceOptions { validation: environment.validation || asked, ..environment }
}

/// A device's options with the settings where they are silent.
pub(super) fn device(options: &DeviceOptions) -> DeviceOptions {
    let settings = SETTINGS.get().cloned().unwrap_or_default();
    DeviceOptions {
        wanted: options.wanted.clone().or(settings.device),
        budget: options.budget.or(settings.budget),
        extensions: options.extensions.clone(),
        storage_range: options.storage_range,
    }
}
