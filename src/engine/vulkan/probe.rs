//! What a driver does to halves where nothing forbids it: folds, flushes, contracts, rounds.
//!
//! The kernels do not depend on any of it. It is recorded because a port that does depend on it will differ, and
//! this says why.

use super::once;
use super::raw::{Device, VulkanError};
use super::shaders::{HALF_PROBE, HALF_PROBE_F16};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What was found on a device and driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one finding")]
pub struct HalfProbe {
    /// `unpackHalf2x16(packHalf2x16(x))` gives back x: the half rounding disappears.
    pub folds_pack: bool,
    /// The same inside an expression, `unpack(pack(a * b)) - c`.
    pub folds_pack_in_expression: bool,
    /// `OpQuantizeToF16` gives back x.
    pub folds_quantize: bool,
    /// The same inside an expression.
    pub folds_quantize_in_expression: bool,
    /// `float(float16_t(x))` gives back x; absent without f16 in shaders.
    pub folds_cast: Option<bool>,
    /// The same inside an expression.
    pub folds_cast_in_expression: Option<bool>,
    /// Packing flushes subnormal halves to zero.
    pub flushes_packed_subnormals: bool,
    /// Unpacking flushes subnormal halves to zero.
    pub flushes_unpacked_subnormals: bool,
    /// f16 arithmetic flushes subnormal halves to zero.
    pub flushes_f16_subnormals: Option<bool>,
    /// f32 arithmetic flushes subnormal singles to zero.
    pub flushes_f32_subnormals: bool,
    /// `a * b + c` in singles rounds once.
    pub contracts: bool,
    /// Even when marked `precise`.
    pub contracts_precise: bool,
    /// `fma` rounds once.
    pub fuses_fma: bool,
    /// `a * b + c` in f16 rounds once.
    pub contracts_f16: Option<bool>,
    /// How packing rounds.
    pub pack_rounding: Rounding,
    /// How the cast to f16 rounds.
    pub cast_rounding: Option<Rounding>,
    /// Packing 65520 gives 65504 instead of infinity.
    pub saturates_pack: bool,
    /// Additions of singles round to nearest.
    pub adds_to_nearest: bool,
}

/// How a conversion rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// To nearest, ties to even.
    NearestEven,
    /// To nearest, ties away from zero.
    NearestAway,
    /// Toward zero.
    TowardZero,
    /// Not at all: the conversion was folded away.
    None,
    /// In a way with no name here.
    Other,
}

/// 1 + 2^-12: between two halves, and its square between two singles.
const BETWEEN: f32 = 1.0 + 1.0 / 4096.0;

/// The values that the shaders read.
fn inputs() -> [f32; 16] {
    let p = |exponent: i32| f32::powi(2.0, exponent);
    let smallest = f32::from_bits(0x0080_0000);
    [
        BETWEEN,
        1.0,
        p(-20),
        f32::from_bits(1),
        f32::from_bits(0x0040_0000),
        f32::from_bits(0x0080_0001),
        smallest,
        -(1.0 + p(-11)),
        1.0 + p(-11) + p(-13),
        65_520.0,
        1.0 + p(-11),
        1.0 + 3.0 * p(-11),
        1.5 * p(-24),
        p(-20),
        1.0 + p(-10),
        -(1.0 + p(-9)),
    ]
}

impl HalfProbe {
    /// Probes a device.
    ///
    /// # Errors
    /// When the device fails.
    pub fn of(device: &Arc<Device>) -> Result<Self, VulkanError> {
        let run = |shader| -> Result<[u32; 16], VulkanError> {
            let bytes = once::run(device, shader, bytemuck::bytes_of(&inputs()), 64, 1)?;
            Ok(bytemuck::pod_read_unaligned(&bytes))
        };
        let core = run(&HALF_PROBE)?;
        let f16 = if device.info().features.float16 { Some(run(&HALF_PROBE_F16)?) } else { None };
        let value = |bits: u32| f32::from_bits(bits);
        let low = |word: u32| word & 0xffff;
        let half = |bits: u32| half::f16::from_bits(low(bits) as u16).to_f32();
        let (tie, between) = (half(core[10]), BETWEEN.to_bits());
        Ok(Self {
            folds_pack: core[0] == between,
            folds_pack_in_expression: value(core[1]) != 0.0,
            folds_quantize: core[12] == between,
            folds_quantize_in_expression: value(core[13]) != 0.0,
            folds_cast: f16.map(|f| f[0] == between),
            folds_cast_in_expression: f16.map(|f| value(f[1]) != 0.0),
            flushes_packed_subnormals: low(core[2]) == 0,
            flushes_unpacked_subnormals: core[3] == 0,
            flushes_f16_subnormals: f16.map(|f| f[2] == 0),
            flushes_f32_subnormals: core[4] == 0 || core[5] == 0,
            contracts: value(core[6]) != 0.0,
            contracts_precise: value(core[7]) != 0.0,
            fuses_fma: value(core[8]) != 0.0,
            contracts_f16: f16.map(|f| value(f[3]) != 0.0),
            pack_rounding: rounding(half(core[9]), tie),
            cast_rounding: f16.map(|f| rounding(value(f[4]), value(f[5]))),
            saturates_pack: core[9] >> 16 == 0x7bff,
            adds_to_nearest: value(core[11]) > 1.0,
        })
    }

    /// The findings as words, for a table: only what is remarkable.
    pub fn remarks(&self) -> Vec<&'static str> {
        let yes = Some(true);
        let all = [
            (self.folds_pack, "folds unpack(pack(x))"),
            (self.folds_pack_in_expression, "folds unpack(pack(x)) in expressions"),
            (self.folds_quantize, "folds OpQuantizeToF16"),
            (self.folds_quantize_in_expression, "folds OpQuantizeToF16 in expressions"),
            (self.folds_cast == yes, "folds f32(f16(x))"),
            (self.folds_cast_in_expression == yes, "folds f32(f16(x)) in expressions"),
            (self.flushes_packed_subnormals, "flushes subnormal halves when packing"),
            (self.flushes_unpacked_subnormals, "flushes subnormal halves when unpacking"),
            (self.flushes_f16_subnormals == yes, "flushes f16 subnormals"),
            (self.flushes_f32_subnormals, "flushes f32 subnormals"),
            (self.contracts, "contracts a*b+c"),
            (self.contracts_precise, "contracts precise a*b+c"),
            (!self.fuses_fma, "fma rounds twice"),
            (self.contracts_f16 == yes, "contracts f16 a*b+c"),
            (self.pack_rounding != Rounding::NearestEven, "packs halves without rounding to nearest even"),
            (self.saturates_pack, "packs 65520 as 65504"),
            (!self.adds_to_nearest, "f32 additions do not round to nearest"),
        ];
        all.into_iter().filter(|(found, _)| *found).map(|(_, word)| word).collect()
    }
}

/// From `1 + 2^-11 + 2^-13` (above a tie) and `1 + 2^-11` (a tie, below which lies the even half).
fn rounding(above_tie: f32, tie: f32) -> Rounding {
    let next = 1.0 + f32::powi(2.0, -10);
    match (above_tie, tie) {
        (a, t) if a == next && t == 1.0 => Rounding::NearestEven,
        (a, t) if a == next && t == next => Rounding::NearestAway,
        (1.0, 1.0) => Rounding::TowardZero,
        (a, _) if a == inputs()[8] => Rounding::None,
        _ => Rounding::Other,
    }
}
