//! Sessions made by hand: a run that stopped in the middle with a divergence, with values that never change.

use blockscope::engine::events::{Kinds, Place};
use blockscope::engine::{Control, reference, trace};
use blockscope::geometry::{Geometry, Size};
use blockscope::numerics::{e4m3, f16, softmax};
use blockscope::plan::{Detail, Plan};
use blockscope::session::{
    Attention, AttentionSide, Choice, ColourMap, Command, EventKind, Events, Histogram, JobView, Judgement, Legend,
    Loading, Marks, Picture, Requested, Selection, Session, Side, SideState, Sources, Statistics, Thumbnails, Token,
    Trace, Verdict, Waker,
};
use blockscope::tensor::{Bytes, Element, Shape, Tensor, TensorName};
use std::sync::Arc;
use std::time::Duration;

/// A number from two, always the same.
fn noise(a: usize, b: usize) -> u32 {
    let mut h = (a as u32).wrapping_mul(0x9e37_79b9) ^ (b as u32).wrapping_mul(0x85eb_ca6b) ^ 0x2545_f491;
    h ^= h >> 15;
    h = h.wrapping_mul(0x2c1b_3c6d);
    h ^= h >> 12;
    h.wrapping_mul(0x297a_2d39) ^ h >> 15
}

/// A session with nothing run.
pub(super) fn fresh() -> Session {
    let mut session = Session::new(Sources::default(), Waker::default());
    session.stage().tour.clone_from(&0);
    session
}

#[expect(clippy::too_many_lines, reason = "one scene, top to bottom")]
/// A run up to block 12, bit-exact until block 9's attention, which masks what it should not.
pub(super) fn diverged() -> Session {
    let mut session = fresh();
    let plan = session.plan().clone();
    let tensor = TensorName::new("block-9");
    let step = plan.find_step("block-9").expect("a step of the plan");
    let at = |name: &str| plan.find_step(name).expect("a step of the plan");
    let (first, last) = (at("block-9/attended"), at("block-12/ffn"));
    let shape = plan.shape(&tensor);
    let stage = session.stage();
    for (index, state) in stage.run.steps.iter_mut().enumerate().take(last) {
        let micros = 300 + u64::from(noise(index, 7) % 2_400);
        state.subject = SideState::Done { duration: Duration::from_micros(micros) };
        state.reference = SideState::Done { duration: Duration::from_micros(micros * 9) };
        let total = plan.shape(plan.steps[index].name()).elements() as u64;
        let exact = Judgement { verdict: Verdict::Exact, total, ..Judgement::default() };
        state.isolated = exact.clone();
        state.accumulated = exact;
        if index == 3 {
            let events = std::collections::BTreeMap::from([(EventKind::MinusZero, 12)]);
            state.events = events;
        }
        if index >= first {
            let differing = if index == first { total / 190 } else { total * (20 + (index - first) as u64 * 3) / 100 };
            let verdict = if index == first + 2 { Verdict::ZeroSign } else { Verdict::Differs };
            let judgement =
                Judgement { verdict, total, differing, first: Some((84, 3)), max_distance: 9, reason: String::new() };
            state.accumulated = judgement.clone();
            if index == first {
                state.isolated = judgement;
                state.events = [(EventKind::NanToZero, 1_344), (EventKind::MinusZero, 7)].into();
            }
        }
    }
    stage.run.playhead = last;
    stage.run.first_isolated = Some(first);
    stage.run.first_accumulated = Some(first);
    *stage.selection = Selection {
        block: 9,
        step,
        tensor: tensor.clone(),
        channel: 3,
        token: Some(Token { x: 14, y: 9 }),
        window: (1, 1),
        head: 1,
        query: 22,
        ..Selection::default()
    };
    let values: [Vec<u8>; 2] = [0, 1].map(|side| {
        (0..shape.elements()).map(|i| code(i / shape.channels, i % shape.channels, shape.size, side == 0)).collect()
    });
    for (side, codes) in values.iter().enumerate() {
        let made = Tensor::new(tensor.clone(), shape, Bytes::copy(codes)).expect("the shape's bytes");
        stage.tensors[side].insert(tensor.clone(), made);
    }
    let channel = |side: usize, token: usize| values[side][token * shape.channels + 3];
    let picture = |id: u64, pixel: &dyn Fn(usize) -> [u8; 4], legend: Legend| {
        let pixels = (0..shape.tokens()).map(pixel).collect();
        Requested::Ready(Arc::new(Picture {
            id,
            tensor: tensor.clone(),
            size: shape.size,
            pixels,
            legend,
            reduced: Vec::new(),
        }))
    };
    let ramp = |value: f32| {
        let t = (value / 3.0).clamp(-1.0, 1.0);
        let [r, g, b] = if t < 0.0 { [57, 156, 240] } else { [245, 138, 44] };
        let mix = |c: u8| (f32::from(c) * t.abs() + 23.0 * (1.0 - t.abs())) as u8;
        [mix(r), mix(g), mix(b), 255]
    };
    let scale = Legend::Scale { map: ColourMap::Diverging, low: -3.0, high: 3.0, log: false, unit: "value".to_owned() };
    stage.canvas.subject = picture(1, &|t| ramp(e4m3::decode(channel(0, t))), scale.clone());
    stage.canvas.reference = picture(2, &|t| ramp(e4m3::decode(channel(1, t))), scale);
    let distance =
        Legend::Scale { map: ColourMap::Diverging, low: -9.0, high: 9.0, log: false, unit: "codes".to_owned() };
    stage.canvas.difference =
        picture(3, &|t| ramp((f32::from(channel(0, t)) - f32::from(channel(1, t))) * 0.5), distance);
    let differing: Vec<u16> = (0..shape.tokens())
        .map(|t| {
            (0..shape.channels)
                .filter(|c| values[0][t * shape.channels + c] != values[1][t * shape.channels + c])
                .count() as u16
        })
        .collect();
    stage.canvas.marks = Requested::Ready(Arc::new(Marks {
        size: Some(shape.size),
        differing: differing.clone(),
        veil: None,
        explained: None,
    }));
    *stage.events = Requested::Ready(Arc::new(events(step, &tensor, shape)));
    *stage.thumbnails = Requested::Ready(Arc::new(thumbnails(&tensor, shape.channels, &ramp)));
    *stage.attention = Requested::Ready(Arc::new(attention()));
    *stage.statistics = Requested::Ready(Arc::new(statistics(&values, shape.channels, shape.element)));
    *stage.trace = Requested::Ready(Arc::new(trace()));
    *stage.choices = choices();
    stage.states.subject = Loading::Ready("AVX2, 2 threads".to_owned());
    session
}

/// A smooth field with a window pattern; the subject is wrong at some tokens near the edges.
fn code(token: usize, channel: usize, size: Size, subject: bool) -> u8 {
    let (x, y) = (token % size.width, token / size.width);
    let phase = (channel % 7) as f32;
    let wave = ((x as f32 * 0.31 + phase).sin() + (y as f32 * 0.23 - phase).cos()) * 1.3
        + (noise(token, channel) % 100) as f32 * 0.006;
    let code = e4m3::publish(f16::from_f32(wave));
    let edge = x < 4 || y < 4 || x + 4 >= size.width || y + 4 >= size.height;
    let off = edge && noise(token, channel).is_multiple_of(3) || noise(token, channel).is_multiple_of(61);
    if subject && off { code ^ (1 + (noise(channel, token) % 3) as u8) } else { code }
}

fn thumbnails(tensor: &TensorName, channels: usize, ramp: &dyn Fn(f32) -> [u8; 4]) -> Thumbnails {
    let (tile, columns) = (Size::new(24, 22), 16);
    let rows = channels.div_ceil(columns);
    let size = Size::new(tile.width * columns, tile.height * rows);
    let pixels = (0..size.tokens())
        .map(|p| {
            let (x, y) = (p % size.width, p / size.width);
            let channel = y / tile.height * columns + x / tile.width;
            let token = (y % tile.height) * 4 * 44 + (x % tile.width) * 3;
            ramp(e4m3::decode(code(token, channel, Size::new(44, 40), false)))
        })
        .collect();
    Thumbnails { id: 4, tensor: tensor.clone(), channels, tile, columns, size, pixels }
}

fn side(subject: bool) -> AttentionSide {
    let score = |q: usize, k: usize| {
        f16::from_f32((noise(q, k) % 1000) as f32 * 0.006 - 3.0 + if q % 8 == k % 8 { 2.0 } else { 0.0 })
    };
    let scores: Vec<f16> = (0..64).map(|k| score(22, k)).collect();
    let mut exponentials: [f16; 64] = std::array::from_fn(|k| f16::from_f32(scores[k].to_f32().exp2() * 0.05));
    if subject {
        (0..64).filter(|k| k % 16 < 4).for_each(|k| exponentials[k] = f16::ZERO);
    }
    let tree = softmax::tree(&exponentials);
    let weights = softmax::weights(&exponentials, tree.total);
    AttentionSide {
        prior: (0..64).map(|k| f16::from_f32((noise(k, 99) % 100) as f32 * 0.02 - 1.0)).collect(),
        exponentials: exponentials.to_vec(),
        weights: weights.to_vec(),
        total: tree.total,
        weight_sum: weights.iter().map(|&w| e4m3::decode(w)).sum(),
        tree: Some(tree),
        matrix: (0..4096).map(|i| e4m3::publish(f16::from_f32(score(i / 64, i % 64).to_f32().exp2() * 0.02))).collect(),
        matrix_scores: (0..4096).map(|i| score(i / 64, i % 64)).collect(),
        attended: vec![0x38; 32],
        scores,
    }
}

fn attention() -> Attention {
    Attention {
        window: Some((1, 1)),
        head: (1, 4),
        query: 22,
        inside: (0..64).map(|k| k % 16 >= 4).collect(),
        outside_share: 0.183,
        subject: Some(side(true)),
        reference: Some(side(false)),
        changed: None,
    }
}

fn statistics(values: &[Vec<u8>; 2], channels: usize, element: Element) -> Statistics {
    assert_eq!(element, Element::E4m3, "codes are counted");
    let histogram = |codes: &[u8]| {
        let mut counts = vec![0; 256];
        for &code in codes {
            counts[usize::from(code)] += 1;
        }
        Histogram { counts, first: 0 }
    };
    let mut distances = Histogram { counts: vec![0; 513], first: -256 };
    let (mut by_channel, mut positions, mut equal) = (vec![0; channels], vec![0; 64], 0);
    for (i, (&a, &b)) in values[0].iter().zip(&values[1]).enumerate() {
        if a == b {
            equal += 1;
            continue;
        }
        distances.counts[(256 + i32::from(a) - i32::from(b)) as usize] += 1;
        by_channel[i % channels] += 1;
        positions[i / channels % 64] += 1;
    }
    let elements = values[0].len() as u64;
    Statistics {
        verdict: Verdict::Differs,
        elements,
        moments: [Some([-2.75, 0.301, 3.0, 1.36]), Some([-2.5, 0.299, 3.0, 1.35])],
        subject_codes: histogram(&values[0]),
        reference_codes: histogram(&values[1]),
        distances,
        classes: vec![
            ("equal".to_owned(), equal),
            ("one code apart".to_owned(), (elements - equal) / 3),
            ("several codes apart".to_owned(), (elements - equal) * 2 / 3),
        ],
        heads: by_channel.chunks(32).map(|c| c.iter().sum()).collect(),
        channels: by_channel,
        positions,
        max_abs: 0.375,
        rmse: 0.021,
    }
}

/// Some events of the selected kernel, of every kind that the canvas marks.
fn events(step: usize, tensor: &TensorName, shape: Shape) -> Events {
    let kinds = [EventKind::NanToZero, EventKind::NanToZero, EventKind::MinusZero, EventKind::Saturation];
    let mut places: Vec<Place> = (0..24)
        .map(|i| Place {
            token: noise(i, 1) as usize % shape.tokens(),
            channel: i * 5 % shape.channels,
            kind: kinds[i % 4],
            head: Some(i % 4),
            half: [0x7e00, 0x7e00, 0x8000, 0x6f00][i % 4],
            code: Some([0x00, 0x00, 0x80, 0x7e][i % 4]),
        })
        .collect();
    places.sort_unstable();
    let mut tokens = vec![Kinds::default(); shape.tokens()];
    places.iter().for_each(|place| tokens[place.token] = tokens[place.token].with(place.kind, true));
    let counts = [(EventKind::NanToZero, 1_344), (EventKind::MinusZero, 7), (EventKind::Saturation, 6)].into();
    let elements = shape.elements() as u64;
    Events { step, tensor: tensor.clone(), size: shape.size, elements, counts, places, tokens, unlike: 0 }
}

/// One value of block 9 on inputs that differ in one channel of one side.
fn trace() -> Trace {
    let plan = Plan::new(Geometry::new(Size::new(64, 64)).unwrap(), Detail::Raw);
    let model = blockscope::model::synthetic::model(1);
    let step = &plan.steps[plan.find_step("block-9/ffn_quantized").unwrap()];
    let (token, channel) = (804, 3);
    let tell = |shift: usize| {
        let mut tensors: std::collections::BTreeMap<TensorName, Tensor> = std::collections::BTreeMap::new();
        for name in step.op.inputs() {
            let shape = plan.shape(name);
            let code = |i: usize| match (noise(i, 3) >> 7) as u8 & 0xbf {
                0x3f | 0xbf => 0x38,
                code => code,
            };
            let mut codes: Vec<u8> = (0..shape.bytes()).map(code).collect();
            let at = token * shape.channels + 37;
            codes[at] = codes[at].wrapping_add(shift as u8);
            tensors.insert(name.clone(), Tensor::new(name.clone(), shape, Bytes::copy(&codes)).unwrap());
        }
        let sources = reference::Sources { plan: &plan, model: &model, tensors: &tensors };
        let (name, row) = reference::run_rows(step, sources, &[token], &Control::new()).unwrap().swap_remove(0);
        let shape = plan.shape(&name);
        let bytes = Bytes::build(shape.bytes(), |out| out[token * shape.channels..][..row.len()].copy_from_slice(&row));
        let output = Tensor::new(name, shape, bytes).unwrap();
        Arc::new(trace::trace(step, sources, &output, (token, channel)).unwrap())
    };
    Trace { subject: Some(tell(8)), reference: Some(tell(0)) }
}

fn choices() -> Vec<Choice> {
    let choice = |spec: &str, label: &str, about: &str, refused: Option<&str>| Choice {
        spec: spec.to_owned(),
        label: label.to_owned(),
        about: about.to_owned(),
        refused: refused.map(str::to_owned),
    };
    vec![
        choice("cpu", "CPU", "AVX2, 2 threads", None),
        choice("reference", "Reference", "scalar, obvious, slow", None),
        choice("vulkan:0", "Vulkan: llvmpipe", "Mesa 22.3.6, software", None),
        choice("vulkan:1", "Vulkan: other", "", Some("lacks 8-bit storage")),
    ]
}

/// What a person asked for, applied to the hand-made state as far as panels need it.
pub(super) fn apply(session: &mut Session, commands: &mut Vec<Command>) -> Vec<Command> {
    use blockscope::session::{Select, ViewChange};
    let done: Vec<Command> = std::mem::take(commands);
    for command in &done {
        let stage = session.stage();
        match command {
            Command::Show(dialog) => *stage.dialog = *dialog,
            Command::Tour(step) => *stage.tour = *step,
            Command::View(ViewChange::Tab(tab)) => stage.view.tab = *tab,
            Command::View(ViewChange::Mode(mode)) => stage.view.mode = *mode,
            Command::View(ViewChange::Theme(theme)) => stage.view.theme = *theme,
            Command::Select(Select::Hover(token)) => stage.selection.hover = *token,
            Command::Select(Select::Block(block)) => stage.selection.block = *block,
            _ => {}
        }
    }
    done
}

/// A job for the bottom panel.
pub(super) fn job() -> JobView {
    JobView { id: 1, what: "testing causes on block 9".to_owned(), share: Some(0.4), cancellable: true }
}

/// The two sides, so that tests name them.
pub(super) const SIDES: [Side; 2] = [Side::Subject, Side::Reference];
