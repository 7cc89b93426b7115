//! The network's input features, from an image or synthetic, and the composition of its output into an image.
//!
//! **Invariants**
//! * Features are f32 `[field][16]`; lanes as in the capture format's table.
//! * Outside the valid rectangle the source coordinate is mirrored; the noise keeps the padded coordinate.

mod compose;
mod conditions;
pub mod input;
mod picture;
pub mod synthetic;

pub use compose::{Blend, Composed, compose, truncate};
pub use conditions::Conditions;
pub use input::{Input, InputError};
pub use picture::{Picture, PictureError, encode};

use crate::numerics::f16;

/// Name of the feature tensor.
pub const FEATURES: &str = "features";
/// Lanes of an input feature.
pub const LANES: usize = 16;

/// The centred proxy of an sRGB code value in 0..1: `f16(f16(f16(c) - 0.5) * 0.125)`.
pub fn centre(code: f32) -> f16 {
    let shifted = f16::from_f32(f16::from_f32(code).to_f32() - 0.5);
    f16::from_f32(shifted.to_f32() * 0.125)
}

/// The source coordinate of a padded one: mirrored behind the valid edge, then clamped into the image.
pub fn mirror(padded: usize, valid: usize) -> usize {
    if padded < valid { padded } else { (2 * valid).saturating_sub(padded + 2).min(valid - 1) }
}

/// The hash of a padded coordinate and a seed that all noise starts from.
pub fn noise_hash(x: u32, y: u32, seed: u32) -> u32 {
    let mut h =
        x.wrapping_mul(0x8da6_b343) ^ y.wrapping_mul(0xd816_3841) ^ seed.wrapping_mul(0x9e37_79b9) ^ 0x243f_6a88;
    h ^= h >> ((h >> 28) + 4);
    h = h.wrapping_mul(0x108e_f2d9);
    h ^ (h >> 22)
}
