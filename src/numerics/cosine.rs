//! Cosine normalization of one 32-vector: a head's query or key of one token, divided by its length in halves.
//!
//! A zero vector has an infinite reciprocal length; `0 * inf` is NaN and publishes as +0. That is where the
//! network's "NaN -> +0" events come from: rows outside the field and dead rows inside it.

use super::{e4m3, f16, float16};

/// Channels of a head's q, k or v.
pub const HEAD: usize = 32;
/// `f16(sqrt(32))`, the ViT's fixed query factor.
pub const SQRT_HEAD: f16 = f16::from_f32_const(5.656_854_2);

/// Sum of squares in halves: `r[c] = fma(v[c], v[c], v[c+16]^2)`, then a tree of half adds with strides 8, 4, 2, 1.
///
/// The ViT's text keeps the low square in `f32` and rounds the sum once: the same value as the fused form.
pub fn square_sum(v: &[f16; HEAD]) -> f16 {
    square_sum_seen(v, &mut |_| ())
}

/// [`square_sum`], showing every half on the way.
pub fn square_sum_seen(v: &[f16; HEAD], seen: &mut impl FnMut(f16)) -> f16 {
    let mut see = |half| {
        seen(half);
        half
    };
    let mut r: [f16; 16] = std::array::from_fn(|c| {
        let high = see(float16::mul(v[c + 16], v[c + 16]));
        see(float16::fma(v[c], v[c], high))
    });
    for stride in [8, 4, 2, 1] {
        for c in 0..stride {
            r[c] = see(float16::add(r[c], r[c + stride]));
        }
    }
    r[0]
}

/// `f16(1 / sqrt(square_sum(v)))`; infinity for a zero vector.
pub fn reciprocal_length(v: &[f16; HEAD]) -> f16 {
    float16::reciprocal_sqrt(square_sum(v))
}

/// A key before publication: each channel times the reciprocal length.
pub fn key(k: &[f16; HEAD]) -> [f16; HEAD] {
    let n = reciprocal_length(k);
    k.map(|x| float16::mul(x, n))
}

/// A window block's query before publication: a key times the head's learned scale, one more half multiply.
pub fn query(q: &[f16; HEAD], scale: f32) -> [f16; HEAD] {
    let scale = f16::from_f32(scale);
    key(q).map(|x| float16::mul(x, scale))
}

/// A ViT query before publication: three half multiplies (reciprocal length, `f16(sqrt(32))`, learned scale).
pub fn query_vit(q: &[f16; HEAD], learned: f32) -> [f16; HEAD] {
    let learned = f16::from_f32(learned);
    key(q).map(|x| float16::mul(float16::mul(x, SQRT_HEAD), learned))
}

/// [`key`], published.
pub fn normalize_key(k: &[f16; HEAD]) -> [u8; HEAD] {
    key(k).map(e4m3::publish)
}

/// [`query`], published.
pub fn normalize_query(q: &[f16; HEAD], scale: f32) -> [u8; HEAD] {
    query(q, scale).map(e4m3::publish)
}

/// [`query_vit`], published.
pub fn normalize_query_vit(q: &[f16; HEAD], learned: f32) -> [u8; HEAD] {
    query_vit(q, learned).map(e4m3::publish)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_vector_publishes_plus_zero_through_a_nan() {
        let zero = [f16::NEG_ZERO; HEAD];
        assert_eq!(reciprocal_length(&zero), f16::INFINITY, "length");
        assert_eq!(normalize_key(&zero), [0; HEAD], "key");
        assert_eq!(normalize_query(&zero, 4.0), [0; HEAD], "query");
    }

    #[test]
    fn sqrt_of_the_head_size_is_the_nearest_half() {
        assert_eq!(SQRT_HEAD, f16::from_f64(32_f64.sqrt()), "f16(sqrt(32))");
    }

    #[test]
    fn a_unit_vector_keeps_its_direction() {
        let mut v = [f16::ZERO; HEAD];
        v[5] = f16::from_f32(-3.0);
        let k = normalize_key(&v);
        assert_eq!(k[5], 0xb8, "-1 in E4M3");
        assert!(k.iter().enumerate().all(|(c, &code)| c == 5 || code == 0), "others are +0");
    }
}
