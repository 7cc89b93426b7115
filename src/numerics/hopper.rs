//! What a Hopper GPU's matrix unit computes instead: measured, exact models for profiles and diagnosis.
//!
//! `mma.sync.m16n8k32` on E4M3 with half accumulators is emulated there by two half products groups, and the f16
//! instruction is one group of 16. All keep 25 fractional bits and floor operand exponents at -14.

use super::fdpa::{self, Operand};
use super::{f16, float16};

/// Fractional bits of Hopper's aligned sum.
pub const FRACTION: i32 = 25;

/// One E4M3 `m16n8k32` result: `h1` sums the products with `k % 4` in {0, 1}, `h2` the others on top of `h1`,
/// and the accumulator joins by a half add at the end. `a` and `b` hold 32 codes.
pub fn mma_fp8(a: &[u8], b: &[u8], c: f16) -> f16 {
    let half = |high: bool, acc: f16| {
        if !acc.is_finite() {
            return acc;
        }
        let chosen = (0..a.len()).filter(move |k| (k % 4 >= 2) == high);
        fdpa::group(chosen.map(|k| (operand(a[k]), operand(b[k]))), acc, FRACTION).result
    };
    float16::add(c, half(true, half(false, f16::ZERO)))
}

/// One f16 `m16n8k16` result with a half accumulator: one group of 16 products.
pub fn mma_f16(a: &[f16], b: &[f16], c: f16) -> f16 {
    if !c.is_finite() {
        return c;
    }
    let pairs = a.iter().zip(b).map(|(&a, &b)| (Operand::from_half(a), Operand::from_half(b)));
    fdpa::group(pairs, c, FRACTION).result
}

/// An E4M3 operand aligned as the half that it is decoded to: subnormals count at their own exponent.
fn operand(code: u8) -> Operand {
    Operand::from_half(super::e4m3::decode_half(code))
}
