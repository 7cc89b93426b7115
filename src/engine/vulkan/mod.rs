//! The Vulkan engine: every step as GLSL compute, the same bytes as the reference on every driver.
//!
//! Tensors stay on the device until they are read; weights are uploaded when a step first needs them. A step becomes
//! [`kernel::Dispatch`]es, which [`runner`] cuts into short submissions, so that a job can be cancelled and no driver
//! loses patience.
//!
//! **Invariants**
//! * One file per op, of the op's name, without ash calls: [`raw`] is the only place that has them.
//! * A step whose rules are not exact is refused: causes run on the reference's rows.
//! * A device that fails ends the job with an error, never the program.

pub mod cases;
pub mod colour;
mod comparing;
pub mod constants;
mod convert;
mod coopmat;
pub mod devices;
mod fused;
mod fused_block;
mod gemm;
mod gemm_fast;
mod gemm_half;
mod gemm_matrix;
mod global_attention;
mod global_attention_fast;
mod kernel;
mod matrix_unit;
mod merge;
mod normalize;
mod normalize_fast;
mod numerics;
mod once;
mod pool;
pub mod probe;
pub mod raw;
pub mod responses;
mod runner;
pub mod self_test;
mod settings;
pub mod shaders;
mod store;
mod window_attention;
mod window_attention_fast;
mod window_attention_matrix;

pub use comparing::{CLASSES, DeviceComparison};
pub use settings::{Settings, configure, instance_options};

use super::{Control, Engine, EngineError, EngineInfo, StepReport};
use crate::model::Model;
use crate::plan::{Op, Plan, Step};
use crate::tensor::{Tensor, TensorName};
use fused::Fused;
use fused_block::Block;
use kernel::{Binder, Dispatch, Variant};
use probe::HalfProbe;
use raw::{Device, DeviceOptions, Instance, VulkanError};
use runner::{Runner, Stop};
use self_test::SelfTest;
use std::sync::Arc;
use std::time::Duration;
use store::Store;

/// An engine on one device.
pub struct Vulkan {
    device: Arc<Device>,
    runner: Runner,
    store: Store,
    variants: Vec<&'static Variant>,
    self_test: Option<SelfTest>,
    probe: Option<HalfProbe>,
    /// What the fused route has put off; `None` on the others.
    fused: Option<Fused>,
    /// Whether only exact kernels are used.
    exact: bool,
    /// Processors that tiles are chosen for.
    processors: u32,
    loaded: Option<(Arc<Plan>, Arc<Model>)>,
}

impl std::fmt::Debug for Vulkan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vulkan").field("device", &self.device).finish_non_exhaustive()
    }
}

impl Vulkan {
    /// Opens a device by the options, the process's [`Settings`] and the environment, and looks at its self-test.
    ///
    /// # Errors
    /// When there is no Vulkan, no such device, or it cannot be opened.
    pub fn open(options: &DeviceOptions) -> Result<Self, EngineError> {
        let device = Instance::new(&instance_options())
            .and_then(|instance| Device::open(&instance, &settings::device(options)))
            .map_err(|error| {
                let engine = options.wanted.as_ref().map_or("vulkan".to_owned(), |wanted| format!("vulkan:{wanted}"));
                EngineError::Unavailable { engine, message: error.to_string() }
            })?;
        let self_test = SelfTest::of(&device)?;
        let probe = HalfProbe::of(&device).map_err(|error| failed(&device, &error))?;
        Ok(Self { self_test: Some(self_test), probe: Some(probe), ..Self::on(&device)? })
    }

    /// An engine on an open device, which a window may share.
    ///
    /// # Errors
    /// When the device is out of memory.
    pub fn on(device: &Arc<Device>) -> Result<Self, EngineError> {
        let make = || -> Result<Self, VulkanError> {
            Ok(Self {
                runner: Runner::new(device)?,
                store: Store::new(device)?,
                variants: kernel::variants(device, false),
                device: Arc::clone(device),
                self_test: None,
                probe: None,
                fused: None,
                exact: true,
                processors: device.info().limits.processors,
                loaded: None,
            })
        };
        make().map_err(|error| failed(device, &error))
    }

    /// Runs several steps in one kernel where it pays. The bytes are the same; tensors in between are made on demand.
    ///
    /// # Errors
    /// When the device cannot run the fused kernels.
    pub fn fused(mut self) -> Result<Self, EngineError> {
        let message = || "cannot run the fused kernels; use the stepped route".to_owned();
        let fused = Fused::on(&self.device);
        self.fused =
            Some(fused.ok_or_else(|| EngineError::Unavailable { engine: name(&self.device), message: message() })?);
        Ok(self)
    }

    /// Multiplies on the device's matrix units: not exact.
    ///
    /// # Errors
    /// When the device has none of the shape needed.
    pub fn coopmat(mut self) -> Result<Self, EngineError> {
        let unavailable = |message| EngineError::Unavailable { engine: name(&self.device), message };
        coopmat::fits(self.device.info()).map_err(unavailable)?;
        self.variants = kernel::variants(&self.device, true);
        self.exact = false;
        Ok(self)
    }

    /// Uses base kernels only, whatever the device could do.
    #[must_use]
    pub fn base_only(mut self) -> Self {
        self.variants.clear();
        self
    }

    /// Chooses tiles as for a device of so many processors: few make them large even where there is little to do.
    #[must_use]
    pub fn assuming_processors(mut self, processors: u32) -> Self {
        self.processors = processors;
        self
    }

    /// Whether this device has more than base kernels.
    pub fn has_variants(&self) -> bool {
        !self.variants.is_empty()
    }

    /// How kernels are put together, in the words of an engine's spec.
    fn route(&self) -> &'static str {
        match (self.exact, &self.fused) {
            (false, _) => "coopmat",
            (true, Some(_)) => "fused",
            (true, None) => "stepped",
        }
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Bytes of tensors on the device.
    pub fn tensor_bytes(&self) -> u64 {
        self.store.tensor_bytes()
    }

    /// The fused kernel that runs a step and those put off before it, if there is one.
    pub fn fused_kernel(&self, step: &Step) -> Option<&'static str> {
        let (plan, _) = self.loaded.as_ref()?;
        self.fused.as_ref().and_then(|fused| fused.kernel(step, plan))
    }

    /// The kernel that runs a step here: the op's word, or a variant's name.
    pub fn kernel_name(&self, step: &Step) -> &'static str {
        let fits = |v: &&&Variant| {
            v.op == step.op.word() && self.loaded.as_ref().is_some_and(|(plan, _)| (v.takes)(&step.op, plan))
        };
        self.variants.iter().find(fits).map_or(step.op.word(), |v| v.name)
    }

    /// Runs steps one after the other, with as few waits for the device as their length allows.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub fn run_steps(&mut self, steps: &[Step], control: &Control) -> Result<Vec<StepReport>, EngineError> {
        let (plan, model) = self.loaded.clone().expect("load comes before run");
        let mut times = vec![Duration::ZERO; steps.len()];
        for (i, step) in steps.iter().enumerate() {
            self.check(step)?;
            if self.fused.as_mut().is_some_and(|fused| fused.puts_off(step, &plan)) {
                continue;
            }
            let fused = self.fused.clone();
            let recorded = self
                .dispatches(step, (&plan, &model))
                .map_err(Stop::Failed)
                .and_then(|dispatches| self.runner.record(i, &dispatches, &mut times, control));
            if let Err(stop) = recorded {
                // Whatever the step has written is not whole, and what it took still waits.
                self.fused = fused;
                step.op.outputs().into_iter().for_each(|name| self.store.release(name));
                self.runner.discard();
                self.store.made(false);
                return Err(self.stopped(stop));
            }
            let due = self.fused.as_mut().map(Fused::due).unwrap_or_default();
            due.iter().for_each(|name| self.store.release(name));
            control.advance(step.op.products(&plan));
        }
        let flushed = self.runner.flush(&mut times);
        self.store.made(flushed.is_ok());
        flushed.map_err(|error| failed(&self.device, &error))?;
        self.validated()?;
        Ok(times.into_iter().map(|duration| StepReport { duration }).collect())
    }

    /// Fails when the validation layer has said anything.
    fn validated(&self) -> Result<(), EngineError> {
        let messages = self.device.instance().take_messages();
        let Some(first) = messages.first() else { return Ok(()) };
        let message = format!("the validation layer has {} messages, first: {first}", messages.len());
        Err(EngineError::Device { engine: name(&self.device), message })
    }

    /// The first wrong value of the self-test; `None` for a device that passed, or that was opened without the test.
    pub fn self_test_failure(&self) -> Option<&self_test::Failure> {
        self.self_test.as_ref().and_then(|test| test.failures.first())
    }

    /// A step's dispatches, behind those of the steps that were put off and are needed now.
    fn dispatches(&mut self, step: &Step, (plan, model): (&Plan, &Model)) -> Result<Vec<Dispatch>, VulkanError> {
        let mut all = Vec::new();
        if let Some(before) = self.fused.as_mut().and_then(|fused| fused.take_block(step, plan)) {
            let [a, b, c, d, e] = before.each_ref().map(|step| &step.op);
            let block = Block::of([a, b, c, d, e, &step.op]).expect("a block was taken");
            let (mut binder, variants) = self.binder(plan, model);
            if let Some(dispatches) = block.dispatches(&mut binder)? {
                return Ok(dispatches);
            }
            for step in &before {
                all.extend(kernel::dispatches(step, variants, &mut binder)?.1);
            }
        }
        let normalization = self.fused.as_mut().and_then(|fused| fused.take_normalization(step));
        for input in normalization.as_ref().unwrap_or(step).op.inputs() {
            if let Some(waiting) = self.fused.as_mut().and_then(|fused| fused.take(input)) {
                all.extend(self.dispatches(&waiting, (plan, model))?);
            }
        }
        let shader = self.fused.as_ref().and_then(Fused::attention);
        let (mut binder, variants) = self.binder(plan, model);
        match (normalization.as_ref().map(|step| &step.op), &step.op, shader) {
            (Some(Op::Normalize(normalize)), Op::WindowAttention(window), Some(shader)) => {
                all.extend(fused::dispatches(shader, normalize, window, &mut binder)?);
            }
            _ => all.extend(kernel::dispatches(step, variants, &mut binder)?.1),
        }
        Ok(all)
    }

    /// What kernels are put together with, and the variants to choose from.
    fn binder<'a>(&'a mut self, plan: &'a Plan, model: &'a Model) -> (Binder<'a>, &'a [&'static Variant]) {
        let (info, processors) = (self.device.info(), self.processors);
        (Binder { plan, model, store: &mut self.store, info, processors }, &self.variants)
    }

    /// Runs the steps that make a tensor if they were put off.
    fn catch_up(&mut self, tensor: &TensorName) -> Result<(), EngineError> {
        let Some(step) = self.fused.as_mut().and_then(|fused| fused.take(tensor)) else { return Ok(()) };
        for input in step.op.inputs() {
            self.catch_up(input)?;
        }
        let waiting = self.fused.take();
        let ran = self.run_steps(std::slice::from_ref(&step), &Control::new());
        self.fused = waiting;
        ran.map(|_| ())
    }

    fn check(&self, step: &Step) -> Result<(), EngineError> {
        let engine = name(&self.device);
        if !step.rules.is_exact() {
            let message = format!(
                "step \"{}\" has changed rules, which only the reference's rows interpret; run it with the reference or cpu engine",
                step.name()
            );
            return Err(EngineError::Device { engine, message });
        }
        if let Some(halves) = step.op.unpublished() {
            let message = format!(
                "step \"{}\" is asked for \"{halves}\", its halves before publication, which the device's kernel does not \
                 write; run it with the reference or cpu engine",
                step.name()
            );
            return Err(EngineError::Device { engine, message });
        }
        match step
            .op
            .inputs()
            .into_iter()
            .find(|input| self.store.shape(input).is_none() && !self.fused.as_ref().is_some_and(|f| f.holds(input)))
        {
            None => Ok(()),
            Some(missing) => {
                Err(EngineError::MissingTensor { engine, step: step.name().clone(), tensor: missing.clone() })
            }
        }
    }

    fn stopped(&self, stop: Stop) -> EngineError {
        match stop {
            Stop::Cancelled => EngineError::Cancelled,
            Stop::Failed(error) => failed(&self.device, &error),
        }
    }
}

/// The engine's name on a command line.
fn name(device: &Device) -> String {
    format!("vulkan:{}", device.info().index)
}

fn failed(device: &Device, error: &VulkanError) -> EngineError {
    EngineError::Device { engine: name(device), message: error.to_string() }
}

impl Engine for Vulkan {
    fn info(&self) -> EngineInfo {
        let line = self.device.info().line();
        // A device that fails its self-test is no reference, and everybody who shows it says so.
        let device = match self.self_test_failure() {
            None => line,
            Some(failure) => format!("{line}; FAILED ITS SELF-TEST: {failure}"),
        };
        EngineInfo { name: name(&self.device), device, exact: self.exact && self.self_test_failure().is_none() }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let info = self.device.info();
        let mut facts = vec![
            ("device".to_owned(), info.name.clone()),
            ("driver".to_owned(), info.driver.clone()),
            ("driver version".to_owned(), format!("{:#x}", info.driver_version)),
            ("vulkan".to_owned(), info.api.clone()),
            ("device uuid".to_owned(), info.uuid.clone()),
            ("subgroup size".to_owned(), info.subgroups.size.to_string()),
            ("route".to_owned(), self.route().to_owned()),
            ("kernels".to_owned(), kernel::in_use(&self.variants).join(", ")),
        ];
        if let Some(probe) = &self.probe {
            let remarks = probe.remarks();
            let words = if remarks.is_empty() { "nothing remarkable".to_owned() } else { remarks.join("; ") };
            facts.push(("half probe".to_owned(), words));
        }
        if let Some(test) = &self.self_test {
            let words = test.failures.first().map_or_else(|| "passed".to_owned(), |f| format!("failed: {f}"));
            facts.push(("self-test".to_owned(), words));
        }
        facts
    }

    fn picture_of(&mut self, name: &TensorName, look: &colour::Look) -> Result<Option<colour::Picture>, EngineError> {
        self.catch_up(name)?;
        self.picture(name, look.show, look.range, &look.palette)
    }

    fn load(&mut self, plan: &Arc<Plan>, model: &Arc<Model>) -> Result<(), EngineError> {
        let same_model = self.loaded.as_ref().is_some_and(|(_, held)| Arc::ptr_eq(held, model));
        self.store.clear(!same_model);
        self.fused.iter_mut().for_each(Fused::clear);
        self.loaded = Some((Arc::clone(plan), Arc::clone(model)));
        Ok(())
    }

    fn write(&mut self, tensor: Tensor) -> Result<(), EngineError> {
        if let Some((plan, _)) = &self.loaded {
            super::check_shape(plan, &tensor)?;
        }
        for step in self.fused.as_ref().map(|fused| fused.disturbed_by(&tensor.name)).unwrap_or_default() {
            self.catch_up(&step)?;
        }
        if let Some(fused) = &mut self.fused {
            fused.take(&tensor.name);
            fused.wants(&tensor.name);
        }
        self.store.write(&tensor).map_err(|error| failed(&self.device, &error))
    }

    fn run(&mut self, step: &Step, control: &Control) -> Result<StepReport, EngineError> {
        let reports = self.run_steps(std::slice::from_ref(step), control)?;
        Ok(reports[0])
    }

    fn read(&mut self, tensor: &TensorName) -> Result<Tensor, EngineError> {
        self.catch_up(tensor)?;
        let read = self.store.read(tensor).map_err(|error| failed(&self.device, &error))?;
        read.ok_or_else(|| EngineError::NotHeld { engine: name(&self.device), tensor: tensor.clone() })
    }

    fn release(&mut self, name: &TensorName) {
        match &mut self.fused {
            None => self.store.release(name),
            Some(fused) => fused.release(name).iter().for_each(|name| self.store.release(name)),
        }
    }
}
