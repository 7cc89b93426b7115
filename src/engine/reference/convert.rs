//! `f16(features)`.

use super::{Kernel, Sources};
use crate::numerics::{Rules, f16};
use crate::plan::ops::Convert;

pub(super) fn kernel<'a>(op: &'a Convert, _rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let input = sources.tensor(&op.input);
    let channels = input.shape.channels;
    Box::new(move |rows| {
        let lanes = rows.iter().flat_map(|&row| &input.floats()[row * channels..][..channels]);
        vec![lanes.flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect()]
    })
}
