//! The Vulkan engine on this machine's device, under the validation layer: every kernel against the reference, and
//! the network against the published digests.
//!
//! A machine without a device fails these tests, unless `BLOCKSCOPE_NO_VULKAN=1` says that it is meant to have none.

use blockscope::cli::devices::Devices;
use blockscope::compare;
use blockscope::engine::vulkan::colour::{self, PALETTE, Range, Show};
use blockscope::engine::vulkan::raw::{Device, DeviceOptions, Fault, Instance, InstanceOptions};
use blockscope::engine::vulkan::self_test::{self, SelfTest};
use blockscope::engine::vulkan::{Vulkan, cases, devices, responses};
use blockscope::engine::{Control, Engine as _, runner};
use blockscope::frame::synthetic::features;
use blockscope::geometry::{Geometry, Phase, Size, WindowGrid};
use blockscope::model::synthetic::{self, Xorshift};
use blockscope::plan::{Detail, Plan};
use blockscope::tensor::{Bytes, Element, Shape, Tensor};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The device with validation; `None` where the machine is said to have none.
fn device() -> Option<Arc<Device>> {
    if std::env::var_os("BLOCKSCOPE_NO_VULKAN").is_some() {
        println!("skipped: BLOCKSCOPE_NO_VULKAN is set");
        return None;
    }
    let instance = Instance::new(&InstanceOptions { validation: true, ..InstanceOptions::default() }).unwrap();
    let device = Device::open(&instance, &DeviceOptions::default()).unwrap();
    println!("device: {}", device.info().line());
    Some(device)
}

/// Fails when the validation layer said anything.
fn silent(device: &Device) {
    let messages = device.instance().take_messages();
    assert!(messages.is_empty(), "{} validation messages, first: {}", messages.len(), messages[0]);
}

#[test]
fn every_kernel_equals_the_reference_on_hostile_values() {
    let Some(device) = device() else { return };
    let result = SelfTest::run(&device).unwrap();
    println!("{:?} in {} ms", result.kernels, result.milliseconds);
    let failures: Vec<String> = result.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(result.kernels.len() >= 8, "every op ran");
    silent(&device);
}

/// Published digests by tensor.
fn published() -> BTreeMap<String, String> {
    let text = include_str!("../data/digests-64x64.json");
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    let tensors = json["tensors"].as_object().unwrap();
    tensors.iter().map(|(name, digest)| (name.clone(), digest.as_str().unwrap().to_owned())).collect()
}

/// Runs the network at 64x64 and compares every boundary with its published digest; how many there were.
fn run_until(device: &Arc<Device>, last: Option<&str>) -> usize {
    let geometry = Geometry::new(Size::new(64, 64)).unwrap();
    let plan = Arc::new(Plan::new(geometry, Detail::Needed));
    let model = Arc::new(synthetic::model(1));
    let last = last.map(|name| plan.find_step(name).unwrap());
    let mut engine = Vulkan::on(device).unwrap();
    let outcome = runner::run_from_features(
        &mut engine,
        (&plan, &model),
        features(&geometry, 1),
        last,
        &runner::Keep::Boundaries,
        &Control::new(),
        &mut |_, _, _| Ok(()),
    )
    .unwrap();
    let kernels: f64 = outcome.times.values().map(std::time::Duration::as_secs_f64).sum();
    let rate = outcome.products as f64 / kernels / 1e9;
    println!(
        "{} steps: kernels {kernels:.2} s, wall {:.2?}, {rate:.2} G products/s",
        outcome.times.len(),
        outcome.elapsed
    );
    let published = published();
    let digests = outcome.digests(&plan);
    for (name, digest) in &digests {
        if let Some(expected) = published.get(name.as_str()) {
            assert_eq!(&digest.to_string(), expected, "{name}");
        }
    }
    digests.len()
}

#[test]
fn the_first_stages_have_the_published_digests() {
    let Some(device) = device() else { return };
    let compared = run_until(&device, Some("block-1"));
    assert_eq!(compared, 3, "block-0, transition-0-1, block-1");
    silent(&device);
}

#[test]
fn the_whole_network_has_the_published_digests_when_asked_for() {
    if std::env::var_os("BLOCKSCOPE_FULL").is_none() {
        println!("skipped: takes minutes on a software driver; set BLOCKSCOPE_FULL=1");
        return;
    }
    let Some(device) = device() else { return };
    assert_eq!(run_until(&device, None), 84, "83 published boundaries and ours");
    silent(&device);
}

#[test]
fn a_cancelled_job_stops_between_submissions_and_the_engine_goes_on() {
    let Some(device) = device() else { return };
    let geometry = Geometry::new(Size::new(64, 64)).unwrap();
    let plan = Arc::new(Plan::new(geometry, Detail::Needed));
    let mut engine = Vulkan::on(&device).unwrap();
    engine.load(&plan, &Arc::new(synthetic::model(1))).unwrap();
    engine.write(features(&geometry, 1)).unwrap();
    let cancelled = Control::new();
    cancelled.cancel();
    let error = engine.run(&plan.steps[0], &cancelled).unwrap_err();
    assert_eq!(error.to_string(), "cancelled");
    assert!(engine.read(plan.steps[0].name()).is_err(), "nothing half done is kept");
    engine.run(&plan.steps[0], &Control::new()).unwrap();
    assert_eq!(engine.read(plan.steps[0].name()).unwrap().digest().to_string(), "546ba0d9a5cbfca1", "features_half");
    silent(&device);
}

/// Two tensors of one shape: all pairs of special values, equal elsewhere, and noise.
fn pair(element: Element, size: Size, channels: usize) -> (Tensor, Tensor) {
    let shape = Shape::new(element, size, channels);
    let mut random = Xorshift::new(channels as u32 * 77 + element.bytes() as u32);
    let special: &[u32] = match element {
        Element::E4m3 => &[0x00, 0x80, 0x7f, 0xff, 0x7e, 0xfe, 0x7d, 0x01, 0x81, 0x38, 0x39],
        Element::F16 => &[0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7bff, 0x0001, 0x8001, 0x3c00, 0x3c01],
        Element::F32 => {
            &[0, 0x8000_0000, 0x7f80_0000, 0x7fc0_0000, 0x7f7f_ffff, 1, 0x8000_0001, 0x3f80_0000, 0x3f80_0001]
        }
    };
    let width = element.bytes();
    let mut sides = [Vec::<u8>::new(), Vec::new()];
    for _ in 0..shape.elements() {
        let draw = random.draw();
        let one = if draw & 4 == 0 { special[(draw >> 8) as usize % special.len()] } else { random.draw() };
        let other = match draw & 3 {
            0 => special[(draw >> 16) as usize % special.len()],
            1 => random.draw(),
            _ => one,
        };
        sides[0].extend(&one.to_le_bytes()[..width]);
        sides[1].extend(&other.to_le_bytes()[..width]);
    }
    let [a, b] = sides.map(|bytes| Tensor::new("block-5/x".into(), shape, Bytes::copy(&bytes)).unwrap());
    (a, b)
}

#[test]
fn the_device_compares_as_the_processor_does() {
    let Some(device) = device() else { return };
    let mut engine = Vulkan::on(&device).unwrap();
    let size = Size::new(21, 13);
    for (element, channels) in [(Element::E4m3, 64), (Element::F16, 96), (Element::F32, 4)] {
        let (subject, reference) = pair(element, size, channels);
        for (phase, sentinel) in [(0, None), (1, Some(0x80)), (2, Some(0x00)), (3, Some(0xff))] {
            let grid = WindowGrid::new(size, Phase(phase));
            engine.write(subject.clone()).unwrap();
            engine.write_reference(&reference).unwrap();
            let found = engine.compare(&subject.name, Some(&grid), sentinel).unwrap().unwrap();
            let expected = compare::compare_with(&subject, &reference, sentinel);
            let details = compare::Details::of(&subject, &reference, Some(&grid));
            let case = format!("{element:?}, phase {phase}, sentinel {sentinel:?}");
            let classes: Vec<u64> = expected.counts.iter().map(|(_, count)| count).collect();
            assert_eq!(found.classes.to_vec(), classes, "classes, {case}");
            assert_eq!(found.differing_bytes, expected.differing_bytes, "bytes, {case}");
            assert_eq!(found.first, expected.first.map(|first| first.index), "first, {case}");
            assert_eq!(found.channels, details.attribution.channels, "channels, {case}");
            let windows = details.attribution.windows.unwrap();
            assert_eq!(found.windows, windows.counts, "windows, {case}");
            assert_eq!(found.positions, windows.positions, "positions, {case}");
            let tokens = engine.differing_tokens(&subject.name).unwrap().unwrap();
            assert_eq!(tokens, details.attribution.tokens, "tokens, {case}");
        }
        engine.write_reference(&subject).unwrap();
        let same = engine.compare(&subject.name, None, None).unwrap().unwrap();
        assert_eq!((same.first, same.classes[0]), (None, subject.shape.elements() as u64), "equal tensors");
        engine.release_reference(&subject.name);
        assert!(engine.compare(&subject.name, None, None).unwrap().is_none(), "no reference");
    }
    silent(&device);
}

#[test]
fn the_device_paints_what_the_processor_would() {
    let Some(device) = device() else { return };
    let mut engine = Vulkan::on(&device).unwrap();
    let palette: [[u8; 4]; PALETTE] = std::array::from_fn(|i| [i as u8, (i / 2) as u8, (i >> 8) as u8 * 255, 255]);
    for (element, channels) in [(Element::E4m3, 32), (Element::F16, 96), (Element::F32, 4)] {
        let (_, tensor) = pair(element, Size::new(21, 13), channels);
        engine.write(tensor.clone()).unwrap();
        for show in [Show::Channel(3), Show::Mean, Show::MaxAbs, Show::Length, Show::Rgb([2, 0, 1])] {
            let fixed = Range { low: -2.0, high: 3.5 };
            let picture = engine.picture(&tensor.name, show, Some(fixed), &palette).unwrap().unwrap();
            assert_eq!(picture.size, tensor.shape.size);
            for (token, &pixel) in picture.pixels.iter().enumerate() {
                let step = |show| fixed.step(colour::value(&tensor, token, show));
                let expected = match show {
                    Show::Rgb(all) => {
                        let [r, g, b] = all.map(|c| step(Show::Channel(c)).min(255) as u8);
                        [r, g, b, 255]
                    }
                    _ => palette[step(show)],
                };
                // A square root may be an ulp off, and so may its step be.
                let near = show == Show::Length && pixel[0].abs_diff(expected[0]) <= 1;
                assert!(
                    pixel == expected || near,
                    "{element:?} {show:?} token {token}: {pixel:?}, expected {expected:?}"
                );
            }
            let free = engine.picture(&tensor.name, show, None, &palette).unwrap().unwrap();
            if let Show::Channel(_) | Show::MaxAbs = show {
                let values =
                    (0..tensor.shape.tokens()).map(|t| colour::value(&tensor, t, show)).filter(|x| x.is_finite());
                let ends = values.map(|x| (x, x)).reduce(|(l, h), (x, _)| (l.min(x), h.max(x)));
                let (low, high) = ends.unwrap_or_default();
                assert_eq!((free.range.low, free.range.high), (low, high), "{element:?} {show:?}");
            }
        }
        assert!(engine.picture(&tensor.name, Show::Channel(channels), None, &palette).unwrap().is_none(), "no channel");
    }
    silent(&device);
}

#[test]
fn devices_are_listed_with_what_they_do_to_halves() {
    if device().is_none() {
        return;
    }
    let options = InstanceOptions { validation: true, ..InstanceOptions::default() };
    for report in devices::list(&options, false).unwrap() {
        println!("{}: {:?}", report.info.line(), report.probe);
        assert!(report.error.is_none(), "{:?}", report.error);
        let probe = report.probe.unwrap();
        assert!(!probe.contracts_precise, "NoContraction is obeyed");
        assert!(probe.adds_to_nearest, "singles round to nearest, as the kernels need");
        let runs = report.kernels.iter().filter(|kernel| kernel.lacks.is_none()).count();
        assert!(runs >= 8, "base kernels run everywhere");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["info"]["name"], report.info.name.as_str());
    }
}

#[test]
fn a_budget_is_respected_with_a_message_that_names_the_tensor() {
    if device().is_none() {
        return;
    }
    let instance = Instance::new(&InstanceOptions::default()).unwrap();
    let options = DeviceOptions { budget: Some(60 << 20), ..DeviceOptions::default() };
    let device = Device::open(&instance, &options).unwrap();
    let mut engine = Vulkan::on(&device).unwrap();
    let (big, _) = pair(Element::E4m3, Size::new(512, 512), 64);
    engine.write(big.clone()).unwrap();
    let mut second = big;
    second.name = "block-6/x".into();
    let held = device.held();
    let error = engine.write_reference(&second).and_then(|()| engine.write(second.clone())).unwrap_err().to_string();
    assert!(error.contains("block-6/x") && error.contains("--vram"), "{error}");
    assert!(device.held() <= 60 << 20, "held {held}");
}

#[test]
fn unknown_devices_and_changed_rules_are_refused_in_words() {
    let Some(device) = device() else { return };
    let options = DeviceOptions { wanted: Some("no such card".to_owned()), ..DeviceOptions::default() };
    let error = Vulkan::open(&options).unwrap_err().to_string();
    assert!(error.contains("no such card") && error.contains(&device.info().name), "{error}");
}

#[test]
fn the_devices_command_prints_text_and_json() {
    if device().is_none() {
        return;
    }
    let command = Devices { json: false, no_test: true };
    let text = command.output().unwrap();
    println!("{text}");
    assert!(text.starts_with("vulkan:0  ") && text.contains("gemm") && text.contains("halves"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&Devices { json: true, ..command }.output().unwrap()).unwrap();
    assert!(json[0]["probe"]["pack_rounding"].is_string(), "{json}");
}

#[test]
fn the_fused_route_makes_the_bytes_of_the_stepped_one() {
    let Some(device) = device() else { return };
    let geometry = Geometry::new(Size::new(64, 64)).unwrap();
    let plan = Arc::new(Plan::new(geometry, Detail::Needed));
    let model = Arc::new(synthetic::model(1));
    let last = plan.find_step("block-0").unwrap();
    let run = |mut engine: Vulkan| {
        engine.load(&plan, &model).unwrap();
        engine.write(features(&geometry, 1)).unwrap();
        engine.run_steps(&plan.steps[..=last], &Control::new()).unwrap();
        // What was put off is made when it is asked for, after its reader has run.
        let names = ["block-0/attended", "block-0", "block-0/qkv"];
        names.map(|name| engine.read(&name.into()).unwrap().digest())
    };
    let stepped = run(Vulkan::on(&device).unwrap());
    let fused = run(Vulkan::on(&device).unwrap().fused().unwrap());
    assert_eq!(stepped, fused, "attended, block-0, qkv");

    let mut engine = Vulkan::on(&device).unwrap().fused().unwrap();
    engine.load(&plan, &model).unwrap();
    engine.write(features(&geometry, 1)).unwrap();
    let normalized = plan.find_step("block-0/normalized").unwrap();
    engine.run_steps(&plan.steps[..=normalized], &Control::new()).unwrap();
    engine.release(&"block-0/qkv".into());
    assert!(engine.read(&"block-0/normalized".into()).is_ok(), "made on demand, its input kept until then");
    assert!(engine.read(&"block-0/qkv".into()).is_ok(), "released with the next step, not before its reader");
    silent(&device);
}

/// Runs a case of the fast GEMM on a device and compares it with the reference.
fn gemm_cases_are_right(device: &Arc<Device>) {
    let model = Arc::new(cases::model());
    let mut compared = 0;
    for case in cases::all(Size::new(13, 7)).iter().filter(|case| case.step.op.word() == "gemm") {
        let run = |engine: &mut dyn blockscope::engine::Engine| {
            engine.load(&case.plan, &model).unwrap();
            case.inputs.iter().for_each(|input| engine.write(input.clone()).unwrap());
            engine.run(&case.step, &Control::new()).unwrap();
            let names = case.step.op.outputs().into_iter();
            names.map(|name| engine.read(name).unwrap()).collect::<Vec<Tensor>>()
        };
        let expected = run(&mut blockscope::engine::reference::Reference::new());
        let found = run(&mut Vulkan::on(device).unwrap());
        for (e, f) in expected.iter().zip(&found) {
            assert_eq!(self_test::first_wrong("gemm_fast", e, f), None, "{}", case.step.name());
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared} outputs");
}

#[test]
fn weights_stay_codes_where_memory_is_short() {
    if device().is_none() {
        return;
    }
    let instance = Instance::new(&InstanceOptions { validation: true, ..InstanceOptions::default() }).unwrap();
    // Staging takes 64 MiB: what is left of half of this budget does not hold staged weights.
    let options = DeviceOptions { budget: Some(100 << 20), ..DeviceOptions::default() };
    let device = Device::open(&instance, &options).unwrap();
    gemm_cases_are_right(&device);
    silent(&device);
}

#[test]
fn a_tensor_beyond_what_a_shader_sees_is_refused_by_name_and_limit() {
    if device().is_none() {
        return;
    }
    let instance = Instance::new(&InstanceOptions { validation: true, ..InstanceOptions::default() }).unwrap();
    let options = DeviceOptions { storage_range: Some(1 << 20), ..DeviceOptions::default() };
    let device = Device::open(&instance, &options).unwrap();
    let geometry = Geometry::new(Size::new(64, 64)).unwrap();
    let plan = Arc::new(Plan::new(geometry, Detail::Needed));
    let mut engine = Vulkan::on(&device).unwrap();
    engine.load(&plan, &Arc::new(synthetic::model(1))).unwrap();
    let error = engine.write(features(&geometry, 1)).unwrap_err().to_string();
    assert!(error.contains("features") && error.contains("1048576"), "{error}");
    let (small, _) = pair(Element::E4m3, Size::new(21, 13), 64);
    engine.write(small).unwrap();
    silent(&device);
}

#[test]
fn a_lost_device_and_full_memory_end_the_job_in_words_and_not_the_program() {
    let Some(device) = device() else { return };
    let geometry = Geometry::new(Size::new(64, 64)).unwrap();
    let plan = Arc::new(Plan::new(geometry, Detail::Needed));
    let model = Arc::new(synthetic::model(1));
    let mut engine = Vulkan::on(&device).unwrap();
    engine.load(&plan, &model).unwrap();
    engine.write(features(&geometry, 1)).unwrap();
    device.fail_next(Fault::Lost);
    let error = engine.run(&plan.steps[0], &Control::new()).unwrap_err().to_string();
    assert!(error.contains("vkQueueSubmit") && error.contains("open it again"), "{error}");
    // The output of the step that failed is given back to the device first; then there is nothing left to give.
    let tensor = |name: &str, size: Size| {
        let bytes = Bytes::copy(&vec![0_u8; size.width * size.height * 64]);
        Tensor::new(name.into(), Shape::new(Element::E4m3, size, 64), bytes).unwrap()
    };
    device.fail_next(Fault::OutOfMemory);
    engine.write(tensor("block-5/x", Size::new(128, 64))).unwrap();
    device.fail_next(Fault::OutOfMemory);
    let error = engine.write(tensor("block-5/y", Size::new(96, 64))).unwrap_err().to_string();
    assert!(error.contains("block-5/y") && error.contains("smaller size"), "{error}");
    // The same engine goes on, and so does a new one after another size was asked for.
    engine.run(&plan.steps[0], &Control::new()).unwrap();
    assert_eq!(engine.read(plan.steps[0].name()).unwrap().digest().to_string(), "546ba0d9a5cbfca1", "features_half");
    let geometry = Geometry::new(Size::new(96, 64)).unwrap();
    let plan = Arc::new(Plan::new(geometry, Detail::Needed));
    engine.load(&plan, &model).unwrap();
    engine.write(features(&geometry, 1)).unwrap();
    engine.run(&plan.steps[0], &Control::new()).unwrap();
    silent(&device);
}

#[test]
fn a_device_tells_how_fast_it_answers() {
    if device().is_none() {
        return;
    }
    let geometry = Geometry::new(Size::new(64, 64)).unwrap();
    let plan = Arc::new(Plan::new(geometry, Detail::Needed));
    let model = Arc::new(synthetic::model(1));
    let found = responses::measure(&DeviceOptions::default(), &plan, &model, &features(&geometry, 1)).unwrap();
    println!("{found:?}");
    assert_eq!((found.boundary.as_str(), found.bytes), ("block-0", plan.shape(&plan.boundaries[0]).bytes()));
    assert!(found.first_kernel > 0.0 && found.compare >= found.compare_kernel && found.picture > 0.0, "{found:?}");
}
