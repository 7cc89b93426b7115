//! Whether this machine's engines can be trusted as a reference: known answers, repetition, observation.
//!
//! In about one case of ten it is the reference, the dump or the comparison that is wrong. Before anybody believes a
//! divergence, every engine and level and device runs the hostile cases against the scalar reference, the network at
//! 64x64 is held against the published digests, runs are repeated, and the head is compared with and without anybody
//! reading what lies before it.
//!
//! **Invariants**
//! * A check that could not run is [`Outcome::Skipped`] with the reason, and never counts as a pass.
//! * A failed check says what to do.

mod machine;

use crate::capture::{Recording, parse_digests};
use crate::engine::cpu::{Cpu, Level};
use crate::engine::reference::Reference;
use crate::engine::runner::{self, Keep};
use crate::engine::vulkan::raw::{Device, DeviceOptions, Instance, VulkanError};
use crate::engine::vulkan::self_test::{SelfTest, first_wrong};
use crate::engine::vulkan::{self, Vulkan, cases, probe::HalfProbe};
use crate::engine::{Control, Engine, EngineError};
use crate::frame::synthetic::features;
use crate::geometry::Size;
use crate::model::{Model, synthetic};
use crate::plan::{Detail, Plan, names};
use crate::tensor::{Digest, TensorName};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// The digests that two other implementations published for the synthetic model and frame at 64x64.
const PUBLISHED: &[u8] = include_bytes!("../../../tests/data/digests-64x64.json");
/// The side of the hostile cases' planes: odd, so that every kernel has a partial last group.
const CASE: Size = Size::new(13, 7);

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// As it should be.
    Fine,
    /// Something to know: no judgement.
    Note,
    /// It could not be checked here.
    Skipped,
    /// It is not as it should be.
    Failed,
}

impl Outcome {
    /// The outcome in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Note => "note",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }
}

/// One check.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What is checked: `cpu:avx2`, `vulkan:0`, `memory`.
    pub subject: String,
    /// Which of its properties: `hostile cases`, `published digests`, `repetition`, `observer`.
    pub what: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// What was found.
    pub text: String,
    /// What to do; present when it failed.
    pub remedy: Option<String>,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// How thorough an examination is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Seconds: cases and the first blocks.
    Quick,
    /// The whole network, twice.
    Whole,
}

/// Examines everything. `begin` hears what starts, `done` gets each check as it ends.
///
/// # Errors
/// Only when the control cancels; everything else is a check that failed.
pub fn examine(
    depth: Depth,
    control: &Control,
    begin: &mut dyn FnMut(&str),
    done: &mut dyn FnMut(&Check),
) -> Result<Vec<Check>, EngineError> {
    let mut doctor = Doctor { depth, control, begin, done, checks: Vec::new() };
    machine::checks().into_iter().for_each(|check| doctor.add(check));
    let model = Arc::new(cases::model());
    for level in Level::available() {
        doctor.cases(level, &model)?;
    }
    let plan = Arc::new(Plan::new(
        crate::geometry::Geometry::new(Size::new(64, 64)).expect("a size that runs"),
        Detail::Needed,
    ));
    let network = Network { plan, model: Arc::new(synthetic::model(1)) };
    doctor.network("cpu", &mut |_| Ok(Box::new(Cpu::new(Level::best())?)), &network, depth == Depth::Whole)?;
    if depth == Depth::Whole {
        doctor.first_block("reference", &mut Reference::new(), &network)?;
    }
    doctor.devices(&network)?;
    Ok(doctor.checks)
}

/// Whether nothing failed.
pub fn is_fine(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.outcome != Outcome::Failed)
}

/// The network that digests were published for.
struct Network {
    plan: Arc<Plan>,
    model: Arc<Model>,
}

/// Makes a fresh engine: true for one that is not to be read between the steps.
type Make<'a> = dyn FnMut(bool) -> Result<Box<dyn Engine>, EngineError> + 'a;

struct Doctor<'a> {
    depth: Depth,
    control: &'a Control,
    begin: &'a mut dyn FnMut(&str),
    done: &'a mut dyn FnMut(&Check),
    checks: Vec<Check>,
}

impl Doctor<'_> {
    fn add(&mut self, check: Check) {
        (self.done)(&check);
        self.checks.push(check);
    }

    /// Runs one check; an engine's error fails it, and cancelling ends everything.
    fn check(
        &mut self,
        subject: &str,
        what: &'static str,
        remedy: &str,
        test: impl FnOnce(&Control) -> Result<(Outcome, String), EngineError>,
    ) -> Result<bool, EngineError> {
        (self.begin)(&format!("{subject}: {what}"));
        let start = Instant::now();
        let (outcome, text) = match test(self.control) {
            Ok(found) => found,
            Err(EngineError::Cancelled) => return Err(EngineError::Cancelled),
            Err(error) => (Outcome::Failed, error.to_string()),
        };
        let failed = outcome == Outcome::Failed;
        let remedy = failed.then(|| remedy.to_owned());
        self.add(Check {
            subject: subject.to_owned(),
            what,
            outcome,
            text,
            remedy,
            seconds: start.elapsed().as_secs_f64(),
        });
        Ok(!failed)
    }

    /// Every op on hostile values, against the scalar reference.
    fn cases(&mut self, level: Level, model: &Arc<Model>) -> Result<(), EngineError> {
        let name = format!("cpu:{}", level.name());
        let remedy = format!(
            "this processor or build computes wrong values at this level: use --engine reference, set {}=scalar, and report it",
            Level::VARIABLE
        );
        self.check(&name, "hostile cases", &remedy, |control| {
            let (mut ran, mut wrong) = (0, Vec::new());
            for case in cases::all(CASE) {
                let mut sides: [Box<dyn Engine>; 2] = [Box::new(Reference::new()), Box::new(Cpu::new(level)?)];
                let mut outputs = Vec::new();
                for engine in &mut sides {
                    outputs.push(case.outputs(&mut **engine, model, control)?);
                }
                ran += 1;
                let pairs = outputs[0].iter().zip(&outputs[1]);
                wrong.extend(pairs.filter_map(|(expected, found)| first_wrong(case.step.op.word(), expected, found)));
            }
            Ok(match wrong.first() {
                None => (Outcome::Fine, format!("{ran} steps of every op on special values equal the reference")),
                Some(first) => (Outcome::Failed, format!("{} outputs of {ran} steps are wrong: {first}", wrong.len())),
            })
        })?;
        Ok(())
    }

    /// Published digests, repetition and observation of the network, whole or to the first transition.
    fn network(&mut self, name: &str, make: &mut Make<'_>, network: &Network, whole: bool) -> Result<(), EngineError> {
        let last = network.last(whole);
        let mut first: Option<BTreeMap<TensorName, Digest>> = None;
        let wrong = "this engine computes wrong bytes: do not use it as a reference; compare it with the reference engine \
                     (blockscope parity) and report the first kernel that differs";
        self.check(name, "published digests", wrong, |control| {
            let digests = network.run(make(false)?, last, true, control)?;
            let answer = network.against_published(&digests);
            first = Some(digests);
            Ok(answer)
        })?;
        let Some(first) = first else { return Ok(()) };
        let unstable = "runs of this engine differ: suspect a race, the driver, or the memory of this machine";
        self.check(name, "repetition", unstable, |control| {
            let again = network.run(make(false)?, last, true, control)?;
            let moved = first.iter().find(|(name, digest)| again.get(*name) != Some(digest)).map(|(name, _)| name);
            Ok(match moved {
                None => (Outcome::Fine, format!("a second run gave the same bytes at {} boundaries", first.len())),
                Some(name) => (Outcome::Failed, format!("a second run gave other bytes, first at {name}")),
            })
        })?;
        let seen =
            "looking at intermediate tensors changes this engine's result: compare heads only, or use another route";
        self.check(name, "observer", seen, |control| {
            let unseen = network.run(make(true)?, last, false, control)?;
            Ok(match unseen.iter().find(|(name, digest)| first.get(*name) != Some(digest)) {
                None => (Outcome::Fine, "the last tensor is the same whether the others are read or not".to_owned()),
                Some((name, _)) => (Outcome::Failed, format!("{name} differs when the tensors before it are not read")),
            })
        })?;
        Ok(())
    }

    /// The published digest of block 0 alone.
    fn first_block(&mut self, name: &str, engine: &mut dyn Engine, network: &Network) -> Result<(), EngineError> {
        let remedy = "the scalar reference is wrong here: the build or the processor cannot be trusted at all";
        let last = network.plan.find_step("block-0");
        self.check(name, "published digests", remedy, |control| {
            let digests = network.run_on(engine, last, true, control)?;
            Ok(network.against_published(&digests))
        })?;
        Ok(())
    }

    /// Every Vulkan device: self-test, half-probe, and the network where the device is fast enough.
    fn devices(&mut self, network: &Network) -> Result<(), EngineError> {
        let adapters = Instance::new(&vulkan::instance_options()).and_then(|instance| instance.adapters());
        let adapters = match adapters {
            Ok(adapters) if !adapters.is_empty() => adapters,
            Ok(_) => return self.no_vulkan("Vulkan is installed, but lists no device; check the GPU's driver"),
            Err(error) => return self.no_vulkan(&error.to_string()),
        };
        for adapter in adapters {
            let (info, name) = (adapter.info().clone(), format!("vulkan:{}", adapter.info().index));
            let mut opened = None;
            let remedy = "update the driver, or leave this device out with --device";
            self.check(&name, "device", remedy, |_| {
                let failed = |error: VulkanError| EngineError::Device {
                    engine: format!("vulkan:{}", info.index),
                    message: error.to_string(),
                };
                let device = Device::from_adapter(adapter, &DeviceOptions::default()).map_err(failed)?;
                let remarks = HalfProbe::of(&device).map_err(failed)?.remarks();
                opened = Some(device);
                let remarks = if remarks.is_empty() { "nothing remarkable".to_owned() } else { remarks.join("; ") };
                Ok((Outcome::Note, format!("{}; half-probe: {remarks}", info.line())))
            })?;
            let Some(device) = opened else { continue };
            let remedy =
                "this driver makes wrong values: it is refused as a reference; update it and report the kernel";
            let fresh = self.depth == Depth::Whole;
            let passed = self.check(&name, "hostile cases", remedy, |_| {
                let test = if fresh { SelfTest::run(&device)? } else { SelfTest::of(&device)? };
                Ok(match test.failures.first() {
                    None => {
                        (Outcome::Fine, format!("{} kernels equal the reference on special values", test.kernels.len()))
                    }
                    Some(first) => (Outcome::Failed, format!("{} outputs are wrong: {first}", test.failures.len())),
                })
            })?;
            if !passed {
                continue;
            }
            if fresh {
                // A software driver needs a minute for the whole network.
                let whole = info.kind != "cpu";
                let mut make = |unseen: bool| -> Result<Box<dyn Engine>, EngineError> {
                    let engine = Vulkan::on(&device)?;
                    // The fused route leaves tensors out that nobody reads: where an observer would show.
                    let fused = if unseen { Vulkan::on(&device)?.fused().ok() } else { None };
                    Ok(Box::new(fused.unwrap_or(engine)))
                };
                self.network(&name, &mut make, network, whole)?;
            }
        }
        Ok(())
    }

    fn no_vulkan(&mut self, text: &str) -> Result<(), EngineError> {
        self.check("vulkan", "device", "", |_| {
            Ok((Outcome::Skipped, format!("{text}; the cpu engine does not need it")))
        })
        .map(drop)
    }
}

impl Network {
    /// The last step of a run: all of them, or the way down to level 1.
    fn last(&self, whole: bool) -> Option<usize> {
        if whole { None } else { self.plan.find_step("transition-4-5") }
    }

    fn run(
        &self,
        mut engine: Box<dyn Engine>,
        last: Option<usize>,
        observed: bool,
        control: &Control,
    ) -> Result<BTreeMap<TensorName, Digest>, EngineError> {
        self.run_on(&mut *engine, last, observed, control)
    }

    /// Digests of every boundary, or of the last one alone.
    fn run_on(
        &self,
        engine: &mut dyn Engine,
        last: Option<usize>,
        observed: bool,
        control: &Control,
    ) -> Result<BTreeMap<TensorName, Digest>, EngineError> {
        let (plan, mut digests) = (&self.plan, BTreeMap::new());
        let end = last.map_or_else(|| names::HEAD.into(), |last| plan.steps[last].name().clone());
        let input = features(&plan.geometry, 1);
        runner::run_from_features(
            engine,
            (plan, &self.model),
            input,
            last,
            &Keep::Nothing,
            control,
            &mut |engine, step, _| {
                for name in step.op.outputs() {
                    if *name == end || (observed && plan.boundaries.contains(name)) {
                        digests.insert(name.clone(), engine.read(name)?.digest());
                    }
                }
                Ok(())
            },
        )?;
        Ok(digests)
    }

    fn against_published(&self, digests: &BTreeMap<TensorName, Digest>) -> (Outcome, String) {
        let published: Recording = match parse_digests("the published digests", PUBLISHED) {
            Ok(published) => published,
            Err(problems) => return (Outcome::Failed, problems.to_string()),
        };
        let known = self.plan.boundaries.iter().filter_map(|name| Some((name, published.digest(name).ok()?)));
        let all: Vec<(&TensorName, Digest)> = known.filter(|(name, _)| digests.contains_key(*name)).collect();
        match all.iter().find(|(name, digest)| digests[*name] != *digest) {
            None => (Outcome::Fine, format!("{} boundaries at 64x64 have the published digests", all.len())),
            Some((name, digest)) => {
                (Outcome::Failed, format!("{name} at 64x64 has digest {}, published is {digest}", digests[*name]))
            }
        }
    }
}
