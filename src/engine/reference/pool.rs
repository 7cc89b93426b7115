//! 2x2 average in halves, published.

use super::rules::{self, Epilogue, Half};
use super::{Kernel, Sources, with_raw};
use crate::numerics::rules::PoolRule;
use crate::numerics::{Rules, f16, float16};
use crate::plan::ops::Pool;

/// `((a + b) + (c + d)) * 0.25`, every operation a half operation.
pub(crate) fn average(a: f16, b: f16, c: f16, d: f16) -> f16 {
    float16::mul(float16::add(float16::add(a, b), float16::add(c, d)), f16::from_f32(0.25))
}

pub(super) fn kernel<'a>(op: &'a Pool, rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let input = sources.tensor(&op.input);
    let (above, channels) = (input.shape.size, input.shape.channels);
    let below = sources.plan.shape(&op.output).size;
    Box::new(move |rows| {
        let (mut out, mut raw) = (Vec::new(), Vec::new());
        for &row in rows {
            let (x, y) = (2 * (row % below.width), 2 * (row / below.width));
            if x + 1 >= above.width || y + 1 >= above.height {
                out.extend(std::iter::repeat_n(0, channels));
                raw.extend(std::iter::repeat_n(0, 2 * channels));
                continue;
            }
            let at = |x: usize, y: usize, c: usize| rules::read(input, y * above.width + x, c, rules.reads);
            for c in 0..channels {
                let block = [at(x, y, c), at(x + 1, y, c), at(x, y + 1, c), at(x + 1, y + 1, c)];
                let wide = pooled(block, rules);
                let mean = f16::from_f32(wide);
                raw.extend(rules::raw_bytes(mean, rules));
                out.push(rules::publish(mean, f64::from(wide), Epilogue::Plain, rules));
            }
        }
        with_raw(out, raw, op.raw.is_some())
    })
}

/// [`average`] under rules.
fn pooled([a, b, c, d]: [f16; 4], rules: &Rules) -> f32 {
    if rules.is_exact() {
        return average(a, b, c, d).to_f32();
    }
    let half = Half::new(rules);
    let [p, q, r, s] = [a, b, c, d].map(f16::to_f32);
    let quarter = |left: f32, right: f32| half.mul(half.add(left, right), 0.25);
    match rules.pool {
        PoolRule::Rows => quarter(half.add(p, q), half.add(r, s)),
        PoolRule::Columns => quarter(half.add(p, r), half.add(q, s)),
        PoolRule::Corner => p,
        PoolRule::Largest => p.max(q).max(r).max(s),
    }
}
