//! What is doubted first: engines that are unstable, that mix up their input, or that are wrong as the reference.

use super::{NETWORK, doubt};
use blockscope::diagnosis::search::{Run, observe};
use blockscope::engine::{Control, Engine, EngineError, EngineInfo, EngineSpec, StepReport, open};
use blockscope::model::Model;
use blockscope::plan::{Plan, Step};
use blockscope::tensor::{Bytes, Tensor, TensorName};
use std::sync::Arc;

/// What is wrong with an engine.
enum Fault {
    /// One bit of this tensor flips, at another place each time it is read.
    FlippingBit(&'static str, u32),
    /// Two lanes of the input are exchanged.
    ExchangedLanes(usize, usize),
    /// The first channel of this tensor is one code off, everywhere.
    OneCodeOff(&'static str),
    /// This tensor is another when more than so many tensors were read since the last load.
    Shy(&'static str, usize),
}

/// The exact engine with a fault.
struct Faulty {
    engine: Box<dyn Engine>,
    fault: Fault,
    reads: usize,
}

impl Faulty {
    fn new(fault: Fault) -> Self {
        Self { engine: open(&EngineSpec::cpu()).unwrap(), fault, reads: 0 }
    }

    fn side(fault: Fault) -> Run<'static> {
        Run::Engine { engine: Box::new(Self::new(fault)), plan: Arc::clone(&NETWORK.plan) }
    }
}

fn edited(tensor: &Tensor, edit: impl FnOnce(&mut [u8])) -> Tensor {
    let mut bytes = tensor.bytes().to_vec();
    edit(&mut bytes);
    Tensor::new(tensor.name.clone(), tensor.shape, Bytes::copy(&bytes)).unwrap()
}

impl Engine for Faulty {
    fn info(&self) -> EngineInfo {
        self.engine.info()
    }

    fn load(&mut self, plan: &Arc<Plan>, model: &Arc<Model>) -> Result<(), EngineError> {
        self.reads = 0;
        self.engine.load(plan, model)
    }

    fn write(&mut self, tensor: Tensor) -> Result<(), EngineError> {
        let tensor = match self.fault {
            Fault::ExchangedLanes(a, b) if tensor.name.as_str() == "features" => edited(&tensor, |bytes| {
                for pixel in bytes.chunks_exact_mut(64) {
                    (0..4).for_each(|i| pixel.swap(4 * a + i, 4 * b + i));
                }
            }),
            _ => tensor,
        };
        self.engine.write(tensor)
    }

    fn run(&mut self, step: &Step, control: &Control) -> Result<StepReport, EngineError> {
        self.engine.run(step, control)
    }

    fn read(&mut self, name: &TensorName) -> Result<Tensor, EngineError> {
        let tensor = self.engine.read(name)?;
        self.reads += 1;
        let stride = tensor.shape.channels * tensor.shape.element.bytes();
        Ok(match &mut self.fault {
            Fault::FlippingBit(at, seed) if name.as_str() == *at => {
                *seed = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                let place = *seed as usize % tensor.bytes().len();
                edited(&tensor, |bytes| bytes[place] ^= 1)
            }
            Fault::Shy(at, most) if name.as_str() == *at && self.reads > *most => {
                edited(&tensor, |bytes| bytes[0] ^= 1)
            }
            Fault::OneCodeOff(at) if name.as_str() == *at => {
                edited(&tensor, |bytes| bytes.iter_mut().step_by(stride).for_each(|byte| *byte ^= 1))
            }
            _ => tensor,
        })
    }

    fn release(&mut self, name: &TensorName) {
        self.engine.release(name);
    }
}

#[test]
fn an_unstable_subject_is_told_as_that_and_no_cause_is_tested() {
    let side = Faulty::side(Fault::FlippingBit("block-2/attended", 1));
    let mut exact = open(&EngineSpec::cpu()).unwrap();
    let answer = NETWORK.ask(side, Some(NETWORK.features()), "block-3", exact.as_mut());
    let stability = doubt(&answer, "stability");
    assert_eq!((stability.holds, stability.evidence), (Some(false), Some("nondeterminism")), "{stability:?}");
    assert!(stability.text.contains("block-2/attended"), "{stability:?}");
    let [finding] = &answer.findings[..] else { panic!("one finding: {:?}", answer.findings) };
    assert_eq!((finding.stable, finding.tried, finding.differing), (Some(false), 0, 1), "{finding:?}");
    assert!(finding.sentence().contains("nondeterminism"), "{}", finding.sentence());
}

#[test]
fn exchanged_colour_lanes_of_the_input_are_named() {
    let side = Faulty::side(Fault::ExchangedLanes(4, 6));
    let mut exact = open(&EngineSpec::cpu()).unwrap();
    let answer = NETWORK.ask(side, Some(NETWORK.features()), "block-0/input", exact.as_mut());
    let inputs = doubt(&answer, "inputs");
    assert_eq!(inputs.holds, Some(false), "{inputs:?}");
    for told in ["lane 4 holds what lane 6 should", "lane 6 holds what lane 4 should"] {
        assert!(inputs.text.contains(told), "{inputs:?}");
    }
}

#[test]
fn a_wrong_reference_is_doubted_by_the_scalar_one() {
    let mut wrong = Faulty::new(Fault::OneCodeOff("block-1/ffn"));
    let side = Run::Engine { engine: open(&EngineSpec::cpu()).unwrap(), plan: Arc::clone(&NETWORK.plan) };
    let answer = NETWORK.ask(side, Some(NETWORK.features()), "block-1/ffn", &mut wrong);
    let reference = doubt(&answer, "reference");
    assert_eq!(reference.holds, Some(false), "{reference:?}");
    assert!(reference.text.contains("block-1/ffn"), "{reference:?}");
}

#[test]
fn a_stable_subject_with_equal_inputs_and_right_layout_is_told_so() {
    let side = Run::engine(&"cpu+squares-in-order@1".parse().unwrap(), &NETWORK.plan).unwrap();
    let mut exact = open(&EngineSpec::cpu()).unwrap();
    let answer = NETWORK.ask(side, Some(NETWORK.features()), "block-1", exact.as_mut());
    for what in ["inputs", "reference", "stability", "layout"] {
        assert_eq!(doubt(&answer, what).holds, Some(true), "{what}: {:?}", answer.doubts);
    }
}

#[test]
fn an_engine_that_changes_when_it_is_watched_is_found_out() {
    let network = &*NETWORK;
    let until = network.plan.find_step("block-2");
    let ask = |fault: Fault| {
        let sides = (&network.plan, &network.model);
        observe(&mut Faulty::new(fault), sides, &network.features(), until, &Control::new()).unwrap()
    };
    let shy = ask(Fault::Shy("block-2", 4));
    assert_eq!((shy.holds, shy.evidence), (Some(false), Some("observer-effect")), "{shy:?}");
    let steady = ask(Fault::Shy("block-3", 0));
    assert_eq!((steady.holds, steady.evidence), (Some(true), None), "{steady:?}");
}
