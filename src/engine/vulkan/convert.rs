//! `f16(features)`: one invocation for two elements.

use super::constants::{ConvertPush, LANES};
use super::kernel::{Binder, Dispatch};
use super::raw::VulkanError;
use super::shaders::CONVERT;
use crate::plan::ops::Convert;

pub(super) fn dispatches(op: &Convert, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let words = (binder.shape(&op.input).elements() / 2) as u32;
    let buffers = vec![binder.input(&op.input), binder.output(&op.output)?];
    Ok(vec![Dispatch::new(&CONVERT, buffers, &ConvertPush { first: 0, words }, [words.div_ceil(LANES), 1, 1])])
}
