//! Textures of pictures: uploaded once under the picture's number, let go when nothing shows them any longer.

use super::super::memory::Memory;
use crate::geometry::Size;
use crate::session::Picture;
use egui::epaint::ColorImage;
use egui::{Color32, Painter, TextureId, TextureOptions};

/// A texture that was not drawn for so many frames is let go.
const UNUSED: u64 = 120;

/// The texture of a picture: the shell's own, or one uploaded once.
pub(super) fn texture(painter: &Painter, memory: &mut Memory, picture: &Picture) -> TextureId {
    if let Some(texture) = memory.external_of(picture.id) {
        return texture;
    }
    upload(painter, memory, picture.id, picture.size, &picture.pixels)
}

/// Uploads pixels once under a number; their alpha is premultiplied, or 255.
pub(super) fn upload(painter: &Painter, memory: &mut Memory, id: u64, size: Size, pixels: &[[u8; 4]]) -> TextureId {
    let frame = memory.frame;
    let (handle, used) = memory.textures.entry(id).or_insert_with(|| {
        let most = painter.ctx().input(|input| input.max_texture_side);
        let image = match size.width.max(size.height).div_ceil(most.max(1)) {
            0 | 1 => ColorImage::new([size.width, size.height], bytemuck::cast_slice::<_, Color32>(pixels).to_vec()),
            every => thinned(size, pixels, every),
        };
        (painter.ctx().load_texture(format!("picture {id}"), image, TextureOptions::NEAREST), frame)
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
    fn a_picture_too_large_for_a_texture_is_thinned() {
        let size = Size::new(5, 3);
        let pixels: Vec<[u8; 4]> = (0..15).map(|i| [i, 0, 0, 255]).collect();
        let image = thinned(size, &pixels, 2);
        assert_eq!(image.size, [3, 2], "rounded up");
        let reds: Vec<u8> = image.pixels.iter().map(Color32::r).collect();
        assert_eq!(reds, [0, 2, 4, 10, 12, 14], "every second of every second row");
    }
}
