//! Pictures and tensors written to files, on a thread, never half.

use super::work::{guarded, lock};
use super::{Mode, Picture, Place, Session, Severity, Side};
use crate::tensor::{Element, Tensor};
use std::io::Write as _;
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
    start(session, path, move |path| write_atomic(path, &png(&picture)?));
}

/// Writes the selected tensor.
pub(super) fn tensor(session: &mut Session, path: &str) {
    let side = if session.view().mode == Mode::Reference { Side::Reference } else { Side::Subject };
    let Some(tensor) = session.tensor(side, &session.selection().tensor).cloned() else {
        session.say(Severity::Error, Place::Canvas, "the selected tensor has not been computed yet");
        return;
    };
    start(session, path, move |path| write_atomic(path, &npy(&tensor)));
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

/// Writes beside the final name, then moves: a reader sees the old file or the new one.
pub(super) fn write_atomic(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
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

/// A tensor as .npy: `[height][width][channels]`, codes as bytes.
fn npy(tensor: &Tensor) -> Vec<u8> {
    let kind = match tensor.shape.element {
        Element::E4m3 => "|u1",
        Element::F16 => "<f2",
        Element::F32 => "<f4",
    };
    let (size, channels) = (tensor.shape.size, tensor.shape.channels);
    let mut header = format!(
        "{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}, {}, {channels}), }}",
        size.height, size.width
    );
    // Magic, version and length take 10 bytes; the data starts at a multiple of 64.
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(tensor.bytes());
    bytes
}
