//! The fused route: a step is put off until its only reader comes, and both run in one kernel.
//!
//! Normalization is put off everywhere: window attention reads the raw q, k and v itself and keeps everything in between
//! on the chip. On matrix units the first five steps of a block of 32 channels are: its last one runs all six
//! ([`super::fused_block`]). Whoever asks for a tensor that was put off gets it: the steps that make it then run alone.
//!
//! **Invariant**: what a step put off needs is not released before the step has run or was dropped.

use super::fused_block::Block;
use super::gemm_fast::{large_enough, rounds_toward_zero};
use super::kernel::{Binder, Dispatch};
use super::matrix_unit;
use super::normalize_fast::head_scales;
use super::raw::{Device, VulkanError};
use super::shaders::{FUSED_ATTENTION, FUSED_ATTENTION_MATRIX, Shader};
use super::window_attention_fast::attention;
use crate::plan::ops::{Normalize, NormalizeKind, WindowAttention};
use crate::plan::{Op, Plan, Step};
use crate::tensor::TensorName;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Steps put off, and the tensors whose release waits for them.
#[derive(Debug, Default)]
pub(crate) struct Fused {
    waiting: Vec<Step>,
    unreleased: BTreeSet<TensorName>,
    /// Whether the device can run whole blocks.
    blocks: bool,
}

impl Fused {
    /// Nothing put off yet, on a device.
    pub(crate) fn on(device: &Arc<Device>) -> Self {
        Self { blocks: has_matrices(device), ..Self::default() }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self { blocks: self.blocks, ..Self::default() };
    }

    /// Puts a step off if its reader can run it; whether it did.
    pub(crate) fn puts_off(&mut self, step: &Step, plan: &Plan) -> bool {
        let reads = |op: &Normalize, other: &Step| matches!(&other.op, Op::WindowAttention(w) if w.input == op.output);
        let pairs =
            |op: &Normalize| op.kind == NormalizeKind::Window && plan.steps.iter().any(|other| reads(op, other));
        let fusable = matches!(&step.op, Op::Normalize(op) if pairs(op)) || (self.blocks && Block::holds(plan, step));
        if fusable {
            self.waiting.retain(|waiting| waiting.name() != step.name());
            self.waiting.push(step.clone());
        }
        fusable
    }

    /// Whether a tensor's step was put off.
    pub(crate) fn holds(&self, name: &TensorName) -> bool {
        self.waiting.iter().any(|step| step.op.outputs().contains(&name))
    }

    /// Takes the step that makes a tensor: whoever takes it runs it.
    pub(crate) fn take(&mut self, name: &TensorName) -> Option<Step> {
        let at = self.waiting.iter().position(|step| step.op.outputs().contains(&name))?;
        Some(self.waiting.remove(at))
    }

    /// Takes the steps before the last one of a block, if all of them wait.
    pub(crate) fn take_block(&mut self, last: &Step, plan: &Plan) -> Option<[Step; 5]> {
        if !self.blocks || !Block::ends_at(plan, last.index) {
            return None;
        }
        let at = |i: usize| self.waiting.iter().position(|step| step.index + 5 == last.index + i);
        let places: Vec<usize> = (0..5).map_while(at).collect();
        let steps: [Step; 5] = places.iter().map(|&i| self.waiting[i].clone()).collect::<Vec<_>>().try_into().ok()?;
        self.waiting.retain(|step| !(last.index - 5..last.index).contains(&step.index));
        Some(steps)
    }

    /// Whether a release must wait; it is then remembered.
    pub(crate) fn delays_release(&mut self, name: &TensorName) -> bool {
        let needed = self.waiting.iter().any(|step| step.op.inputs().contains(&name));
        if needed {
            self.unreleased.insert(name.clone());
        }
        needed
    }

    /// Releases that nothing waits for any more.
    pub(crate) fn due(&mut self) -> Vec<TensorName> {
        let waiting = &self.waiting;
        let needed = |name: &TensorName| waiting.iter().any(|step| step.op.inputs().contains(&name));
        let (keep, due) = std::mem::take(&mut self.unreleased).into_iter().partition(|name| needed(name));
        self.unreleased = keep;
        let due: BTreeSet<TensorName> = due;
        due.into_iter().collect()
    }
}

/// Whether a device has the matrix units of the exact kernels.
fn has_matrices(device: &Arc<Device>) -> bool {
    matrix_unit::fits(device.info()).is_ok() && matrix_unit::proven(device).is_ok()
}

/// The kernel of this device for normalization and window attention in one, if it can run any.
pub(crate) fn shader(device: &Arc<Device>) -> Option<&'static Shader> {
    if has_matrices(device) {
        return Some(&FUSED_ATTENTION_MATRIX);
    }
    let info = device.info();
    if rounds_toward_zero(info).is_ok() {
        return Some(&FUSED_ATTENTION[0]);
    }
    large_enough(info).is_ok().then_some(&FUSED_ATTENTION[1])
}

/// Normalization and window attention in one.
pub(crate) fn dispatches(
    shader: &'static Shader,
    normalize: &Normalize,
    window: &WindowAttention,
    binder: &mut Binder<'_>,
) -> Result<Vec<Dispatch>, VulkanError> {
    let (input, scale) = (binder.input(&normalize.input), head_scales(normalize, binder)?);
    attention(window, binder, shader, input, scale)
}
