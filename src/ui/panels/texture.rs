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
        let image = ColorImage::new([size.width, size.height], bytemuck::cast_slice::<_, Color32>(pixels).to_vec());
        (painter.ctx().load_texture(format!("picture {id}"), image, TextureOptions::NEAREST), frame)
    });
    *used = frame;
    handle.id()
}

/// Lets go of what was not drawn lately.
pub(super) fn forget_unused(memory: &mut Memory) {
    let now = memory.frame;
    memory.textures.retain(|_, (_, used)| now - *used < UNUSED);
}
