//! The known-answer test of a device and driver: every kernel against the reference on hostile values.
//!
//! It runs when a device is first used and is remembered beside the pipeline cache, under a key of device, driver
//! and shaders. A device that fails must not be a reference, and is flagged as a subject.

use super::cases::{self, Case};
use super::raw::{self, Device};
use super::{Vulkan, numerics, shaders};
use crate::engine::reference::Reference;
use crate::engine::{Control, Engine as _, EngineError};
use crate::geometry::Size;
use crate::model::Model;
use crate::plan::Op;
use crate::tensor::{Digest, Element, Tensor};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// The plane of the test's cases.
const SIZE: Size = Size::new(13, 7);

/// More processors than there is work for: tiles are small then.
const MANY: u32 = 1024;

/// What a device's kernels made of the known cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTest {
    /// Kernels that were run, in order.
    pub kernels: Vec<String>,
    /// The first wrong value of every output that was wrong; empty when the device passed.
    pub failures: Vec<Failure>,
    /// Milliseconds that the device and the reference took.
    pub milliseconds: u64,
}

/// The first wrong value of one output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kernel: an op's word, or a variant's name.
    pub kernel: String,
    /// The output.
    pub output: String,
    /// Token of the first wrong element.
    pub token: usize,
    /// Its channel.
    pub channel: usize,
    /// Bits that the reference has there.
    pub expected: u32,
    /// Bits that the device made.
    pub found: u32,
    /// Wrong elements of this output.
    pub wrong: usize,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kernel, output, token, channel, expected, found, wrong } = self;
        write!(
            f,
            "kernel {kernel}, {output}: {wrong} wrong values, first at token {token} channel {channel}: expected {expected:#x}, found {found:#x}"
        )
    }
}

impl SelfTest {
    /// Whether every value was right.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// The remembered result of this device, driver and shaders, or a fresh one, which is remembered.
    ///
    /// # Errors
    /// When the device fails to run at all.
    pub fn of(device: &Arc<Device>) -> Result<Self, EngineError> {
        let path = path(device);
        let remembered = path.as_deref().map(raw::read_cached).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(result) = remembered {
            return Ok(result);
        }
        let result = Self::run(device)?;
        if let (Some(path), Ok(text)) = (path, serde_json::to_vec(&result)) {
            raw::write_cached(&path, &text);
        }
        Ok(result)
    }

    /// Runs the test.
    ///
    /// # Errors
    /// When the device fails to run at all.
    pub fn run(device: &Arc<Device>) -> Result<Self, EngineError> {
        let start = Instant::now();
        let model = Arc::new(cases::model());
        // Side by side, because most of the time goes into compiling pipelines; the largest of them first.
        let (cases, chains) = (cases::all(SIZE), cases::chains(SIZE));
        let fused = chains.chunk_by(alike).map(|cases| Try { cases, kernels: Kernels::Fused });
        let tries: Vec<Try<'_>> = fused.chain(cases.chunk_by(alike).flat_map(Try::of)).collect();
        let ran = tries.par_iter().with_max_len(1).map(|one| one.run(device, &model));
        let ran: Vec<Option<Ran>> = ran.collect::<Result<_, _>>()?;
        let mut result = Self::default();
        for ran in ran.into_iter().flatten() {
            if !result.kernels.iter().any(|kernel| kernel == ran.kernel) {
                result.kernels.push(ran.kernel.to_owned());
            }
            result.failures.extend(ran.failures);
        }
        result.kernels.push("numerics".to_owned());
        let arithmetic = numerics::failures(device).map_err(|error| super::failed(device, &error))?;
        result.failures.splice(0..0, arithmetic);
        device.save_pipelines();
        result.milliseconds = start.elapsed().as_millis() as u64;
        Ok(result)
    }
}

/// One kernel's run of one case.
struct Ran {
    kernel: &'static str,
    failures: Vec<Failure>,
}

/// The kernels that run a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernels {
    /// Those that run on every device.
    Base,
    /// The best variants, with tiles as for so many processors.
    Best(u32),
    /// Those that run a chain in one.
    Fused,
}

/// Cases of the same pipelines, and the kernels that run them.
struct Try<'a> {
    cases: &'a [Case],
    kernels: Kernels,
}

/// Whether two cases, next to each other, have pipelines in common: the phases of window attention and of whole chains.
fn alike(one: &Case, other: &Case) -> bool {
    let of_windows = |case: &Case| matches!(case.step.op, Op::WindowAttention(_));
    one.before.len() == other.before.len() && (!one.before.is_empty() || (of_windows(one) && of_windows(other)))
}

impl<'a> Try<'a> {
    /// Cases by their base kernel and by the best variant: by its large tiles, and those of the GEMM that have most to go
    /// wrong by its small ones too.
    fn of(cases: &'a [Case]) -> Vec<Self> {
        let chained = matches!(&cases[0].step.op, Op::Gemm(op) if op.seed.is_some() || op.partition < op.k);
        let all = [Kernels::Base, Kernels::Best(1), Kernels::Best(MANY)];
        all.into_iter().take(if chained { 3 } else { 2 }).map(|kernels| Self { cases, kernels }).collect()
    }

    /// Runs them; `None` where the device has no such kernels.
    fn run(&self, device: &Arc<Device>, model: &Arc<Model>) -> Result<Option<Ran>, EngineError> {
        let engine = Vulkan::on(device)?;
        let mut engine = match self.kernels {
            Kernels::Base => engine.base_only(),
            Kernels::Best(processors) => engine.assuming_processors(processors),
            Kernels::Fused => match engine.fused() {
                Ok(engine) => engine,
                Err(_) => return Ok(None),
            },
        };
        let mut ran: Option<Ran> = None;
        for case in self.cases {
            engine.load(&case.plan, model)?;
            let steps = || case.before.iter().chain([&case.step]).rev();
            let kernel = match self.kernels {
                Kernels::Fused => steps().find_map(|step| engine.fused_kernel(step)).expect("a chain has one"),
                Kernels::Base | Kernels::Best(_) => engine.kernel_name(&case.step),
            };
            if matches!(self.kernels, Kernels::Best(_)) && kernel == case.step.op.word() {
                return Ok(None);
            }
            let expected = case.outputs(&mut Reference::new(), model, &Control::new())?;
            let found = case.outputs(&mut engine, model, &Control::new())?;
            let wrong = expected.iter().zip(&found).filter_map(|(e, f)| first_wrong(kernel, e, f));
            ran.get_or_insert(Ran { kernel, failures: Vec::new() }).failures.extend(wrong);
        }
        Ok(ran)
    }
}

/// The first element whose bits differ. All NaNs of a half or a single are one value: processors and devices differ in
/// the sign and payload of the NaN that they make.
pub fn first_wrong(kernel: &str, expected: &Tensor, found: &Tensor) -> Option<Failure> {
    let same = |e: u32, f: u32| {
        let nan = |bits: u32| match expected.shape.element {
            Element::E4m3 => false,
            Element::F16 => bits & 0x7fff > 0x7c00,
            Element::F32 => bits & 0x7fff_ffff > 0x7f80_0000,
        };
        e == f || (nan(e) && nan(f))
    };
    let channels = expected.shape.channels;
    let at = |i: usize| (expected.bits(i / channels, i % channels), found.bits(i / channels, i % channels));
    let wrong: Vec<usize> = (0..expected.shape.elements()).filter(|&i| !same(at(i).0, at(i).1)).collect();
    let &first = wrong.first()?;
    Some(Failure {
        kernel: kernel.to_owned(),
        output: expected.name.to_string(),
        token: first / channels,
        channel: first % channels,
        expected: at(first).0,
        found: at(first).1,
        wrong: wrong.len(),
    })
}

/// Where the result is remembered; the name changes with device, driver and any shader.
fn path(device: &Device) -> Option<PathBuf> {
    let info = device.info();
    let mut key = format!("{} {} {:x} {}", info.uuid, info.cache_uuid, info.driver_version, info.name).into_bytes();
    for shader in shaders::all() {
        key.extend(shader.spirv());
    }
    raw::cache_folder().map(|folder| folder.join(format!("self-test-{}.json", Digest::of(&key))))
}
