//! Textures of pictures: uploaded once under the picture's number, let go when nothing shows them any longer.

use super::super::memory::Memory;
use crate::geometry::Size;
use crate::session::{Picture, Reduced, Veil};
use egui::epaint::ColorImage;
use egui::{Color32, Painter, Pos2, Rect, TextureId, TextureOptions, pos2};

/// All of a texture.
const WHOLE: Rect = Rect { min: Pos2::ZERO, max: pos2(1.0, 1.0) };

/// A texture that was not drawn for so many frames is let go.
const UNUSED: u64 = 120;

/// A texture, and the part of it that the picture takes.
pub(super) struct Drawn {
    pub(super) texture: TextureId,
    pub(super) uv: Rect,
}

/// The texture of a picture at so many points per token: the shell's own, or one uploaded once.
pub(super) fn texture(painter: &Painter, memory: &mut Memory, picture: &Picture, zoom: f32) -> Drawn {
    if let Some(texture) = memory.external_of(picture.id) {
        return Drawn { texture, uv: WHOLE };
    }
    layered(painter, memory, picture.id, (picture.size, &picture.pixels, &picture.reduced), zoom)
}

/// The texture of a veil, likewise.
pub(super) fn veil(painter: &Painter, memory: &mut Memory, veil: &Veil, size: Size, zoom: f32) -> Drawn {
    layered(painter, memory, veil.id, (size, &veil.pixels, &veil.reduced), zoom)
}

/// Chooses the size at which every token has a part in some pixel of the screen.
fn layered(
    painter: &Painter,
    memory: &mut Memory,
    id: u64,
    (size, pixels, reduced): (Size, &[[u8; 4]], &[Reduced]),
    zoom: f32,
) -> Drawn {
    let level = level(zoom * painter.ctx().pixels_per_point()).min(reduced.len());
    let Some(small) = level.checked_sub(1).map(|at| &reduced[at]) else {
        return Drawn { texture: upload(painter, memory, (id, 0), size, pixels), uv: WHOLE };
    };
    let texture = upload(painter, memory, (id, level), small.size, &small.pixels);
    // Halves are rounded up: the last texels may reach beyond the plane.
    let share = |whole: usize, small: usize| whole as f32 / (small << level) as f32;
    let end = pos2(share(size.width, small.size.width), share(size.height, small.size.height));
    Drawn { texture, uv: Rect::from_min_max(Pos2::ZERO, end) }
}

/// How often a picture is halved until a token of it is no smaller than a pixel.
fn level(pixels_per_token: f32) -> usize {
    if pixels_per_token < 1.0 { -pixels_per_token.max(1e-6).log2().floor() as usize } else { 0 }
}

/// Uploads pixels once under a number; their alpha is premultiplied, or 255.
pub(super) fn upload(
    painter: &Painter,
    memory: &mut Memory,
    key: (u64, usize),
    size: Size,
    pixels: &[[u8; 4]],
) -> TextureId {
    let frame = memory.frame;
    let (handle, used) = memory.textures.entry(key).or_insert_with(|| {
        let most = painter.ctx().input(|input| input.max_texture_side);
        let image = match size.width.max(size.height).div_ceil(most.max(1)) {
            0 | 1 => ColorImage::new([size.width, size.height], bytemuck::cast_slice::<_, Color32>(pixels).to_vec()),
            every => thinned(size, pixels, every),
        };
        (painter.ctx().load_texture(format!("picture {key:?}"), image, TextureOptions::NEAREST), frame)
    });
    *used = frame;
    handle.id()
}

/// Every nth token of every nth row: for a device that has no texture large enough. From near,
/// tokens are drawn one by one and nothing is left out.
fn thinned(size: Size, pixels: &[[u8; 4]], every: usize) -> ColorImage {
    let small = size.map(|side| side.div_ceil(every));
    let token = |i: usize| (i / small.width * every) * size.width + i % small.width * every;
    let pixel = |i: usize| {
        let [r, g, b, a] = pixels[token(i)];
        Color32::from_rgba_premultiplied(r, g, b, a)
    };
    ColorImage::new([small.width, small.height], (0..small.tokens()).map(pixel).collect())
}

/// Lets go of what was not drawn lately.
pub(super) fn forget_unused(memory: &mut Memory) {
    let now = memory.frame;
    memory.textures.retain(|_, (_, used)| now - *used < UNUSED);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_halved_until_no_token_is_smaller_than_a_pixel() {
        let found = [3.0, 1.0, 0.99, 0.5, 0.41, 0.25, 0.2].map(level);
        assert_eq!(found, [0, 0, 1, 1, 2, 2, 3], "by pixels per token");
    }

    #[test]
    fn a_picture_too_large_for_a_texture_is_thinned() {
        let size = Size::new(5, 3);
        let pixels: Vec<[u8; 4]> = (0..15).map(|i| [i, 0, 0, 255]).collect();
        let image = thinned(size, &pixels, 2);
        assert_eq!(image.size, [3, 2], "rounded up");
        let reds: Vec<u8> = image.pixels.iter().map(Color32::r).collect();
        assert_eq!(reds, [0, 2, 4, 10, 12, 14], "every second of every second row");
    }
}
