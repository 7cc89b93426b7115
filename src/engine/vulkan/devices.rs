//! Everything there is to say about this machine's devices, for `blockscope devices` and for reports.

use super::kernel::{VARIANTS, base_words};
use super::probe::HalfProbe;
use super::raw::{AdapterInfo, Device, DeviceOptions, Instance, InstanceOptions, VulkanError};
use super::self_test::SelfTest;
use serde::Serialize;
use std::sync::Arc;

/// One device of this machine.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceReport {
    /// What the driver says.
    pub info: AdapterInfo,
    /// Which kernels it can run.
    pub kernels: Vec<KernelReport>,
    /// What it does to halves; absent when it could not be opened.
    pub probe: Option<HalfProbe>,
    /// Whether its kernels make the reference's bytes; absent when they were not tried or could not run.
    pub self_test: Option<SelfTest>,
    /// Why probe or test are absent.
    pub error: Option<String>,
}

/// One kernel on one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelReport {
    /// Its name: an op's word for the base kernel, or a variant's.
    pub name: &'static str,
    /// The op that it runs.
    pub op: &'static str,
    /// Its shaders.
    pub shaders: Vec<&'static str>,
    /// Whether its bytes are meant to equal the reference's.
    pub exact: bool,
    /// Why the device cannot run it; absent when it can.
    pub lacks: Option<String>,
}

/// All devices, opened and tried one by one. `test` also runs the self-test where it was not remembered.
///
/// # Errors
/// When the machine has no Vulkan at all; a single device's failure is part of its report.
pub fn list(options: &InstanceOptions, test: bool) -> Result<Vec<DeviceReport>, VulkanError> {
    let instance = Instance::new(options)?;
    let reports = instance.adapters()?.into_iter().map(|adapter| {
        let info = adapter.info().clone();
        let opened = Device::from_adapter(adapter, &DeviceOptions::default());
        let mut report = DeviceReport { kernels: kernels(&info), info, probe: None, self_test: None, error: None };
        let tried = opened.map_err(|error| error.to_string()).and_then(|device| try_out(&device, test, &mut report));
        report.error = tried.err();
        report
    });
    Ok(reports.collect())
}

fn try_out(device: &Arc<Device>, test: bool, report: &mut DeviceReport) -> Result<(), String> {
    for kernel in report.kernels.iter_mut().filter(|kernel| kernel.lacks.is_none()) {
        let variant = VARIANTS.iter().find(|variant| variant.name == kernel.name);
        kernel.lacks = variant.and_then(|variant| (variant.proven)(device).err());
    }
    report.probe = Some(HalfProbe::of(device).map_err(|error| error.to_string())?);
    if test {
        report.self_test = Some(SelfTest::of(device).map_err(|error| error.to_string())?);
    }
    Ok(())
}

/// Every kernel, and why a device cannot run it.
pub fn kernels(info: &AdapterInfo) -> Vec<KernelReport> {
    let base =
        base_words().into_iter().map(|op| KernelReport { name: op, op, shaders: vec![op], exact: true, lacks: None });
    let variants = VARIANTS.iter().map(|v| KernelReport {
        name: v.name,
        op: v.op,
        shaders: v.shaders.iter().map(|shader| shader.name).collect(),
        exact: v.exact,
        lacks: (v.fits)(info).err(),
    });
    base.chain(variants).collect()
}
