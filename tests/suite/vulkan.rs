//! The Vulkan engine on this machine's device, under the validation layer: every kernel against the reference, and
//! the network against the published digests.
//!
//! A machine without a device fails these tests, unless `BLOCKSCOPE_NO_VULKAN=1` says that it is meant to have none.

use blockscope::engine::vulkan::Vulkan;
use blockscope::engine::vulkan::raw::{Device, DeviceOptions, Instance, InstanceOptions};
use blockscope::engine::vulkan::self_test::SelfTest;
use blockscope::engine::{Control, Engine as _, runner};
use blockscope::frame::synthetic::features;
use blockscope::geometry::{Geometry, Size};
use blockscope::model::synthetic;
use blockscope::plan::{Detail, Plan};
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
