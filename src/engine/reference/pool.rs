//! 2x2 average in halves, published.

use super::{Kernel, Sources};
use crate::numerics::{Rules, e4m3, f16, float16};
use crate::plan::ops::Pool;

/// `((a + b) + (c + d)) * 0.25`, every operation a half operation.
pub(crate) fn average(a: f16, b: f16, c: f16, d: f16) -> f16 {
    float16::mul(float16::add(float16::add(a, b), float16::add(c, d)), f16::from_f32(0.25))
}

pub(super) fn kernel<'a>(op: &'a Pool, _rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let input = sources.tensor(&op.input);
    let (above, channels) = (input.shape.size, input.shape.channels);
    let below = sources.plan.shape(&op.output).size;
    Box::new(move |rows| {
        let mut out = Vec::new();
        for &row in rows {
            let (x, y) = (2 * (row % below.width), 2 * (row / below.width));
            if x + 1 >= above.width || y + 1 >= above.height {
                out.extend(std::iter::repeat_n(0, channels));
                continue;
            }
            let at = |x: usize, y: usize, c: usize| input.halves()[(y * above.width + x) * channels + c];
            out.extend(
                (0..channels).map(|c| {
                    e4m3::publish(average(at(x, y, c), at(x + 1, y, c), at(x, y + 1, c), at(x + 1, y + 1, c)))
                }),
            );
        }
        vec![out]
    })
}
