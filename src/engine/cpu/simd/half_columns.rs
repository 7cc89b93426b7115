//! What the f16 product works on: weights taken apart into whole significands and exponents.
//!
//! A product of two significands has 22 bits; shifted left by 4 and right by its distance to the shared exponent E it
//! is a term in units of 2^(E - 24), truncated. The sum of a group stays below 2^30: plain 32-bit numbers do.

use crate::numerics::{f16, float16};

/// The exponent of a zero operand: no sum with it ever wins.
pub(super) const NEVER: i32 = -1000;

/// Eight weights of one k.
#[derive(Clone, Copy)]
pub(crate) struct HalfColumns {
    /// Signed, in units of 2^(exponent - 10).
    pub(super) significands: [i32; 8],
    /// Of the leading bit; [`NEVER`] for a zero.
    pub(super) exponents: [i32; 8],
}

impl HalfColumns {
    /// The weights of a row from a column on; zeros behind the last.
    pub(crate) fn of(row: &[f16], column: usize) -> Self {
        let parts = |i: usize| operand(row.get(column + i).copied().unwrap_or(f16::ZERO));
        Self { significands: std::array::from_fn(|i| parts(i).0), exponents: std::array::from_fn(|i| parts(i).1) }
    }
}

/// A finite half's signed significand and exponent.
#[inline(always)]
pub(super) fn operand(x: f16) -> (i32, i32) {
    let (field, mantissa) = (i32::from(x.to_bits() >> 10 & 31), i32::from(x.to_bits() & 0x3ff));
    let magnitude = if field == 0 { mantissa } else { mantissa | 0x400 };
    (if x.to_bits() & 0x8000 == 0 { magnitude } else { -magnitude }, float16::exponent(x).unwrap_or(NEVER))
}
