//! Synthetic features, byte-compatible with `syntheticFeatures` of three-dlss-nr: a gradient, a checkerboard and
//! a disc with grid lines, a shifted copy as history, and noise.

use super::{FEATURES, LANES, centre, mirror, noise_hash};
use crate::geometry::Geometry;
use crate::model::synthetic::{Xorshift, half, normal};
use crate::tensor::{Bytes, Element, Shape, Tensor};
use rayon::prelude::*;

/// The proxy image at a valid pixel: red a ramp in x, green a ramp in y over a checkerboard, blue the disc.
pub fn proxy(x: usize, y: usize, width: usize, height: usize) -> [f32; 3] {
    let (w, h) = (width as f64, height as f64);
    let checker = if ((x >> 3) + (y >> 3)) & 1 == 1 { 0.75 } else { 0.25 };
    let (dx, dy) = ((2 * x + 1) as f64 - w, (2 * y + 1) as f64 - h);
    let radius = w.min(h) * 0.66;
    let blue = match () {
        () if x.is_multiple_of(16) || y.is_multiple_of(16) => 1.0,
        () if dx * dx + dy * dy < radius * radius => 0.875,
        () => 0.125,
    };
    [((x as f64 + 0.5) / w) as f32, (((y as f64 + 0.5) / h) * 0.5 + checker * 0.5) as f32, blue]
}

/// The features of a seed, f32 `[field][16]`.
pub fn features(geometry: &Geometry, seed: u32) -> Tensor {
    let (valid, field) = (geometry.valid, geometry.field);
    let shape = Shape::new(Element::F32, field, LANES);
    let centred = |x, y| proxy(x, y, valid.width, valid.height).map(|c| centre(c).to_f32());
    let bytes = Bytes::build(shape.bytes(), |out| {
        let lanes: &mut [f32] = bytemuck::cast_slice_mut(out);
        lanes.par_chunks_exact_mut(field.width * LANES).enumerate().for_each(|(y, row)| {
            for (x, lane) in row.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                let (sx, sy) = (mirror(x, valid.width), mirror(y, valid.height));
                let mut random = Xorshift::new(noise_hash(x as u32, y as u32, seed));
                let noise: [f32; 3] = std::array::from_fn(|_| half(normal(random.draw())).to_f32());
                lane[..3].copy_from_slice(&noise);
                lane[3] = 1.0;
                lane[4..7].copy_from_slice(&centred(sx, sy));
                lane[7..10].copy_from_slice(&centred(sx.saturating_sub(2), sy.saturating_sub(1)));
                lane[10..].copy_from_slice(&[0.0, 1.0, 1.0, -1.0, -1.0, 0.0]);
            }
        });
    });
    Tensor::new(FEATURES.into(), shape, bytes).expect("built to its shape")
}
