//! From a step to dispatches: the table of variants, and what a variant is given.
//!
//! Every op has a base kernel in the file of its name, which runs on every device. A [`Variant`] is a faster kernel
//! for a device that can run it and an op that it takes; the first that fits is used. All make the same bytes, but
//! those marked inexact, which only their own route uses.

use super::raw::{AdapterInfo, Device, Slice, VulkanError};
use super::shaders::Shader;
use super::store::Store;
use super::{
    convert, coopmat, gemm, gemm_fast, gemm_half, gemm_matrix, global_attention, global_attention_fast, merge,
    normalize, normalize_fast, pool, window_attention, window_attention_fast, window_attention_matrix,
};
use crate::model::Model;
use crate::plan::{Op, Plan, Step};
use crate::tensor::{Shape, TensorName};
use std::sync::Arc;

/// One launch of a shader.
#[derive(Clone, Debug)]
pub(crate) struct Dispatch {
    /// The shader.
    pub(crate) shader: &'static Shader,
    /// Its specialization constants, from id 0.
    pub(crate) constants: Vec<u32>,
    /// Its storage buffers, from binding 0.
    pub(crate) buffers: Vec<Slice>,
    /// Its push constants. The first word is the x index of the first workgroup: 0 here, set when it is split.
    pub(crate) push: Vec<u8>,
    /// Workgroups.
    pub(crate) groups: [u32; 3],
    /// Its share of the step's work, in products; decides into how many submissions it is split.
    pub(crate) cost: u64,
}

impl Dispatch {
    /// A dispatch from typed push constants, counting along x only.
    pub(crate) fn new(
        shader: &'static Shader,
        buffers: Vec<Slice>,
        push: &impl bytemuck::NoUninit,
        groups: [u32; 3],
    ) -> Self {
        let cost = buffers.iter().map(|slice| slice.bytes).sum::<u64>() * 4;
        Self { shader, constants: Vec::new(), buffers, push: bytemuck::bytes_of(push).to_vec(), groups, cost }
    }

    /// With specialization constants.
    pub(crate) fn specialized(self, constants: Vec<u32>) -> Self {
        Self { constants, ..self }
    }

    /// With a number of products.
    pub(crate) fn costing(self, products: u64) -> Self {
        Self { cost: products.max(1), ..self }
    }
}

/// What a kernel may reach while it is put together: shapes, weights and buffers.
pub(crate) struct Binder<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) model: &'a Model,
    pub(crate) store: &'a mut Store,
    pub(crate) info: &'a AdapterInfo,
    pub(crate) processors: u32,
}

impl Binder<'_> {
    /// A tensor's shape.
    pub(crate) fn shape(&self, name: &TensorName) -> Shape {
        self.store.shape(name).unwrap_or_else(|| self.plan.shape(name))
    }

    /// An input; callers check first that it is held.
    pub(crate) fn input(&self, name: &TensorName) -> Slice {
        self.store.slice(name).unwrap_or_else(|| panic!("input {name} was checked to be there"))
    }

    /// An output: the tensor's buffer, made if it is not there.
    pub(crate) fn output(&mut self, name: &TensorName) -> Result<Slice, VulkanError> {
        self.store.output(name, self.plan.shape(name))
    }

    /// An output where there is one, else a buffer that nothing touches.
    pub(crate) fn optional(&mut self, name: Option<&TensorName>) -> Result<Slice, VulkanError> {
        match name {
            Some(name) => self.output(name),
            None => self.nothing(),
        }
    }

    /// A small buffer for bindings that a specialization does not use.
    pub(crate) fn nothing(&mut self) -> Result<Slice, VulkanError> {
        self.store.constant("unused", || vec![0; 64])
    }

    /// Weights in a kernel's own packing, uploaded once. The key names parameter and packing.
    pub(crate) fn weights(&mut self, key: &str, pack: impl FnOnce(&Model) -> Vec<u8>) -> Result<Slice, VulkanError> {
        let model = self.model;
        self.store.constant(key, || pack(model))
    }
}

/// A faster kernel for some devices and some ops.
pub(crate) struct Variant {
    /// Its name, as `blockscope devices` shows it.
    pub(crate) name: &'static str,
    /// The word of the op that it runs.
    pub(crate) op: &'static str,
    /// Whether its bytes equal the base kernel's.
    pub(crate) exact: bool,
    /// The shaders that it uses; the self-test and the devices table list them.
    pub(crate) shaders: &'static [&'static Shader],
    /// Why a device cannot run it.
    pub(crate) fits: fn(&AdapterInfo) -> Result<(), String>,
    /// Why a device that has what it needs still makes other bytes: what only trying it tells.
    pub(crate) proven: fn(&Arc<Device>) -> Result<(), String>,
    /// Whether it takes this op at this size.
    pub(crate) takes: fn(&Op, &Plan) -> bool,
    /// Its dispatches.
    pub(crate) dispatches: fn(&Op, &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError>,
}

/// All variants, the best first.
pub(crate) static VARIANTS: &[&Variant] = &[
    &coopmat::COOPMAT_GEMM,
    &gemm_matrix::MATRIX,
    &gemm_fast::TOWARD_ZERO,
    &gemm_fast::ANY,
    &window_attention_matrix::MATRIX,
    &window_attention_fast::TOWARD_ZERO,
    &window_attention_fast::ANY,
    &normalize_fast::FAST,
    &global_attention_fast::TOWARD_ZERO,
    &global_attention_fast::ANY,
];

/// The variants of a device: exact ones, and inexact ones when asked for.
pub(crate) fn variants(device: &Arc<Device>, inexact: bool) -> Vec<&'static Variant> {
    let fits = |v: &&Variant| (v.exact || inexact) && (v.fits)(device.info()).is_ok() && (v.proven)(device).is_ok();
    VARIANTS.iter().copied().filter(fits).collect()
}

/// The name of the kernel that runs a step, and its dispatches.
pub(crate) fn dispatches(
    step: &Step,
    variants: &[&'static Variant],
    binder: &mut Binder<'_>,
) -> Result<(&'static str, Vec<Dispatch>), VulkanError> {
    let op = &step.op;
    let chosen = variants.iter().find(|v| v.op == op.word() && (v.takes)(op, binder.plan));
    match chosen {
        Some(variant) => Ok((variant.name, (variant.dispatches)(op, binder)?)),
        None => Ok((op.word(), base(op, binder)?)),
    }
}

/// The words of all ops: the names of their base kernels.
pub(crate) fn base_words() -> [&'static str; 8] {
    ["convert", "gemm", "gemm_half", "normalize", "window_attention", "global_attention", "pool", "merge"]
}

/// The kernel preferred for each op: the best variant's name, or the op's word.
pub(crate) fn in_use(variants: &[&'static Variant]) -> Vec<&'static str> {
    let best = |op| variants.iter().find(|v| v.op == op).map_or(op, |v| v.name);
    base_words().into_iter().map(best).collect()
}

/// The base kernel of every op.
fn base(op: &Op, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    match op {
        Op::Convert(op) => convert::dispatches(op, binder),
        Op::Gemm(op) => gemm::dispatches(op, binder),
        Op::GemmHalf(op) => gemm_half::dispatches(op, binder),
        Op::Normalize(op) => normalize::dispatches(op, binder),
        Op::WindowAttention(op) => window_attention::dispatches(op, binder),
        Op::GlobalAttention(op) => global_attention::dispatches(op, binder),
        Op::Pool(op) => pool::dispatches(op, binder),
        Op::Merge(op) => merge::dispatches(op, binder),
    }
}
