//! What guards the Vulkan engine: the validation layer really listens, changed rules are refused, and what a device's
//! report says is what the engine does.

use blockscope::engine::vulkan::Vulkan;
use blockscope::engine::vulkan::raw::{
    Buffer, Device, DeviceOptions, Instance, InstanceOptions, Pipeline, PipelineOptions, Place, Recorder, Slice,
};
use blockscope::engine::vulkan::{cases, devices, shaders};
use blockscope::engine::{Control, Engine as _};
use blockscope::geometry::Size;
use blockscope::numerics::Rules;
use blockscope::numerics::rules::MultiplyAdd;
use std::sync::Arc;

/// The device with validation; `None` where the machine is said to have none.
fn device() -> Option<Arc<Device>> {
    if std::env::var_os("BLOCKSCOPE_NO_VULKAN").is_some() {
        println!("skipped: BLOCKSCOPE_NO_VULKAN is set");
        return None;
    }
    let instance = Instance::new(&InstanceOptions { validation: true, ..InstanceOptions::default() }).unwrap();
    Some(Device::open(&instance, &DeviceOptions::default()).unwrap())
}

#[test]
fn the_validation_layer_is_heard_when_a_buffer_is_bound_wrongly() {
    let Some(device) = device() else { return };
    if device.info().limits.storage_alignment <= 4 {
        println!("skipped: this device binds buffers at any word");
        return;
    }
    let shader = shaders::all().into_iter().find(|shader| shader.name == "half_probe").unwrap();
    let options = PipelineOptions {
        name: shader.name,
        code: &shader.words(),
        bindings: shader.bindings,
        push: shader.push,
        constants: &[],
        subgroup: None,
    };
    let pipeline = Arc::new(Pipeline::new(&device, options).unwrap());
    let buffer = |name: &str| Arc::new(Buffer::new(&device, name, 256, Place::Device).unwrap());
    let (input, output) = (buffer("rightly bound").whole(), buffer("wrongly bound"));
    assert!(device.instance().take_messages().is_empty(), "silent so far");
    let wrong = Slice { buffer: output, offset: 4, bytes: 128 };
    let mut recorder = Recorder::new(&device, "wrong").unwrap();
    recorder.dispatch(&pipeline, &[input, wrong], &[], [1, 1, 1]).unwrap();
    recorder.discard();
    let messages = device.instance().take_messages();
    assert!(messages.iter().any(|message| message.contains("minStorageBufferOffsetAlignment")), "{messages:?}");
}

#[test]
fn a_step_with_changed_rules_is_refused_and_named() {
    let Some(device) = device() else { return };
    let mut engine = Vulkan::on(&device).unwrap();
    let mut case = cases::all(Size::new(5, 3)).remove(0);
    engine.load(&case.plan, &Arc::new(cases::model())).unwrap();
    engine.write(case.inputs[0].clone()).unwrap();
    case.step.rules = Rules { multiply_add: MultiplyAdd::RoundedTwice, ..Rules::EXACT };
    let error = engine.run(&case.step, &Control::new()).unwrap_err().to_string();
    assert!(error.contains("\"half\"") && error.contains("reference or cpu"), "{error}");
    case.step.rules = Rules::EXACT;
    engine.run(&case.step, &Control::new()).unwrap();
}

#[test]
fn missing_inputs_and_unheld_tensors_are_named() {
    let Some(device) = device() else { return };
    let mut engine = Vulkan::on(&device).unwrap();
    let case = cases::all(Size::new(5, 3)).remove(0);
    engine.load(&case.plan, &Arc::new(cases::model())).unwrap();
    let error = engine.run(&case.step, &Control::new()).unwrap_err().to_string();
    assert!(error.contains("needs tensor \"x\""), "{error}");
    let error = engine.read(&"half".into()).unwrap_err().to_string();
    assert!(error.contains("\"half\" was not computed"), "{error}");
}

#[test]
fn an_engine_opened_by_name_tells_what_reports_need() {
    let Some(device) = device() else { return };
    let wanted = Some(device.info().name.clone());
    let engine = Vulkan::open(&DeviceOptions { wanted, ..DeviceOptions::default() }).unwrap();
    let info = engine.info();
    assert!(info.exact, "passed its self-test: {}", info.device);
    let facts = engine.facts();
    for name in ["device", "driver", "subgroup size", "route", "kernels", "half probe", "self-test"] {
        assert!(facts.iter().any(|(fact, value)| fact == name && !value.is_empty()), "{name} in {facts:?}");
    }
    let route = |engine: &Vulkan| engine.facts().into_iter().find(|(fact, _)| fact == "route").unwrap().1;
    assert_eq!(route(&engine), "stepped");
    let engine = Vulkan::on(&device).unwrap();
    if devices::kernels(device.info()).iter().any(|k| k.name == "gemm_fast_any" && k.lacks.is_none()) {
        let kernels = engine.facts().into_iter().find(|(fact, _)| fact == "kernels").unwrap().1;
        assert!(kernels.contains("gemm_fast"), "{kernels}");
        assert_eq!(route(&engine.fused().unwrap()), "fused");
    }
}

#[test]
fn every_variant_says_whether_it_runs() {
    let Some(device) = device() else { return };
    let kernels = devices::kernels(device.info());
    let known: Vec<&str> = shaders::all().iter().map(|shader| shader.name).collect();
    for kernel in &kernels {
        assert!(kernel.lacks.as_ref().is_none_or(|lacks| !lacks.is_empty()), "{}: a reason", kernel.name);
        assert!(kernel.shaders.iter().all(|shader| known.contains(shader)), "{}: its shaders", kernel.name);
    }
}
