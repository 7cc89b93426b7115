//! What a renderer tells the network beside the image, and the spread of noise.

use super::noise_hash;
use crate::numerics::f16;

/// The knobs of one frame. The defaults are those of the synthetic features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Seed of the noise lanes.
    pub seed: u32,
    /// Style, 0 to 127.
    pub style: f32,
    /// Local tone.
    pub tone: f32,
    /// Local structure.
    pub structure: f32,
    /// Whether the network masks on its own: lanes 12 to 14 change their meaning.
    pub auto_mask: bool,
    /// Structure of skin under the mask; negative: as [`Self::structure`].
    pub skin_structure: f32,
    /// The scene value that is paper white, for HDR images.
    pub paper_white: f32,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            seed: 1,
            style: 0.0,
            tone: 1.0,
            structure: 1.0,
            auto_mask: false,
            skin_structure: -1.0,
            paper_white: 1.0,
        }
    }
}

impl Conditions {
    /// Lanes 10 to 15 of every feature.
    pub(super) fn lanes(&self) -> [f32; 6] {
        let half = |value: f32| f16::from_f32(value).to_f32();
        let skin = if self.skin_structure < 0.0 { self.structure } else { self.skin_structure };
        let (structure, skin, masked) =
            if self.auto_mask { (1.0, skin, self.structure) } else { (self.structure, -1.0, -1.0) };
        [self.style / 128.0, half(self.tone), half(structure), half(skin), half(masked), 0.0]
    }
}

/// The three noise lanes of a padded pixel: Gaussians from four uniforms by Box-Muller.
///
/// Products, roots and rounding to halves are single precision as a GPU does them; the base-2 logarithm and the
/// cosine, which a GPU approximates, are evaluated in double precision and rounded once to single. These three
/// lanes are therefore the one place where another machine may differ in a last bit.
pub(super) fn noise(x: u32, y: u32, seed: u32) -> [f32; 3] {
    const STREAMS: [(u32, u32); 4] = [
        (0x2c92_77b5, 0xac56_4b05),
        (0xfa6d_c5f9, 0x4712_a88e),
        (0xcaa5_b80d, 0x21dd_796b),
        (0x8323_2c31, 0x3463_e0ac),
    ];
    let hash = noise_hash(x, y, seed);
    let [u0, u1, u2, u3] = STREAMS.map(|(a, b)| {
        let mut m = hash.wrapping_mul(a).wrapping_add(b);
        m ^= m >> ((m >> 28) + 4);
        m = m.wrapping_mul(0x108e_f2d9);
        // At most 2^24, so that the conversion is exact; at least 2^-24, so that the logarithm is finite.
        (((m >> 30) ^ (m >> 8)) + 1) as f32 * 2_f32.powi(-24)
    });
    let radius = |u: f32| (-2.0 * (f64::from(u).log2() as f32 * std::f32::consts::LN_2)).sqrt();
    let (r0, r1) = (radius(u0), radius(u2));
    let turn = |u: f32| f64::from(std::f32::consts::TAU * u);
    let lanes = [r0 * turn(u1).cos() as f32, r0 * turn(u1).sin() as f32, r1 * turn(u3).cos() as f32];
    lanes.map(|lane| f16::from_f32(lane).to_f32())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_close_to_a_standard_normal() {
        let lanes: Vec<f32> = (0..64_u32).flat_map(|y| (0..64).flat_map(move |x| noise(x, y, 7))).collect();
        let mean = lanes.iter().sum::<f32>() / lanes.len() as f32;
        let variance = lanes.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / lanes.len() as f32;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "mean {mean}, variance {variance}");
        assert!(noise(3, 4, 7) != noise(4, 3, 7) && noise(3, 4, 7) != noise(3, 4, 8), "place and seed count");
    }

    #[test]
    fn lanes_follow_the_table() {
        let plain = Conditions::default();
        assert_eq!(plain.lanes(), [0.0, 1.0, 1.0, -1.0, -1.0, 0.0], "as the synthetic features");
        let masked = Conditions { auto_mask: true, structure: 0.5, ..plain };
        assert_eq!(masked.lanes(), [0.0, 1.0, 1.0, 0.5, 0.5, 0.0], "mask, skin as structure");
        let skin = Conditions { skin_structure: 0.25, style: 64.0, ..masked };
        assert_eq!(skin.lanes(), [0.5, 1.0, 1.0, 0.25, 0.5, 0.0], "mask, skin of its own");
    }
}
