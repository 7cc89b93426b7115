//! Every kind of kernel is traced on the synthetic network, and every trace reproduces its value.

use super::*;
use crate::engine::runner::{self, Keep};
use crate::engine::{Control, Engine as _, cpu};
use crate::frame;
use crate::geometry::{Geometry, Size};
use crate::model::synthetic;
use crate::plan::{Detail, Plan};
use std::collections::BTreeMap;
use std::sync::Arc;

#[test]
fn every_kernel_of_the_network_is_reproduced_on_sampled_values() {
    let geometry = Geometry::new(Size::new(64, 64)).unwrap();
    let plan = Arc::new(Plan::new(geometry, Detail::Raw));
    let model = Arc::new(synthetic::model(1));
    let features = frame::synthetic::features(&geometry, 1);
    let mut engine = cpu::Cpu::new(cpu::Level::best()).unwrap();
    assert!(engine.info().exact, "an exact engine");
    let mut state = 1_usize;
    // One block of each kind, with what leads into and out of it.
    let blocks = [0, 4, 5, 22, 23, 30, 31, 38, 39, 48, 66, 70];
    runner::run_from_features(
        &mut engine,
        (&plan, &model),
        features,
        None,
        &Keep::Nothing,
        &Control::new(),
        &mut |engine, step, _| {
            if !blocks.contains(&step.block) {
                return Ok(());
            }
            let names = step.op.inputs().into_iter().chain(step.op.outputs()).cloned();
            let tensors: BTreeMap<TensorName, Tensor> =
                names.map(|name| Ok((name.clone(), engine.read(&name)?))).collect::<Result<_, EngineError>>()?;
            let sources = Sources { plan: &plan, model: &model, tensors: &tensors };
            for name in step.op.outputs() {
                for _ in 0..3 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let shape = plan.shape(name);
                    let at = ((state >> 33) % shape.tokens(), (state >> 20) % shape.channels);
                    let trace = trace(step, sources, &tensors[name], at)?;
                    assert!(trace.reproduces, "{}", text::lines(&trace).join("\n"));
                }
            }
            Ok(())
        },
    )
    .unwrap();
}

#[test]
fn numbers_are_written_with_all_digits_and_without_what_json_lacks() {
    let json = |number: Number| serde_json::to_string(&number).unwrap();
    assert_eq!(json(Number::code(0x38)), r#"{"element":"e4m3","bits":"0x38","value":1.0}"#, "one");
    assert_eq!(json(Number::half(f16::INFINITY)), r#"{"element":"f16","bits":"0x7c00","value":"inf"}"#, "infinity");
    assert_eq!(json(Number::code(0x80)), r#"{"element":"e4m3","bits":"0x80","value":"-0"}"#, "minus zero");
}
