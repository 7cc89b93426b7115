//! The fused route: a step is put off until its only reader comes, and both run in one kernel.
//!
//! Normalization is put off everywhere: window attention reads the raw q, k and v itself and keeps everything in between
//! on the chip. On matrix units the first five steps of a block of 32 channels are: its last one runs all six
//! ([`super::fused_block`]). Whoever asks for a tensor that was put off gets it: the steps that make it then run alone.
//!
//! **Invariants**
//! * What a step put off needs is not released before the step has run or was dropped.
//! * A step is dropped when all that it makes was released and no other that waits reads it.

use super::fused_block::{BEFORE, Block};
use super::gemm_fast::{large_enough, rounds_toward_zero};
use super::kernel::{Binder, Dispatch};
use super::matrix_unit;
use super::normalize_fast::head_scales;
use super::raw::{Device, VulkanError};
use super::shaders::{BLOCK_MATRIX, FUSED_ATTENTION, FUSED_ATTENTION_MATRIX, Shader};
use super::window_attention_fast::attention;
use crate::plan::ops::{Normalize, NormalizeKind, WindowAttention};
use crate::plan::{Op, Plan, Step};
use crate::tensor::TensorName;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Steps put off, and the tensors whose release waits for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fused {
    waiting: Vec<Step>,
    unreleased: BTreeSet<TensorName>,
    /// The device's kernel for normalization and window attention in one.
    attention: Option<&'static Shader>,
    /// Whether the device can run whole blocks.
    blocks: bool,
}

impl Fused {
    /// Nothing put off yet, on a device that can run fused kernels.
    pub(crate) fn on(device: &Arc<Device>) -> Option<Self> {
        let attention = Some(shader(device)?);
        Some(Self { attention, blocks: has_matrices(device), ..Self::default() })
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.unreleased.clear();
    }

    /// The kernel for normalization and window attention in one.
    pub(crate) fn attention(&self) -> Option<&'static Shader> {
        self.attention
    }

    /// Puts a step that is about to run off, if its reader can run it; whether it did.
    pub(crate) fn puts_off(&mut self, step: &Step, plan: &Plan) -> bool {
        step.op.outputs().into_iter().for_each(|name| self.wants(name));
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
    pub(crate) fn take_block(&mut self, last: &Step, plan: &Plan) -> Option<[Step; BEFORE]> {
        if !self.blocks || !Block::ends_at(plan, last.index) {
            return None;
        }
        let range = last.index - BEFORE..last.index;
        let waiting = |index| self.waiting.iter().find(|step| step.index == index).cloned();
        let steps: [Step; BEFORE] = range.clone().map_while(waiting).collect::<Vec<_>>().try_into().ok()?;
        self.waiting.retain(|step| !range.contains(&step.index));
        Some(steps)
    }

    /// Takes the normalization whose window attention is about to run: one kernel runs both.
    pub(crate) fn take_normalization(&mut self, reader: &Step) -> Option<Step> {
        match &reader.op {
            Op::WindowAttention(op) => self.take(&op.input),
            _ => None,
        }
    }

    /// The kernel that runs this step and those put off before it, if there is one.
    pub(crate) fn kernel(&self, step: &Step, plan: &Plan) -> Option<&'static str> {
        match &step.op {
            Op::WindowAttention(_) => self.attention.map(|shader| shader.name),
            _ => (self.blocks && Block::ends_at(plan, step.index)).then_some(BLOCK_MATRIX.name),
        }
    }

    /// A tensor is made or written anew: its earlier release is over.
    pub(crate) fn wants(&mut self, name: &TensorName) {
        self.unreleased.remove(name);
    }

    /// The steps put off that must run before a tensor is written by somebody else: those that read it, and the one that makes
    /// it if it makes more.
    pub(crate) fn disturbed_by(&self, name: &TensorName) -> Vec<TensorName> {
        let disturbed = |step: &&Step| {
            let outputs = step.op.outputs();
            step.op.inputs().contains(&name) || (outputs.len() > 1 && outputs.contains(&name))
        };
        self.waiting.iter().filter(disturbed).map(|step| step.name().clone()).collect()
    }

    /// Nobody outside needs a tensor any more: what can be forgotten now. A tensor that nobody has asked for is never made.
    pub(crate) fn release(&mut self, name: &TensorName) -> Vec<TensorName> {
        self.unreleased.insert(name.clone());
        let unwanted = |this: &Self, step: &Step| {
            let outputs = step.op.outputs();
            outputs.iter().all(|name| this.unreleased.contains(*name) && !this.is_read(name))
        };
        while let Some(at) = self.waiting.iter().rposition(|step| unwanted(self, step)) {
            self.waiting.remove(at);
        }
        self.due()
    }

    /// Released tensors that nothing waits for any more.
    pub(crate) fn due(&mut self) -> Vec<TensorName> {
        let all = std::mem::take(&mut self.unreleased);
        let (keep, due): (BTreeSet<_>, BTreeSet<_>) =
            all.into_iter().partition(|name| self.is_read(name) || self.holds(name));
        self.unreleased = keep;
        due.into_iter().collect()
    }

    /// Whether a step put off reads a tensor.
    fn is_read(&self, name: &TensorName) -> bool {
        self.waiting.iter().any(|step| step.op.inputs().contains(&name))
    }
}

/// Whether a device has the matrix units of the exact kernels.
fn has_matrices(device: &Arc<Device>) -> bool {
    matrix_unit::fits(device.info()).is_ok() && matrix_unit::proven(device).is_ok()
}

/// The kernel of this device for normalization and window attention in one, if it can run any.
fn shader(device: &Arc<Device>) -> Option<&'static Shader> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::vulkan::cases;
    use crate::geometry::Size;

    fn blocks() -> Fused {
        Fused { blocks: true, ..Fused::default() }
    }

    /// A block's case, and its steps put off.
    fn waiting() -> (cases::Case, Fused) {
        let (case, mut fused) = (cases::chains(Size::new(13, 7)).remove(0), blocks());
        for step in &case.before {
            assert!(fused.puts_off(step, &case.plan), "{}", step.name());
        }
        assert!(!fused.puts_off(&case.step, &case.plan), "the last step runs");
        (case, fused)
    }

    #[test]
    fn a_block_whose_tensors_are_released_as_they_are_read_still_runs_in_one() {
        let (case, mut fused) = (cases::chains(Size::new(13, 7)).remove(0), blocks());
        let last_reads = case.plan.last_reads();
        for step in &case.before {
            assert!(fused.puts_off(step, &case.plan));
            for name in step.op.inputs().into_iter().filter(|name| last_reads[*name] == step.index) {
                assert_eq!(fused.release(name), [], "{name} is still needed");
            }
        }
        let taken = fused.take_block(&case.step, &case.plan).expect("all five wait");
        assert_eq!(taken.map(|step| step.index), [0, 1, 2, 3, 4]);
        let due = fused.due();
        assert!(due.contains(&"x".into()) && due.contains(&"qkv".into()), "{due:?}");
        assert!(fused.take_block(&case.step, &case.plan).is_none(), "taken once");
    }

    #[test]
    fn a_block_with_a_tensor_asked_for_no_longer_runs_in_one() {
        let (case, mut fused) = waiting();
        assert!(fused.holds(&"fed_raw".into()), "a second output is held too");
        assert_eq!(fused.take(&"fed_raw".into()).map(|step| step.index), Some(1));
        assert!(fused.take_block(&case.step, &case.plan).is_none());
    }

    #[test]
    fn steps_whose_tensors_nobody_wants_are_dropped() {
        let (_, mut fused) = waiting();
        for name in ["hidden", "fed", "fed_raw", "qkv", "normalized"] {
            fused.release(&name.into());
        }
        assert_eq!(fused.waiting.len(), 5, "attention waits for all of them");
        fused.release(&"attended".into());
        assert!(fused.waiting.is_empty(), "{:?}", fused.waiting);
    }

    #[test]
    fn what_is_written_from_outside_runs_its_readers_first() {
        let (_, fused) = waiting();
        let named = |name: &str| fused.disturbed_by(&name.into()).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(named("x"), ["hidden"]);
        assert_eq!(named("fed"), ["fed", "qkv"], "its maker makes more");
        assert_eq!(named("normalized"), ["attended"]);
        assert_eq!(named("other"), [""; 0]);
    }
}
