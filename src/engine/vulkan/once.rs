//! A single dispatch of bytes in, bytes out, for probes and tests that have no plan.

use super::raw::{Buffer, Device, Pipeline, PipelineOptions, Place, Recorder, VulkanError};
use super::shaders::Shader;
use std::sync::Arc;

/// Runs a shader with an input at binding 0 and a zeroed output at binding 1.
pub(super) fn run(
    device: &Arc<Device>,
    shader: &'static Shader,
    input: &[u8],
    output: usize,
    groups: u32,
) -> Result<Vec<u8>, VulkanError> {
    let name = |part: &str| format!("{} {part}", shader.name);
    let (bytes, wanted) = (input.len() as u64, output as u64);
    let mut upload = Buffer::new(device, &name("upload"), bytes, Place::Upload)?;
    upload.mapped_mut()[..input.len()].copy_from_slice(input);
    let from = Arc::new(Buffer::new(device, &name("input"), bytes, Place::Device)?).whole();
    let to = Arc::new(Buffer::new(device, &name("output"), wanted, Place::Device)?).whole();
    let download = Arc::new(Buffer::new(device, &name("download"), wanted, Place::Download)?);
    let options = PipelineOptions {
        name: shader.name,
        code: &shader.words(),
        bindings: shader.bindings,
        push: shader.push,
        constants: &[],
        subgroup: None,
    };
    let pipeline = Arc::new(Pipeline::new(device, options)?);
    let mut recorder = Recorder::new(device, shader.name)?;
    recorder.copy((&upload, 0), &from)?;
    recorder.fill(&to, 0)?;
    recorder.dispatch(&pipeline, &[from, to.clone()], &[], [groups, 1, 1])?;
    recorder.copy_to_host(&to, &download)?;
    recorder.submit()?;
    Ok(download.mapped()[..output].to_vec())
}
