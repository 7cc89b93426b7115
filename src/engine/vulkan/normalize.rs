//! Cosine normalization: one invocation for one head of one token.

use super::constants::{LANES, NormalizePush};
use super::kernel::{Binder, Dispatch};
use super::raw::VulkanError;
use super::shaders::NORMALIZE;
use crate::model::{Model, Parameter};
use crate::numerics::f16;
use crate::plan::ops::{Normalize, NormalizeKind};

/// The heads' scales as halves, each in a word.
pub(super) fn scales(model: &Model, parameter: Parameter) -> Vec<u8> {
    model.floats(parameter).into_iter().flat_map(|x| u32::from(f16::from_f32(x).to_bits()).to_le_bytes()).collect()
}

pub(super) fn dispatches(op: &Normalize, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let (tokens, heads) = (binder.shape(&op.input).tokens() as u32, op.heads as u32);
    let buffers = vec![
        binder.input(&op.input),
        binder.weights(&format!("{} halves", op.head_scale), |model| scales(model, op.head_scale))?,
        binder.output(&op.output)?,
    ];
    let vit = op.kind == NormalizeKind::Vit;
    let push = NormalizePush { first: 0, tokens, heads };
    let groups = [(tokens * heads).div_ceil(LANES), 1, 1];
    let dispatch = Dispatch::new(&NORMALIZE, buffers, &push, groups).specialized(vec![u32::from(vit)]);
    Ok(vec![dispatch.costing(u64::from(tokens) * u64::from(heads) * 1024)])
}
