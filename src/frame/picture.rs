//! Pictures from files, as the sRGB code values that the network's proxy is made of.
//!
//! * 8- and 16-bit images are code values already; grayscale is repeated; EXIF rotation is applied.
//! * Floating-point images (HDR, EXR, float TIFF, PFM) are linear scene light, compressed and encoded by the rule of
//!   the feature table.
//! * Alpha is ignored: frames of renderers carry anything there.

use crate::geometry::Size;
use crate::numerics::f16;
use image::{DynamicImage, ImageDecoder as _, ImageReader, Limits};
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// Largest side of a file's image, in pixels.
const MAX_SIDE: u32 = 16_384;
/// Most pixels of a file's image: more than an 8K frame twice over, and its decoded form stays near a gigabyte.
const MAX_PIXELS: u64 = 1 << 26;
/// Longest image file, in bytes.
const MAX_FILE: u64 = 2 << 30;

/// An image file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The file cannot be opened.
    #[error("the image cannot be read: {source}; path {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is damaged, or of no known format.
    #[error("the image cannot be decoded: {message}; expected PNG, JPEG, WebP, TIFF, HDR, EXR, PPM or PFM; path {}", path.display())]
    Decode {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        message: String,
    },
}

/// A picture of sRGB code values, nominally 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Its size in pixels.
    pub size: Size,
    /// Its pixels, row-major.
    pub pixels: Vec<[f32; 3]>,
}

impl Picture {
    /// Decodes a file. `paper_white` is the scene value of white, for linear images.
    ///
    /// # Errors
    /// When the file cannot be read or decoded.
    pub fn open(path: &Path, paper_white: f32) -> Result<Self, PictureError> {
        let read = |source| PictureError::Read { path: path.to_owned(), source };
        let decode = |message| PictureError::Decode { path: path.to_owned(), message };
        let length = std::fs::metadata(path).map_err(read)?.len();
        if length > MAX_FILE {
            return Err(decode(format!("{length} bytes are too many for an image (at most {MAX_FILE})")));
        }
        Self::decode(&std::fs::read(path).map_err(read)?, paper_white).map_err(decode)
    }

    /// Decodes a file's bytes; the format is told by them. What a header claims is checked before memory is taken.
    ///
    /// # Errors
    /// What is wrong, in the decoder's words.
    pub fn decode(bytes: &[u8], paper_white: f32) -> Result<Self, String> {
        let error = |e: image::ImageError| e.to_string();
        if bytes.starts_with(b"PF") || bytes.starts_with(b"Pf") {
            let (size, scene) = pfm(bytes).ok_or("not a PFM file, or truncated")?;
            return Ok(Self::from_scene(size, &scene, paper_white));
        }
        let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|e| e.to_string())?;
        let mut limits = Limits::default();
        limits.max_image_width = Some(MAX_SIDE);
        limits.max_image_height = Some(MAX_SIDE);
        limits.max_alloc = Some(MAX_PIXELS * 16);
        reader.limits(limits);
        let mut decoder = reader.into_decoder().map_err(error)?;
        let (width, height) = decoder.dimensions();
        if u64::from(width) * u64::from(height) > MAX_PIXELS {
            return Err(format!("{width}x{height} pixels are too many (at most {MAX_PIXELS}); scale it down first"));
        }
        // Formats without metadata have no orientation; damaged metadata is not a reason to refuse the pixels.
        let orientation = decoder.orientation().unwrap_or(image::metadata::Orientation::NoTransforms);
        let mut image = DynamicImage::from_decoder(decoder).map_err(error)?;
        image.apply_orientation(orientation);
        Ok(Self::from_image(&image, paper_white))
    }

    /// The code values of a decoded image.
    fn from_image(image: &DynamicImage, paper_white: f32) -> Self {
        let size = Size::new(image.width() as usize, image.height() as usize);
        if matches!(image, DynamicImage::ImageRgb32F(_) | DynamicImage::ImageRgba32F(_)) {
            let scene: Vec<[f32; 3]> = image.to_rgb32f().pixels().map(|pixel| pixel.0).collect();
            return Self::from_scene(size, &scene, paper_white);
        }
        let pixels = image.to_rgb16().pixels().map(|pixel| pixel.0.map(|v| f32::from(v) / 65_535.0)).collect();
        Self { size, pixels }
    }

    /// The code values of linear scene light.
    pub fn from_scene(size: Size, scene: &[[f32; 3]], paper_white: f32) -> Self {
        Self { size, pixels: scene.iter().map(|pixel| pixel.map(|light| encode(light, paper_white))).collect() }
    }

    /// The picture at another size, by bilinear or area filtering of its code values.
    #[must_use]
    pub fn resized(&self, size: Size) -> Self {
        let flat: Vec<f32> = self.pixels.iter().flatten().copied().collect();
        let buffer: image::Rgb32FImage =
            image::ImageBuffer::from_raw(self.size.width as u32, self.size.height as u32, flat)
                .expect("pixels fill the size");
        let filter = image::imageops::FilterType::Triangle;
        let resized = image::imageops::resize(&buffer, size.width as u32, size.height as u32, filter);
        Self { size, pixels: resized.pixels().map(|pixel| pixel.0).collect() }
    }

    /// The pixel at a column and row.
    pub fn at(&self, x: usize, y: usize) -> [f32; 3] {
        self.pixels[y * self.size.width + x]
    }
}

/// Scene light to a code value: non-finite and negative light is black, highlights above 0.75 are compressed.
pub fn encode(light: f32, paper_white: f32) -> f32 {
    let light = if light.is_finite() { light.max(0.0) } else { 0.0 };
    let mut v = light / paper_white.max(0.05);
    if v > 0.75 {
        v = 0.75 + 0.25 * (1.0 - f64::from(-5.770_780 * (v - 0.75)).exp() as f32);
    }
    let code = if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * f64::from(v).powf(1.0 / 2.4) as f32 - 0.055 };
    f16::from_f32(code).to_f32()
}

/// Size and pixels of a portable float map, top row first.
pub(crate) fn pfm(bytes: &[u8]) -> Option<(Size, Vec<[f32; 3]>)> {
    let mut words = Vec::new();
    let mut at = 0;
    while words.len() < 4 {
        let start = at + bytes.get(at..)?.iter().position(|b| !b.is_ascii_whitespace())?;
        let end = start + bytes[start..].iter().take(40).position(u8::is_ascii_whitespace)?;
        words.push(std::str::from_utf8(&bytes[start..end]).ok()?);
        at = end;
    }
    let (channels, little) = (
        match words[0] {
            "PF" => 3,
            "Pf" => 1,
            _ => return None,
        },
        words[3].parse::<f32>().ok()? < 0.0,
    );
    let side = |word: &str| word.parse::<usize>().ok().filter(|&n| n > 0 && n <= MAX_SIDE as usize);
    let size = Size::new(side(words[1])?, side(words[2])?);
    if size.tokens() as u64 > MAX_PIXELS {
        return None;
    }
    let data = bytes.get(at + 1..)?;
    if data.len() != size.tokens() * channels * 4 {
        return None;
    }
    let float = |b: &[u8; 4]| if little { f32::from_le_bytes(*b) } else { f32::from_be_bytes(*b) };
    let floats: Vec<f32> = data.as_chunks::<4>().0.iter().map(float).collect();
    let pixel = |x: usize, y: usize| {
        let first = ((size.height - 1 - y) * size.width + x) * channels;
        std::array::from_fn(|c| floats[first + c.min(channels - 1)])
    };
    Some((size, (0..size.tokens()).map(|i| pixel(i % size.width, i / size.width)).collect()))
}
