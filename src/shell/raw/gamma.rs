//! Colours for the renderer's shaders in egui's own gamma space.
//!
//! The renderer takes vertices and texels to linear light (a power of 2.2, an SRGB image), multiplies there, and takes
//! the product back, which costs three powers a pixel and, blending apart, changes nothing. Here they are handed over
//! as what becomes egui's bytes on the way to linear light, the way back is left out, and products, edges and filtered
//! texels are what egui means by them. A dark byte comes out as itself, a brighter one as itself or its neighbour.

use egui::epaint::Vertex;
use egui::{Color32, ColorImage};

/// The tables.
pub(super) struct Gamma {
    vertex: [u8; 256],
    texel: [u8; 256],
}

impl Gamma {
    pub(super) fn new() -> Self {
        let table =
            |encode: fn(f32) -> f32| std::array::from_fn(|byte| (encode(byte as f32 / 255.0) * 255.0 + 0.5) as u8);
        Self { vertex: table(|x| x.powf(1.0 / 2.2)), texel: table(srgb) }
    }

    /// Vertices for the renderer, from egui's.
    pub(super) fn vertices(&self, vertices: &mut [Vertex]) {
        for vertex in vertices {
            vertex.color = through(&self.vertex, vertex.color);
        }
    }

    /// Texels for the renderer, from egui's.
    pub(super) fn texels(&self, image: &ColorImage) -> ColorImage {
        let mut image = image.clone();
        for texel in &mut image.pixels {
            *texel = through(&self.texel, *texel);
        }
        image
    }
}

fn through(table: &[u8; 256], colour: Color32) -> Color32 {
    let [r, g, b, a] = colour.to_array();
    let [r, g, b] = [r, g, b].map(|byte| table[usize::from(byte)]);
    Color32::from_rgba_premultiplied(r, g, b, a)
}

/// What an SRGB image reads as this.
fn srgb(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_come_out_as_themselves_or_one_beside() {
        let gamma = Gamma::new();
        let read = |byte: u8| {
            let x = f32::from(byte) / 255.0;
            if x <= 0.040_45 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
        };
        for byte in 0..=255_u8 {
            let vertex = (f32::from(gamma.vertex[usize::from(byte)]) / 255.0).powf(2.2) * 255.0;
            let texel = read(gamma.texel[usize::from(byte)]) * 255.0;
            for found in [vertex, texel] {
                let most = if byte < 50 { 0.5 } else { 1.2 };
                assert!((found - f32::from(byte)).abs() < most, "{byte} became {found}");
            }
        }
        for end in [0, 255] {
            assert_eq!((gamma.vertex[end], gamma.texel[end]), (end as u8, end as u8), "black and white stay");
        }
    }
}
