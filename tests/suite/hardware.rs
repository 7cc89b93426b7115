//! The arithmetic against tables and matrix-unit results read off an NVIDIA H200 (`tests/data/hardware`).
//!
//! `cvt_e4m3.bin`: the published byte of every half by `cvt.rn.satfinite.e4m3x2.f16x2`. `rsqrt_rcp.bin`: for every
//! half, the half of `rsqrt.approx.f32`, then of `rcp.approx.f32`. `fp8_mode{0,1,2}.bin`: 512 cases each of
//! `mma.sync.m16n8k32` on E4M3 with half accumulators: A `[16][32]`, B `[8][32]` (row n), C and D `[16][8]`.

use blockscope::numerics::{e4m3, f16, float16, hopper};
use std::path::PathBuf;

fn read(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/hardware").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn halves(bytes: &[u8]) -> Vec<f16> {
    bytes.as_chunks::<2>().0.iter().map(|&b| f16::from_le_bytes(b)).collect()
}

#[test]
fn publication_equals_the_conversion_instruction_but_for_nan() {
    let table = read("cvt_e4m3.bin");
    assert_eq!(table.len(), 65_536, "one byte per half");
    for (bits, &hardware) in (0..=u16::MAX).zip(&table) {
        let h = f16::from_bits(bits);
        let expected = if h.is_nan() { 0 } else { hardware };
        assert_eq!(e4m3::publish(h), expected, "half {bits:#06x}");
        assert!(!h.is_nan() || hardware & 0x7f == 0x7f, "the hardware keeps a NaN, half {bits:#06x}");
    }
}

#[test]
fn reciprocals_equal_the_approximate_instructions_for_every_positive_half() {
    let tables = halves(&read("rsqrt_rcp.bin"));
    let (rsqrt, rcp) = tables.split_at(65_536);
    for bits in 1..0x7c00_u16 {
        let x = f16::from_bits(bits);
        let at = usize::from(bits);
        assert_eq!(float16::reciprocal_sqrt(x).to_bits(), rsqrt[at].to_bits(), "rsqrt of half {bits:#06x}");
        assert_eq!(float16::reciprocal(x).to_bits(), rcp[at].to_bits(), "rcp of half {bits:#06x}");
    }
}

#[test]
fn the_hopper_model_reproduces_every_recorded_result() {
    const CASES: usize = 512;
    let mut infinities = 0;
    for mode in 0..3 {
        let bytes = read(&format!("fp8_mode{mode}.bin"));
        let (a, rest) = bytes.split_at(CASES * 16 * 32);
        let (b, rest) = rest.split_at(CASES * 8 * 32);
        let (c, d) = rest.split_at(CASES * 16 * 8 * 2);
        let (c, d) = (halves(c), halves(d));
        assert_eq!(d.len(), CASES * 128, "layout of mode {mode}");
        for i in 0..CASES * 128 {
            let (case, row, column) = (i / 128, i / 8 % 16, i % 8);
            let got = hopper::mma_fp8(&a[(case * 16 + row) * 32..][..32], &b[(case * 8 + column) * 32..][..32], c[i]);
            let same = got.to_bits() == d[i].to_bits() || (got.is_nan() && d[i].is_nan());
            assert!(same, "mode {mode}, case {case}, row {row}, column {column}: {got:?}, hardware {:?}", d[i]);
            infinities += usize::from(d[i].is_infinite());
        }
    }
    assert!(infinities > 0, "the recordings contain overflows");
}
