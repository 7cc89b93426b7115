//! Plain Rust, eight singles in an array: what a compiler vectorizes is a gift, not a promise.

use super::Simd;
use super::half_columns::{HalfColumns, operand};
use super::panel::{COLUMNS, Facts, GROUP, Panel, Tile, WHOLE, ZERO_EXPONENT};
use crate::numerics::{e4m3, f16, fdpa, float16};

/// No instructions beyond the target's own.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Simd for Portable {
    type V = [f32; 8];

    #[inline(always)]
    fn splat(x: f32) -> [f32; 8] {
        [x; 8]
    }

    #[inline(always)]
    fn singles(x: &[f32; 8]) -> [f32; 8] {
        *x
    }

    #[inline(always)]
    fn to_singles(v: [f32; 8]) -> [f32; 8] {
        v
    }

    fn halves(x: &[u16; 8]) -> [f32; 8] {
        x.map(|bits| f16::from_bits(bits).to_f32())
    }

    fn to_halves(v: [f32; 8]) -> [u16; 8] {
        v.map(|x| f16::from_f32(x).to_bits())
    }

    fn codes(x: [u8; 8]) -> [f32; 8] {
        x.map(e4m3::decode)
    }

    #[inline(always)]
    fn add(a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn mul(a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn div(a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|i| a[i] / b[i])
    }

    #[inline(always)]
    fn sqrt(a: [f32; 8]) -> [f32; 8] {
        a.map(f32::sqrt)
    }

    #[inline(always)]
    fn abs(a: [f32; 8]) -> [f32; 8] {
        a.map(f32::abs)
    }

    #[inline(always)]
    fn min(a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }

    #[inline(always)]
    fn max(a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }

    fn round(v: [f32; 8]) -> [f32; 8] {
        v.map(|x| f16::from_f32(x).to_f32())
    }

    fn fma_once(a: [f32; 8], b: [f32; 8], c: [f32; 8]) -> [f32; 8] {
        let half = f16::from_f32;
        std::array::from_fn(|i| float16::fma(half(a[i]), half(b[i]), half(c[i])).to_f32())
    }

    fn publish(v: [[f32; 8]; 4]) -> [u8; COLUMNS] {
        std::array::from_fn(|i| e4m3::publish(f16::from_f32(v[i / 8][i % 8])))
    }

    fn publish_gemm(v: [[f32; 8]; 4]) -> [u8; COLUMNS] {
        std::array::from_fn(|i| e4m3::publish_gemm(f16::from_f32(v[i / 8][i % 8])))
    }

    fn expand(codes: &[[u8; COLUMNS]; GROUP], panel: &mut Panel) {
        for (k, row) in codes.iter().enumerate() {
            for (n, &code) in row.iter().enumerate() {
                let facts = Facts::of(code);
                panel.values[k][n] = facts.value;
                panel.exponents[k][n] = facts.exponent.map_or(ZERO_EXPONENT, |e| e + 8);
                let lowest = facts.lowest.map_or(WHOLE, |l| l + 19);
                let negative = code & 0x80 != 0;
                panel.lowest[0][k][n] = if negative { lowest } else { WHOLE };
                panel.lowest[1][k][n] = if negative { WHOLE } else { lowest };
            }
        }
    }

    /// Shared exponents as bytes, then every product scaled to units and truncated in singles: at most 2^19 units,
    /// all exact.
    fn group(rows: &[&[u8]], k: usize, panel: &Panel, tile: &mut Tile) {
        let codes = &*super::panel::CODES;
        for (row, sums) in rows.iter().zip(&mut tile.sums) {
            let a: &[u8] = &row[k..k + GROUP];
            let mut shared: [i8; COLUMNS] = std::array::from_fn(|n| ((sums[n] >> 10) as i8 & 31).max(1));
            for (&code, exponents) in a.iter().zip(&panel.exponents) {
                let ea = codes.exponents[usize::from(code)] as i8;
                for n in 0..COLUMNS {
                    shared[n] = shared[n].max(ea.wrapping_add(exponents[n]));
                }
            }
            // 2^(13 - E), with E + 15 in `shared`.
            let scale: [f32; COLUMNS] =
                std::array::from_fn(|n| f32::from_bits(((127 + 28 - i32::from(shared[n])) as u32) << 23));
            let mut units = [0.0_f32; COLUMNS];
            for (&code, values) in a.iter().zip(&panel.values) {
                let value = codes.values[usize::from(code)];
                for n in 0..COLUMNS {
                    units[n] += (value * values[n] * scale[n]).trunc();
                }
            }
            for n in 0..COLUMNS {
                let acc = f16::from_bits(sums[n]);
                if acc.is_finite() {
                    let total = units[n] + (acc.to_f32() * scale[n]).trunc();
                    sums[n] =
                        float16::from_units(total as i64, i32::from(shared[n]) - 15 - fdpa::FRACTION_FP8).to_bits();
                }
            }
        }
    }

    fn group_half(a: &[f16; 8], b: &[HalfColumns; 8], sums: [u16; 8]) -> [u16; 8] {
        std::array::from_fn(|i| {
            let acc = f16::from_bits(sums[i]);
            if !acc.is_finite() {
                return sums[i];
            }
            let (start, exponent) = operand(acc);
            let pairs = || a.iter().zip(b).map(|(&a, b)| (operand(a), (b.significands[i], b.exponents[i])));
            let exponents = pairs().map(|((_, a), (_, b))| a + b);
            let shared = exponents.fold(exponent.max(fdpa::ZERO_EXPONENT), i32::max);
            let term = |value: i32, left: u32, distance: i32| i64::from(value << left) / (1_i64 << distance.min(40));
            let products: i64 = pairs().map(|((a, ea), (b, eb))| term(a * b, 4, shared - ea - eb)).sum();
            let units = products + term(start, 14, shared - exponent);
            float16::from_units(units, shared - fdpa::FRACTION_F16).to_bits()
        })
    }
}
