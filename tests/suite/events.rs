//! Events of whole runs: on the synthetic frame against slow counts, and on features that no camera would give.

use blockscope::engine::cpu::{Cpu, Level};
use blockscope::engine::events::{self, Kind};
use blockscope::engine::runner::{self, Keep};
use blockscope::engine::{Control, reference};
use blockscope::geometry::{Geometry, Size};
use blockscope::plan::{Detail, Op, Plan};
use blockscope::tensor::{Element, Tensor};
use blockscope::{frame, model};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

/// NaN publications of a normalization, from its input alone: 32 for each query and key whose halves are all zero.
fn dead_channels(input: &Tensor) -> u64 {
    let vectors = input.halves().chunks(32).enumerate().filter(|(i, _)| i % 3 < 2);
    let dead = vectors.filter(|(_, v)| v.iter().all(|half| half.to_f32() == 0.0));
    dead.count() as u64 * 32
}

#[test]
fn every_step_of_the_synthetic_frame_has_the_events_that_its_bytes_imply() {
    let geometry = Geometry::new(Size::new(64, 64)).unwrap();
    let plan = Arc::new(Plan::new(geometry, Detail::Needed));
    let model = Arc::new(model::synthetic::model(1));
    let features = frame::synthetic::features(&geometry, 1);
    let mut engine = Cpu::new(Level::best()).unwrap();
    let mut totals: BTreeMap<Kind, u64> = BTreeMap::new();
    let control = Control::new();
    runner::run_from_features(
        &mut engine,
        (&plan, &model),
        features,
        None,
        &Keep::Nothing,
        &control,
        &mut |engine, step, _| {
            let tensors = runner::read_around(engine, step)?;
            let sources = reference::Sources { plan: &plan, model: &model, tensors: &tensors };
            let found = events::of_step(step, sources, None, &Control::new())?;
            let name = step.name();
            let output = &tensors[&found.tensor];
            assert_eq!((found.elements, found.unlike), (output.shape.elements() as u64, 0), "{name}");
            if output.shape.element == Element::E4m3 {
                let count = |wanted: &dyn Fn(u8) -> bool| output.codes().iter().filter(|c| wanted(**c)).count() as u64;
                assert_eq!(found.count(Kind::MinusZero), count(&|c| c == 0x80), "{name}: -0");
                assert_eq!(found.count(Kind::Subnormal), count(&|c| matches!(c & 0x7f, 1..=7)), "{name}: subnormals");
                assert!(found.count(Kind::Saturation) <= count(&|c| c & 0x7f == 0x7e), "{name}: saturation");
                assert!(found.count(Kind::NanToZero) <= count(&|c| c == 0), "{name}: NaN");
            }
            if let Op::Normalize(op) = &step.op {
                assert_eq!(found.count(Kind::NanToZero), dead_channels(&tensors[&op.input]), "{name}: dead vectors");
            }
            found.counts.iter().for_each(|(kind, count)| *totals.entry(*kind).or_default() += count);
            Ok(())
        },
    )
    .unwrap();
    println!("synthetic:1 at 64x64: {totals:?}");
    // Levels are rounded up to multiples of 4: what the pool leaves is zero until the first attention reaches it.
    assert!(totals[&Kind::NanToZero] > 0, "dead rows inside the field: {totals:?}");
    assert!(totals[&Kind::Tie] > 0 && totals[&Kind::Subnormal] > 0, "{totals:?}");
}

/// Features of a field whose pixels alternate between enormous values of both signs in a corner.
fn hostile(field: Size) -> Vec<u8> {
    let lane = |pixel: usize, lane: usize| {
        let (x, y) = (pixel % field.width, pixel / field.width);
        match (x, y, lane) {
            (0..16, 0..16, _) if (x + y) % 2 == 0 => 1e30_f32,
            (0..16, 0..16, _) => -1e30,
            (32, 0, 0) => f32::NAN,
            (33, 0, 0) => f32::INFINITY,
            _ => ((pixel * 16 + lane) % 97) as f32 / 97.0 - 0.5,
        }
    };
    (0..field.tokens()).flat_map(|pixel| (0..16).flat_map(move |i| lane(pixel, i).to_le_bytes())).collect()
}

#[test]
fn hostile_features_overflow_saturate_and_cancel_to_nan() {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("hostile.f32"), folder.path().join("events.json"));
    let field = Geometry::new(Size::new(64, 64)).unwrap().field;
    std::fs::write(&input, hostile(field)).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_blockscope"))
        .args(["run", "--size", "64x64", "--until", "transition-0-1", "--event-places", "5", "--input"])
        .args([&input, std::path::Path::new("--events"), &out])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let value: serde_json::Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let step = |name: &str| {
        let steps = value["steps"].as_array().unwrap();
        steps.iter().find(|step| step["tensor"] == name).unwrap_or_else(|| panic!("{name} is told: {value}"))
    };
    let count = |name: &str, kind: &str| step(name)["counts"][kind].as_u64().unwrap_or(0);
    assert_eq!(count("block-0/features_half", "overflow"), 16 * 16 * 16 + 1, "1e30 is no half");
    assert!(count("block-0/input", "saturation") > 0, "{}", step("block-0/input")["counts"]);
    assert!(count("block-0", "overflow") > 0, "{}", step("block-0")["counts"]);
    assert!(count("transition-0-1", "nan") > 0, "inf - inf: {}", step("transition-0-1")["counts"]);
    let places = step("transition-0-1")["places"].as_array().unwrap();
    let nans: Vec<_> = places.iter().filter(|place| place["kind"] == "nan").collect();
    assert_eq!(nans.len(), 5, "as many as were asked for");
    assert!(
        nans.iter().all(|p| p["x"].as_u64() < Some(8) && p["y"].as_u64() < Some(8) && p["code"] == "0x00"),
        "{nans:?}"
    );
    assert!(value["totals"]["nan"].as_u64() >= Some(count("transition-0-1", "nan")), "{}", value["totals"]);
}
