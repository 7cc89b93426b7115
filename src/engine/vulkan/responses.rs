//! How long a person waits for a device: to its first kernel, for a comparison, for a picture of a step.
//!
//! The library half of what `blockscope bench` says about a device beside its speed.

use super::Vulkan;
use super::colour::{PALETTE, Show};
use super::raw::{Device, DeviceOptions};
use crate::engine::{Control, Engine as _, EngineError};
use crate::geometry::{Phase, WindowGrid};
use crate::model::Model;
use crate::plan::Plan;
use crate::tensor::{Bytes, Tensor, TensorName};
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Repetitions of what is measured more than once; medians are told.
const TIMES: usize = 7;

/// Times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Responses {
    /// From nothing to the end of the first kernel: loader, device, self-test, pipelines and upload.
    pub first_kernel: f64,
    /// Whether compiled pipelines were found on disk.
    pub warm: bool,
    /// The boundary that was compared and shown.
    pub boundary: String,
    /// Its bytes.
    pub bytes: usize,
    /// A comparison of the boundary with its reference, both on the device, counts read back.
    pub compare: f64,
    /// The part of the kernel.
    pub compare_kernel: f64,
    /// From "step" to the pixels of its picture, without the step's own time.
    pub picture: f64,
}

/// Opens a device and measures. The plan's first boundary is what is compared and shown.
///
/// # Errors
/// When the device fails.
pub fn measure(
    options: &DeviceOptions,
    plan: &Arc<Plan>,
    model: &Arc<Model>,
    features: &Tensor,
) -> Result<Responses, EngineError> {
    let control = Control::new();
    let start = Instant::now();
    let mut engine = Vulkan::open(options)?;
    engine.load(plan, model)?;
    engine.write(features.clone())?;
    engine.run(&plan.steps[0], &control)?;
    let first_kernel = start.elapsed().as_secs_f64();
    let boundary = plan.boundaries[0].clone();
    let last = plan.tensor(&boundary).step.expect("a boundary is computed");
    engine.run_steps(&plan.steps[1..=last], &control)?;

    let other = changed(&engine.read(&boundary)?);
    engine.write_reference(&other)?;
    let grid = WindowGrid::new(other.shape.size, Phase(0));
    let mut comparisons = Vec::new();
    for _ in 0..TIMES {
        let start = Instant::now();
        let found = engine.compare(&boundary, Some(&grid), None)?;
        let found =
            found.filter(|found| found.differing_bytes == 1).ok_or_else(|| wrong(engine.device(), &boundary))?;
        comparisons.push((start.elapsed(), found.duration));
    }
    let palette = [[0; 4]; PALETTE];
    let mut pictures = Vec::new();
    for _ in 0..TIMES {
        let start = Instant::now();
        let report = engine.run(&plan.steps[last], &control)?;
        let picture = engine.picture(&boundary, Show::Mean, None, &palette)?;
        picture.ok_or_else(|| wrong(engine.device(), &boundary))?;
        pictures.push(start.elapsed().saturating_sub(report.duration));
    }
    Ok(Responses {
        first_kernel,
        warm: engine.device().starts_warm(),
        bytes: other.shape.bytes(),
        boundary: boundary.to_string(),
        compare: middle(comparisons.iter().map(|times| times.0)),
        compare_kernel: middle(comparisons.iter().map(|times| times.1)),
        picture: middle(pictures.into_iter()),
    })
}

/// The tensor with its last byte changed.
fn changed(tensor: &Tensor) -> Tensor {
    let mut bytes = tensor.bytes().to_vec();
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    Tensor::new(tensor.name.clone(), tensor.shape, Bytes::copy(&bytes)).expect("as many bytes as before")
}

fn wrong(device: &Device, boundary: &TensorName) -> EngineError {
    let message = format!("tensor \"{boundary}\" with one byte changed does not compare as such");
    EngineError::Device { engine: super::name(device), message }
}

fn middle(times: impl Iterator<Item = Duration>) -> f64 {
    let mut all: Vec<Duration> = times.collect();
    all.sort();
    all[all.len() / 2].as_secs_f64()
}
