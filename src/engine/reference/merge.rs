//! A decoder's skip connection: `fma(skip, scale, upsample(low))`, published and raw.

use super::gemm::half_at;
use super::{Kernel, Sources};
use crate::numerics::{Rules, e4m3, float16};
use crate::plan::ops::Merge;

pub(super) fn kernel<'a>(op: &'a Merge, _rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let (skip, low) = (sources.tensor(&op.skip), sources.tensor(&op.low));
    let skip_scale = sources.model.halves(op.skip_scale);
    let low_scale = op.low_scale.map(|parameter| sources.model.halves(parameter));
    Box::new(move |rows| {
        let (mut published, mut raw) = (Vec::new(), Vec::new());
        for &row in rows {
            let (x, y) = (row % skip.shape.size.width, row / skip.shape.size.width);
            let below = (y / 2) * low.shape.size.width + x / 2;
            for c in 0..skip.shape.channels {
                let low = half_at(low, below, c);
                let low = low_scale.as_ref().map_or(low, |scale| float16::mul(low, scale[c]));
                let sum = float16::fma(half_at(skip, row, c), skip_scale[c], low);
                raw.extend(sum.to_le_bytes());
                published.push(e4m3::publish(sum));
            }
        }
        let outputs = [op.published.as_ref().map(|_| published), op.raw.as_ref().map(|_| raw)];
        outputs.into_iter().flatten().collect()
    })
}
