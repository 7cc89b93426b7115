//! A panel: 16 rows by 32 columns of E4M3 codes, decoded into everything that a group of products needs.

use super::Avx2;

/// Columns of a panel.
pub(in crate::engine::cpu) const COLUMNS: usize = 32;
/// Rows of a panel: the products of one group.
pub(in crate::engine::cpu) const DEPTH: usize = 16;

/// Stands for the exponent of a zero: no sum with it ever wins a maximum.
pub(super) const NO_EXPONENT: i8 = -64;
/// Stands for the lowest set bit of a zero, or of the sign that does not matter: no sum with it is below an exponent.
pub(super) const NO_BIT: i8 = 60;

/// One operand side of 16x32 products.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
pub(in crate::engine::cpu) struct Panel {
    /// The values.
    pub(super) values: [[f32; COLUMNS]; DEPTH],
    /// Exponent plus 8 of each column's operand. With the row side's exponent plus 7 the sum is `E + 15`, a half's
    /// own exponent field.
    pub(super) exponents: [[i8; COLUMNS]; DEPTH],
    /// Exponent of the lowest set bit, plus 19: of the negative values (for rows that are positive), and of the
    /// positive ones (for rows that are negative).
    pub(super) lowest: [[[i8; COLUMNS]; DEPTH]; 2],
}

impl Default for Panel {
    fn default() -> Self {
        Self {
            values: [[0.0; COLUMNS]; DEPTH],
            exponents: [[NO_EXPONENT; COLUMNS]; DEPTH],
            lowest: [[[NO_BIT; COLUMNS]; DEPTH]; 2],
        }
    }
}

impl Panel {
    /// Decodes 16 rows of codes, each `stride` apart; columns beyond `columns` become zeros.
    pub(in crate::engine::cpu) fn fill(&mut self, _: Avx2, codes: &[u8], stride: usize, columns: usize) {
        for k in 0..DEPTH {
            let row = &codes[k * stride..];
            let mut padded = [0; COLUMNS];
            padded[..columns].copy_from_slice(&row[..columns]);
            // SAFETY: the token says that the instructions exist.
            unsafe { self.fill_row(k, &padded) }
        }
    }

    /// Plain arithmetic over 32 codes, compiled with wide vectors.
    #[target_feature(enable = "avx2,fma,f16c")]
    fn fill_row(&mut self, k: usize, codes: &[u8; COLUMNS]) {
        for (value, &code) in self.values[k].iter_mut().zip(codes) {
            *value = decode(code);
        }
        for (j, &code) in codes.iter().enumerate() {
            let magnitude = code & 0x7f;
            let zero = magnitude == 0 || magnitude == 0x7f;
            let field = magnitude >> 3;
            let significand = (code & 7) | if field == 0 { 0 } else { 8 };
            let field = field.max(1);
            let trailing =
                u8::from(significand & 1 == 0) + u8::from(significand & 3 == 0) + u8::from(significand & 7 == 0);
            // exponent + 7 = field; the lowest bit's exponent is field - 7 - 3 + trailing.
            let exponent = (field + 1) as i8;
            let lowest = (field + trailing + 9) as i8;
            self.exponents[k][j] = if zero { NO_EXPONENT } else { exponent };
            self.lowest[0][k][j] = if zero || code < 0x80 { NO_BIT } else { lowest };
            self.lowest[1][k][j] = if zero || code >= 0x80 { NO_BIT } else { lowest };
        }
    }
}

/// [`crate::numerics::e4m3::decode`] without branches: the code's bits at a single's place, times 2^120.
#[inline(always)]
fn decode(code: u8) -> f32 {
    let magnitude = u32::from(code & 0x7f);
    let magnitude = if magnitude == 0x7f { 0 } else { magnitude };
    let value = f32::from_bits(magnitude << 20) * f32::from_bits((127 + 120) << 23);
    f32::from_bits(value.to_bits() | u32::from(code & 0x80) << 24)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::e4m3;

    #[test]
    fn a_panel_holds_every_codes_value_exponent_and_lowest_bit() {
        let Some(token) = Avx2::new() else { return println!("skipped: this processor has no AVX2") };
        for first in (0..=u8::MAX).step_by(COLUMNS) {
            let row: Vec<u8> = (0..COLUMNS as u8).map(|j| first + j).collect();
            let mut panel = Panel::default();
            panel.fill(token, &row.repeat(DEPTH), COLUMNS, COLUMNS);
            for (j, &code) in row.iter().enumerate() {
                assert_eq!(panel.values[15][j].to_bits(), e4m3::decode(code).to_bits(), "value of {code:#04x}");
                let exponent = e4m3::exponent(code).map_or(NO_EXPONENT, |e| (e + 8) as i8);
                assert_eq!(panel.exponents[0][j], exponent, "exponent of {code:#04x}");
                let steps = e4m3::steps(code);
                let lowest = (steps.trailing_zeros() as i32 - 9 + 19) as i8;
                let expected = |negative: bool| if steps != 0 && (steps < 0) == negative { lowest } else { NO_BIT };
                assert_eq!([true, false].map(expected), [0, 1].map(|s| panel.lowest[s][7][j]), "bit of {code:#04x}");
            }
        }
    }
}
