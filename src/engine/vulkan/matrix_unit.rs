//! Whether a device's matrix unit can be made to cut terms where the network cuts them.
//!
//! Units differ, and no driver tells: how many terms are added at once, how far below the largest one they are cut, whether
//! the accumulator is one of them, and which elements of a fragment an invocation holds. `include/matrix.glsl` needs 16
//! at once, 25 bits, the accumulator among them, and one layout; so its own step is asked for thousands of sums, most of
//! which would show another answer, before any kernel uses it.

use super::once;
use super::raw::{AdapterInfo, CooperativeMatrix, Device};
use super::shaders::MATRIX_PROBE;
use crate::model::synthetic::Xorshift;
use crate::numerics::{f16, fdpa};
use std::sync::Arc;

/// Invocations of a subgroup for which the kernels are written.
const SUBGROUP: u32 = 32;
/// Rows and columns of a tile, and terms of a group.
const SIDE: usize = 16;
/// Groups that are tried: 8192 sums.
const GROUPS: usize = 32;

/// Whether the device has matrices of 16 rows and terms, and so many columns, with these operands and sums.
pub(super) fn has(info: &AdapterInfo, columns: u32, operands: &str, sums: &str) -> bool {
    let shape = |s: &CooperativeMatrix| (s.m, s.n, s.k, s.operands, s.accumulator) == (16, columns, 16, operands, sums);
    info.features.cooperative_matrix && info.cooperative.iter().any(shape)
}

/// Whether the device has what every kernel on matrix units needs beside the matrices.
pub(super) fn runs(info: &AdapterInfo) -> Result<(), String> {
    if info.subgroups.size != SUBGROUP || !info.features.float16 || !info.features.memory_model {
        return Err(format!("needs subgroups of {SUBGROUP}, f16 arithmetic and the Vulkan memory model"));
    }
    Ok(())
}

/// Whether the device has what the exact kernels are written for.
pub(super) fn fits(info: &AdapterInfo) -> Result<(), String> {
    if !info.features.bfloat16_matrix || !has(info, 8, "f16", "f32") || !has(info, 16, "bf16", "f32") {
        return Err("has no cooperative matrices of 16x8x16 halves and 16x16x16 bfloat16s with f32 sums".to_owned());
    }
    if !info.features.int16 || !info.subgroups.can_shuffle() {
        return Err("needs 16-bit integers and shuffles in subgroups".to_owned());
    }
    runs(info)
}

/// Whether its sums are the network's; asked of the device once.
pub(super) fn proven(device: &Arc<Device>) -> Result<(), String> {
    device.matrix_unit.get_or_init(|| probe(device)).clone()
}

/// Compares groups of any codes onto any sums, and of codes of few exponents, in which more terms are cut than lost.
fn probe(device: &Arc<Device>) -> Result<(), String> {
    let mut random = Xorshift::new(0x3a7);
    let mut input = Vec::new();
    for group in 0..GROUPS {
        let mut code = || {
            let code = (random.draw() >> 8) as u8;
            if group % 2 == 0 { code } else { (code & 0x87) | (0x18 + (code >> 2) % 0x28) }
        };
        input.extend((0..2 * SIDE * SIDE).map(|_| code()));
        let step = f32::powi(2.0, -8 - group as i32 / 4);
        let mut sum = || f16::from_f32((f32::from((random.draw() >> 8) as u16) - 32768.0) * step);
        (0..SIDE * SIDE).for_each(|_| input.extend(sum().to_le_bytes()));
    }
    let wanted = 2 * GROUPS * SIDE * SIDE;
    let found = once::run(device, &MATRIX_PROBE, &input, wanted, GROUPS as u32).map_err(|error| error.to_string())?;
    let groups = input.chunks(input.len() / GROUPS).zip(found.chunks(found.len() / GROUPS));
    for (given, found) in groups {
        let (codes, sums) = given.split_at(2 * SIDE * SIDE);
        // NaN codes are zeros to the network's operands.
        let line =
            |at: usize| codes[SIDE * at..][..SIDE].iter().map(|&code| if code & 0x7f == 0x7f { 0 } else { code });
        let halves = |bytes: &[u8], at: usize| f16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]);
        for at in 0..SIDE * SIDE {
            let [row, column]: [Vec<u8>; 2] = [at / SIDE, SIDE + at % SIDE].map(|at| line(at).collect());
            let (expected, found) = (fdpa::fdpa_fp8(&row, &column, halves(sums, at)), halves(found, at));
            if found != expected {
                return Err(format!("its matrix unit does not make the network's sums: {found} instead of {expected}"));
            }
        }
    }
    Ok(())
}
