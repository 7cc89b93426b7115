//! Cosine normalization, head by head.

use super::rules::{self, Epilogue, Half};
use super::{Kernel, Sources, with_raw};
use crate::numerics::cosine::{self, HEAD};
use crate::numerics::rules::{Length, ScaleRule, Squares};
use crate::numerics::{Rules, e4m3, f16};
use crate::plan::ops::{Normalize, NormalizeKind};

pub(super) fn kernel<'a>(op: &'a Normalize, rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let input = sources.tensor(&op.input);
    let scales = sources.model.floats(op.head_scale);
    Box::new(move |rows| {
        let (mut out, mut raw) = (Vec::new(), Vec::new());
        for &row in rows {
            for (head, &scale) in scales.iter().enumerate() {
                let part = |i: usize| -> [f16; HEAD] {
                    std::array::from_fn(|c| rules::read(input, row, head * 3 * HEAD + i * HEAD + c, rules.reads))
                };
                let (q, k, v) = (part(0), part(1), part(2));
                if rules.is_exact() {
                    let query = match op.kind {
                        NormalizeKind::Window => cosine::query(&q, scale),
                        NormalizeKind::Vit => cosine::query_vit(&q, scale),
                    };
                    for half in [query, cosine::key(&k), v].into_iter().flatten() {
                        out.push(e4m3::publish(half));
                        raw.extend(half.to_le_bytes());
                    }
                } else {
                    let query = scaled(&q, query_factors(op.kind, scale, rules), rules);
                    let key = scaled(&k, key_factors(scale, rules), rules);
                    for (half, wide) in [query, key, v.map(|x| (x, x.to_f64()))].into_iter().flatten() {
                        out.push(rules::publish(half, wide, Epilogue::Plain, rules));
                        raw.extend(rules::raw_bytes(half, rules));
                    }
                }
            }
        }
        with_raw(out, raw, op.raw.is_some())
    })
}

/// What a vector is multiplied by after its reciprocal length, one factor after the other.
fn query_factors(kind: NormalizeKind, scale: f32, rules: &Rules) -> Vec<f32> {
    let rounded = f16::from_f32(scale).to_f32();
    let root = (kind == NormalizeKind::Vit).then_some(cosine::SQRT_HEAD.to_f32());
    let learned = match rules.scale {
        ScaleRule::Missing | ScaleRule::OnKeys => None,
        ScaleRule::Single => Some(scale),
        ScaleRule::Own | ScaleRule::Merged | ScaleRule::RootMissing => Some(rounded),
    };
    let root = root.filter(|_| rules.scale != ScaleRule::RootMissing);
    root.into_iter().chain(learned).collect()
}

fn key_factors(scale: f32, rules: &Rules) -> Vec<f32> {
    if rules.scale == ScaleRule::OnKeys { vec![f16::from_f32(scale).to_f32()] } else { Vec::new() }
}

/// Reciprocal length, factors: a key or query under rules, and before its last rounding.
fn scaled(v: &[f16; HEAD], factors: Vec<f32>, rules: &Rules) -> [(f16, f64); HEAD] {
    let half = Half::new(rules);
    let length = reciprocal_length(&v.map(f16::to_f32), rules);
    let mut all = vec![length];
    all.extend(factors);
    if rules.scale == ScaleRule::Merged && all.len() > 1 {
        // The ViT's two scales meet before they meet the vector; a window's scale meets the length.
        let keep = usize::from(all.len() > 2);
        let merged = all[keep..].iter().copied().reduce(|a, b| half.mul(a, b)).unwrap_or(1.0);
        all.truncate(keep);
        all.push(merged);
    }
    let last = all.pop().unwrap_or(1.0);
    v.map(|x| {
        let before = all.iter().fold(x.to_f32(), |x, &factor| half.mul(x, factor));
        let wide = before * last;
        (f16::from_f32(half.round(wide)), f64::from(wide))
    })
}

fn reciprocal_length(v: &[f32; HEAD], rules: &Rules) -> f32 {
    let half = Half::new(rules);
    let mut r: Vec<f32> = (0..16).map(|c| half.fma(v[c], v[c], half.mul(v[c + 16], v[c + 16]))).collect();
    let sum = match rules.squares {
        Squares::Tree => {
            for stride in [8, 4, 2, 1] {
                for c in 0..stride {
                    r[c] = half.add(r[c], r[c + stride]);
                }
            }
            r[0]
        }
        Squares::InOrder => r.iter().copied().reduce(|a, b| half.add(a, b)).unwrap_or(0.0),
        Squares::Neighbours => {
            while r.len() > 1 {
                r = r.as_chunks::<2>().0.iter().map(|&[a, b]| half.add(a, b)).collect();
            }
            r[0]
        }
    };
    match rules.length {
        Length::Own => half.round(1.0 / sum.sqrt()),
        Length::HalfSteps => half.round(1.0 / half.round(sum.sqrt())),
        Length::Mean => half.round(1.0 / half.mul(sum, 1.0 / HEAD as f32).sqrt()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_agrees_with_the_definition_where_nothing_is_changed() {
        let rules = Rules::EXACT;
        for seed in 0..2000_u32 {
            let v: [f16; HEAD] = std::array::from_fn(|c| {
                let bits = (seed.wrapping_mul(2_654_435_761) ^ (c as u32).wrapping_mul(40_503)).wrapping_mul(97);
                f16::from_f32(((bits >> 8) as f32 / 8_388_608.0 - 1.0) * (1.0 + seed as f32 / 100.0))
            });
            let halves = |v, factors| scaled(v, factors, &rules).map(|(half, _)| half.to_bits());
            let exact = |halves: [f16; HEAD]| halves.map(f16::to_bits);
            assert_eq!(halves(&v, key_factors(3.1, &rules)), exact(cosine::key(&v)), "key {seed}");
            let window = query_factors(NormalizeKind::Window, 3.1, &rules);
            assert_eq!(halves(&v, window), exact(cosine::query(&v, 3.1)), "query {seed}");
            let vit = query_factors(NormalizeKind::Vit, 0.31, &rules);
            assert_eq!(halves(&v, vit), exact(cosine::query_vit(&v, 0.31)), "vit {seed}");
        }
    }
}
