//! The kernels that are no dot product: convert, normalize, pool, merge.

use super::dot::half_of;
use super::{Number, Story};
use crate::engine::reference::Sources;
use crate::numerics::cosine::{HEAD, SQRT_HEAD};
use crate::numerics::{e4m3, f16, float16};
use crate::plan::ops::{Convert, Merge, Normalize, NormalizeKind, Pool};
use crate::tensor::TensorName;

pub(super) fn convert(op: &Convert, sources: Sources<'_>, (token, c): (usize, usize), story: &mut Story) -> Number {
    let x = Number::of(sources.tensor(&op.input), token, c);
    story.number("half", "f16(x)", &[x], Number::half(f16::from_f32(x.value())))
}

pub(super) fn normalize(op: &Normalize, sources: Sources<'_>, (token, c): (usize, usize), story: &mut Story) -> Number {
    let input = sources.tensor(&op.input);
    let h = Number::half;
    let (head, part, channel) = (c / (3 * HEAD), c % (3 * HEAD) / HEAD, c % HEAD);
    let row = &input.halves()[token * input.shape.channels..][..input.shape.channels];
    let v: [f16; HEAD] = std::array::from_fn(|i| row[head * 3 * HEAD + part * HEAD + i]);
    let what = ["query", "key", "value"][part];
    story.note(format!("{what} of head {head}, channel {channel}"));
    if part == 2 {
        return story.publish("publish(value)", v[channel], e4m3::publish(v[channel]));
    }
    let mut r: [f16; 16] = std::array::from_fn(|i| {
        let high = float16::mul(v[i + 16], v[i + 16]);
        let sum = float16::fma(v[i], v[i], high);
        story.half(format!("r[{i}]"), "fma(v, v, v[+16] * v[+16])", &[h(v[i]), h(v[i + 16])], sum)
    });
    for stride in [8, 4, 2, 1] {
        for i in 0..stride {
            let operands = [h(r[i]), h(r[i + stride])];
            let formula = format!("r[{i}] + r[{}]", i + stride);
            r[i] = story.half(format!("r[{i}]"), &formula, &operands, float16::add(r[i], r[i + stride]));
        }
    }
    let n = story.half("n", "f16(1 / sqrt(r[0]))", &[h(r[0])], float16::reciprocal_sqrt(r[0]));
    if n.is_infinite() {
        story.note("the vector has no length in halves: 0 * inf is NaN, and NaN publishes as +0");
    }
    let mut x = story.half("x", "v * n", &[h(v[channel]), h(n)], float16::mul(v[channel], n));
    if part == 0 {
        if op.kind == NormalizeKind::Vit {
            x = story.half("x", "x * sqrt(32)", &[h(x), h(SQRT_HEAD)], float16::mul(x, SQRT_HEAD));
        }
        let scale = f16::from_f32(sources.model.floats(op.head_scale)[head]);
        x = story.half("x", "x * scale of the head", &[h(x), h(scale)], float16::mul(x, scale));
    }
    story.publish("publish(x)", x, e4m3::publish(x))
}

pub(super) fn pool(op: &Pool, sources: Sources<'_>, (token, c): (usize, usize), story: &mut Story) -> Number {
    let input = sources.tensor(&op.input);
    let (above, below) = (input.shape.size, sources.plan.shape(&op.output).size);
    let (x, y) = (2 * (token % below.width), 2 * (token / below.width));
    if x + 1 >= above.width || y + 1 >= above.height {
        story.note("the 2x2 block leaves the plane above: the pixel is 0");
        return Number::code(0);
    }
    let h = Number::half;
    let at = |x: usize, y: usize| input.halves()[(y * above.width + x) * input.shape.channels + c];
    let (p, q, r, s) = (at(x, y), at(x + 1, y), at(x, y + 1), at(x + 1, y + 1));
    let top = story.half("top", "a + b", &[h(p), h(q)], float16::add(p, q));
    let bottom = story.half("bottom", "c + d", &[h(r), h(s)], float16::add(r, s));
    let sum = story.half("sum", "top + bottom", &[h(top), h(bottom)], float16::add(top, bottom));
    let quarter = f16::from_f32(0.25);
    let mean = story.half("mean", "sum * 0.25", &[h(sum), h(quarter)], float16::mul(sum, quarter));
    story.publish("publish(mean)", mean, e4m3::publish(mean))
}

pub(super) fn merge(
    op: &Merge,
    sources: Sources<'_>,
    (token, c): (usize, usize),
    name: &TensorName,
    story: &mut Story,
) -> Number {
    let (skip, low) = (sources.tensor(&op.skip), sources.tensor(&op.low));
    let h = Number::half;
    let width = skip.shape.size.width;
    let below = (token / width / 2) * low.shape.size.width + token % width / 2;
    let (number, mut under) = half_of(low, below, c);
    story.note(format!("the plane below is read at token {below} (nearest)"));
    if let Some(parameter) = op.low_scale {
        let scale = sources.model.halves(parameter)[c];
        under = story.half("low", "low * scale", &[number, h(scale)], float16::mul(under, scale));
    }
    let (number, above) = half_of(skip, token, c);
    let scale = sources.model.halves(op.skip_scale)[c];
    let operands = [number, h(scale), h(under)];
    let sum = story.half("sum", "fma(skip, scale, low)", &operands, float16::fma(above, scale, under));
    if op.raw.as_ref() == Some(name) {
        return h(sum);
    }
    story.publish("publish(sum)", sum, e4m3::publish(sum))
}
