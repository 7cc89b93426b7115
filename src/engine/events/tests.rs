//! Events against traces, against themselves by rows, and on crafted inputs.

use super::*;
use crate::engine::cpu::{Cpu, Level};
use crate::engine::trace::{self, Number, Stage};
use crate::engine::{Engine as _, reference};
use crate::geometry::Geometry;
use crate::model::{Model, synthetic};
use crate::numerics::e4m3;
use crate::plan::{Detail, Plan};
use crate::tensor::{Bytes, Element, Shape, Tensor};
use std::sync::Arc;

/// Steps that between them have every op in every form.
const STEPS: [&str; 19] = [
    "block-0/features_half",
    "block-0/input",
    "block-0/ffn_quantized",
    "block-23/branch",
    "block-23/middle",
    "block-23/ffn_quantized",
    "block-23/qkv",
    "block-23/normalized",
    "block-23/attended",
    "block-23",
    "block-30/pooled",
    "block-31/ffn_residual",
    "block-31/qkv",
    "block-31/normalized",
    "block-31/attended",
    "block-39/transition",
    "block-39",
    "post merge",
    "head",
];

struct Bench {
    plan: Arc<Plan>,
    model: Arc<Model>,
}

impl Bench {
    fn new() -> Self {
        let geometry = Geometry::new(Size::new(64, 64)).unwrap();
        Self { plan: Arc::new(Plan::new(geometry, Detail::Raw)), model: Arc::new(synthetic::model(1)) }
    }

    fn step(&self, name: &str) -> &Step {
        &self.plan.steps[self.plan.find_step(name).unwrap_or_else(|| panic!("{name} is a step"))]
    }

    /// A step's inputs, filled, and its outputs as the cpu engine makes them.
    fn run(&self, step: &Step, fill: &mut dyn FnMut(&TensorName, Shape) -> Vec<u8>) -> BTreeMap<TensorName, Tensor> {
        let mut engine = Cpu::new(Level::best()).unwrap();
        engine.load(&self.plan, &self.model).unwrap();
        let mut tensors = BTreeMap::new();
        for name in step.op.inputs() {
            let shape = self.plan.shape(name);
            let tensor = Tensor::new(name.clone(), shape, Bytes::copy(&fill(name, shape))).unwrap();
            engine.write(tensor.clone()).unwrap();
            tensors.insert(name.clone(), tensor);
        }
        engine.run(step, &Control::new()).unwrap();
        for name in step.op.outputs() {
            tensors.insert(name.clone(), engine.read(name).unwrap());
        }
        tensors
    }

    fn sources<'a>(&'a self, tensors: &'a BTreeMap<TensorName, Tensor>) -> Sources<'a> {
        Sources { plan: &self.plan, model: &self.model, tensors }
    }
}

/// Any bit pattern, one of eight rows of zeros.
fn any_bits(seed: u64) -> impl FnMut(&TensorName, Shape) -> Vec<u8> {
    let mut state = seed | 1;
    move |_, shape| {
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        };
        let row = shape.channels * shape.element.bytes();
        (0..shape.bytes()).map(|i| if i / row % 8 == 3 { 0 } else { next() }).collect()
    }
}

/// What a trace says about its element, in the words of the module's table and nothing shared with it.
fn told(trace: &trace::Trace, first_of_vector: bool) -> Vec<Kind> {
    let infinite = |n: &Number| n.element == Element::F16 && f16::from_bits(n.bits as u16).is_infinite();
    let mut inside = false;
    let mut last = None;
    for stage in &trace.stages {
        match stage {
            Stage::Chain(chain) => {
                inside |= chain.groups.iter().any(|group| infinite(&group.before) || infinite(&group.result));
                last = Some(chain.result);
            }
            Stage::Operation { name, operands, result, .. } => {
                // 1 / 0 is no overflow; a vector's sums are told at its first channel.
                let counted = name != "n" && (first_of_vector || !name.starts_with("r["));
                inside |= counted && infinite(result)
                    || ["top", "bottom"].contains(&&**name) && operands.iter().any(infinite);
                last = if result.element == Element::E4m3 { operands.first().copied() } else { Some(*result) };
            }
            Stage::Attention(attention) => {
                let scores = attention.keys.iter().any(|key| infinite(&key.score));
                inside |= first_of_vector && (scores || infinite(&attention.total));
            }
            Stage::Note { .. } => {}
        }
    }
    let published = trace.result.element == Element::E4m3;
    let code = trace.result.bits as u8;
    // A pixel without a block above is written as 0 by nobody's arithmetic.
    let half = last.map_or(f16::ZERO, |n| f16::from_bits(n.bits as u16));
    let x = half.to_f64();
    let mut kinds = Vec::new();
    let mut add = |kind, happened: bool| kinds.extend(happened.then_some(kind));
    add(Kind::NanToZero, published && x.is_nan());
    add(Kind::MinusZero, published && code == 0x80);
    add(Kind::Saturation, published && x.abs() > 464.0);
    add(Kind::Overflow, inside || half.is_infinite());
    let tiny = if published { 2_f64.powi(-6) } else { 2_f64.powi(-14) };
    let value = if published { f64::from(e4m3::decode(code)) } else { x };
    add(Kind::Subnormal, value != 0.0 && value.abs() < tiny);
    let near = |code: u8| (f64::from(e4m3::decode(code)) - x.abs()).abs();
    let mut distances: Vec<f64> = (0..=e4m3::MAX_CODE).map(near).chain([(480.0 - x.abs()).abs()]).collect();
    distances.sort_unstable_by(f64::total_cmp);
    add(Kind::Tie, published && x.is_finite() && distances[0] == distances[1]);
    kinds
}

#[test]
fn events_are_what_the_traces_of_their_elements_say() {
    let bench = Bench::new();
    let mut seen = Kinds::default();
    for (i, name) in STEPS.into_iter().enumerate() {
        let step = bench.step(name);
        let tensors = bench.run(step, &mut any_bits(0x9e37_79b9 + i as u64));
        let events = of_step(step, bench.sources(&tensors), None, &Control::new()).unwrap();
        assert_eq!(events.unlike, 0, "{name}: the halves give the stored output");
        let output = &tensors[&events.tensor];
        let (tokens, channels) = (output.shape.tokens(), output.shape.channels);
        assert_eq!(events.elements, (tokens * channels) as u64, "{name}");
        for token in [0, 3, tokens / 2 + 1, tokens - 2] {
            for channel in [0, 7 % channels, channels / 2, channels - 1] {
                let trace = trace::trace(step, bench.sources(&tensors), output, (token, channel)).unwrap();
                let expected = told(&trace, channel % HEAD == 0);
                let listed: Vec<Kind> = of_step(step, bench.sources(&tensors), Some(&[token]), &Control::new())
                    .unwrap()
                    .at(token, channel)
                    .map(|place| place.kind)
                    .collect();
                assert_eq!(listed, expected, "{name} token {token} channel {channel}");
                let mask = events.tokens[token];
                assert!(expected.iter().all(|kind| mask.contains(*kind)), "{name} token {token}: {mask:?}");
            }
        }
        seen = seen.and(events.counts.keys().copied().collect());
    }
    assert_eq!(seen, Kind::ALL.iter().copied().collect(), "every kind happened somewhere");
}

#[test]
fn a_whole_step_and_its_rows_agree_and_totals_are_exact() {
    let bench = Bench::new();
    for name in ["block-23/middle", "block-23/normalized", "block-23/attended", "block-30/pooled", "block-31/attended"]
    {
        let step = bench.step(name);
        let mut tensors = bench.run(step, &mut any_bits(77));
        step.op.outputs().into_iter().for_each(|name| drop(tensors.remove(name)));
        let whole = of_step(step, bench.sources(&tensors), None, &Control::new()).unwrap();
        let all: Vec<usize> = (0..whole.tokens.len()).collect();
        let mut totals = BTreeMap::new();
        for rows in all.chunks(7) {
            let part = of_step(step, bench.sources(&tensors), Some(rows), &Control::new()).unwrap();
            part.counts.iter().for_each(|(kind, count)| *totals.entry(*kind).or_insert(0) += count);
            for &row in rows {
                assert_eq!(part.tokens[row], whole.tokens[row], "{name} token {row}");
            }
        }
        assert_eq!(totals, whole.counts, "{name}: cpu and reference");
        for (kind, &count) in &whole.counts {
            let listed = whole.places.iter().filter(|place| place.kind == *kind).count();
            assert_eq!(listed, (count as usize).min(PLACES), "{name}: {kind} places");
        }
        assert!(whole.places.is_sorted(), "{name}: by token and channel");
    }
}

#[test]
fn a_dead_row_publishes_nan_as_zero_in_queries_and_keys_only() {
    let bench = Bench::new();
    let step = bench.step("block-23/normalized");
    let one = f16::ONE.to_le_bytes();
    let tensors = bench.run(step, &mut |_, shape| {
        let row = shape.channels * 2;
        (0..shape.bytes()).map(|i| if i / row == 5 { 0 } else { one[i % 2] }).collect()
    });
    let events = of_step(step, bench.sources(&tensors), None, &Control::new()).unwrap();
    assert_eq!(events.count(Kind::NanToZero), 16 * 64, "q and k of 16 heads of one token");
    let nans: Vec<&Place> = events.places.iter().filter(|place| place.kind == Kind::NanToZero).collect();
    assert!(nans.iter().all(|place| place.token == 5 && place.channel % 96 < 64), "{nans:?}");
    assert_eq!((nans[64].head, nans[64].channel, nans[64].code), (Some(1), 96, Some(0)), "the second head");
    assert!(f16::from_bits(nans[0].half).is_nan(), "the half");
}

#[test]
fn sums_of_squares_and_scores_overflow_behind_a_finite_half() {
    let bench = Bench::new();
    let step = bench.step("block-23/normalized");
    let large = f16::from_f32(100.0).to_le_bytes();
    let tensors = bench.run(step, &mut |_, shape| (0..shape.bytes()).map(|i| large[i % 2]).collect());
    let events = of_step(step, bench.sources(&tensors), None, &Control::new()).unwrap();
    let vectors = 2 * 16 * events.tokens.len() as u64;
    assert_eq!(events.count(Kind::Overflow), vectors, "32 squares of 100 are 320,000; once for each vector");
    assert_eq!(tensors[&events.tensor].codes()[0], 0, "divided by infinity");

    let step = bench.step("block-31/attended");
    let tensors = bench.run(step, &mut |_, shape| vec![e4m3::MAX_CODE; shape.bytes()]);
    let events = of_step(step, bench.sources(&tensors), None, &Control::new()).unwrap();
    let queries = 32 * events.tokens.len() as u64;
    assert!(events.count(Kind::Overflow) >= queries, "every query's scores: {:?}", events.counts);
}

#[test]
fn changed_rules_are_judged_by_the_codes_that_they_publish() {
    use crate::numerics::rules::Publication;
    let bench = Bench::new();
    let own = bench.step("block-23/normalized");
    let tensors = bench.run(own, &mut |_, shape| vec![0; shape.bytes()]);
    let rules = crate::numerics::Rules { publication: Publication::NanKept, ..own.rules };
    let step = Step { rules, ..own.clone() };
    let inputs: BTreeMap<_, _> = tensors.into_iter().filter(|(name, _)| step.op.inputs().contains(&name)).collect();
    let exact = of_step(own, bench.sources(&inputs), None, &Control::new()).unwrap();
    assert!(exact.count(Kind::NanToZero) > 0, "zero vectors");
    let changed = of_step(&step, bench.sources(&inputs), None, &Control::new()).unwrap();
    assert_eq!(changed.count(Kind::NanToZero), 0, "the NaN is kept");
}

#[test]
fn bands_of_lines_give_what_the_whole_gives() {
    let bench = Bench::new();
    let step = bench.step("block-0/ffn");
    let tensors = bench.run(step, &mut any_bits(5));
    let shape = bench.plan.shape(step.name());
    assert!(shape.elements() * 2 > 4 * halves::BAND, "more than a band");
    let events = of_step(step, bench.sources(&tensors), None, &Control::new()).unwrap();
    assert_eq!((events.elements, events.unlike), (shape.elements() as u64, 0), "all, and all as stored");
    let codes = tensors[&events.tensor].codes();
    assert_eq!(events.count(Kind::MinusZero), codes.iter().map(|c| u64::from(*c == 0x80)).sum::<u64>(), "-0");
    let subnormal = codes.iter().filter(|c| matches!(*c & 0x7f, 1..=7)).count() as u64;
    assert_eq!(events.count(Kind::Subnormal), subnormal, "subnormals");
}

#[test]
fn a_cancelled_question_ends_and_a_missing_input_is_named() {
    let bench = Bench::new();
    let step = bench.step("block-23/attended");
    let missing = of_step(step, bench.sources(&BTreeMap::new()), None, &Control::new());
    assert!(matches!(missing, Err(EngineError::MissingTensor { .. })), "{missing:?}");
    let tensors = bench.run(step, &mut any_bits(3));
    let control = Control::new();
    control.cancel();
    let cancelled = of_step(step, bench.sources(&tensors), None, &control);
    assert!(matches!(cancelled, Err(EngineError::Cancelled)), "{cancelled:?}");
}

#[test]
fn raw_outputs_of_the_reference_publish_to_its_codes() {
    let bench = Bench::new();
    for name in ["block-23/normalized", "block-23/attended", "block-30/pooled", "block-31/attended"] {
        let step = bench.step(name);
        let tensors = bench.run(step, &mut any_bits(9));
        let mut asked = step.clone();
        match &mut asked.op {
            Op::Normalize(op) => op.raw = Some("raw".into()),
            Op::WindowAttention(op) => op.raw = Some("raw".into()),
            Op::GlobalAttention(op) => op.raw = Some("raw".into()),
            Op::Pool(op) => op.raw = Some("raw".into()),
            Op::Convert(_) | Op::Gemm(_) | Op::GemmHalf(_) | Op::Merge(_) => unreachable!("{name}"),
        }
        let out = reference::run_rows(&asked, bench.sources(&tensors), &[1, 4], &Control::new()).unwrap();
        let halves: Vec<f16> = bytemuck::pod_collect_to_vec(&out[1].1);
        assert_eq!(out[0].1, halves.iter().map(|h| e4m3::publish(*h)).collect::<Vec<_>>(), "{name}");
    }
}
