//! Whether a device's matrix unit can be made to cut terms where the network cuts them.
//!
//! Units differ, and no driver tells: how many terms are added at once, how far below the largest one they are cut, and
//! whether the accumulator is one of them. [`super::gemm_matrix`] needs 16 at once, 25 bits, and the accumulator among
//! them; so 512 sums of which every one would show another answer are asked for before the kernel is used at all.

use super::once;
use super::raw::{AdapterInfo, CooperativeMatrix, Device};
use super::shaders::MATRIX_PROBE;
use crate::model::synthetic::Xorshift;
use crate::numerics::{e4m3, f16, fdpa};
use std::sync::Arc;

/// Invocations of a subgroup for which the kernels are written.
const SUBGROUP: u32 = 32;
/// The side of a fragment.
const SIDE: usize = 16;
/// Real terms of a product; two more are the largest ones.
const TERMS: usize = 8;
/// Exponents that are tried: the largest that codes reach, and one among the usual.
const EXPONENTS: [i32; 2] = [16, 1];

/// Whether the device has matrices of 16x16x16 with these operands and sums.
pub(super) fn has(info: &AdapterInfo, operands: &str, sums: &str) -> bool {
    let shape = |s: &CooperativeMatrix| (s.m, s.n, s.k, s.operands, s.accumulator) == (16, 16, 16, operands, sums);
    info.features.cooperative_matrix && info.cooperative.iter().any(shape)
}

/// Whether the device has what every kernel on matrix units needs beside the matrices.
pub(super) fn runs(info: &AdapterInfo) -> Result<(), String> {
    if info.subgroups.size != SUBGROUP || !info.features.float16 || !info.features.memory_model {
        return Err(format!("needs subgroups of {SUBGROUP}, f16 arithmetic and the Vulkan memory model"));
    }
    Ok(())
}

/// Whether the device has the matrices that the exact kernels are written for.
pub(super) fn fits(info: &AdapterInfo) -> Result<(), String> {
    if !info.features.bfloat16_matrix || !has(info, "f16", "f32") || !has(info, "bf16", "f32") {
        return Err("has no cooperative matrices of 16x16x16 halves and bfloat16s with f32 sums".to_owned());
    }
    runs(info)
}

/// Whether its sums are the network's; asked of the device once.
pub(super) fn proven(device: &Arc<Device>) -> Result<(), String> {
    device.matrix_unit.get_or_init(|| EXPONENTS.into_iter().try_for_each(|exponent| probe(device, exponent))).clone()
}

/// Compares the sums of one product, all cut at one exponent.
fn probe(device: &Arc<Device>, exponent: i32) -> Result<(), String> {
    let mut random = Xorshift::new(0x3a7 + exponent.unsigned_abs());
    // Codes of half the exponent at most, so that no product is above it.
    let mut codes = |limit: i32| -> Vec<u8> {
        let mut code = || loop {
            let code = (random.draw() >> 8) as u8;
            if code & 0x7f != 0x7f && e4m3::exponent(code).is_none_or(|e| e <= limit) {
                return code;
            }
        };
        (0..SIDE * TERMS).map(|_| code()).collect()
    };
    let (rows, columns) = (codes(exponent / 2), codes(exponent - exponent / 2));
    let sums: Vec<f16> = (0..SIDE * SIDE).map(|i| f16::from_f32((i as f32 - 127.3) * 0.003)).collect();
    let two = |power: i32| f16::from_f32(f32::powi(2.0, power));
    let mut input = Vec::new();
    for (operands, largest) in [(&rows, [two(14), -two(14)]), (&columns, [two(exponent - 2); 2])] {
        for line in operands.chunks(TERMS) {
            let spare = largest.into_iter().chain([f16::ZERO; SIDE - TERMS - 2]);
            let line = line.iter().map(|&code| e4m3::decode_half(code)).chain(spare);
            line.for_each(|half| input.extend(half.to_le_bytes()));
        }
    }
    sums.iter().for_each(|sum| input.extend(sum.to_f32().to_le_bytes()));
    let found = once::run(device, &MATRIX_PROBE, &input, 4 * SIDE * SIDE, 1).map_err(|error| error.to_string())?;
    for (i, bytes) in found.as_chunks::<4>().0.iter().enumerate() {
        let line = |operands: &[u8], at: usize| operands[at * TERMS..][..TERMS].to_vec();
        let expected = expected(&line(&rows, i / SIDE), &line(&columns, i % SIDE), sums[i], exponent);
        let found = f32::from_le_bytes(*bytes);
        if found != expected {
            return Err(format!(
                "its matrix unit does not cut sums 25 bits below the largest of 16 terms: {found:e} instead of {expected:e}"
            ));
        }
    }
    Ok(())
}

/// The sum of terms that are each cut at `2^(exponent - 13)`.
fn expected(row: &[u8], column: &[u8], sum: f16, exponent: i32) -> f32 {
    let unit = exponent - fdpa::FRACTION_FP8;
    let cut = |value: f64| (value * f64::powi(2.0, -unit)).trunc();
    let products = row.iter().zip(column).map(|(&a, &b)| f64::from(e4m3::decode(a)) * f64::from(e4m3::decode(b)));
    ((cut(f64::from(sum.to_f32())) + products.map(cut).sum::<f64>()) * f64::powi(2.0, unit)) as f32
}
