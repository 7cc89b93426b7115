//! Which engine a person means: `reference`, `cpu:avx2`, `vulkan:1:fused`, `cpu+mask-outside@9-14`.
//!
//! ```text
//! SPEC    = ENGINE ("+" CAUSE ["@" BLOCKS])*
//! ENGINE  = "reference" | "cpu" [":" LEVEL] | "vulkan" [":" INDEX] [":" ROUTE]
//! LEVEL   = "scalar" | "avx2" | "avx512"
//! ROUTE   = "stepped" | "fused" | "coopmat"
//! ```
//!
//! A cause changes the plan (rules and sources of its steps), never the engine: [`open`] ignores
//! [`EngineSpec::changes`], and the catalogue of causes, which lies below this module, turns them into a plan.

use super::cpu::{Cpu, Level};
use super::reference::Reference;
use super::vulkan::Vulkan;
use super::vulkan::raw::DeviceOptions;
use super::{Engine, EngineError};
use std::fmt;
use std::str::FromStr;

/// An engine, and the causes switched on for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSpec {
    /// Which engine.
    pub kind: EngineKind,
    /// Changed arithmetic or graph, in the order given.
    pub changes: Vec<Change>,
}

/// The engines there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// Scalar and obvious.
    Reference,
    /// SIMD and all cores.
    Cpu(CpuLevel),
    /// A Vulkan device.
    Vulkan {
        /// Its position in the list of devices; `None` for the default device.
        index: Option<usize>,
        /// How kernels are put together there.
        route: Route,
    },
}

/// Which instructions the CPU engine may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuLevel {
    /// The best that this processor has.
    #[default]
    Best,
    /// None beyond the target's own.
    Scalar,
    /// AVX2.
    Avx2,
    /// AVX-512.
    Avx512,
}

/// How a device's kernels are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// One kernel a step: every intermediate is a tensor one can look at.
    #[default]
    Stepped,
    /// Several steps in one kernel where it pays; the same bytes.
    Fused,
    /// Products on the device's matrix units; not exact, there to be debugged.
    Coopmat,
}

/// A cause switched on: its id in the catalogue, and the blocks as written; `None` for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Id in the catalogue of causes.
    pub cause: String,
    /// Blocks, such as `9-14` or `3,7`.
    pub blocks: Option<String>,
}

/// A text that names no engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an engine (reference, cpu[:scalar|avx2|avx512], vulkan[:INDEX][:stepped|fused|coopmat], \
     each with optional +CAUSE[@BLOCKS]); found \"{text}\": {problem}"
)]
pub struct SpecError {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Opens the engine of a spec. It needs [`Engine::load`] before it runs.
///
/// # Errors
/// When this machine or this build cannot run it.
pub fn open(spec: &EngineSpec) -> Result<Box<dyn Engine>, EngineError> {
    match spec.kind {
        EngineKind::Reference => Ok(Box::new(Reference::new())),
        EngineKind::Cpu(level) => {
            let level = match level {
                CpuLevel::Best => Level::best(),
                CpuLevel::Scalar => Level::Scalar,
                CpuLevel::Avx2 => Level::Avx2,
                CpuLevel::Avx512 => Level::Avx512,
            };
            Ok(Box::new(Cpu::new(level)?))
        }
        EngineKind::Vulkan { index, route } => {
            let wanted = index.map(|index| index.to_string());
            let engine = Vulkan::open(&DeviceOptions { wanted, ..DeviceOptions::default() })?;
            Ok(Box::new(match route {
                Route::Stepped => engine,
                Route::Fused => engine.fused()?,
                Route::Coopmat => engine.coopmat()?,
            }))
        }
    }
}

impl EngineSpec {
    /// An engine without changes.
    pub fn exact(kind: EngineKind) -> Self {
        Self { kind, changes: Vec::new() }
    }

    /// The reference engine.
    pub fn reference() -> Self {
        Self::exact(EngineKind::Reference)
    }

    /// The CPU engine at its best level.
    pub fn cpu() -> Self {
        Self::exact(EngineKind::Cpu(CpuLevel::Best))
    }
}

impl FromStr for EngineSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let error = |problem: String| SpecError { text: text.to_owned(), problem };
        let mut parts = text.split('+');
        let kind = parts.next().unwrap_or_default().parse().map_err(error)?;
        let change = |part: &str| {
            let (cause, blocks) = part.split_once('@').map_or((part, None), |(c, b)| (c, Some(b.to_owned())));
            let empty = cause.is_empty() || blocks.as_deref() == Some("");
            (!empty)
                .then(|| Change { cause: cause.to_owned(), blocks })
                .ok_or_else(|| error("an empty cause".to_owned()))
        };
        let changes = parts.map(change).collect::<Result<_, _>>()?;
        Ok(Self { kind, changes })
    }
}

impl FromStr for EngineKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split(':');
        let kind = match words.next().unwrap_or_default() {
            "reference" => Self::Reference,
            "cpu" => Self::Cpu(match words.next() {
                None => CpuLevel::Best,
                Some("scalar") => CpuLevel::Scalar,
                Some("avx2") => CpuLevel::Avx2,
                Some("avx512") => CpuLevel::Avx512,
                Some(other) => return Err(format!("the cpu engine has no level \"{other}\"")),
            }),
            "vulkan" => {
                let mut word = words.next();
                let index = word.and_then(|w| w.parse().ok());
                if index.is_some() {
                    word = words.next();
                }
                let route = match word {
                    None | Some("stepped") => Route::Stepped,
                    Some("fused") => Route::Fused,
                    Some("coopmat") => Route::Coopmat,
                    Some(other) => return Err(format!("\"{other}\" is neither a device index nor a route")),
                };
                Self::Vulkan { index, route }
            }
            other => return Err(format!("no engine is called \"{other}\"")),
        };
        words.next().map_or(Ok(kind), |rest| Err(format!("\"{rest}\" is one word too many")))
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference => f.write_str("reference"),
            Self::Cpu(CpuLevel::Best) => f.write_str("cpu"),
            Self::Cpu(CpuLevel::Scalar) => f.write_str("cpu:scalar"),
            Self::Cpu(CpuLevel::Avx2) => f.write_str("cpu:avx2"),
            Self::Cpu(CpuLevel::Avx512) => f.write_str("cpu:avx512"),
            Self::Vulkan { index, route } => {
                f.write_str("vulkan")?;
                if let Some(index) = index {
                    write!(f, ":{index}")?;
                }
                f.write_str(match route {
                    Route::Stepped => "",
                    Route::Fused => ":fused",
                    Route::Coopmat => ":coopmat",
                })
            }
        }
    }
}

impl fmt::Display for EngineSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        for change in &self.changes {
            write!(f, "+{}", change.cause)?;
            if let Some(blocks) = &change.blocks {
                write!(f, "@{blocks}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_parsed_and_printed_back() {
        for text in [
            "reference",
            "cpu",
            "cpu:scalar",
            "cpu:avx2",
            "cpu:avx512",
            "vulkan",
            "vulkan:0",
            "vulkan:2:fused",
            "vulkan:coopmat",
            "cpu+mask-outside@9-14+true-exp",
            "vulkan:1:fused+flush@3,7",
        ] {
            let spec: EngineSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text, "{spec:?}");
        }
        let stepped: EngineSpec = "vulkan:1:stepped".parse().unwrap();
        assert_eq!(stepped.to_string(), "vulkan:1", "stepped is the default route");
    }

    #[test]
    fn anything_else_is_refused_with_what_was_given() {
        for text in
            ["", "gpu", "cpu:sse9", "cpu:avx2:x", "vulkan:x", "vulkan:0:fused:1", "reference:1", "cpu+", "cpu+a@"]
        {
            let error = text.parse::<EngineSpec>().unwrap_err();
            assert!(error.to_string().contains(&format!("found \"{text}\"")), "{error}");
        }
    }

    #[test]
    fn the_reference_is_always_there() {
        let engine = open(&EngineSpec::reference()).unwrap();
        assert!(engine.info().exact, "{:?}", engine.info());
    }
}
