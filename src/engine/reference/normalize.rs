//! Cosine normalization, head by head.

use super::{Kernel, Sources};
use crate::numerics::cosine::{self, HEAD};
use crate::numerics::{Rules, e4m3, f16};
use crate::plan::ops::{Normalize, NormalizeKind};

pub(super) fn kernel<'a>(op: &'a Normalize, _rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let input = sources.tensor(&op.input);
    let scales = sources.model.floats(op.head_scale);
    Box::new(move |rows| {
        let mut out = Vec::new();
        for &row in rows {
            let qkv = &input.halves()[row * input.shape.channels..][..input.shape.channels];
            for (head, &scale) in qkv.chunks_exact(3 * HEAD).zip(&scales) {
                let part = |i: usize| -> [f16; HEAD] { std::array::from_fn(|c| head[i * HEAD + c]) };
                let (q, k, v) = (part(0), part(1), part(2));
                out.extend(match op.kind {
                    NormalizeKind::Window => cosine::normalize_query(&q, scale),
                    NormalizeKind::Vit => cosine::normalize_query_vit(&q, scale),
                });
                out.extend(cosine::normalize_key(&k));
                out.extend(v.map(e4m3::publish));
            }
        }
        vec![out]
    })
}
