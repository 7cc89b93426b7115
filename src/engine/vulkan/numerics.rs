//! The shaders' arithmetic against `numerics`: every half, every code, and random operands.

use super::constants::{LANES, NUMERICS_WORDS};
use super::once;
use super::raw::{Device, VulkanError};
use super::self_test::Failure;
use super::shaders::NUMERICS;
use crate::model::synthetic::Xorshift;
use crate::numerics::{e4m3, exponential, f16, fdpa, float16};
use std::sync::Arc;

/// Cases: all halves, and as many random triples.
const CASES: usize = 1 << 17;

/// The functions, in the order of the shader's results: name, bits, and whether a NaN is any NaN.
const FUNCTIONS: [(&str, u32, bool); 14] = [
    ("publish", 16, false),
    ("publish_gemm", 16, false),
    ("exp_weight", 16, false),
    ("exp_weight_vit", 16, false),
    ("reciprocal", 16, true),
    ("reciprocal_sqrt", 16, true),
    ("add", 16, true),
    ("mul", 16, true),
    ("fma", 16, true),
    ("f16 of f32", 16, true),
    ("decode", 32, false),
    ("decode_half", 16, false),
    ("seed", 16, true),
    ("f32 of f16", 32, true),
];

/// Operands `a`, `b`, `c` of all cases.
fn operands() -> Vec<[u16; 4]> {
    let mut random = Xorshift::new(0xf16);
    // Near exponents make sums that cancel and round.
    let near = |a: u16, draw: u32| {
        (draw as u16 & 0x83ff) | ((a & 0x7c00).wrapping_add(((draw >> 16) as u16 % 5) << 10) & 0x7c00)
    };
    let case = |i: usize| {
        let (x, y, z) = (random.draw(), random.draw(), random.draw());
        let a = if i < 1 << 16 { i as u16 } else { x as u16 };
        let (b, c) = if y & 1 == 0 { (near(a, y >> 1), near(a, z)) } else { ((y >> 8) as u16, z as u16) };
        [a, b, c, 0]
    };
    (0..CASES).map(case).collect()
}

/// What `numerics` has for a case.
fn expected([a, b, c, _]: [u16; 4]) -> [u32; FUNCTIONS.len()] {
    let bits = |h: f16| u32::from(h.to_bits());
    let code = a as u8;
    let single = f32::from_bits(u32::from(a) | u32::from(b) << 16);
    let [a, b, c] = [a, b, c].map(f16::from_bits);
    [
        u32::from(e4m3::publish(a)),
        u32::from(e4m3::publish_gemm(a)),
        bits(exponential::exp_weight(a)),
        bits(exponential::exp_weight_vit(a)),
        bits(float16::reciprocal(a)),
        bits(float16::reciprocal_sqrt(a)),
        bits(float16::add(a, b)),
        bits(float16::mul(a, b)),
        bits(float16::fma(a, b, c)),
        bits(f16::from_f32(single)),
        e4m3::decode(code).to_bits(),
        bits(e4m3::decode_half(code)),
        bits(fdpa::seed(a, b)),
        a.to_f32().to_bits(),
    ]
}

/// The first wrong value of every function that is wrong on a device.
pub(super) fn failures(device: &Arc<Device>) -> Result<Vec<Failure>, VulkanError> {
    let cases = operands();
    let words = NUMERICS_WORDS as usize;
    let groups = CASES as u32 / LANES;
    let out = once::run(device, &NUMERICS, bytemuck::cast_slice(&cases), CASES * words * 4, groups)?;
    let out: Vec<u32> = bytemuck::pod_collect_to_vec(&out);
    let mut failures: Vec<Failure> = Vec::new();
    for (i, (case, out)) in cases.iter().zip(out.chunks_exact(words)).enumerate() {
        let half = |word: usize, index: u32| out[word] >> (16 * index) & 0xffff;
        let found = [
            half(0, 0),
            half(0, 1),
            half(1, 0),
            half(1, 1),
            half(2, 0),
            half(2, 1),
            half(3, 0),
            half(3, 1),
            half(4, 0),
            half(4, 1),
            out[5],
            half(6, 0),
            half(6, 1),
            out[7],
        ];
        for (((name, width, any_nan), expected), found) in FUNCTIONS.into_iter().zip(expected(*case)).zip(found) {
            let nan = |x: u32| if width == 16 { x & 0x7fff > 0x7c00 } else { x & 0x7fff_ffff > 0x7f80_0000 };
            if expected == found || (any_nan && nan(expected) && nan(found)) {
                continue;
            }
            if let Some(known) = failures.iter_mut().find(|failure| failure.output == name) {
                known.wrong += 1;
                continue;
            }
            let (kernel, output) = ("numerics".to_owned(), name.to_owned());
            failures.push(Failure { kernel, output, token: i, channel: 0, expected, found, wrong: 1 });
        }
    }
    Ok(failures)
}
