//! What the FP8 product works on: the right operand of one group, spread out, and a tile of accumulators.

use crate::numerics::e4m3;
use std::sync::LazyLock;

/// Columns of a panel.
pub(crate) const COLUMNS: usize = 32;
/// Products in one group.
pub(crate) const GROUP: usize = 16;
/// Rows of a tile; even, because rows are multiplied in pairs.
pub(crate) const ROWS: usize = 96;

/// Exponent byte of a zero: no sum with it ever wins.
pub(super) const ZERO_EXPONENT: i8 = -64;
/// Lowest-set-bit byte of an operand that never loses a bit in this product: no sum with it is ever below a threshold.
pub(super) const WHOLE: i8 = 60;

/// Sixteen rows of 32 columns of weights, keys or values.
///
/// The biases of the bytes are chosen so that sums need no correction: `exponents` of both operands add up to
/// E + 15, the exponent field of a half; the lowest set bits of both add up so that a product is not a whole number
/// of units (2^(E - 13)) exactly when their sum is below that same E + 15.
#[repr(C, align(64))]
pub(crate) struct Panel {
    /// Values.
    pub(super) values: [[f32; COLUMNS]; GROUP],
    /// Exponent + 8, or [`ZERO_EXPONENT`].
    pub(super) exponents: [[i8; COLUMNS]; GROUP],
    /// Exponent of the lowest set bit + 19, or [`WHOLE`]: first of the negative weights (they make a negative
    /// product with a positive activation), then of the positive ones.
    pub(super) lowest: [[[i8; COLUMNS]; GROUP]; 2],
}

impl Panel {
    pub(crate) const fn new() -> Self {
        Self { values: [[0.0; COLUMNS]; GROUP], exponents: [[0; COLUMNS]; GROUP], lowest: [[[0; COLUMNS]; GROUP]; 2] }
    }
}

/// Accumulators of up to [`ROWS`] rows, as bits of halves, and what a group leaves between its passes.
#[repr(C, align(64))]
pub(crate) struct Tile {
    pub(crate) sums: [[u16; COLUMNS]; ROWS],
    /// E + 15.
    pub(super) exponents: [[i8; COLUMNS]; ROWS],
    /// Negative products that are not whole.
    pub(super) rounded: [[i8; COLUMNS]; ROWS],
}

impl Tile {
    pub(crate) const fn new() -> Self {
        Self { sums: [[0; COLUMNS]; ROWS], exponents: [[0; COLUMNS]; ROWS], rounded: [[0; COLUMNS]; ROWS] }
    }
}

/// The left operand's side of the same facts, by code; bytes are repeated four times, ready to be broadcast.
#[repr(C, align(64))]
pub(super) struct Codes {
    pub(super) values: [f32; 256],
    /// Exponent + 7, or [`ZERO_EXPONENT`].
    pub(super) exponents: [i32; 256],
    /// Exponent of the lowest set bit + 9, or [`WHOLE`].
    pub(super) lowest: [i32; 256],
}

pub(super) static CODES: LazyLock<Codes> = LazyLock::new(|| {
    let facts: Vec<Facts> = (0..=u8::MAX).map(Facts::of).collect();
    let four = |byte: i8| i32::from_ne_bytes([byte as u8; 4]);
    Codes {
        values: std::array::from_fn(|c| facts[c].value),
        exponents: std::array::from_fn(|c| four(facts[c].exponent.map_or(ZERO_EXPONENT, |e| e + 7))),
        lowest: std::array::from_fn(|c| four(facts[c].lowest.map_or(WHOLE, |l| l + 9))),
    }
});

/// What a code is worth.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    pub(super) value: f32,
    /// `None` for a zero.
    pub(super) exponent: Option<i8>,
    /// Exponent of the lowest set bit; `None` for a zero.
    pub(super) lowest: Option<i8>,
}

impl Facts {
    pub(super) fn of(code: u8) -> Self {
        let exponent = e4m3::exponent(code).map(|e| e as i8);
        let lowest = exponent.map(|_| e4m3::steps(code).trailing_zeros() as i8 - 9);
        Self { value: e4m3::decode(code), exponent, lowest }
    }
}
