//! `blockscope devices`: the Vulkan devices of this machine, what they can run, and what they do to halves.

use crate::engine::vulkan::devices::{self, DeviceReport};
use crate::engine::vulkan::raw::VulkanError;
use crate::engine::vulkan::{self, Settings};
use std::fmt::Write as _;

/// List the Vulkan devices: limits, kernels they can run and why not, half arithmetic, self-test.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Devices {
    /// Print JSON for programs.
    #[arg(long)]
    pub json: bool,
    /// Skip the self-test of devices that were not tested before.
    #[arg(long)]
    pub no_test: bool,
}

/// Which Vulkan device engines use, how much of it, and how closely it is watched.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Vulkan devices")]
pub(crate) struct DeviceArguments {
    /// The default device: its index, UUID or a part of its name (or the variable BLOCKSCOPE_DEVICE).
    #[arg(long, global = true, value_name = "DEVICE")]
    device: Option<String>,
    /// Device memory that one engine may take, such as 512M or 4G.
    #[arg(long, global = true, value_name = "BYTES", value_parser = crate::engine::memory::bytes)]
    vram: Option<u64>,
    /// Load the validation layer, and fail on what it says (or the variable BLOCKSCOPE_VALIDATION=1).
    #[arg(long, global = true)]
    validation: bool,
}

impl DeviceArguments {
    /// Makes these the process's settings.
    pub(crate) fn configure(self) {
        vulkan::configure(Settings { device: self.device, budget: self.vram, validation: self.validation });
    }
}

impl Devices {
    /// The text to print.
    ///
    /// # Errors
    /// When the machine has no Vulkan.
    pub fn output(&self) -> Result<String, VulkanError> {
        let reports = devices::list(&vulkan::instance_options(), !self.no_test)?;
        if self.json {
            let json = serde_json::to_string_pretty(&reports).expect("reports are plain data");
            return Ok(json + "\n");
        }
        if reports.is_empty() {
            return Ok("Vulkan is installed, but it lists no device; check the GPU's driver\n".to_owned());
        }
        Ok(reports.iter().map(text).collect::<Vec<_>>().join("\n"))
    }
}

/// One device for people.
fn text(report: &DeviceReport) -> String {
    let (info, mut out) = (&report.info, String::new());
    let mut line = |name: &str, value: String| writeln!(out, "  {name:<14}{value}").expect("strings take everything");
    let limits = &info.limits;
    line("driver", format!("{}, Vulkan {}", info.driver, info.api));
    let memory: Vec<String> = info
        .memory
        .iter()
        .map(|heap| {
            format!("{:.1} GiB{}", heap.bytes as f64 / f64::from(1 << 30), if heap.local { " local" } else { "" })
        })
        .collect();
    line("memory", memory.join(", "));
    line(
        "limits",
        format!(
            "{} KiB shared, {} invocations, subgroup {}, {} MiB a buffer",
            limits.shared_memory / 1024,
            limits.invocations,
            info.subgroups.size,
            limits.storage_range >> 20,
        ),
    );
    for kernel in &report.kernels {
        let inexact = if kernel.exact { "" } else { " (not exact)" };
        let state = kernel.lacks.as_ref().map_or("runs".to_owned(), |lacks| format!("does not run: {lacks}"));
        line("kernel", format!("{:<24}{state}{inexact}", kernel.name));
    }
    if let Some(probe) = &report.probe {
        let remarks = probe.remarks();
        line("halves", if remarks.is_empty() { "nothing remarkable".to_owned() } else { remarks.join("; ") });
    }
    if let Some(test) = &report.self_test {
        match test.failures.as_slice() {
            [] => line("self-test", format!("passed, {} kernels, {} ms", test.kernels.len(), test.milliseconds)),
            failures => failures.iter().for_each(|failure| line("self-test", format!("FAILED: {failure}"))),
        }
    }
    if let Some(error) = &report.error {
        line("error", error.clone());
    }
    format!("vulkan:{}  {} ({})\n{out}", info.index, info.name, info.kind)
}
