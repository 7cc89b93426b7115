//! Small cases of every op with hostile values, and of the chains that fused kernels run: what the self-test and the tests
//! run against the reference.
//!
//! Planes have odd sides, so that the last workgroup of every kernel is partial. Operands cover all codes, NaN,
//! both zeros, subnormals, saturation, zero rows and windows that leave the field.

use crate::engine::{Control, Engine, EngineError};
use crate::geometry::{Geometry, Phase, Plane, Size};
use crate::model::synthetic::Xorshift;
use crate::model::{Contents, Model, Parameter, ParameterKind, layout};
use crate::numerics::{Rules, f16};
use crate::plan::ops::{
    Activation, Convert, Gemm, GemmHalf, GlobalAttention, Merge, Normalize, NormalizeKind, Pool, Seed, WindowAttention,
};
use crate::plan::{Op, Plan, Role, Step, TensorInfo};
use crate::tensor::{Bytes, Element, Shape, Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A step with a plan around it and its inputs.
#[derive(Clone, Debug)]
pub struct Case {
    /// Shapes of its tensors.
    pub plan: Arc<Plan>,
    /// The steps of a chain before the last; none where an op is tried alone.
    pub before: Vec<Step>,
    /// The one step, or the last.
    pub step: Step,
    /// What it reads.
    pub inputs: Vec<Tensor>,
}

impl Case {
    /// Runs the case on an engine: what the last step writes.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub fn outputs(
        &self,
        engine: &mut dyn Engine,
        model: &Arc<Model>,
        control: &Control,
    ) -> Result<Vec<Tensor>, EngineError> {
        engine.load(&self.plan, model)?;
        for input in &self.inputs {
            engine.write(input.clone())?;
        }
        for step in self.before.iter().chain([&self.step]) {
            engine.run(step, control)?;
        }
        self.step.op.outputs().into_iter().map(|name| engine.read(name)).collect()
    }
}

/// Blocks whose parameters the cases use.
const BLOCKS: [usize; 7] = [0, 1, 5, 23, 31, 39, 70];

/// A model whose parameters of a few blocks are random, and zero elsewhere.
pub fn model() -> Model {
    let mut random = Xorshift::new(0x5eed);
    let mut make = |record: &layout::RecordLayout| -> Arc<[u8]> {
        let mut bytes = vec![0_u8; record.length];
        if BLOCKS.contains(&record.block) {
            for region in &record.regions {
                fill(&mut bytes[region.offset..][..region.contents.bytes()], region.contents, &mut random);
            }
        }
        Arc::from(bytes)
    };
    let records = layout::records().iter().map(|record| (record.name.clone(), make(record))).collect();
    Model::from_records("self-test".to_owned(), records)
}

fn fill(out: &mut [u8], contents: Contents, random: &mut Xorshift) {
    match contents {
        Contents::Fp8 { .. } => out.iter_mut().for_each(|byte| *byte = code(random, false)),
        Contents::HeadScales(n) => {
            for bytes in &mut out.as_chunks_mut::<4>().0[..n] {
                *bytes = (0.15 + (random.draw() >> 8) as f32 * f32::powi(2.0, -22)).to_le_bytes();
            }
        }
        Contents::HalfMatrix { .. } | Contents::Halves(_) | Contents::Prior { .. } => {
            out.as_chunks_mut::<2>().0.iter_mut().for_each(|b| *b = half(random, false).to_le_bytes());
        }
    }
}

/// A code: any of the 256, or one of moderate size with zeros among them.
fn code(random: &mut Xorshift, wild: bool) -> u8 {
    let draw = random.draw();
    match draw >> 24 {
        _ if wild => draw as u8,
        0..16 => 0,
        16..20 => 0x7f,
        20..24 => 0x80,
        24..40 => draw as u8 & 0x87,
        _ => (draw as u8 & 0x80) | (0x18 + (draw >> 8) as u8 % 0x28),
    }
}

/// A half: any of the 65,536, or a finite one of moderate size.
fn half(random: &mut Xorshift, wild: bool) -> f16 {
    let draw = random.draw();
    let bits = match draw >> 24 {
        _ if wild => draw as u16,
        0..8 => draw as u16 & 0x83ff,
        8..16 => draw as u16 & 0x8000,
        _ => (draw as u16 & 0x83ff) | (9 + (draw >> 16) as u16 % 8) << 10,
    };
    f16::from_bits(bits)
}

/// A single: any bit pattern, or near the halves' range.
fn single(random: &mut Xorshift, wild: bool) -> f32 {
    let (draw, exponent) = (random.draw(), random.draw() % 44);
    if wild { f32::from_bits(draw) } else { f32::from_bits((draw & 0x807f_ffff) | (exponent + 100) << 23) }
}

/// Random elements; rows are by turns moderate, wild and zero.
fn tensor(name: &str, shape: Shape, random: &mut Xorshift) -> Tensor {
    let stride = shape.channels * shape.element.bytes();
    let bytes = Bytes::build(shape.bytes(), |out| {
        for (row, bytes) in out.chunks_exact_mut(stride).enumerate() {
            let wild = row % 3 == 1;
            match shape.element {
                _ if row % 11 == 10 => {}
                Element::E4m3 => bytes.iter_mut().for_each(|b| *b = code(random, wild)),
                Element::F16 => {
                    bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|b| *b = half(random, wild).to_le_bytes());
                }
                Element::F32 => {
                    bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|b| *b = single(random, wild).to_le_bytes());
                }
            }
        }
    });
    Tensor::new(name.into(), shape, bytes).expect("built to its shape")
}

/// Collects cases.
struct Builder {
    random: Xorshift,
    cases: Vec<Case>,
}

impl Builder {
    /// Adds a case: its op, its inputs and the shapes of its outputs.
    fn add(&mut self, op: Op, inputs: &[(&str, Shape)], outputs: &[(&str, Shape)]) {
        self.chain(vec![op], inputs, outputs);
    }

    /// Adds a chain of ops: its inputs, and the shapes of everything that it makes.
    fn chain(&mut self, ops: Vec<Op>, inputs: &[(&str, Shape)], made: &[(&str, Shape)]) {
        let info = |shape, step| TensorInfo { shape, role: Role::Intermediate, step, plane: Plane::Field };
        let maker = |name: &str| ops.iter().position(|op| op.outputs().iter().any(|output| output.as_str() == name));
        let mut tensors = BTreeMap::new();
        tensors.extend(inputs.iter().map(|&(name, shape)| (TensorName::new(name), info(shape, None))));
        tensors.extend(made.iter().map(|&(name, shape)| (TensorName::new(name), info(shape, maker(name)))));
        let geometry = Geometry::new(Size::new(64, 64)).expect("a size that runs");
        let step = |(index, op)| Step { index, block: 0, kernel: "case", op, rules: Rules::EXACT };
        let mut before: Vec<Step> = ops.into_iter().enumerate().map(step).collect();
        let plan = Plan { geometry, steps: before.clone(), tensors, boundaries: Vec::new() };
        let inputs = inputs.iter().map(|&(name, shape)| tensor(name, shape, &mut self.random)).collect();
        let step = before.pop().expect("a chain has a step");
        self.cases.push(Case { plan: Arc::new(plan), before, step, inputs });
    }

    fn gemm(&mut self, size: Size, op: Gemm, residual: Option<Element>) {
        let width = op.groups * op.n;
        let mut inputs = vec![("x", Shape::new(Element::E4m3, size, op.groups * op.k))];
        inputs.extend(residual.map(|element| ("skip", Shape::new(element, size, width))));
        let mut outputs = Vec::new();
        outputs.extend(op.published.as_ref().map(|_| ("published", Shape::new(Element::E4m3, size, width))));
        outputs.extend(op.raw.as_ref().map(|_| ("raw", Shape::new(Element::F16, size, width))));
        self.add(Op::Gemm(op), &inputs, &outputs);
    }
}

/// An FP8 product with both outputs.
fn gemm(block: usize, kind: ParameterKind, groups: usize, k: usize, n: usize) -> Gemm {
    Gemm {
        input: "x".into(),
        weights: Parameter::new(block, kind),
        groups,
        k,
        n,
        partition: k,
        seed: None,
        activation: Activation::None,
        published: Some("published".into()),
        raw: Some("raw".into()),
    }
}

fn seeded(op: Gemm, block: usize, scale: ParameterKind) -> Gemm {
    Gemm { seed: Some(Seed { residual: "skip".into(), scale: Parameter::new(block, scale) }), ..op }
}

/// All cases on a plane of tokens; `size` is best odd on both sides.
pub fn all(size: Size) -> Vec<Case> {
    use ParameterKind as P;
    let mut b = Builder { random: Xorshift::new(0xc0de), cases: Vec::new() };
    let shape = |element, channels| Shape::new(element, size, channels);
    let (e4m3, half, single) = (Element::E4m3, Element::F16, Element::F32);
    let convert = Convert { input: "x".into(), output: "half".into() };
    b.add(Op::Convert(convert), &[("x", shape(single, 16))], &[("half", shape(half, 16))]);
    for (block, kind, k, n) in [(0, P::Adapter, 16, 32), (70, P::Head, 32, 4)] {
        let names = ["published", "raw", "single"].map(|name| Some(TensorName::new(name)));
        let [published, raw, wide] = names;
        let op =
            GemmHalf { input: "x".into(), weights: Parameter::new(block, kind), k, n, published, raw, single: wide };
        let outputs = [("published", shape(e4m3, n)), ("raw", shape(half, n)), ("single", shape(single, n))];
        b.add(Op::GemmHalf(op), &[("x", shape(half, k))], &outputs);
    }
    b.gemm(size, Gemm { activation: Activation::Silu, ..gemm(1, P::Expand, 1, 32, 128) }, None);
    b.gemm(size, seeded(gemm(1, P::Contract, 1, 128, 32), 1, P::FfnScale), Some(half));
    b.gemm(size, Gemm { raw: None, activation: Activation::Silu, ..gemm(5, P::Expand, 1, 64, 256) }, None);
    b.gemm(size, gemm(5, P::Contract, 2, 128, 32), None);
    b.gemm(size, seeded(gemm(5, P::Mix, 1, 64, 64), 5, P::FfnScale), Some(e4m3));
    b.gemm(size, Gemm { published: None, ..gemm(5, P::Qkv, 1, 64, 192) }, None);
    let row = Size::new(size.width, 1);
    b.gemm(row, Gemm { raw: None, activation: Activation::Silu, ..gemm(23, P::Expand, 8, 64, 256) }, None);
    b.gemm(row, Gemm { raw: None, ..gemm(23, P::Contract, 8, 256, 64) }, None);
    b.gemm(Size::new(3, 1), Gemm { partition: 256, ..gemm(39, P::Transition, 1, 1024, 512) }, None);
    for (block, kind, heads) in [(5, NormalizeKind::Window, 2), (31, NormalizeKind::Vit, 32)] {
        let size = if heads > 2 { row } else { size };
        let (input, head_scale) = ("x".into(), Parameter::new(block, P::HeadScale));
        let op = Normalize { input, head_scale, heads, kind, output: "normalized".into(), raw: None };
        let shape = |element| Shape::new(element, size, 96 * heads);
        b.add(Op::Normalize(op), &[("x", shape(half))], &[("normalized", shape(e4m3))]);
    }
    for phase in (0..4).map(Phase) {
        let prior = Parameter::new(5, P::Prior);
        let op = WindowAttention { input: "x".into(), prior, heads: 2, phase, output: "attended".into(), raw: None };
        b.add(Op::WindowAttention(op), &[("x", shape(e4m3, 192))], &[("attended", shape(e4m3, 64))]);
    }
    for size in [size, Size::new(16, 8)] {
        let op = GlobalAttention { input: "x".into(), heads: 2, output: "attended".into(), raw: None };
        let shape = |channels| Shape::new(e4m3, size, channels);
        b.add(Op::GlobalAttention(op), &[("x", shape(192))], &[("attended", shape(64))]);
    }
    // The plane below is rounded up: its last row and column leave the plane above.
    let below = size.map(|side| side.div_ceil(2).next_multiple_of(4));
    let pool = Pool { input: "x".into(), output: "pooled".into(), raw: None };
    b.add(Op::Pool(pool), &[("x", shape(half, 32))], &[("pooled", Shape::new(e4m3, below, 32))]);
    for (block, kind, low, low_scale) in
        [(39, P::TransitionScale, half, None), (70, P::AdapterScale, e4m3, Some(Parameter::new(70, P::InputScale)))]
    {
        let channels = if block == 39 { 512 } else { 32 };
        let skip_scale = Parameter::new(block, kind);
        let (published, raw) = (Some("published".into()), Some("raw".into()));
        let op = Merge { skip: "skip".into(), skip_scale, low: "low".into(), low_scale, published, raw };
        let inputs = [("skip", shape(e4m3, channels)), ("low", Shape::new(low, below, channels))];
        b.add(Op::Merge(op), &inputs, &[("published", shape(e4m3, channels)), ("raw", shape(half, channels))]);
    }
    b.cases
}

/// The chains of steps that the fused kernels run in one, on a plane of tokens and in every phase: a block of 32 channels from
/// its feed-forward to its projection, with either kind of residual; normalization and attention of two heads.
pub fn chains(size: Size) -> Vec<Case> {
    use ParameterKind as P;
    let mut b = Builder { random: Xorshift::new(0xb10c), cases: Vec::new() };
    let shape = |element, channels| Shape::new(element, size, channels);
    let (e4m3, half) = (Element::E4m3, Element::F16);
    for phase in (0..4).map(Phase) {
        let skip = if phase.0 % 2 == 0 { e4m3 } else { half };
        let product = |kind, k, n, input: &str, published: Option<&str>, raw: Option<&str>| Gemm {
            input: input.into(),
            published: published.map(TensorName::new),
            raw: raw.map(TensorName::new),
            ..gemm(1, kind, 1, k, n)
        };
        let seeded = |op, residual: &str, scale| {
            let (residual, scale) = (residual.into(), Parameter::new(1, scale));
            Gemm { seed: Some(Seed { residual, scale }), ..op }
        };
        let expand = product(P::Expand, 32, 128, "x", Some("hidden"), None);
        let contract = product(P::Contract, 128, 32, "hidden", Some("fed"), Some("fed_raw"));
        let project = product(P::Project, 32, 32, "attended", Some("published"), Some("raw"));
        let (heads, raw) = (1, None);
        let (head_scale, prior) = (Parameter::new(1, P::HeadScale), Parameter::new(1, P::Prior));
        let (input, output, kind) = ("qkv".into(), "normalized".into(), NormalizeKind::Window);
        let normalize = Normalize { input, head_scale, heads, kind, output, raw: raw.clone() };
        let (input, output) = ("normalized".into(), "attended".into());
        let attention = WindowAttention { input, prior, heads, phase, output, raw };
        let ops = vec![
            Op::Gemm(Gemm { activation: Activation::Silu, ..expand }),
            Op::Gemm(seeded(contract, "skip", P::FfnScale)),
            Op::Gemm(product(P::Qkv, 32, 96, "fed", None, Some("qkv"))),
            Op::Normalize(normalize),
            Op::WindowAttention(attention),
            Op::Gemm(seeded(project, "fed_raw", P::AttentionScale)),
        ];
        let inner = [("hidden", e4m3, 128), ("fed", e4m3, 32), ("fed_raw", half, 32), ("qkv", half, 96)];
        let last = [("normalized", e4m3, 96), ("attended", e4m3, 32), ("published", e4m3, 32), ("raw", half, 32)];
        let made: Vec<_> = inner.into_iter().chain(last).map(|(name, of, n)| (name, shape(of, n))).collect();
        b.chain(ops, &[("x", shape(e4m3, 32)), ("skip", shape(skip, 32))], &made);
    }
    for phase in (0..4).map(Phase) {
        let [head_scale, prior] = [P::HeadScale, P::Prior].map(|kind| Parameter::new(5, kind));
        let [input, normalized, attended] = ["qkv", "normalized", "attended"].map(TensorName::new);
        let (heads, raw, kind, output) = (2, None, NormalizeKind::Window, normalized.clone());
        let normalize = Normalize { input, head_scale, heads, kind, output, raw: raw.clone() };
        let attention = WindowAttention { input: normalized, prior, heads, phase, output: attended, raw };
        let made = [("normalized", shape(e4m3, 192)), ("attended", shape(e4m3, 64))];
        b.chain(vec![Op::Normalize(normalize), Op::WindowAttention(attention)], &[("qkv", shape(half, 192))], &made);
    }
    b.cases
}
