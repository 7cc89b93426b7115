//! A small CPU rasteriser for egui's meshes: pictures of panels with the same bytes on every machine.
//!
//! Blending is premultiplied in gamma space, as egui's own renderers do; edges are as egui's feathering makes them.

use egui::epaint::{ClippedPrimitive, ImageData, Mesh, Primitive, TextureId};
use egui::{Color32, FullOutput, TextureFilter, TexturesDelta};
use egui_kittest::TestRenderer;
use image::{Rgba, RgbaImage};
use std::collections::{BTreeMap, BTreeSet};

struct Texture {
    size: [usize; 2],
    pixels: Vec<Color32>,
    linear: bool,
}

/// Holds textures between frames.
#[derive(Default)]
pub(super) struct Rasteriser {
    textures: BTreeMap<TextureId, Texture>,
}

impl TestRenderer for Rasteriser {
    fn handle_delta(&mut self, delta: &mut TexturesDelta) {
        // In the order of names: nothing here may depend on a hash.
        let set: BTreeMap<_, _> = std::mem::take(&mut delta.set).into_iter().collect();
        for (id, deltas) in set {
            for delta in deltas {
                let ImageData::Color(image) = &delta.image;
                let linear = delta.options.magnification == TextureFilter::Linear;
                match delta.pos {
                    None => {
                        let texture = Texture { size: image.size, pixels: image.pixels.clone(), linear };
                        self.textures.insert(id, texture);
                    }
                    Some([x, y]) => {
                        let texture = self.textures.get_mut(&id).expect("a patch has a texture");
                        for (row, line) in image.pixels.chunks(image.size[0]).enumerate() {
                            let start = (y + row) * texture.size[0] + x;
                            texture.pixels[start..start + line.len()].copy_from_slice(line);
                        }
                    }
                }
            }
        }
        let free: BTreeSet<TextureId> = std::mem::take(&mut delta.free).into_iter().collect();
        for id in free {
            self.textures.remove(&id);
        }
    }

    fn render(&mut self, ctx: &egui::Context, output: &FullOutput) -> Result<RgbaImage, String> {
        let scale = output.pixels_per_point;
        let size = ctx.content_rect().size() * scale;
        let mut target = RgbaImage::from_pixel(size.x.round() as u32, size.y.round() as u32, Rgba([0, 0, 0, 255]));
        for ClippedPrimitive { clip_rect, primitive } in ctx.tessellate(output.shapes.clone(), scale) {
            let Primitive::Mesh(mesh) = primitive else { return Err("a paint callback cannot be drawn".to_owned()) };
            let clip =
                [clip_rect.min.x, clip_rect.min.y, clip_rect.max.x, clip_rect.max.y].map(|v| (v * scale).round());
            let texture = self.textures.get(&mesh.texture_id).ok_or("a mesh has an unknown texture")?;
            draw(&mut target, texture, &mesh, clip, scale);
        }
        Ok(target)
    }
}

fn draw(target: &mut RgbaImage, texture: &Texture, mesh: &Mesh, clip: [f32; 4], scale: f32) {
    let (width, height) = (target.width() as f32, target.height() as f32);
    let bounds = [clip[0].max(0.0), clip[1].max(0.0), clip[2].min(width), clip[3].min(height)];
    for triangle in mesh.indices.chunks_exact(3) {
        let corners = [0, 1, 2].map(|i| &mesh.vertices[triangle[i] as usize]);
        let p = corners.map(|v| [v.pos.x * scale, v.pos.y * scale]);
        let area = edge(p[0], p[1], p[2]);
        if area == 0.0 {
            continue;
        }
        let fold = |axis: usize, f: fn(f32, f32) -> f32| f(f(p[0][axis], p[1][axis]), p[2][axis]);
        let (x0, x1) =
            (fold(0, f32::min).floor().max(bounds[0]) as u32, fold(0, f32::max).ceil().min(bounds[2]) as u32);
        let (y0, y1) =
            (fold(1, f32::min).floor().max(bounds[1]) as u32, fold(1, f32::max).ceil().min(bounds[3]) as u32);
        for y in y0..y1 {
            for x in x0..x1 {
                let at = [x as f32 + 0.5, y as f32 + 0.5];
                let Some(weights) = inside(&p, at, area) else { continue };
                let mix = |f: &dyn Fn(usize) -> f32| (0..3).map(|i| weights[i] * f(i)).sum::<f32>();
                let uv = [mix(&|i| corners[i].uv.x), mix(&|i| corners[i].uv.y)];
                let texel = sample(texture, uv);
                let source: [f32; 4] =
                    std::array::from_fn(|c| mix(&|i| f32::from(corners[i].color.to_array()[c])) * texel[c] / 255.0);
                blend(target.get_pixel_mut(x, y), source);
            }
        }
    }
}

fn edge(a: [f32; 2], b: [f32; 2], c: [f32; 2]) -> f32 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Barycentric weights of a point, by the top-left rule: a pixel on a shared edge belongs to one triangle.
fn inside(p: &[[f32; 2]; 3], at: [f32; 2], area: f32) -> Option<[f32; 3]> {
    let mut weights = [0.0; 3];
    for i in 0..3 {
        let (a, b) = (p[(i + 1) % 3], p[(i + 2) % 3]);
        let weight = edge(a, b, at) / area;
        let (dx, dy) = if area > 0.0 { (b[0] - a[0], b[1] - a[1]) } else { (a[0] - b[0], a[1] - b[1]) };
        let owns = dy < 0.0 || (dy == 0.0 && dx > 0.0);
        if weight < 0.0 || (weight == 0.0 && !owns) {
            return None;
        }
        weights[i] = weight;
    }
    Some(weights)
}

fn sample(texture: &Texture, uv: [f32; 2]) -> [f32; 4] {
    let [w, h] = texture.size;
    let texel = |x: i64, y: i64| {
        let (x, y) = (x.clamp(0, w as i64 - 1) as usize, y.clamp(0, h as i64 - 1) as usize);
        texture.pixels[y * w + x].to_array().map(f32::from)
    };
    let (x, y) = (uv[0] * w as f32, uv[1] * h as f32);
    if !texture.linear {
        return texel(x.floor() as i64, y.floor() as i64);
    }
    let (x, y) = (x - 0.5, y - 0.5);
    let (fx, fy) = (x - x.floor(), y - y.floor());
    let (x, y) = (x.floor() as i64, y.floor() as i64);
    let (a, b, c, d) = (texel(x, y), texel(x + 1, y), texel(x, y + 1), texel(x + 1, y + 1));
    std::array::from_fn(|i| (a[i] * (1.0 - fx) + b[i] * fx) * (1.0 - fy) + (c[i] * (1.0 - fx) + d[i] * fx) * fy)
}

fn blend(pixel: &mut Rgba<u8>, source: [f32; 4]) {
    let keep = 1.0 - source[3] / 255.0;
    for (channel, value) in pixel.0.iter_mut().take(3).zip(source) {
        *channel = (value + f32::from(*channel) * keep).round().clamp(0.0, 255.0) as u8;
    }
}
