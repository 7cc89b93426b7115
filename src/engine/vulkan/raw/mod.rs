//! The engine's only ash: instance, adapters, device, memory, pipelines, submissions.
//!
//! Apart from the rest because it is unsafe. Each type owns its handles and drops them; what it needs to outlive
//! it is held by `Arc`. Everything above speaks in buffers, kernels and dispatches.
//!
//! **Invariants**
//! * Vulkan 1.1 is enough; whatever is newer is used only where the device has it.
//! * Every error names the call and the object. No call panics on what a driver returns.
//! * Every object carries a name that validation messages and captures show.
//! * A queue is only touched under its lock, so that a window may share the device.

#![expect(unsafe_code, reason = "the Vulkan API is unsafe; this folder is the fence around it")]

mod adapter;
mod bfloat16;
mod buffer;
mod cache;
mod device;
mod error;
mod instance;
mod pipeline;
mod submit;

pub use adapter::{Adapter, AdapterInfo, CooperativeMatrix, Features, Limits, Memory, Subgroups};
pub use buffer::{Buffer, Place, Slice};
pub use cache::cache_folder;
pub(crate) use cache::{read as read_cached, write as write_cached};
pub use device::{Device, DeviceOptions, Fault};
pub use error::VulkanError;
pub use instance::{Instance, InstanceOptions};
pub use pipeline::{Pipeline, PipelineOptions};
pub use submit::{Recorder, Timing};
