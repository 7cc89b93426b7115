//! Every kind of kernel is traced on the synthetic network, and every trace reproduces its value.

use super::*;
use crate::engine::runner::{self, Keep};
use crate::engine::{Control, Engine as _, cpu};
use crate::frame;
use crate::geometry::{Geometry, Size};
use crate::model::synthetic;
use crate::numerics::Rules;
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
            let tensors = runner::read_around(engine, step)?;
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

#[test]
fn an_attention_record_follows_the_rules_of_its_step() {
    use crate::numerics::rules::{Carry, Outside, Padding, SoftmaxSum};
    let geometry = Geometry::new(Size::new(64, 64)).unwrap();
    let plan = Plan::new(geometry, Detail::Raw);
    let model = synthetic::model(1);
    let own = Rules::EXACT;
    let window = [
        Rules { softmax: SoftmaxSum::InOrder, ..own },
        Rules { softmax: SoftmaxSum::Neighbours, ..own },
        Rules { softmax: SoftmaxSum::NaturalKeys, ..own },
        Rules { softmax: SoftmaxSum::Singles, ..own },
        Rules { carry: Carry::Singles, ..own },
        Rules { outside: Outside::Masked, ..own },
        Rules { outside: Outside::Wrapped, ..own },
    ];
    let vit = [Rules { softmax: SoftmaxSum::InOrder, ..own }, Rules { padding: Padding::Masked, ..own }];
    let cases = window.iter().map(|rules| ("block-24/attended", rules));
    for (name, rules) in cases.chain(vit.iter().map(|rules| ("block-31/attended", rules))) {
        let step = Step { rules: *rules, ..plan.steps[plan.find_step(name).unwrap()].clone() };
        let input = step.op.inputs()[0].clone();
        let shape = plan.shape(&input);
        let codes: Vec<u8> = (0..shape.bytes()).map(|i| ((i * 2_654_435_761) >> 13) as u8 & 0xbf).collect();
        let tensor = Tensor::new(input.clone(), shape, crate::tensor::Bytes::copy(&codes)).unwrap();
        let tensors = BTreeMap::from([(input, tensor)]);
        let sources = Sources { plan: &plan, model: &model, tensors: &tensors };
        // A corner, where a shifted window leaves the field.
        let (token, head) = (1, 3);
        let rows = crate::engine::reference::run_rows(&step, sources, &[token], &Control::new()).unwrap();
        let record = attention(&step, sources, head, Place::Token(token)).unwrap();
        let attended: Vec<u8> = record.attended.iter().map(|n| n.bits as u8).collect();
        assert_eq!(attended, rows[0].1[head * 32..][..32], "{name} under {rules:?}");
        let last = record.adds.last().unwrap().sum;
        assert_eq!(f16::from_f32(last.value()), f16::from_f32(record.total.value()), "{name} under {rules:?}");
        let plain = attention(&Step { rules: own, ..step.clone() }, sources, head, Place::Token(token)).unwrap();
        let sums = rules.softmax != own.softmax || rules.carry != own.carry;
        assert_eq!(
            record.adds.iter().map(|add| &add.name).eq(plain.adds.iter().map(|add| &add.name)),
            !sums || rules.softmax == SoftmaxSum::NaturalKeys,
            "{name}: the adds that the rule makes"
        );
    }
}
