//! Runs dispatches: pipelines by shader and specialization, long work cut into short submissions, times per step.

use super::kernel::Dispatch;
use super::raw::{Device, Pipeline, PipelineOptions, Recorder, Slice, VulkanError};
use crate::engine::Control;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a submission should take: what a user waits after "cancel", and what a driver never resets.
const SUBMISSION: Duration = Duration::from_millis(200);
/// Marks of one submission, two a piece of work.
const MARKS: usize = 1024;

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The control said so.
    Cancelled,
    /// The device failed.
    Failed(VulkanError),
}

impl From<VulkanError> for Stop {
    fn from(error: VulkanError) -> Self {
        Self::Failed(error)
    }
}

/// Submits dispatches of one device.
#[derive(Debug)]
pub(crate) struct Runner {
    device: Arc<Device>,
    recorder: Recorder,
    pipelines: BTreeMap<(&'static str, Vec<u32>), Arc<Pipeline>>,
    /// Products a second, as measured so far.
    rate: f64,
    /// Products recorded and not yet submitted.
    pending: u64,
    /// Step and marks of every piece recorded and not yet submitted.
    pieces: Vec<(usize, usize, usize)>,
}

impl Runner {
    pub(crate) fn new(device: &Arc<Device>) -> Result<Self, VulkanError> {
        // A careful first guess; the first submissions correct it.
        let rate = if device.info().kind == "cpu" { 2e8 } else { 1e11 };
        Ok(Self {
            device: Arc::clone(device),
            recorder: Recorder::new(device, "kernels")?,
            pipelines: BTreeMap::new(),
            rate,
            pending: 0,
            pieces: Vec::new(),
        })
    }

    /// The pipeline of a shader and specialization.
    pub(crate) fn pipeline(&mut self, dispatch: &Dispatch) -> Result<Arc<Pipeline>, VulkanError> {
        let key = (dispatch.shader.name, dispatch.constants.clone());
        if let Some(pipeline) = self.pipelines.get(&key) {
            return Ok(Arc::clone(pipeline));
        }
        let shader = dispatch.shader;
        let options = PipelineOptions {
            name: shader.name,
            code: &shader.words(),
            bindings: shader.bindings,
            push: shader.push,
            constants: &dispatch.constants,
            subgroup: shader.subgroup,
        };
        let pipeline = Arc::new(Pipeline::new(&self.device, options)?);
        self.pipelines.insert(key, Arc::clone(&pipeline));
        Ok(pipeline)
    }

    /// Records a step's dispatches, submitting whenever enough has gathered. `times` gets what each step took.
    pub(crate) fn record(
        &mut self,
        step: usize,
        dispatches: &[Dispatch],
        times: &mut [Duration],
        control: &Control,
    ) -> Result<(), Stop> {
        for dispatch in dispatches {
            let pipeline = self.pipeline(dispatch)?;
            let mut first = 0;
            while first < dispatch.groups[0] {
                if control.is_cancelled() {
                    self.flush(times)?;
                    return Err(Stop::Cancelled);
                }
                let share = dispatch.cost as f64 / f64::from(dispatch.groups[0]);
                let room = ((self.budget() - self.pending as f64) / share).max(1.0) as u32;
                let count = room.min(dispatch.groups[0] - first).min(self.device.info().limits.groups);
                let mut push = dispatch.push.clone();
                push[..4].copy_from_slice(&first.to_le_bytes());
                let from = self.recorder.mark()?;
                let groups = [count, dispatch.groups[1], dispatch.groups[2]];
                self.recorder.dispatch(&pipeline, &dispatch.buffers, &push, groups)?;
                let to = self.recorder.mark()?;
                self.pieces.push((step, from, to));
                self.pending += (share * f64::from(count)) as u64;
                first += count;
                if self.pending as f64 >= self.budget() || self.pieces.len() * 2 >= MARKS {
                    self.flush(times)?;
                }
            }
        }
        Ok(())
    }

    /// Records the filling of a buffer with a word.
    pub(crate) fn fill(&mut self, slice: &Slice, word: u32) -> Result<(), VulkanError> {
        self.recorder.fill(slice, word)
    }

    /// Forgets what was recorded: the device failed on the way.
    pub(crate) fn discard(&mut self) {
        self.pieces.clear();
        self.pending = 0;
        self.recorder.discard();
    }

    /// Products of one submission.
    fn budget(&self) -> f64 {
        self.rate * SUBMISSION.as_secs_f64()
    }

    /// Submits what is pending, waits, and adds its times.
    pub(crate) fn flush(&mut self, times: &mut [Duration]) -> Result<(), VulkanError> {
        let start = Instant::now();
        let (pieces, products) = (std::mem::take(&mut self.pieces), std::mem::take(&mut self.pending));
        let timing = self.recorder.submit()?;
        let wall = start.elapsed();
        let each = wall / (pieces.len().max(1) as u32);
        for (step, from, to) in pieces {
            times[step] += timing.between(from, to).unwrap_or(each);
        }
        // Short submissions are mostly overhead and say nothing about the rate.
        if wall > Duration::from_millis(5) && products > 0 {
            let measured = products as f64 / wall.as_secs_f64();
            self.rate = (self.rate * 0.5 + measured * 0.5).clamp(1e7, 1e14);
        }
        Ok(())
    }
}
