//! The cpu engine against the reference, bit for bit, on values that no network would make: every op, every level
//! that this processor has.

use blockscope::engine::cpu::{Cpu, Level};
use blockscope::engine::{Control, Engine as _, EngineError, measure, reference};
use blockscope::geometry::{Geometry, Size};
use blockscope::model::{Model, layout};
use blockscope::numerics::f16;
use blockscope::plan::{Detail, Plan, Step};
use blockscope::tensor::{Bytes, Element, Tensor, TensorName};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

/// How the bytes of inputs and weights are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Draw {
    /// Any bit pattern: NaN, infinities, subnormals, saturation, sums that overflow.
    Any,
    /// Small and middling magnitudes, zeros of both signs, whole rows of zeros.
    Tame,
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    fn code(&mut self, draw: Draw) -> u8 {
        let x = self.next();
        match (draw, x % 8) {
            (Draw::Any, _) => (x >> 8) as u8,
            (Draw::Tame, 0) => (x >> 8) as u8 & 0x80,
            // Exponent fields 1 to 8, both signs.
            (Draw::Tame, _) => ((x >> 8) as u8 & 0x87) | (((x >> 16) % 8 + 1) as u8) << 3,
        }
    }

    fn half(&mut self, draw: Draw) -> u16 {
        let x = self.next();
        match (draw, x % 8) {
            (Draw::Any, _) => (x >> 8) as u16,
            (Draw::Tame, 0) => (x >> 8) as u16 & 0x8000,
            (Draw::Tame, _) => ((x >> 8) as u16 & 0x83ff) | (((x >> 32) % 6 + 11) as u16) << 10,
        }
    }

    /// The bytes of elements; under [`Draw::Tame`] every seventh row is zero.
    fn bytes(&mut self, element: Element, rows: usize, channels: usize, draw: Draw) -> Vec<u8> {
        let mut out = Vec::with_capacity(rows * channels * element.bytes());
        for row in 0..rows {
            for _ in 0..channels {
                let zero = draw == Draw::Tame && row % 7 == 3;
                match element {
                    _ if zero => out.extend(std::iter::repeat_n(0, element.bytes())),
                    Element::E4m3 => out.push(self.code(draw)),
                    Element::F16 => out.extend(self.half(draw).to_le_bytes()),
                    Element::F32 => {
                        let single = f32::from_bits(self.next() as u32);
                        let tame = (self.next() % 2000) as f32 / 500.0 - 2.0;
                        out.extend(if draw == Draw::Any { single } else { tame }.to_le_bytes());
                    }
                }
            }
        }
        out
    }
}

/// Blocks that between them have every op in every form.
const BLOCKS: [usize; 9] = [0, 5, 14, 23, 30, 31, 39, 66, 70];

/// A model of random bytes in [`BLOCKS`], zeros elsewhere.
fn model(draw: Draw) -> Arc<Model> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let record = |record: &layout::RecordLayout| {
        let mut bytes = vec![0; record.length];
        if BLOCKS.contains(&record.block) {
            for region in &record.regions {
                let length = region.contents.bytes();
                let element = match region.contents {
                    layout::Contents::Fp8 { .. } => Element::E4m3,
                    layout::Contents::HeadScales(_) => Element::F32,
                    _ => Element::F16,
                };
                let drawn = random.bytes(element, 1, length / element.bytes(), draw);
                bytes[region.offset..][..length].copy_from_slice(&drawn);
            }
        }
        (record.name.clone(), Arc::from(bytes))
    };
    Arc::new(Model::from_records("random".to_owned(), layout::records().iter().map(record).collect()))
}

fn plan(width: usize, height: usize) -> Arc<Plan> {
    Arc::new(Plan::new(Geometry::new(Size::new(width, height)).expect("a size"), Detail::Raw))
}

/// Equal bytes. Two NaNs are equal: whose payload an operation on two NaNs keeps is up to processor and compiler.
fn equal(element: Element, found: &[u8], expected: &[u8]) -> bool {
    let nan = |bytes: &[u8]| match (element, bytes) {
        (Element::F16, &[a, b]) => f16::from_le_bytes([a, b]).is_nan(),
        (Element::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).is_nan(),
        _ => false,
    };
    found == expected || nan(found) && nan(expected)
}

/// Compares one step's sampled rows on random inputs; returns what differs.
fn differences(engine: &mut Cpu, plan: &Plan, model: &Model, step: &Step, draw: Draw) -> Vec<String> {
    let mut random = Random(0x1234_5678_9abc_def1 + step.index as u64);
    let mut tensors = BTreeMap::new();
    for name in step.op.inputs() {
        let shape = plan.shape(name);
        let bytes = random.bytes(shape.element, shape.tokens(), shape.channels, draw);
        let tensor = Tensor::new(name.clone(), shape, Bytes::copy(&bytes)).expect("drawn to its shape");
        engine.write(tensor.clone()).expect("the plan's shape");
        tensors.insert(name.clone(), tensor);
    }
    engine.run(step, &Control::new()).expect("runs");
    let tokens = plan.shape(step.name()).tokens();
    let cost = (step.op.products(plan) as usize / tokens).max(10_000);
    let mut rows: BTreeSet<usize> =
        (0..(6_000_000 / cost).clamp(4, 48)).map(|_| random.next() as usize % tokens).collect();
    rows.extend([0, tokens - 1]);
    let rows: Vec<usize> = rows.into_iter().collect();
    let sources = reference::Sources { plan, model, tensors: &tensors };
    let expected = reference::run_rows(step, sources, &rows, &Control::new()).expect("the reference runs");
    let mut wrong = Vec::new();
    for (name, expected) in expected {
        let found = engine.read(&name).expect("was just computed");
        let element = found.shape.element.bytes();
        for (row, expected) in rows.iter().zip(expected.chunks_exact(found.shape.channels * element)) {
            let pairs = found.row(*row).chunks_exact(element).zip(expected.chunks_exact(element));
            wrong.extend(pairs.enumerate().filter(|(_, (f, e))| !equal(found.shape.element, f, e)).map(
                |(c, (f, e))| {
                    format!("{name} ({}) row {row} channel {c}: expected {e:02x?}, found {f:02x?}", step.op.word())
                },
            ));
        }
        engine.release(&name);
    }
    for name in step.op.inputs() {
        engine.release(name);
    }
    wrong
}

/// Every op of [`BLOCKS`] at one level.
fn check(level: Level, draw: Draw) {
    let model = model(draw);
    let mut engine = Cpu::new(level).expect("the caller knows that it is there");
    let (mut wrong, mut words) = (Vec::new(), BTreeMap::<&str, usize>::new());
    // 64x64 has windows outside the field on every level; 512x512 pads the ViT's keys; 20x700 is narrow and tall, has
    // levels that are no halves of the ones above, and pads 96 keys.
    for (plan, deep) in [(&*SMALL, false), (&*PADDED, true), (&*ODD, false)] {
        engine.load(plan, &model).expect("loads");
        // What a level without fast instructions does in a test's time.
        let limit = if level == Level::Scalar { 60_000_000 } else { 600_000_000 };
        let chosen = |step: &&Step| {
            let attention = matches!(step.op.word(), "global_attention" | "window_attention");
            BLOCKS.contains(&step.block)
                && step.op.products(plan) <= limit
                && (!deep || attention && [23, 31].contains(&step.block))
                && (plan.geometry != ODD.geometry || step.op.products(plan) <= limit / 4)
        };
        for step in plan.steps.iter().filter(chosen) {
            *words.entry(step.op.word()).or_default() += 1;
            wrong.extend(differences(&mut engine, plan, &model, step, draw));
        }
    }
    println!("{level}, {draw:?}: {words:?}");
    assert_eq!(words.len(), 8, "every op was run");
    assert!(wrong.is_empty(), "{level}, {draw:?}: {} values differ, first {}", wrong.len(), wrong[0]);
}

static SMALL: LazyLock<Arc<Plan>> = LazyLock::new(|| plan(64, 64));
static ODD: LazyLock<Arc<Plan>> = LazyLock::new(|| plan(20, 700));
static PADDED: LazyLock<Arc<Plan>> = LazyLock::new(|| plan(512, 512));

#[test]
fn any_bits_give_the_references_bytes_at_every_level() {
    for level in Level::available() {
        check(level, Draw::Any);
    }
}

#[test]
fn tame_values_give_the_references_bytes_at_every_level() {
    for level in Level::available() {
        check(level, Draw::Tame);
    }
}

#[test]
fn this_processors_levels_are_known() {
    let levels: Vec<&str> = Level::available().map(Level::name).collect();
    println!("levels tested here: {}", levels.join(", "));
    assert!(levels.contains(&"scalar"), "plain Rust runs everywhere");
    // Set where the tests must not quietly do less than they can.
    if let Ok(required) = std::env::var("BLOCKSCOPE_REQUIRE_SIMD") {
        for level in required.split(',') {
            assert!(levels.contains(&level), "{level} is required here; this processor has {levels:?}");
        }
    }
}

#[test]
fn a_cancelled_step_stops_and_writes_nothing() {
    let model = model(Draw::Tame);
    let mut engine = Cpu::new(Level::best()).expect("there is a best level");
    engine.load(&SMALL, &model).expect("loads");
    let step = &SMALL.steps[SMALL.find_step("block-5/ffn").expect("a step")];
    let shape = SMALL.shape(step.op.inputs()[0]);
    let input = Tensor::new(step.op.inputs()[0].clone(), shape, Bytes::build(shape.bytes(), |_| ())).expect("fits");
    engine.write(input).expect("fits");
    let control = Control::new();
    control.cancel();
    assert!(matches!(engine.run(step, &control), Err(EngineError::Cancelled)), "cancelled");
    assert!(matches!(engine.read(step.name()), Err(EngineError::NotHeld { .. })), "nothing is held");
}

#[test]
fn a_missing_input_is_named() {
    let mut engine = Cpu::new(Level::best()).expect("there is a best level");
    engine.load(&SMALL, &model(Draw::Tame)).expect("loads");
    let step = &SMALL.steps[SMALL.find_step("block-5/qkv").expect("a step")];
    let Err(EngineError::MissingTensor { tensor, .. }) = engine.run(step, &Control::new()) else {
        panic!("an input is missing")
    };
    assert_eq!(tensor, TensorName::from("block-5/ffn_quantized"), "which one");
}

#[test]
fn a_measurement_says_what_ran_and_that_its_samples_are_exact() {
    let model = Arc::new(blockscope::model::synthetic::model(1));
    let features = blockscope::frame::synthetic::features(&SMALL.geometry, 1);
    let mut engine = Cpu::new(Level::best()).expect("there is a best level");
    let control = Control::new();
    let found = measure::run(&mut engine, &SMALL, &model, &features, 1, &control).expect("measures");
    assert_eq!(found.products, SMALL.products(), "products");
    assert_eq!(found.families.len(), 8, "one entry for each op");
    assert!(found.families.iter().all(|family| family.sample_is_exact), "{:?}", found.families);
    assert!(found.first_boundary_seconds < found.seconds, "{found:?}");
    let json = serde_json::to_string(&found).expect("serializes");
    assert_eq!(serde_json::from_str::<measure::Measurement>(&json).expect("and back").engine, "cpu", "{json}");
}
