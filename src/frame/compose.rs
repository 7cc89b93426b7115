//! From the network's head to an image: the head is a residual on the centred proxy, which the features carry.

use super::LANES;
use crate::geometry::{Geometry, Size};
use crate::numerics::f16;
use crate::tensor::Tensor;
use rayon::prelude::*;

/// An output frame: RGBA halves, alpha 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Composed {
    /// The valid size.
    pub size: Size,
    /// Row-major pixels.
    pub pixels: Vec<[f16; 4]>,
}

/// What a frame is blended with.
#[derive(Clone, Copy, Debug)]
pub struct Blend<'a> {
    /// The previous output, reprojected; its size is the valid size.
    pub history: &'a Composed,
    /// The model's [`blend_scale`](crate::model::Model::blend_scale).
    pub scale: f16,
}

/// Composes the valid rectangle of a head.
///
/// Without history: `clamp((head / 32 + centred) * 8 + 0.5, 0, 1)`, truncated to a half. Both factors are powers of
/// two, so it does not matter whether the multiply-adds are fused. With history the value is blended by the
/// weight of the head's fourth channel, in single precision, before it is truncated.
///
/// # Panics
/// When the tensors are not the features and the head of this geometry.
pub fn compose(geometry: &Geometry, features: &Tensor, head: &Tensor, blend: Option<Blend<'_>>) -> Composed {
    let (valid, field) = (geometry.valid, geometry.field);
    let (lanes, heads) = (features.floats(), head.floats());
    assert!(lanes.len() == field.tokens() * LANES && heads.len() == field.tokens() * 4, "tensors of this geometry");
    let pixel = |x: usize, y: usize| {
        let token = y * field.width + x;
        let (lane, head) = (&lanes[token * LANES..][..LANES], &heads[token * 4..][..4]);
        let neural: [f32; 3] = std::array::from_fn(|c| neural(head[c], lane[4 + c]));
        let mut rgba = [f16::ONE; 4];
        for c in 0..3 {
            let value = blend.map_or(neural[c], |blend| {
                let old = blend.history.pixels[y * valid.width + x][c].to_f32();
                neural[c] + (old - neural[c]) * weight(head[3], blend.scale)
            });
            rgba[c] = truncate(value);
        }
        rgba
    };
    let row = |y: usize| (0..valid.width).into_par_iter().map(move |x| pixel(x, y));
    Composed { size: valid, pixels: (0..valid.height).into_par_iter().flat_map(row).collect() }
}

fn neural(head: f32, centred: f32) -> f32 {
    let inner = head * (1.0 / 32.0) + centred;
    // A NaN clamps to itself; black is what a display would make of it.
    let value = inner * 8.0 + 0.5;
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) }
}

/// The weight of the history: `clamp(sigmoid(logit) * scale, 0, 1)`.
fn weight(logit: f32, scale: f16) -> f32 {
    let sigmoid = (1.0 / (1.0 + f64::from(-logit).exp())) as f32;
    let weight = sigmoid * scale.to_f32();
    if weight.is_nan() { 0.0 } else { weight.clamp(0.0, 1.0) }
}

/// A value of 0 to 1 as a half, rounded toward zero.
pub fn truncate(value: f32) -> f16 {
    let nearest = f16::from_f32(value);
    if nearest.to_f32() > value { f16::from_bits(nearest.to_bits() - 1) } else { nearest }
}

impl Composed {
    /// RGBA8: `floor(value * 255 + 0.5)`.
    pub fn to_u8(&self) -> Vec<u8> {
        let byte = |value: f16| (value.to_f32() * 255.0 + 0.5).floor().clamp(0.0, 255.0) as u8;
        self.pixels.iter().flat_map(|pixel| pixel.map(byte)).collect()
    }

    /// A PNG file's bytes.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn to_png(&self) -> Result<Vec<u8>, image::ImageError> {
        let mut png = Vec::new();
        let encoder = image::codecs::png::PngEncoder::new(&mut png);
        let (width, height) = (self.size.width as u32, self.size.height as u32);
        image::ImageEncoder::write_image(encoder, &self.to_u8(), width, height, image::ExtendedColorType::Rgba8)?;
        Ok(png)
    }

    /// The frame as a picture: the history of the next.
    pub fn to_picture(&self) -> super::Picture {
        let pixels = self.pixels.iter().map(|p| [p[0].to_f32(), p[1].to_f32(), p[2].to_f32()]).collect();
        super::Picture { size: self.size, pixels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_never_rounds_up_and_never_skips_a_half() {
        for bits in 0..=0x3bff_u16 {
            let (low, high) = (f16::from_bits(bits).to_f32(), f16::from_bits(bits + 1).to_f32());
            assert_eq!(truncate(low).to_bits(), bits, "exact {bits:#x}");
            for value in [f32::midpoint(low, high), high.next_down(), low.next_up()] {
                assert_eq!(truncate(value).to_bits(), bits, "inside {bits:#x}");
            }
        }
    }

    #[test]
    fn a_zero_head_gives_the_proxy_back() {
        for code in 0..=255_u8 {
            let value = f32::from(code) / 255.0;
            let composed = truncate(neural(0.0, super::super::centre(value).to_f32())).to_f32();
            assert_eq!((composed * 255.0 + 0.5).floor() as u8, code, "code {code}");
        }
    }
}
