//! A decoder's skip connection: `fma(skip, scale, upsample(low))`, published and raw.

use super::gemm::half_at;
use super::rules::{self, Epilogue, Half};
use super::{Kernel, Sources};
use crate::numerics::rules::Upsample;
use crate::numerics::{Rules, f16};
use crate::plan::ops::Merge;
use crate::tensor::Tensor;

pub(super) fn kernel<'a>(op: &'a Merge, rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let (skip, low) = (sources.tensor(&op.skip), sources.tensor(&op.low));
    let skip_scale = sources.model.halves(op.skip_scale);
    let low_scale = op.low_scale.map(|parameter| sources.model.halves(parameter));
    let half = Half::new(rules);
    Box::new(move |rows| {
        let (mut published, mut raw) = (Vec::new(), Vec::new());
        for &row in rows {
            let (x, y) = (row % skip.shape.size.width, row / skip.shape.size.width);
            for c in 0..skip.shape.channels {
                let low = upsampled(low, (x, y), c, rules);
                let low = low_scale.as_ref().map_or(low, |scale| half.mul(low, scale[c].to_f32()));
                let wide = half.fma(half_at(skip, row, c).to_f32(), skip_scale[c].to_f32(), low);
                let sum = f16::from_f32(wide);
                raw.extend(rules::raw_bytes(sum, rules));
                published.push(rules::publish(sum, f64::from(wide), Epilogue::Plain, rules));
            }
        }
        let outputs = [op.published.as_ref().map(|_| published), op.raw.as_ref().map(|_| raw)];
        outputs.into_iter().flatten().collect()
    })
}

/// The plane below, seen from pixel (x, y) of twice its size.
fn upsampled(low: &Tensor, (x, y): (usize, usize), c: usize, rules: &Rules) -> f32 {
    let size = low.shape.size;
    let at = |x: usize, y: usize| {
        rules::read(low, y.min(size.height - 1) * size.width + x.min(size.width - 1), c, rules.reads).to_f32()
    };
    match rules.upsample {
        Upsample::Nearest => at(x / 2, y / 2),
        Upsample::Bilinear => {
            let (near_x, near_y) = (x / 2, y / 2);
            let other = |v: usize, near: usize| if v.is_multiple_of(2) { near.saturating_sub(1) } else { near + 1 };
            let (far_x, far_y) = (other(x, near_x), other(y, near_y));
            let row = |y: usize| 0.75 * at(near_x, y) + 0.25 * at(far_x, y);
            f16::from_f32(0.75 * row(near_y) + 0.25 * row(far_y)).to_f32()
        }
    }
}
