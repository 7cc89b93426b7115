//! Crafted inputs of one kernel: what no small frame of the synthetic model exercises, each cause still has to show.
//!
//! Rows follow one regime each: subnormals only, huge magnitudes, ordinary values, the fused multiply-add's double
//! rounding. A variant without effect in the frame must have one here, and is found as itself.

use super::{Effect, Network};
use blockscope::diagnosis::Variant;
use blockscope::diagnosis::explain::{Explanation, Segment, explain};
use blockscope::engine::{Control, reference};
use blockscope::numerics::f16;
use blockscope::plan::{Op, Plan};
use blockscope::tensor::{Bytes, Element, Shape, Tensor, TensorName};
use std::collections::BTreeMap;

type Tensors = BTreeMap<TensorName, Tensor>;

/// A generator of bits, the same on every machine.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    pub(super) fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        self.bits() as usize % n.max(1)
    }
}

/// One element's bytes under the regime of its row.
fn element(shape: &Shape, row: usize, channel: usize, draw: &mut Draw) -> Vec<u8> {
    let bits = draw.bits();
    let sign = bits >> 24 & 0x80;
    match (shape.element, row % 6) {
        (Element::E4m3, 0) => vec![(sign | bits & 7) as u8],
        (Element::E4m3, 1) => vec![(sign | (0x70 + bits % 15)) as u8],
        (Element::E4m3, 2) => vec![(0x70 + bits % 15) as u8],
        (Element::E4m3, _) => vec![(sign | (bits % 0x7f)) as u8],
        (Element::F16, 0) => ((sign << 8 | bits & 0x3ff) as u16).to_le_bytes().to_vec(),
        (Element::F16, 1) => (((sign << 8) | (0x7800 + bits % 0x400)) as u16).to_le_bytes().to_vec(),
        // A square that is a tie between halves, beside one that tips it over and that singles cannot hold.
        (Element::F16, 2) => match channel % 32 {
            0 => f16::from_f32(4.0 * (47 + 2 * (bits % 9)) as f32).to_le_bytes().to_vec(),
            16 => f16::from_f32(0.031_25).to_le_bytes().to_vec(),
            _ => (((sign << 8) | (0x3400 + bits % 0x400)) as u16).to_le_bytes().to_vec(),
        },
        (Element::F16, _) => (((sign << 8) | (0x2000 + bits % 0x2800)) as u16).to_le_bytes().to_vec(),
        (Element::F32, _) => (bits as f32 / (1 << 28) as f32 - 3.7).to_le_bytes().to_vec(),
    }
}

fn craft(name: &TensorName, shape: Shape, draw: &mut Draw) -> Tensor {
    let places = (0..shape.tokens()).flat_map(|row| (0..shape.channels).map(move |channel| (row, channel)));
    let bytes: Vec<u8> = places.flat_map(|(row, channel)| element(&shape, row, channel, draw)).collect();
    Tensor::new(name.clone(), shape, Bytes::copy(&bytes)).unwrap()
}

fn outputs(network: &Network, plan: &Plan, step: usize, tensors: &Tensors) -> Vec<Tensor> {
    let sources = reference::Sources { plan, model: &network.model, tensors };
    let rows: Vec<usize> = (0..plan.shape(plan.steps[step].name()).tokens()).collect();
    let outputs = reference::run_rows(&plan.steps[step], sources, &rows, &Control::new()).unwrap();
    let known = outputs.into_iter().filter(|(name, _)| network.plan.tensors.contains_key(name));
    known.map(|(name, bytes)| Tensor::new(name.clone(), plan.shape(&name), Bytes::copy(&bytes)).unwrap()).collect()
}

/// A step of crafted inputs where a variant has an effect, and what a subject with it gives there.
pub(super) fn effective(network: &Network, variant: &Variant) -> Option<(Effect, Tensors)> {
    let mut places: Vec<usize> =
        (0..network.plan.steps.len()).filter(|&i| variant.apply(&mut Plan::clone(&network.plan), i)).collect();
    places.sort_by_key(|&i| network.plan.steps[i].op.products(&network.plan));
    // One step of every kernel and number of outputs, cheap ones first.
    let mut kernels = Vec::new();
    places.retain(|&i| {
        let step = &network.plan.steps[i];
        let kernel = (step.kernel, step.op.outputs().len());
        let new = !kernels.contains(&kernel);
        kernels.push(kernel);
        new
    });
    let mut draw = Draw(7);
    places.into_iter().find_map(|i| {
        let step = &network.plan.steps[i];
        let names = step.op.inputs().into_iter().cloned();
        let tensors: Tensors = names.map(|n| (n.clone(), craft(&n, network.plan.shape(&n), &mut draw))).collect();
        let mut changed = Plan::clone(&network.plan);
        variant.apply(&mut changed, i);
        let (subject, exact) = (outputs(network, &changed, i, &tensors), outputs(network, &network.plan, i, &tensors));
        let observed: Vec<(Tensor, Tensor)> = subject.into_iter().zip(exact).collect();
        observed.iter().any(|(s, r)| s.bytes() != r.bytes()).then_some(((i, changed, observed), tensors))
    })
}

pub(super) fn explained(network: &Network, (step, _, observed): Effect, known: &Tensors) -> Explanation {
    let (plan, model, between) = (&network.plan, &network.model, &BTreeMap::new());
    let segment = Segment { plan, model, steps: step..step + 1, known, between, observed };
    explain(&segment, &[], &Control::new(), &|_, _| {}).unwrap()
}

/// The shift of every phase is 4 or 0, and -4 is 4 in a grid of 8: the one cause that can never show.
#[test]
fn a_negated_shift_is_the_same_grid() {
    let network = &*super::NETWORK;
    for step in &network.plan.steps {
        let Op::WindowAttention(op) = &step.op else { continue };
        let size = network.plan.shape(&op.input).size;
        let (x, y) = op.phase.shift();
        let negated = blockscope::geometry::WindowGrid::with_shift(size, (-(x as isize), -(y as isize)));
        assert_eq!(negated, op.grid(size), "{}", step.name());
    }
}
