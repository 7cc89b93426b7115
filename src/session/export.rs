//! Pictures and tensors written to files, on a thread, never half.

use super::work::{guarded, lock};
use super::{Mode, Picture, Place, Session, Severity, Side};
use crate::model::write_file;
use crate::tensor::npy;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes the canvas' picture, one pixel per token.
pub(super) fn canvas(session: &mut Session, path: &str) {
    let canvas = session.canvas();
    let picture = match session.view().mode {
        Mode::Reference => canvas.reference.shown(),
        Mode::Difference => canvas.difference.shown(),
        Mode::Subject | Mode::Split | Mode::SideBySide | Mode::Flick => canvas.subject.shown(),
    };
    let Some(picture) = picture.cloned() else {
        session.say(Severity::Error, Place::Canvas, "there is no picture to export yet");
        return;
    };
    start(session, path, move |path| write_file(path, &png(&picture)?));
}

/// Writes the selected tensor.
pub(super) fn tensor(session: &mut Session, path: &str) {
    let side = if session.view().mode == Mode::Reference { Side::Reference } else { Side::Subject };
    let Some(tensor) = session.tensor(side, &session.selection().tensor).cloned() else {
        session.say(Severity::Error, Place::Canvas, "the selected tensor has not been computed yet");
        return;
    };
    start(session, path, move |path| write_file(path, &npy::of(&tensor)));
}

fn start(session: &mut Session, path: &str, job: impl FnOnce(&Path) -> std::io::Result<()> + Send + 'static) {
    let (post, bell, path) = (Arc::clone(&session.post), Arc::clone(&session.bell), PathBuf::from(path));
    let work = move || {
        let said = match guarded(|| job(&path).map_err(|error| error.to_string())) {
            Ok(()) => (Severity::Info, Place::Canvas, format!("wrote {}", path.display())),
            Err(error) => (Severity::Error, Place::Canvas, format!("cannot write: {error}; path {}", path.display())),
        };
        lock(&post).push(said);
        bell.ring();
    };
    if let Err(error) = std::thread::Builder::new().name("export".to_owned()).spawn(work) {
        session.say(Severity::Error, Place::Canvas, format!("cannot start a thread: {error}"));
    }
}

/// A picture as PNG bytes.
fn png(picture: &Picture) -> std::io::Result<Vec<u8>> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let (width, height) = (picture.size.width as u32, picture.size.height as u32);
    let pixels: &[u8] = bytemuck::cast_slice(&picture.pixels);
    image::write_buffer_with_format(
        &mut bytes,
        pixels,
        width,
        height,
        image::ExtendedColorType::Rgba8,
        image::ImageFormat::Png,
    )
    .map_err(std::io::Error::other)?;
    Ok(bytes.into_inner())
}
