//! Exponentials, the fixed tree of half adds, and weights, for eight queries at a time.

use super::simd::{self, Simd, hadd, hmul};
use crate::numerics::exponential::{Exponential, WINDOW};
use crate::numerics::softmax::KEYS;

/// 64 scores of eight queries.
pub(super) type Eight = [[u16; KEYS]; 8];

/// Scores to exponentials, in place. A NaN takes the lower clamp.
#[inline(always)]
pub(super) fn exponentials<S: Simd>(scores: &mut [u16; KEYS], e: &Exponential) {
    for eight in scores.as_chunks_mut::<8>().0 {
        // The clamps are halves, so that it does not matter on which side of the rounding they are.
        let x = S::add(S::mul(S::splat(e.slope), S::halves(eight)), S::splat(e.offset));
        let x = S::min(S::max(x, S::splat(e.low)), S::splat(e.high));
        let mut bits = S::to_halves(x);
        for bits in &mut bits {
            *bits = (*bits << e.shift).wrapping_add(e.bias);
        }
        *eight = bits;
    }
}

/// The totals of eight queries' exponentials, by the tree of `numerics::softmax`.
#[inline(always)]
pub(super) fn totals<S: Simd>(e: &Eight) -> S::V {
    let mut lanes = [S::splat(0.0); 8];
    for (lane, e) in lanes.iter_mut().zip(e) {
        let v = e.as_chunks::<8>().0;
        let pair = |j: usize| hadd::<S>(S::halves(&v[2 * j]), S::halves(&v[2 * j + 1]));
        *lane = hadd::<S>(hadd::<S>(hadd::<S>(pair(0), pair(1)), pair(2)), pair(3));
    }
    let t = simd::transpose::<S>(lanes);
    let even = hadd::<S>(hadd::<S>(hadd::<S>(t[0], t[2]), t[4]), t[6]);
    let odd = hadd::<S>(hadd::<S>(hadd::<S>(t[1], t[3]), t[5]), t[7]);
    hadd::<S>(even, odd)
}

/// `f16(1 / x)`.
#[inline(always)]
pub(super) fn reciprocal<S: Simd>(x: S::V) -> S::V {
    S::round(S::div(S::splat(1.0), x))
}

/// The whole softmax of a window's eight queries: scores become exponentials, weights are published.
#[inline(always)]
pub(super) fn window<S: Simd>(scores: &mut Eight, weights: &mut Eight8) {
    for scores in &mut *scores {
        exponentials::<S>(scores, &WINDOW);
    }
    let reciprocals = S::to_singles(reciprocal::<S>(totals::<S>(scores)));
    for ((e, weights), r) in scores.iter().zip(weights).zip(reciprocals) {
        for (e, weights) in e.as_chunks().0.iter().zip(weights.as_chunks_mut().0) {
            let mut v = simd::halves32::<S>(e);
            for x in &mut v {
                *x = hmul::<S>(*x, S::splat(r));
            }
            *weights = S::publish(v);
        }
    }
}

/// 64 weights of eight queries.
pub(super) type Eight8 = [[u8; KEYS]; 8];
