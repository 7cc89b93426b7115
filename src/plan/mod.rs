//! The network as data: an ordered list of steps over named tensors.
//!
//! A plan knows geometry, shapes, phases, sources and parameters, and never computes: engines, captures,
//! comparison and the screen all read the same list. Changing the network (a cause under test) means changing a
//! plan, not an engine.
//!
//! **Invariants**
//! * Tensor names are fixed here ([`names`]) and never translated.
//! * [`Op`] is closed: an op that an engine forgot does not compile.
//! * Every tensor is written by exactly one step, before any step reads it.

mod build;
pub mod names;
pub mod ops;
mod text;

pub use build::Detail;
pub use ops::Op;

use crate::geometry::Geometry;
use crate::numerics::Rules;
use crate::tensor::{Shape, TensorName};
use std::collections::BTreeMap;

/// What a tensor is in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Given from outside: the features.
    Input,
    /// A named boundary between blocks: what captures carry and verdicts are about.
    Boundary,
    /// Inside a block: what a debugger shows when it steps by kernels.
    Intermediate,
}

/// A tensor that a plan names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Element format and extent.
    pub shape: Shape,
    /// Its role.
    pub role: Role,
    /// The step that writes it; `None` for an input.
    pub step: Option<usize>,
    /// The plane that its size is.
    pub plane: crate::geometry::Plane,
}

/// One kernel of one block.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Position in the plan.
    pub index: usize,
    /// Block 0..=70 that the kernel belongs to. A transition belongs to the block that it leads out of on the
    /// way down, and into on the way up.
    pub block: usize,
    /// Name inside the block: the stem of the tensor that it writes (`qkv`, `ffn`, `output`, `pooled`, ...).
    pub kernel: &'static str,
    /// What is computed, from which tensors, into which.
    pub op: Op,
    /// The arithmetic in force; [`Rules::EXACT`] unless a cause is switched on.
    pub rules: Rules,
}

impl Step {
    /// The step's name: that of the first tensor that it writes.
    pub fn name(&self) -> &TensorName {
        self.op.outputs().into_iter().next().expect("every op writes a tensor")
    }
}

/// The whole network at one size.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sizes of field and levels.
    pub geometry: Geometry,
    /// All steps, in order.
    pub steps: Vec<Step>,
    /// All tensors, by name.
    pub tensors: BTreeMap<TensorName, TensorInfo>,
    /// The boundaries in the order of the network's text: the 83 published ones and `transition-30-31`.
    pub boundaries: Vec<TensorName>,
}

impl Plan {
    /// The network at a size.
    pub fn new(geometry: Geometry, detail: Detail) -> Self {
        build::build(geometry, detail)
    }

    /// A tensor's description.
    ///
    /// # Panics
    /// When the plan does not name it.
    pub fn tensor(&self, name: &TensorName) -> &TensorInfo {
        self.tensors.get(name).unwrap_or_else(|| panic!("the plan names no tensor \"{name}\""))
    }

    /// A tensor's shape. Panics as [`Self::tensor`].
    pub fn shape(&self, name: &TensorName) -> Shape {
        self.tensor(name).shape
    }

    /// The boundaries whose digests other implementations publish: all but `transition-30-31`.
    pub fn published(&self) -> impl Iterator<Item = &TensorName> {
        self.boundaries.iter().filter(|name| name.as_str() != names::TRANSITION_30_31)
    }

    /// The step that a person names: a tensor's name (`block-12`, `block-12/qkv`), or a step's index.
    pub fn find_step(&self, text: &str) -> Option<usize> {
        let by_tensor = self.tensors.get(text).and_then(|info| info.step);
        by_tensor.or_else(|| text.parse().ok().filter(|&index| index < self.steps.len()))
    }

    /// Products of all steps, in multiply-accumulates.
    pub fn products(&self) -> u64 {
        self.steps.iter().map(|step| step.op.products(self)).sum()
    }

    /// For each tensor, the last step that reads it.
    pub fn last_reads(&self) -> BTreeMap<TensorName, usize> {
        let reads = self.steps.iter().flat_map(|s| s.op.inputs().into_iter().map(|name| (name.clone(), s.index)));
        reads.collect()
    }
}
