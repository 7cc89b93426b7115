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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Size;
    use std::collections::BTreeSet;

    fn plan(width: usize, height: usize) -> Plan {
        Plan::new(Geometry::new(Size::new(width, height)).expect("a size that runs"), Detail::Needed)
    }

    #[test]
    fn products_are_the_published_costs() {
        let billions = |w, h| (plan(w, h).products() as f64 / 1e8).round() / 10.0;
        assert_eq!([billions(64, 64), billions(512, 512)], [30.3, 70.0], "G products");
        assert_eq!([billions(768, 768).round(), billions(1920, 1080).round()], [149.0, 512.0], "G products");
    }

    #[test]
    fn eighty_three_boundaries_are_published_and_one_is_ours() {
        let plan = plan(64, 64);
        assert_eq!((plan.boundaries.len(), plan.published().count()), (84, 83), "boundaries");
        let declared = plan.tensors.iter().filter(|(_, info)| info.role == Role::Boundary).map(|(name, _)| name);
        let listed: BTreeSet<&TensorName> = plan.boundaries.iter().collect();
        assert_eq!(declared.collect::<BTreeSet<_>>(), listed, "roles and the list agree");
        assert!(plan.steps.len() >= 241, "{} kernels", plan.steps.len());
    }

    #[test]
    fn recorded_boundaries_hold_the_published_bytes_at_512() {
        let plan = plan(512, 512);
        let recorded =
            |name: &&TensorName| name.as_str().starts_with("block-") || (name.as_str().starts_with("transition-"));
        let bytes: usize = plan.published().filter(recorded).map(|name| plan.shape(name).bytes()).sum();
        assert_eq!((plan.published().filter(recorded).count(), bytes), (75, 57_704_448), "captures");
    }

    #[test]
    fn phases_advance_per_level_and_the_decoder_goes_on_counting() {
        let plan = plan(64, 64);
        let phase = |block: usize| {
            let mut in_block = plan.steps.iter().filter(|step| step.block == block);
            in_block.find_map(|s| if let Op::WindowAttention(op) = &s.op { Some(op.phase.0) } else { None })
        };
        let phases = |blocks: std::ops::RangeInclusive<usize>| blocks.map(phase).collect::<Option<Vec<_>>>();
        assert_eq!((phase(0), phase(70), phase(39)), (Some(0), Some(1), None), "field and bridge");
        assert_eq!(phases(9..=14), Some(vec![0, 1, 2, 3, 0, 1]), "level 2 down");
        assert_eq!(phases(56..=61), Some(vec![2, 3, 0, 1, 2, 3]), "level 2 up");
        assert_eq!(phases(40..=47), Some(vec![0, 1, 2, 3, 0, 1, 2, 3]), "level 4 up");
    }

    #[test]
    fn every_tensor_is_written_before_it_is_read() {
        for detail in [Detail::Needed, Detail::Raw] {
            let plan = Plan::new(plan(64, 64).geometry, detail);
            for step in &plan.steps {
                for name in step.op.inputs() {
                    let writer = plan.tensor(name).step;
                    assert!(writer < Some(step.index), "{name} is read by step {}", step.index);
                }
            }
        }
    }
}
