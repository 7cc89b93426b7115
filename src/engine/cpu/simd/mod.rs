//! The only CPU code that names instructions: x86-64 AVX2 with FMA and F16C.
//!
//! Every function here is safe to call behind [`Avx2`], a token that exists only where the processor has the
//! instructions. The arithmetic is spec'd in [`crate::numerics`]; the algebra that makes it fast:
//!
//! * **Shared exponents as bytes.** 32 columns at once: `E = max(EA[k] + EB[k])`, a byte add and a maximum per k.
//! * **Magic number.** With `M = 1.5 * 2^(E+10)` the unit of the truncated sum is the last bit of `M`, so one fused
//!   multiply-add rounding toward zero adds exactly `floor(a * b / unit)`.
//! * **From floor to truncation.** One unit is added for every product that is negative and not a whole number of
//!   units, which bytes decide too: `lsb(a) + lsb(b) < E - 13`.
//! * **Halves** are rounded by F16C with the rounding in the instruction, so the mode set for the sums is harmless.
#![expect(unsafe_code, reason = "instructions, raw loads and the rounding mode live in this folder only")]

pub(super) mod cosine;
pub(super) mod group;
pub(super) mod group_half;
pub(super) mod half;
pub(super) mod panel;
pub(super) mod softmax;

/// Proof that this processor has AVX2, FMA and F16C.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    /// The token, where the instructions exist.
    pub(super) fn new() -> Option<Self> {
        super::Level::Avx2.is_available().then_some(Self(()))
    }
}
