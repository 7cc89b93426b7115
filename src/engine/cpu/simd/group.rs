//! One group of 16 products onto the accumulators of many rows by 32 columns.
//!
//! Two passes over up to [`ROWS`] rows. The first works in bytes: shared exponents, the accumulators' own
//! truncation, and the count of products to correct. The second is one block of assembly, because it runs under
//! round-toward-zero: the language assumes that the rounding mode never changes around its own arithmetic.

use super::Avx2;
use super::panel::{COLUMNS, DEPTH, NO_BIT, NO_EXPONENT, Panel};
use crate::numerics::e4m3;
use std::arch::asm;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_setr_epi8, _mm256_add_epi8, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpgt_epi8,
    _mm256_loadu_si256, _mm256_max_epi8, _mm256_max_epu8, _mm256_min_epu8, _mm256_packus_epi16,
    _mm256_permute4x64_epi64, _mm256_set1_epi8, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_srli_epi16, _mm256_storeu_si256, _mm256_sub_epi8, _mm256_subs_epu8, _mm256_unpackhi_epi8,
    _mm256_unpacklo_epi8,
};
use std::sync::LazyLock;

/// Rows of one call at most: what keeps both passes' scratch in the first-level cache.
pub(super) const ROWS: usize = 96;
/// Rows that the first pass works on together.
const TOGETHER: usize = 4;

/// The accumulators of one row: 32 halves as bits.
pub(in crate::engine::cpu) type Accumulators = [u16; COLUMNS];

/// A row operand's side of the arithmetic, for every code. Bytes are repeated four times, for a broadcast load.
#[repr(C, align(64))]
struct Codes {
    values: [f32; 256],
    exponents: [u32; 256],
    lowest: [u32; 256],
}

static CODES: LazyLock<Box<Codes>> = LazyLock::new(|| {
    let mut codes = Box::new(Codes { values: [0.0; 256], exponents: [0; 256], lowest: [0; 256] });
    for code in 0..=u8::MAX {
        let at = usize::from(code);
        let steps = e4m3::steps(code);
        let exponent = e4m3::exponent(code).map_or(NO_EXPONENT, |e| (e + 7) as i8);
        let lowest = if steps == 0 { NO_BIT } else { steps.trailing_zeros() as i8 };
        codes.values[at] = e4m3::decode(code);
        codes.exponents[at] = u32::from_ne_bytes([exponent as u8; 4]);
        codes.lowest[at] = u32::from_ne_bytes([lowest as u8; 4]);
    }
    codes
});

/// What the first pass leaves for the second.
#[repr(C, align(64))]
pub(in crate::engine::cpu) struct Scratch {
    shared: [[u8; COLUMNS]; ROWS],
    corrections: [[u8; COLUMNS]; ROWS],
    rows: [*const u8; ROWS],
}

impl Scratch {
    /// Room for one call.
    pub(in crate::engine::cpu) fn new() -> Box<Self> {
        let rows = [std::ptr::null(); ROWS];
        Box::new(Self { shared: [[0; COLUMNS]; ROWS], corrections: [[0; COLUMNS]; ROWS], rows })
    }
}

/// Bits of `1.5 * 2^(E+10)` less `(E + 15) << 23`.
const MAGIC: u32 = (122 << 23) | 0x40_0000;

/// `M + acc` for one row: four vectors of eight columns.
macro_rules! start {
    ($r:literal, $c0:literal, $c1:literal, $c2:literal, $c3:literal) => {
        concat!(
            start!(@ $r, $c0, 0, 0),
            start!(@ $r, $c1, 8, 16),
            start!(@ $r, $c2, 16, 32),
            start!(@ $r, $c3, 24, 48),
        )
    };
    (@ $r:literal, $c:literal, $byte:literal, $half:literal) => {
        concat!(
            "vpmovzxbd ymm", $c, ", [{shared}+", $r, "*32+", $byte, "]\n",
            "vpslld ymm", $c, ", ymm", $c, ", 23\n",
            "vpaddd ymm", $c, ", ymm", $c, ", ymm15\n",
            "vcvtph2ps ymm14, [{acc}+", $r, "*64+", $half, "]\n",
            "vaddps ymm", $c, ", ymm", $c, ", ymm14\n",
        )
    };
}

/// For each k: two rows' values against four vectors of the panel.
macro_rules! products {
    ($($k:literal)*) => {
        concat!($(
            "movzx {c0:e}, byte ptr [{p0}+", $k, "]\n",
            "movzx {c1:e}, byte ptr [{p1}+", $k, "]\n",
            "vmovaps ymm10, [{panel}+", $k, "*128+0]\n",
            "vmovaps ymm11, [{panel}+", $k, "*128+32]\n",
            "vmovaps ymm12, [{panel}+", $k, "*128+64]\n",
            "vmovaps ymm13, [{panel}+", $k, "*128+96]\n",
            "vbroadcastss ymm8, [{values}+{c0}*4]\n",
            "vbroadcastss ymm9, [{values}+{c1}*4]\n",
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

/// Subtracts `M` less the corrections (exact), rounds to nearest halves.
macro_rules! finish {
    ($r:literal, $c0:literal, $c1:literal, $c2:literal, $c3:literal) => {
        concat!(
            finish!(@ $r, $c0, 0, 0),
            finish!(@ $r, $c1, 8, 16),
            finish!(@ $r, $c2, 16, 32),
            finish!(@ $r, $c3, 24, 48),
        )
    };
    (@ $r:literal, $c:literal, $byte:literal, $half:literal) => {
        concat!(
            "vpmovzxbd ymm13, [{shared}+", $r, "*32+", $byte, "]\n",
            "vpmovzxbd ymm14, [{count}+", $r, "*32+", $byte, "]\n",
            "vpslld ymm13, ymm13, 23\n",
            "vpsubd ymm14, ymm15, ymm14\n",
            "vpaddd ymm13, ymm13, ymm14\n",
            "vsubps ymm13, ymm", $c, ", ymm13\n",
            "vcvtps2ph [{acc}+", $r, "*64+", $half, "], ymm13, 0\n",
        )
    };
}
impl Panel {
    /// Adds one group to every row's accumulators. Row r's 16 codes start at `a[r * stride]`.
    ///
    /// Accumulators that are, or become, non-finite are wrong afterwards where the text would let them pass
    /// through: callers look for them and recompute those outputs with the scalar text.
    pub(in crate::engine::cpu) fn accumulate(
        &self,
        _: Avx2,
        a: &[u8],
        stride: usize,
        accumulators: &mut [Accumulators],
        scratch: &mut Scratch,
    ) {
        for (block, accumulators) in accumulators.chunks_mut(ROWS).enumerate() {
            let a = &a[block * ROWS * stride..];
            // SAFETY: the token says that the instructions exist.
            unsafe { self.bytes(a, stride, accumulators, scratch) };
            let last = accumulators.len() - 1;
            assert!(a.len() >= last * stride + DEPTH, "every row has sixteen codes");
            if accumulators.len() % 2 == 0 {
                // SAFETY: the token; the first pass set a pointer to sixteen codes for each row; rows are even.
                unsafe { self.sums(accumulators, scratch) };
            } else {
                // The second pass takes rows in pairs: the last one is paired with a copy of itself.
                let (even, odd) = accumulators.split_at_mut(last);
                let mut pair = [odd[0]; 2];
                if !even.is_empty() {
                    // SAFETY: as above.
                    unsafe { self.sums(even, scratch) };
                }
                scratch.shared.copy_within(last..=last, 0);
                scratch.corrections.copy_within(last..=last, 0);
                (scratch.shared[1], scratch.corrections[1]) = (scratch.shared[0], scratch.corrections[0]);
                scratch.rows[..2].fill(a[last * stride..].as_ptr());
                // SAFETY: as above; both pointers are the last row's.
                unsafe { self.sums(&mut pair, scratch) };
                odd[0] = pair[0];
            }
        }
    }

    /// First pass: shared exponents, truncated accumulators, corrections.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline(never)]
    fn bytes(&self, a: &[u8], stride: usize, accumulators: &mut [Accumulators], scratch: &mut Scratch) {
        let codes = &**CODES;
        let rows = accumulators.len();
        // Masks that keep the top bits of a half's magnitude: entry d drops the d lowest of ten bits, and from
        // eleven on all of it (sign included: nothing is left).
        let low = lanes(_mm_setr_epi8(-1, -2, -4, -8, -16, -32, -64, -128, 0, 0, 0, 0, 0, 0, 0, 0));
        let high = lanes(_mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -2, -4, 0, 0, 0, 0, 0));
        let (field, one) = (_mm256_set1_epi8(31), _mm256_set1_epi8(1));
        for first in (0..rows).step_by(TOGETHER) {
            let row: [&[u8]; TOGETHER] = std::array::from_fn(|i| &a[(first + i).min(rows - 1) * stride..][..DEPTH]);
            let mut shared = [_mm256_set1_epi8(NO_EXPONENT); TOGETHER];
            for k in 0..DEPTH {
                let column = load(&self.exponents[k]);
                for i in 0..TOGETHER {
                    let ours = _mm256_set1_epi32(codes.exponents[usize::from(row[i][k])] as i32);
                    shared[i] = _mm256_max_epi8(shared[i], _mm256_add_epi8(ours, column));
                }
            }
            for i in 0..TOGETHER.min(rows - first) {
                let r = first + i;
                let (left, right) = halves(&accumulators[r]);
                // A half's exponent field is its exponent + 15; a field of 0 counts as 1 (the floor -14). A zero
                // accumulator gives -14 instead of -21: below -12 every term is exact, so nothing changes.
                let own = _mm256_packus_epi16(_mm256_srli_epi16(left, 10), _mm256_srli_epi16(right, 10));
                let own = _mm256_max_epu8(_mm256_and_si256(own, field), one);
                let e = _mm256_max_epi8(shared[i], _mm256_permute4x64_epi64(own, 0xd8));
                // The accumulator loses the bits below 2^(E-13): E - own - 3 of its ten.
                let drop = _mm256_subs_epu8(_mm256_permute4x64_epi64(e, 0xd8), _mm256_add_epi8(own, three()));
                let drop = _mm256_min_epu8(drop, _mm256_set1_epi8(15));
                let (low, high) = (_mm256_shuffle_epi8(low, drop), _mm256_shuffle_epi8(high, drop));
                let kept = (_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high));
                set_halves(&mut accumulators[r], _mm256_and_si256(left, kept.0), _mm256_and_si256(right, kept.1));
                store(&mut scratch.shared[r], e);
                scratch.rows[r] = row[i].as_ptr();
                let mut count = _mm256_setzero_si256();
                for k in 0..DEPTH {
                    let code = usize::from(row[i][k]);
                    let ours = _mm256_set1_epi32(codes.lowest[code] as i32);
                    let sum = _mm256_add_epi8(ours, load(&self.lowest[code >> 7][k]));
                    count = _mm256_sub_epi8(count, _mm256_cmpgt_epi8(e, sum));
                }
                store(&mut scratch.corrections[r], count);
            }
        }
    }

    /// Second pass: the sums under round-toward-zero, an even number of rows.
    ///
    /// # Safety
    /// The first pass has filled `scratch` for all rows of `accumulators`; their number is even and not zero.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline(never)]
    unsafe fn sums(&self, accumulators: &mut [Accumulators], scratch: &Scratch) {
        let mut modes = [0_u32; 2];
        // SAFETY: reads the panel, the tables, the scratch and the rows' codes, writes the accumulators, all
        // within the bounds that the caller promises; the rounding mode is restored before the block ends.
        unsafe {
            asm!(
                "stmxcsr [{modes}]",
                "mov {c0:e}, [{modes}]",
                "or {c0:e}, 0x6000", // both rounding bits: toward zero
                "mov [{modes}+4], {c0:e}",
                "ldmxcsr [{modes}+4]",
                "mov {c0:e}, {bias}",
                "vmovd xmm15, {c0:e}",
                "vpbroadcastd ymm15, xmm15",
                "2:",
                "mov {p0}, [{rows}]",
                "mov {p1}, [{rows}+8]",
                start!("0", "0", "1", "2", "3"),
                start!("1", "4", "5", "6", "7"),
                products!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
                finish!("0", "0", "1", "2", "3"),
                finish!("1", "4", "5", "6", "7"),
                "add {shared}, 64",
                "add {count}, 64",
                "add {acc}, 128",
                "add {rows}, 16",
                "sub {left}, 2",
                "ja 2b",
                "ldmxcsr [{modes}]",
                modes = in(reg) modes.as_mut_ptr(),
                bias = const MAGIC,
                values = in(reg) CODES.values.as_ptr(),
                panel = in(reg) self.values.as_ptr(),
                acc = inout(reg) accumulators.as_mut_ptr() => _,
                shared = inout(reg) scratch.shared.as_ptr() => _,
                count = inout(reg) scratch.corrections.as_ptr() => _,
                rows = inout(reg) scratch.rows.as_ptr() => _,
                left = inout(reg) accumulators.len() => _,
                p0 = out(reg) _, p1 = out(reg) _, c0 = out(reg) _, c1 = out(reg) _,
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _,
                out("ymm6") _, out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
                options(nostack),
            );
        }
    }
}

#[target_feature(enable = "avx2")]
fn lanes(table: __m128i) -> __m256i {
    _mm256_broadcastsi128_si256(table)
}

#[target_feature(enable = "avx2")]
fn three() -> __m256i {
    _mm256_set1_epi8(3)
}

#[target_feature(enable = "avx2")]
fn load(bytes: &[i8; COLUMNS]) -> __m256i {
    // SAFETY: 32 bytes are there, at any alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn store(bytes: &mut [u8; COLUMNS], vector: __m256i) {
    // SAFETY: 32 bytes are there, at any alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), vector) }
}

#[target_feature(enable = "avx2")]
fn halves(accumulators: &Accumulators) -> (__m256i, __m256i) {
    let (left, right) = accumulators.split_at(16);
    // SAFETY: 16 halves are there, at any alignment.
    let left = unsafe { _mm256_loadu_si256(left.as_ptr().cast()) };
    // SAFETY: as above.
    (left, unsafe { _mm256_loadu_si256(right.as_ptr().cast()) })
}

#[target_feature(enable = "avx2")]
fn set_halves(accumulators: &mut Accumulators, left: __m256i, right: __m256i) {
    let (first, second) = accumulators.split_at_mut(16);
    // SAFETY: 16 halves are there, at any alignment.
    unsafe { _mm256_storeu_si256(first.as_mut_ptr().cast(), left) };
    // SAFETY: as above.
    unsafe { _mm256_storeu_si256(second.as_mut_ptr().cast(), right) };
}
