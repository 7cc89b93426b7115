//! Pictures from afar: at a half, a quarter, an eighth of their size, so that no token is skipped where several share
//! a pixel of the screen. Values are averaged; of differences the strongest stays, so that one wrong token among
//! millions is still seen.

use super::picture::Reduced;
use crate::geometry::Size;
use rayon::prelude::*;

/// Pictures whose longer side is no longer than this are drawn as they are.
const SMALL: usize = 256;

/// What becomes of four pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blend {
    /// Their mean.
    Mean,
    /// The one farthest from this.
    Strongest([u8; 4]),
}

/// A picture's halves, the larger first.
pub(super) fn halves(size: Size, pixels: &[[u8; 4]], blend: Blend) -> Vec<Reduced> {
    let mut all: Vec<Reduced> = Vec::new();
    loop {
        let (size, pixels) = all.last().map_or((size, pixels), |last| (last.size, &last.pixels));
        if size.width.max(size.height) <= SMALL {
            return all;
        }
        all.push(half(size, pixels, blend));
    }
}

fn half(size: Size, pixels: &[[u8; 4]], blend: Blend) -> Reduced {
    let small = size.map(|side| side.div_ceil(2));
    let mut out = vec![[0; 4]; small.tokens()];
    out.par_chunks_mut(small.width).with_min_len(16).enumerate().for_each(|(y, line)| {
        let row = |y: usize| &pixels[y.min(size.height - 1) * size.width..][..size.width];
        let (above, below) = (row(2 * y), row(2 * y + 1));
        for (x, pixel) in line.iter_mut().enumerate() {
            // At an odd end the last token stands for the missing one too.
            let (left, right) = (2 * x, (2 * x + 1).min(size.width - 1));
            *pixel = blend.of([above[left], above[right], below[left], below[right]]);
        }
    });
    Reduced { size: small, pixels: out }
}

impl Blend {
    fn of(self, four: [[u8; 4]; 4]) -> [u8; 4] {
        match self {
            Self::Mean => {
                std::array::from_fn(|i| (four.iter().map(|p| u16::from(p[i])).sum::<u16>().div_ceil(4)) as u8)
            }
            Self::Strongest(ground) => {
                let far = |p: [u8; 4]| (0..4).map(|i| u16::from(p[i].abs_diff(ground[i]))).sum::<u16>();
                let [a, b, c, d] = four;
                let stronger = |a, b| if far(b) > far(a) { b } else { a };
                stronger(stronger(a, b), stronger(c, d))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_token_among_many_is_seen_from_any_distance() {
        let (size, ground, wrong) = (Size::new(1001, 517), [24, 26, 31, 255], [255, 236, 212, 255]);
        let mut pixels = vec![ground; size.tokens()];
        pixels[516 * 1001 + 1000] = wrong;
        let levels = halves(size, &pixels, Blend::Strongest(ground));
        let sizes: Vec<Size> = levels.iter().map(|level| level.size).collect();
        assert_eq!(sizes, [Size::new(501, 259), Size::new(251, 130)], "down to what is small, rounded up");
        for level in levels {
            assert_eq!(level.pixels.iter().filter(|pixel| **pixel == wrong).count(), 1, "at {}", level.size);
            assert_eq!(level.pixels.last(), Some(&wrong), "and where it is");
        }
    }

    #[test]
    fn values_are_averaged() {
        let size = Size::new(512, 2);
        let pixels: Vec<[u8; 4]> = (0..1024).map(|i| if i % 2 == 0 { [0; 4] } else { [200; 4] }).collect();
        let levels = halves(size, &pixels, Blend::Mean);
        assert_eq!(levels.len(), 1, "one half is small enough");
        assert!(levels[0].pixels.iter().all(|pixel| *pixel == [100; 4]), "the mean");
        assert!(halves(Size::new(64, 64), &vec![[0; 4]; 4096], Blend::Mean).is_empty(), "small as it is");
    }
}
