//! The fused route: a step is put off until its only reader comes, and both run in one kernel.
//!
//! Normalization is what is put off: window attention reads the raw q, k and v itself and keeps everything in
//! between on the chip. Whoever asks for a tensor that was put off gets it: the step then runs alone.
//!
//! **Invariant**: what a step put off needs is not released before the step has run or was dropped.

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
}

impl Fused {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Puts a step off if its reader can run it; whether it did.
    pub(crate) fn puts_off(&mut self, step: &Step, plan: &Plan) -> bool {
        let Op::Normalize(op) = &step.op else { return false };
        let reads = |other: &Step| matches!(&other.op, Op::WindowAttention(w) if w.input == op.output);
        let fusable = op.kind == NormalizeKind::Window && plan.steps.iter().any(reads);
        if fusable {
            self.waiting.retain(|waiting| waiting.name() != step.name());
            self.waiting.push(step.clone());
        }
        fusable
    }

    /// Whether a tensor's step was put off.
    pub(crate) fn holds(&self, name: &TensorName) -> bool {
        self.waiting.iter().any(|step| step.name() == name)
    }

    /// Takes the step that makes a tensor: whoever takes it runs it.
    pub(crate) fn take(&mut self, name: &TensorName) -> Option<Step> {
        let at = self.waiting.iter().position(|step| step.name() == name)?;
        Some(self.waiting.remove(at))
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

/// The kernel of this device for normalization and window attention in one, if it can run any.
pub(crate) fn shader(device: &Arc<Device>) -> Option<&'static Shader> {
    let info = device.info();
    if matrix_unit::fits(info).is_ok() && matrix_unit::proven(device).is_ok() {
        return Some(&FUSED_ATTENTION_MATRIX);
    }
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
