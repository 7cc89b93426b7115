//! The softmax's exponentials: a linear map of the score whose half bits, shifted, become the weight.
//!
//! On [1, 2) a shift by five moves mantissa bits into the exponent field: the result is 2^(slope * s + offset)
//! with a linear mantissa, which is exp(s) up to a constant factor that the softmax divides out. There is no
//! maximum subtraction; the clamps keep the result positive and finite.

use super::f16;

/// The constants of one exponential.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    /// Factor of the score.
    pub slope: f32,
    /// Added to the product, in `f32`.
    pub offset: f32,
    /// Lower clamp of the half.
    pub low: f32,
    /// Upper clamp of the half.
    pub high: f32,
    /// Left shift of the half's bits.
    pub shift: u32,
    /// Added to the shifted bits, modulo 2^16.
    pub bias: u16,
}

/// The window blocks' exponential: results in [2^-14, 9.75], so that 64 keys sum to at most 624.
pub const WINDOW: Exponential = Exponential {
    slope: 0.044_921_875,
    offset: 1.300_781_25,
    low: 1.031_25,
    high: 1.569_335_937_5,
    shift: 5,
    bias: 0x8000,
};

/// The ViT's exponential. Slope and offset are the *half* values `0x2dbb` and `0x3ed6`.
pub const VIT: Exponential = Exponential {
    slope: 0.089_538_574_218_75,
    offset: 1.708_984_375,
    low: 1.439_453_125,
    high: 1.977_539_062_5,
    shift: 4,
    bias: 0x4000,
};

impl Exponential {
    /// The weight of a score: product exact in `f32`, one add, to half, clamped, bits shifted and biased.
    /// A NaN score takes the lower clamp (as `max` does on the hardware).
    pub fn weight(&self, score: f16) -> f16 {
        let x = f16::from_f32(self.slope * score.to_f32() + self.offset);
        let x = f16::from_f32(x.to_f32().max(self.low).min(self.high));
        f16::from_bits((x.to_bits() << self.shift).wrapping_add(self.bias))
    }
}

/// [`WINDOW`]'s weight of a score.
pub fn exp_weight(score: f16) -> f16 {
    WINDOW.weight(score)
}

/// [`VIT`]'s weight of a score.
pub fn exp_weight_vit(score: f16) -> f16 {
    VIT.weight(score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_weights_stay_between_their_published_bounds() {
        let weights = (0..=u16::MAX).map(|bits| exp_weight(f16::from_bits(bits)));
        let (low, high) = weights.fold((f32::MAX, 0_f32), |(l, h), w| (l.min(w.to_f32()), h.max(w.to_f32())));
        assert_eq!((low, high), (2_f32.powi(-14), 9.75), "bounds");
    }

    #[test]
    fn weights_follow_the_exponential_within_the_linear_mantissas_error() {
        for (weight, slope, offset, range) in
            [(exp_weight as fn(f16) -> f16, 1.4375, -5.375, 5.9), (exp_weight_vit, 1.4326, -3.65625, 2.9)]
        {
            for bits in 0..=u16::MAX {
                let s = f16::from_bits(bits);
                if s.is_finite() && s.to_f64().abs() < range {
                    let ratio = weight(s).to_f64() / (slope * s.to_f64() + offset).exp2();
                    assert!((0.97..1.10).contains(&ratio), "score {s}: ratio {ratio}");
                }
            }
        }
    }

    #[test]
    fn clamps_hold_beyond_the_range() {
        assert_eq!(exp_weight(f16::from_f32(-100.0)), exp_weight(f16::from_f32(-7.0)), "low");
        assert_eq!(exp_weight(f16::from_f32(100.0)).to_f32(), 9.75, "high");
        assert_eq!(exp_weight_vit(f16::from_f32(50.0)), VIT.weight(f16::from_f32(4.0)), "vit high");
        for (score, bits) in [(-50.0, 0x1c20), (f32::NEG_INFINITY, 0x1c20), (50.0, 0x3e90), (f32::INFINITY, 0x3e90)] {
            assert_eq!(exp_weight_vit(f16::from_f32(score)).to_bits(), bits, "vit {score}");
        }
        for (score, bits) in [(f32::NEG_INFINITY, 0x0400), (f32::INFINITY, 0x48e0)] {
            assert_eq!(exp_weight(f16::from_f32(score)).to_bits(), bits, "window {score}");
        }
        assert_eq!(f16::from_f32(VIT.slope).to_bits(), 0x2dbb, "vit slope is a half");
        assert_eq!(f16::from_f32(VIT.offset).to_bits(), 0x3ed6, "vit offset is a half");
    }
}
