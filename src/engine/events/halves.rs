//! A step's halves before publication, from the kernel itself: the step with its raw output asked for.
//!
//! A whole step runs on the cpu engine, in bands of lines where rows do not depend on each other, so that a large
//! frame needs no memory for all its halves. Chosen rows and changed rules run on the reference's rows.

use super::observed;
use crate::engine::cpu::{Cpu, Level};
use crate::engine::reference::{self, Sources};
use crate::engine::{Control, EngineError};
use crate::geometry::Size;
use crate::numerics::f16;
use crate::numerics::rules::RawBits;
use crate::plan::ops::{Gemm, GemmHalf};
use crate::plan::ops::{GlobalAttention, Merge, Normalize, Pool, WindowAttention};
use crate::plan::{Op, Plan, Role, Step, TensorInfo};
use crate::tensor::{Bytes, Element, Shape, Tensor, TensorName};
use std::collections::BTreeMap;

/// Bytes of halves in one band; few in tests, so that steps have several.
pub(super) const BAND: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// Some rows of a step with their halves.
pub(super) struct Part<'a> {
    /// Tokens of the plane.
    pub(super) rows: &'a [usize],
    /// Their halves before publication (and before an activation), row by row.
    pub(super) halves: &'a [f16],
    /// Their codes where changed rules made them; otherwise they follow from the halves.
    pub(super) codes: Option<&'a [u8]>,
}

/// Hands out all rows, or those asked for, part by part in order.
pub(super) fn each_part(
    step: &Step,
    sources: Sources<'_>,
    rows: Option<&[usize]>,
    control: &Control,
    take: &mut dyn FnMut(Part<'_>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let shape = sources.plan.shape(observed(&step.op).0);
    if let Some(rows) = rows {
        let asked = Asked::new(step, sources.plan, shape);
        let sources = Sources { plan: &asked.plan, ..sources };
        let outputs = reference::run_rows(&asked.step, sources, rows, control)?;
        let bytes = |name: &TensorName| outputs.iter().find(|(n, _)| n == name).map(|(_, bytes)| bytes.as_slice());
        let halves: Vec<f16> = bytemuck::pod_collect_to_vec(bytes(&asked.halves).unwrap_or_default());
        return take(Part { rows, halves: &halves, codes: asked.codes.as_ref().and_then(bytes) });
    }
    let all: Vec<usize> = (0..shape.tokens()).collect();
    if let Some(held) = held(step, sources) {
        return take(Part { rows: &all, halves: held.halves(), codes: None });
    }
    let line = shape.size.width * shape.channels * 2;
    let (mut asked, engine) = (Asked::new(step, sources.plan, shape), Cpu::new(Level::best())?);
    let lines = if apart(step) { (BAND / line).clamp(1, shape.size.height) } else { shape.size.height };
    for first in (0..shape.size.height).step_by(lines) {
        let band = Size::new(shape.size.width, lines.min(shape.size.height - first));
        let (halves, codes) = asked.run(&engine, sources, (first, band), control)?;
        let rows = &all[first * shape.size.width..][..band.tokens()];
        take(Part { rows, halves: halves.halves(), codes: codes.as_ref().map(Tensor::codes) })?;
    }
    Ok(())
}

/// The halves that the sources hold already: a raw output of a step that was computed.
fn held<'a>(step: &Step, sources: Sources<'a>) -> Option<&'a Tensor> {
    let raw = match &step.op {
        Op::Convert(op) => Some(&op.output),
        Op::Gemm(op) => op.raw.as_ref(),
        Op::GemmHalf(op) => op.raw.as_ref(),
        Op::Merge(op) => op.raw.as_ref(),
        Op::Normalize(_) | Op::WindowAttention(_) | Op::GlobalAttention(_) | Op::Pool(_) => None,
    };
    raw.filter(|_| step.rules.is_exact()).and_then(|name| sources.tensors.get(name))
}

/// Whether a row of the output depends on the same row of the inputs only.
fn apart(step: &Step) -> bool {
    step.rules.is_exact() && matches!(step.op, Op::Convert(_) | Op::Gemm(_) | Op::GemmHalf(_) | Op::Normalize(_))
}

/// Some lines of a tensor.
fn lines(tensor: &Tensor, first: usize, band: Size) -> Tensor {
    let shape = Shape { size: band, ..tensor.shape };
    let bytes = &tensor.bytes()[first * band.width * shape.channels * shape.element.bytes()..][..shape.bytes()];
    Tensor::new(tensor.name.clone(), shape, Bytes::copy(bytes)).expect("whole lines")
}

/// A step that gives its halves.
struct Asked {
    step: Step,
    /// The plan, which also names the halves.
    plan: Plan,
    halves: TensorName,
    /// The output that the network has in the halves' place.
    observed: TensorName,
    /// The output whose codes have to be looked at: under changed rules they do not follow from the halves.
    codes: Option<TensorName>,
}

impl Asked {
    /// Runs the lines of a band on the cpu engine, which unpacks the weights for the first band only.
    fn run(
        &mut self,
        engine: &Cpu,
        sources: Sources<'_>,
        (first, band): (usize, Size),
        control: &Control,
    ) -> Result<(Tensor, Option<Tensor>), EngineError> {
        let whole = band == sources.plan.shape(&self.observed).size;
        let mut tensors = BTreeMap::new();
        for name in self.step.op.inputs() {
            let tensor = &sources.tensors[name];
            tensors.insert(name.clone(), if whole { tensor.clone() } else { lines(tensor, first, band) });
        }
        if !whole {
            for name in self.step.op.tensors() {
                if let Some(info) = self.plan.tensors.get_mut(name) {
                    info.shape.size = band;
                }
            }
        }
        let sources = Sources { plan: &self.plan, model: sources.model, tensors: &tensors };
        let names = self.step.op.outputs().into_iter();
        let mut outputs: BTreeMap<&TensorName, Bytes> =
            names.zip(engine.outputs(&self.step, sources, control)?).collect();
        let mut take = |name: &TensorName| {
            let bytes = outputs.remove(name).expect("the step was made to write it");
            Tensor::new(name.clone(), self.plan.shape(name), bytes).expect("kernels fill their shape")
        };
        Ok((take(&self.halves), self.codes.as_ref().map(take)))
    }

    fn new(step: &Step, plan: &Plan, shape: Shape) -> Self {
        let exact = step.rules.is_exact();
        let halves = TensorName::from("halves before publication");
        let raw = Some(halves.clone());
        let kept = |published: &Option<TensorName>| published.clone().filter(|_| !exact);
        let op = match &step.op {
            Op::Convert(op) => Op::Convert(crate::plan::ops::Convert { output: halves.clone(), ..op.clone() }),
            Op::Gemm(op) => Op::Gemm(Gemm { published: kept(&op.published), raw, ..op.clone() }),
            Op::GemmHalf(op) => {
                Op::GemmHalf(GemmHalf { published: kept(&op.published), raw, single: None, ..op.clone() })
            }
            Op::Merge(op) => Op::Merge(Merge { published: kept(&op.published), raw, ..op.clone() }),
            Op::Normalize(op) => Op::Normalize(Normalize { raw, ..op.clone() }),
            Op::WindowAttention(op) => Op::WindowAttention(WindowAttention { raw, ..op.clone() }),
            Op::GlobalAttention(op) => Op::GlobalAttention(GlobalAttention { raw, ..op.clone() }),
            Op::Pool(op) => Op::Pool(Pool { raw, ..op.clone() }),
        };
        let codes = op.outputs().into_iter().find(|&name| *name != halves).cloned().filter(|_| !exact);
        let rules = crate::numerics::Rules { raw: RawBits::Half, ..step.rules };
        let mut plan = plan.clone();
        let plane = plan.tensor(step.name()).plane;
        let info = TensorInfo {
            shape: Shape { element: Element::F16, ..shape },
            role: Role::Intermediate,
            step: Some(step.index),
            plane,
        };
        plan.tensors.insert(halves.clone(), info);
        let observed = observed(&step.op).0.clone();
        Self { step: Step { op, rules, ..step.clone() }, plan, halves, observed, codes }
    }
}
