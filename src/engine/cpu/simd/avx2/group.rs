//! One group of 16 FP8 products onto a tile of accumulators, exactly, with one multiply-add per eight products.
//!
//! Three passes over the tile, 32 columns at a time:
//!
//! 1. **Shared exponents, as bytes.** E + 15 is the maximum of the exponent sums and the accumulator's own exponent
//!    field. The accumulator loses its bits below the unit 2^(E - 13) by a mask looked up from the distance.
//! 2. **Products, round toward zero.** c starts at M + acc, M = 1.5 * 2^(E + 10), whose last place is the unit. As c
//!    stays positive, each step adds exactly floor(a * b / unit) units.
//! 3. **From floor to truncation.** One unit more for each negative product that is not whole, counted in pass 1 as
//!    bytes: its lowest set bit lies below the unit. The count goes to M's side of the final `c - M`, which is exact
//!    and leaves infinities and NaN alone. The conversion to a half rounds to nearest whatever the mode.
//!
//! Below E = -12 every term is exact, so the floors of the text (-14 for the accumulator, -21 for a zero one) need no
//! code. A zero operand's exponent never wins and its lowest bit is never below the unit.

use super::super::panel::{CODES, COLUMNS, Codes, GROUP, Panel, ROWS, Tile};
use super::{load, store};
use core::arch::asm;
use core::arch::x86_64::*;

/// Rows whose exponents are found together.
const TOGETHER: usize = 4;

/// One group onto the first `rows.len()` accumulators; row r's operand is `rows[r][k..k + 16]`. When the number of
/// rows is odd, the row behind the last is overwritten.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn group(rows: &[&[u8]], k: usize, panel: &Panel, tile: &mut Tile) {
    if rows.is_empty() {
        return;
    }
    let codes = &*CODES;
    let mut operands = [[0_u8; GROUP].as_ptr(); ROWS];
    for (some, first) in rows.chunks(TOGETHER).zip((0..).step_by(TOGETHER)) {
        // The last row stands in for rows that are not there.
        let operand = |i: usize| -> &[u8; GROUP] {
            let row: &[u8] = some[i.min(some.len() - 1)];
            row[k..].first_chunk().expect("K is a multiple of 16")
        };
        let four = [operand(0), operand(1), operand(2), operand(3)];
        align(codes, four, some.len(), first, panel, tile);
        for (pointer, row) in operands[first..].iter_mut().zip(four) {
            *pointer = row.as_ptr();
        }
    }
    // SAFETY: every pointer up to the even number of rows comes from a row of 16 codes that `rows` still borrows.
    unsafe { multiply(codes, &operands, rows.len().next_multiple_of(2), panel, tile) }
}

/// Pass 1 for four rows, of which the first `count` are real.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn align(codes: &Codes, four: [&[u8; GROUP]; TOGETHER], count: usize, first: usize, panel: &Panel, tile: &mut Tile) {
    let mut shared = [_mm256_set1_epi8(-64); TOGETHER];
    for k in 0..GROUP {
        let b = load(&panel.exponents[k]);
        for i in 0..TOGETHER {
            let a = _mm256_set1_epi32(codes.exponents[usize::from(four[i][k])]);
            shared[i] = _mm256_max_epi8(shared[i], _mm256_add_epi8(a, b));
        }
    }
    for i in 0..count {
        let row = first + i;
        let shared = truncate(&mut tile.sums[row], shared[i]);
        store(&mut tile.exponents[row], shared);
        let mut rounded = _mm256_setzero_si256();
        for k in 0..GROUP {
            let code = usize::from(four[i][k]);
            let a = _mm256_set1_epi32(codes.lowest[code]);
            let lowest = _mm256_add_epi8(a, load(&panel.lowest[code >> 7][k]));
            rounded = _mm256_sub_epi8(rounded, _mm256_cmpgt_epi8(shared, lowest));
        }
        store(&mut tile.rounded[row], rounded);
    }
}

/// Joins the accumulators' exponents into the shared ones, and truncates the accumulators to the unit.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn truncate(sums: &mut [u16; COLUMNS], products: __m256i) -> __m256i {
    // By the distance of E to the accumulator's exponent, less 3: which bits of a half survive, low and high byte.
    let low = _mm_setr_epi8(-1, -2, -4, -8, -16, -32, -64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    let high = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -2, -4, 0, 0, 0, 0, 0);
    let (low, high) = (_mm256_broadcastsi128_si256(low), _mm256_broadcastsi128_si256(high));
    let bytes: &mut [[i8; 32]; 2] = bytemuck::cast_mut(sums);
    let (h0, h1) = (load(&bytes[0]), load(&bytes[1]));
    // Packing interleaves the quarters, unpacking undoes it; only sums with `products` need the plain order.
    let field = _mm256_packus_epi16(_mm256_srli_epi16::<10>(h0), _mm256_srli_epi16::<10>(h1));
    let field = _mm256_max_epu8(_mm256_and_si256(field, _mm256_set1_epi8(31)), _mm256_set1_epi8(1));
    let shared = _mm256_max_epi8(products, _mm256_permute4x64_epi64::<0xd8>(field));
    let packed = _mm256_permute4x64_epi64::<0xd8>(shared);
    let distance = _mm256_subs_epu8(packed, _mm256_add_epi8(field, _mm256_set1_epi8(3)));
    let distance = _mm256_min_epu8(distance, _mm256_set1_epi8(15));
    let (low, high) = (_mm256_shuffle_epi8(low, distance), _mm256_shuffle_epi8(high, distance));
    let h0 = _mm256_and_si256(h0, _mm256_unpacklo_epi8(low, high));
    let h1 = _mm256_and_si256(h1, _mm256_unpackhi_epi8(low, high));
    store(&mut bytes[0], h0);
    store(&mut bytes[1], h1);
    shared
}

/// Eight accumulators of row `$r`: `c = M + acc`.
macro_rules! start {
    ($r:literal: $($c:literal $e:literal $h:literal,)*) => {
        concat!($(
            "vpmovzxbd ymm", $c, ", [{e}+", $r, "*32+", $e, "]\n",
            "vcvtph2ps ymm14, [{acc}+", $r, "*64+", $h, "]\n",
            "vpslld ymm", $c, ", ymm", $c, ", 23\n",
            "vpaddd ymm", $c, ", ymm", $c, ", ymm15\n",
            "vaddps ymm", $c, ", ymm", $c, ", ymm14\n",
        )*)
    };
}

/// Product `$k` of two rows and 32 columns.
macro_rules! product {
    ($($k:literal)*) => {
        concat!($(
            "movzx {c0:e}, byte ptr [{p0}+", $k, "]\n",
            "movzx {c1:e}, byte ptr [{p1}+", $k, "]\n",
            "vmovaps ymm10, [{b}+", $k, "*128+0]\n",
            "vmovaps ymm11, [{b}+", $k, "*128+32]\n",
            "vmovaps ymm12, [{b}+", $k, "*128+64]\n",
            "vmovaps ymm13, [{b}+", $k, "*128+96]\n",
            "vbroadcastss ymm8, [{t}+{c0}*4]\n",
            "vbroadcastss ymm9, [{t}+{c1}*4]\n",
            "vfmadd231ps ymm0, ymm8, ymm10\n",
            "vfmadd231ps ymm1, ymm8, ymm11\n",
            "vfmadd231ps ymm2, ymm8, ymm12\n",
            "vfmadd231ps ymm3, ymm8, ymm13\n",
            "vfmadd231ps ymm4, ymm9, ymm10\n",
            "vfmadd231ps ymm5, ymm9, ymm11\n",
            "vfmadd231ps ymm6, ymm9, ymm12\n",
            "vfmadd231ps ymm7, ymm9, ymm13\n",
        )*)
    };
}

/// Eight accumulators of row `$r`: `f16(c - (M - rounded))`.
macro_rules! finish {
    ($r:literal: $($c:literal $e:literal $h:literal,)*) => {
        concat!($(
            "vpmovzxbd ymm13, [{e}+", $r, "*32+", $e, "]\n",
            "vpmovzxbd ymm14, [{rounded}+", $r, "*32+", $e, "]\n",
            "vpslld ymm13, ymm13, 23\n",
            "vpsubd ymm14, ymm15, ymm14\n",
            "vpaddd ymm13, ymm13, ymm14\n",
            "vsubps ymm13, ymm", $c, ", ymm13\n",
            "vcvtps2ph [{acc}+", $r, "*64+", $h, "], ymm13, 0\n",
        )*)
    };
}

/// Passes 2 and 3. In assembly, because nothing else may run while the rounding mode is changed.
///
/// # Safety
/// `rows` is even, not 0, and at most [`ROWS`]; so many of `operands` point to 16 codes each.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn multiply(codes: &Codes, operands: &[*const u8; ROWS], rows: usize, panel: &Panel, tile: &mut Tile) {
    let mut modes = [0_u32; 2];
    // SAFETY: the loop walks `rows` rows of the tile's arrays and of `operands`, two at a time; codes index tables of
    // 256 entries; `values` is aligned to 32 bytes by its panel; the rounding mode is put back before the end.
    unsafe {
        asm!(
            "stmxcsr [{modes}]",
            "mov {c0:e}, [{modes}]",
            "or {c0:e}, 0x6000",
            "mov [{modes}+4], {c0:e}",
            "ldmxcsr [{modes}+4]",
            "mov {c0:e}, {magic}",
            "vmovd xmm15, {c0:e}",
            "vpbroadcastd ymm15, xmm15",
            "2:",
            "mov {p0}, [{operands}]",
            "mov {p1}, [{operands}+8]",
            start!("0": "0" "0" "0", "1" "8" "16", "2" "16" "32", "3" "24" "48",),
            start!("1": "4" "0" "0", "5" "8" "16", "6" "16" "32", "7" "24" "48",),
            product!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
            finish!("0": "0" "0" "0", "1" "8" "16", "2" "16" "32", "3" "24" "48",),
            finish!("1": "4" "0" "0", "5" "8" "16", "6" "16" "32", "7" "24" "48",),
            "add {e}, 64",
            "add {rounded}, 64",
            "add {acc}, 128",
            "add {operands}, 16",
            "sub {n}, 2",
            "ja 2b",
            "ldmxcsr [{modes}]",
            modes = in(reg) modes.as_mut_ptr(),
            // Added to (E + 15) << 23: 1.5 * 2^(E + 10).
            magic = const (122 << 23) | 0x40_0000,
            t = in(reg) codes.values.as_ptr(),
            b = in(reg) panel.values.as_ptr(),
            acc = inout(reg) tile.sums.as_mut_ptr() => _,
            e = inout(reg) tile.exponents.as_ptr() => _,
            rounded = inout(reg) tile.rounded.as_ptr() => _,
            operands = inout(reg) operands.as_ptr() => _,
            n = inout(reg) rows => _,
            p0 = out(reg) _, p1 = out(reg) _, c0 = out(reg) _, c1 = out(reg) _,
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _,
            out("ymm6") _, out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
            out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
            options(nostack),
        );
    }
}
