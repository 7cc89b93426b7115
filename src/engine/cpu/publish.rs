//! Publication by table: one byte for each of the 65,536 halves, made from [`crate::numerics`] at first use.

use crate::numerics::{e4m3, f16, silu};
use crate::plan::ops::Activation;
use std::sync::LazyLock;

/// A published byte for every half's bits.
pub(super) type Table = [u8; 65_536];

fn table(publish: impl Fn(f16) -> u8) -> Box<Table> {
    let codes: Vec<u8> = (0..=u16::MAX).map(|bits| publish(f16::from_bits(bits))).collect();
    codes.into_boxed_slice().try_into().expect("one code for each half")
}

/// [`e4m3::publish`].
pub(super) static PLAIN: LazyLock<Box<Table>> = LazyLock::new(|| table(e4m3::publish));
static GEMM: LazyLock<Box<Table>> = LazyLock::new(|| table(e4m3::publish_gemm));

/// A half's bits for every code.
pub(super) static DECODED: LazyLock<[u16; 256]> =
    LazyLock::new(|| std::array::from_fn(|code| e4m3::decode_half(code as u8).to_bits()));

/// The epilogue of a matrix product.
pub(super) fn epilogue(activation: Activation) -> &'static Table {
    match activation {
        Activation::None => &GEMM,
        Activation::Silu => silu::published_table(),
    }
}

/// Publishes halves.
pub(super) fn publish(table: &Table, halves: &[u16], out: &mut [u8]) {
    for (code, &bits) in out.iter_mut().zip(halves) {
        *code = table[usize::from(bits)];
    }
}
