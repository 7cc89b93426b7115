//! Builds the plan of a size: the network's text, block by block.

use super::names;
use super::ops::{
    Activation, Convert, Gemm, GemmHalf, GlobalAttention, Merge, Normalize, NormalizeKind, Op, Pool, Seed,
    WindowAttention,
};
use super::{Plan, Role, Step, TensorInfo};
use crate::frame::LANES;
use crate::geometry::{Geometry, Phase, Plane};
use crate::model::layout::{BLOCKS, BlockKind, block_kind};
use crate::model::{Parameter, ParameterKind};
use crate::numerics::Rules;
use crate::tensor::{Element, Shape, TensorName};
use std::collections::BTreeMap;

/// How many raw tensors a plan keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Only the tensors that a later step reads, and the boundaries.
    #[default]
    Needed,
    /// Also every raw half in front of a publication: `ffn_residual` and `output_raw` of every window block.
    Raw,
}

/// Last blocks of the encoder's stages: a pool follows.
const STAGE_ENDS: [usize; 4] = [4, 8, 14, 22];

/// Builds the whole network.
pub(super) fn build(geometry: Geometry, detail: Detail) -> Plan {
    let mut builder = Builder {
        plan: Plan { geometry, steps: Vec::new(), tensors: BTreeMap::new(), boundaries: Vec::new() },
        detail,
        phases: [0; 6],
    };
    let features = Shape::new(Element::F32, geometry.field, LANES);
    let input = TensorInfo { shape: features, role: Role::Input, step: None, plane: Plane::Field };
    builder.plan.tensors.insert(names::features(), input);
    let mut state = builder.adapter();
    for block in 0..BLOCKS {
        state = builder.block(block, &state);
    }
    builder.plan.boundaries = boundaries();
    builder.plan
}

/// The named boundaries, in the order of the text.
fn boundaries() -> Vec<TensorName> {
    let mut all = Vec::new();
    for block in 0..=69 {
        all.push(names::block(block));
        if block == 0 || block == 30 {
            all.push(names::transition(block));
        }
        if STAGE_ENDS.contains(&block) {
            all.extend([names::pooled(block), names::transition(block)]);
        }
    }
    all.extend([names::POST_MERGE, names::POST_MERGE_RAW, names::POST_BLOCK_RAW, names::HEAD].map(TensorName::from));
    all
}

/// The plane of a block, and which of [`Builder::phases`] counts its phase.
fn plane(block: usize) -> (Plane, usize) {
    match block {
        0 | 70 => (Plane::Field, 0),
        1..=4 | 66..=69 => (Plane::Level(0), 1),
        5..=8 | 62..=65 => (Plane::Level(1), 2),
        9..=14 | 56..=61 => (Plane::Level(2), 3),
        15..=22 | 48..=55 => (Plane::Level(3), 4),
        23..=30 | 39..=47 => (Plane::Level(4), 5),
        _ => (Plane::Level(5), 5),
    }
}

/// What a block hands to the next: its published state, and the raw halves where someone reads them.
#[derive(Clone)]
struct State {
    published: TensorName,
    raw: Option<TensorName>,
}

struct Builder {
    plan: Plan,
    detail: Detail,
    /// Window blocks seen so far on each plane.
    phases: [u8; 6],
}

impl Builder {
    fn size(&self, plane: Plane) -> crate::geometry::Size {
        self.plan.geometry.size(plane)
    }

    /// Declares a tensor that the next step writes.
    fn declare(&mut self, name: TensorName, element: Element, plane: Plane, channels: usize) -> TensorName {
        let role = match name.as_str() {
            names::POST_MERGE | names::POST_MERGE_RAW | names::POST_BLOCK_RAW | names::HEAD => Role::Boundary,
            text if text.contains('/') => Role::Intermediate,
            _ => Role::Boundary,
        };
        let shape = Shape::new(element, self.size(plane), channels);
        let info = TensorInfo { shape, role, step: Some(self.plan.steps.len()), plane };
        let before = self.plan.tensors.insert(name.clone(), info);
        assert!(before.is_none(), "tensor {name} is written once");
        name
    }

    fn push(&mut self, block: usize, kernel: &'static str, op: Op) {
        let index = self.plan.steps.len();
        self.plan.steps.push(Step { index, block, kernel, op, rules: Rules::EXACT });
    }

    fn inside(&mut self, block: usize, kernel: &str, element: Element, channels: usize) -> TensorName {
        self.declare(names::inside(block, kernel), element, plane(block).0, channels)
    }

    fn adapter(&mut self) -> State {
        let half = self.inside(0, "features_half", Element::F16, LANES);
        self.push(0, "features_half", Op::Convert(Convert { input: names::features(), output: half.clone() }));
        let published = self.inside(0, "input", Element::E4m3, 32);
        let raw = self.inside(0, "input_raw", Element::F16, 32);
        let weights = Parameter::new(0, ParameterKind::Adapter);
        let (p, r) = (Some(published.clone()), Some(raw.clone()));
        let op = GemmHalf { input: half, weights, k: LANES, n: 32, published: p, raw: r, single: None };
        self.push(0, "input", Op::GemmHalf(op));
        State { published, raw: Some(raw) }
    }

    /// One block with the transitions that belong to it.
    fn block(&mut self, block: usize, state: &State) -> State {
        match block_kind(block).0 {
            BlockKind::Vit => self.vit(block, state),
            BlockKind::Bridge => self.bridge(state),
            BlockKind::Dense | BlockKind::Expert | BlockKind::Split => self.window(block, state),
        }
    }

    fn window(&mut self, block: usize, state: &State) -> State {
        let (kind, c) = block_kind(block);
        let input = match block {
            48 | 56 | 62 | 66 => self.rise(block, state),
            70 => self.post_merge(state),
            _ => state.clone(),
        };
        let (ffn, skip) = match kind {
            BlockKind::Dense => self.dense_ffn(block, &input),
            BlockKind::Expert => self.expert_ffn(block, c, &input),
            _ => self.split_ffn(block, &input),
        };
        let qkv = self.gemm(block, "qkv", ffn, ParameterKind::Qkv, (c, 3 * c), Output::RAW);
        let normalized = self.normalize(block, qkv.raw(), NormalizeKind::Window);
        let attended = self.inside(block, "attended", Element::E4m3, c);
        let op = WindowAttention {
            input: normalized,
            prior: Parameter::new(block, ParameterKind::Prior),
            heads: c / 32,
            phase: self.next_phase(block),
            output: attended.clone(),
            raw: None,
        };
        self.push(block, "attended", Op::WindowAttention(op));
        self.project(block, c, attended, skip)
    }

    /// The output projection, and what leads out of the block.
    fn project(&mut self, block: usize, c: usize, attended: TensorName, skip: TensorName) -> State {
        let raw_read = block == 0 || block == 30 || STAGE_ENDS.contains(&block);
        let output = match block {
            70 => Output { published: None, raw: Some(names::POST_BLOCK_RAW.into()), ..Output::default() },
            _ => Output {
                published: Some(names::block(block)),
                raw: (raw_read || self.detail == Detail::Raw).then(|| names::inside(block, "output_raw")),
                ..Output::default()
            },
        };
        let published70 = (block == 70 && self.detail == Detail::Raw).then(|| names::inside(70, "output"));
        let output = Output { published: output.published.or(published70), ..output };
        let output = output.seeded(skip, Parameter::new(block, ParameterKind::AttentionScale));
        let out = self.gemm(block, "output", attended, ParameterKind::Project, (c, c), output);
        match block {
            70 => {
                self.head(out.raw());
                State { published: names::HEAD.into(), raw: None }
            }
            0 => State { published: self.pool(0, 0, out.raw(), names::transition(0), 32), raw: None },
            _ if block == 30 || STAGE_ENDS.contains(&block) => self.descend(block, c, out.raw()),
            _ => State { published: out.published(), raw: None },
        }
    }

    fn next_phase(&mut self, block: usize) -> Phase {
        let counter = &mut self.phases[plane(block).1];
        let phase = Phase(*counter % 4);
        *counter += 1;
        phase
    }

    fn dense_ffn(&mut self, block: usize, input: &State) -> (TensorName, TensorName) {
        let ffn = self.gemm(block, "ffn", input.published.clone(), ParameterKind::Expand, (32, 128), Output::SILU);
        let skip = input.raw.clone().unwrap_or_else(|| input.published.clone());
        let output = Output {
            published: Some(names::inside(block, "ffn_quantized")),
            raw: Some(names::inside(block, "ffn_residual")),
            ..Output::default()
        };
        let output = output.seeded(skip, Parameter::new(block, ParameterKind::FfnScale));
        let out = self.gemm(block, "ffn_quantized", ffn.published(), ParameterKind::Contract, (128, 32), output);
        (out.published(), out.raw())
    }

    fn expert_ffn(&mut self, block: usize, c: usize, input: &State) -> (TensorName, TensorName) {
        let experts = c / 32;
        let x = input.published.clone();
        let ffn = self.gemm(block, "ffn", x.clone(), ParameterKind::Expand, (c, 128 * experts), Output::SILU);
        let grouped = Output { groups: experts, ..Output::default() };
        let narrow = self.gemm(block, "ffn_narrow", ffn.published(), ParameterKind::Contract, (128, 32), grouped);
        self.mix(block, c, narrow.published(), x)
    }

    fn split_ffn(&mut self, block: usize, input: &State) -> (TensorName, TensorName) {
        let x = input.published.clone();
        let branch = self.gemm(block, "branch", x.clone(), ParameterKind::Branch, (512, 512), Output::default());
        let up = Output { groups: 8, ..Output::SILU };
        let middle = self.gemm(block, "middle", branch.published(), ParameterKind::Expand, (64, 256), up);
        let down = Output { groups: 8, ..Output::default() };
        let layer0 = self.gemm(block, "layer0", middle.published(), ParameterKind::Contract, (256, 64), down);
        self.mix(block, 512, layer0.published(), x)
    }

    /// The last FFN matrix of the wide window blocks, seeded with the block's state.
    fn mix(&mut self, block: usize, c: usize, input: TensorName, skip: TensorName) -> (TensorName, TensorName) {
        let raw = (self.detail == Detail::Raw).then(|| names::inside(block, "ffn_residual"));
        let output = Output { published: Some(names::inside(block, "ffn_quantized")), raw, ..Output::default() };
        let output = output.seeded(skip, Parameter::new(block, ParameterKind::FfnScale));
        let out = self.gemm(block, "ffn_quantized", input, ParameterKind::Mix, (c, c), output);
        (out.published(), out.published())
    }

    fn vit(&mut self, block: usize, state: &State) -> State {
        let x = state.published.clone();
        let expanded = self.gemm(block, "expanded", x.clone(), ParameterKind::Expand, (1024, 4096), Output::SILU);
        let output = Output { partition: Some(1024), ..Output::default() };
        let output = output.seeded(x, Parameter::new(block, ParameterKind::FfnScale));
        let contract = ParameterKind::Contract;
        let ffn = self.gemm(block, "ffn_residual", expanded.published(), contract, (4096, 1024), output).published();
        let split = Output { partition: Some(512), ..Output::RAW };
        let qkv = self.gemm(block, "qkv", ffn.clone(), ParameterKind::Qkv, (1024, 3072), split);
        let normalized = self.normalize(block, qkv.raw(), NormalizeKind::Vit);
        let attended = self.inside(block, "attended", Element::E4m3, 1024);
        let op = GlobalAttention { input: normalized, heads: 32, output: attended.clone(), raw: None };
        self.push(block, "attended", Op::GlobalAttention(op));
        let output = Output { partition: Some(256), published: Some(names::block(block)), ..Output::default() };
        let output = output.seeded(ffn, Parameter::new(block, ParameterKind::AttentionScale));
        let out = self.gemm(block, "output", attended, ParameterKind::Project, (1024, 1024), output);
        State { published: out.published(), raw: None }
    }

    /// Block 39: out of the ViT, up one level, onto block 30.
    fn bridge(&mut self, state: &State) -> State {
        let output = Output { partition: Some(256), plane: Some(Plane::Level(5)), ..Output::RAW };
        let x = state.published.clone();
        let low = self.gemm(39, "transition", x, ParameterKind::Transition, (1024, 512), output).raw();
        self.merge(39, 512, names::block(30), low, None, (names::block(39), None))
    }

    /// The way up into a decoder stage: projection on the level below, upsampled onto the encoder's skip.
    fn rise(&mut self, block: usize, state: &State) -> State {
        let (_, c) = block_kind(block);
        let below = plane(block - 1).0;
        let output = Output { plane: Some(below), ..Output::RAW };
        let x = state.published.clone();
        let low = self.gemm(block, "transition", x, ParameterKind::Transition, (2 * c, c), output).raw();
        let skip = match block {
            48 => 22,
            56 => 14,
            62 => 8,
            _ => 4,
        };
        let raw = (block == 66).then(|| names::inside(66, "input_raw"));
        self.merge(block, c, names::block(skip), low, None, (names::inside(block, "input"), raw))
    }

    fn post_merge(&mut self, state: &State) -> State {
        let low_scale = Some(Parameter::new(70, ParameterKind::InputScale));
        let outputs = (names::POST_MERGE.into(), Some(names::POST_MERGE_RAW.into()));
        self.merge(70, 32, names::block(0), state.published.clone(), low_scale, outputs)
    }

    fn merge(
        &mut self,
        block: usize,
        c: usize,
        skip: TensorName,
        low: TensorName,
        low_scale: Option<Parameter>,
        (published, raw): (TensorName, Option<TensorName>),
    ) -> State {
        let kind = if block == 70 { ParameterKind::AdapterScale } else { ParameterKind::TransitionScale };
        let (plane, _) = plane(block);
        let published = self.declare(published, Element::E4m3, plane, c);
        let raw = raw.map(|name| self.declare(name, Element::F16, plane, c));
        let skip_scale = Parameter::new(block, kind);
        let (p, r) = (Some(published.clone()), raw.clone());
        self.push(block, "merge", Op::Merge(Merge { skip, skip_scale, low, low_scale, published: p, raw: r }));
        State { published, raw }
    }

    fn head(&mut self, input: TensorName) {
        let head = self.declare(names::HEAD.into(), Element::F32, Plane::Field, 4);
        let weights = Parameter::new(70, ParameterKind::Head);
        let op = GemmHalf { input, weights, k: 32, n: 4, published: None, raw: None, single: Some(head) };
        self.push(70, "head", Op::GemmHalf(op));
    }

    /// The way down behind an encoder stage: pool, then a matrix that doubles the channels.
    fn descend(&mut self, block: usize, c: usize, raw: TensorName) -> State {
        let Plane::Level(level) = plane(block).0 else { unreachable!("stages end on levels") };
        let name = if block == 30 { names::inside(30, "pooled") } else { names::pooled(block) };
        let pooled = self.pool(block, level + 1, raw, name, c);
        let output = Output {
            published: Some(names::transition(block)),
            plane: Some(Plane::Level(level + 1)),
            ..Output::default()
        };
        let kind = ParameterKind::Transition;
        let out = self.gemm(block, "transition", pooled, kind, (c, 2 * c), output);
        State { published: out.published(), raw: None }
    }

    fn pool(&mut self, block: usize, level: usize, input: TensorName, name: TensorName, c: usize) -> TensorName {
        let output = self.declare(name, Element::E4m3, Plane::Level(level), c);
        self.push(block, "pooled", Op::Pool(Pool { input, output: output.clone(), raw: None }));
        output
    }

    fn normalize(&mut self, block: usize, input: TensorName, kind: NormalizeKind) -> TensorName {
        let heads = block_kind(block).1 / 32;
        let output = self.inside(block, "normalized", Element::E4m3, 96 * heads);
        let head_scale = Parameter::new(block, ParameterKind::HeadScale);
        self.push(
            block,
            "normalized",
            Op::Normalize(Normalize { input, head_scale, heads, kind, output: output.clone(), raw: None }),
        );
        output
    }

    fn gemm(
        &mut self,
        block: usize,
        kernel: &'static str,
        input: TensorName,
        kind: ParameterKind,
        (k, n): (usize, usize),
        output: Output,
    ) -> Written {
        let plane = output.plane.unwrap_or(plane(block).0);
        let channels = output.groups * n;
        // A raw-only product is named after its kernel, as is one whose published name is not given.
        let named = |name: Option<TensorName>| name.unwrap_or_else(|| names::inside(block, kernel));
        let published = (!output.raw_only && (output.raw.is_none() || output.published.is_some()))
            .then(|| self.declare(named(output.published), Element::E4m3, plane, channels));
        let raw_name = if output.raw_only { Some(named(output.raw)) } else { output.raw };
        let raw = raw_name.map(|name| self.declare(name, Element::F16, plane, channels));
        let op = Gemm {
            input,
            weights: Parameter::new(block, kind),
            groups: output.groups,
            k,
            n,
            partition: output.partition.unwrap_or(k),
            seed: output.seed,
            activation: output.activation,
            published: published.clone(),
            raw: raw.clone(),
        };
        self.push(block, kernel, Op::Gemm(op));
        Written { published, raw }
    }
}

/// How a matrix product is seeded and where its result goes.
struct Output {
    groups: usize,
    partition: Option<usize>,
    seed: Option<Seed>,
    activation: Activation,
    published: Option<TensorName>,
    raw: Option<TensorName>,
    raw_only: bool,
    plane: Option<Plane>,
}

impl Output {
    /// Published under the kernel's name, nothing else.
    const PLAIN: Self = Self {
        groups: 1,
        partition: None,
        seed: None,
        activation: Activation::None,
        published: None,
        raw: None,
        raw_only: false,
        plane: None,
    };
    const SILU: Self = Self { activation: Activation::Silu, ..Self::PLAIN };
    const RAW: Self = Self { raw_only: true, ..Self::PLAIN };

    fn seeded(self, residual: TensorName, scale: Parameter) -> Self {
        Self { seed: Some(Seed { residual, scale }), ..self }
    }
}

impl Default for Output {
    fn default() -> Self {
        Self::PLAIN
    }
}

struct Written {
    published: Option<TensorName>,
    raw: Option<TensorName>,
}

impl Written {
    fn published(&self) -> TensorName {
        self.published.clone().expect("this product is published")
    }

    fn raw(&self) -> TensorName {
        self.raw.clone().expect("this product is raw")
    }
}
