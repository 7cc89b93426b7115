//! The input that a person names: `synthetic[:SEED]`, an image, or recorded features.
//!
//! Captures are inputs too; they lie below this module: [`capture::input`](crate::capture::input) takes all.

use super::{Conditions, FEATURES, LANES, Picture, PictureError, centre, conditions, mirror, synthetic};
use crate::geometry::{Geometry, GeometryError, Size};
use crate::tensor::npy::{self, NpyError, NpyType};
use crate::tensor::{Bytes, Element, Shape, Tensor};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Size of synthetic features when none is asked for.
pub const DEFAULT_SIZE: Size = Size::new(64, 64);

/// Features, and what they were made from.
#[derive(Clone, Debug)]
pub struct Input {
    /// Valid size, field and levels.
    pub geometry: Geometry,
    /// f32 `[field][16]`.
    pub features: Tensor,
    /// What was opened: `synthetic:1` or a path.
    pub source: String,
    /// What a person should know, such as that the image was resized.
    pub notes: Vec<String>,
    /// The picture of the valid size that alone made the features, and under which conditions.
    pub picture: Option<(Picture, Conditions)>,
}

/// Why an input cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The text names no input.
    #[error(
        "input \"{spec}\": expected \"synthetic\", \"synthetic:SEED\", an image, a capture directory or features \
         (.f32, .npy); {reason}"
    )]
    NotAnInput {
        /// What was given.
        spec: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The size cannot be run.
    #[error("input \"{spec}\": {source}")]
    Size {
        /// What was given.
        spec: String,
        /// Why.
        source: GeometryError,
    },
    /// The image cannot be used.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// A features file cannot be read.
    #[error("the features cannot be read: {source}; path {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A features file is no array.
    #[error("{source}; path {}", path.display())]
    Npy {
        /// The file.
        path: PathBuf,
        /// Why.
        source: NpyError,
    },
    /// A features file has another size than the field.
    #[error(
        "the features do not fit: size {size} has field {field}, that is {expected} bytes of f32 [{field}][16], found \
         {found}; path {}", path.display()
    )]
    WrongLength {
        /// The file.
        path: PathBuf,
        /// The valid size asked for.
        size: Size,
        /// Its field.
        field: Size,
        /// Bytes expected.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
}

/// Opens an input at a size. Without a size an image has its own, and synthetic features [`DEFAULT_SIZE`].
///
/// # Errors
/// When the text names no input, the size cannot be run, or a file is unusable.
pub fn open(spec: &str, size: Option<Size>, conditions: &Conditions) -> Result<Input, InputError> {
    let not = |reason: &str| InputError::NotAnInput { spec: spec.to_owned(), reason: reason.to_owned() };
    let path = Path::new(spec);
    match spec.split_once(':') {
        None if spec == "synthetic" => synthetic(spec, size, 1),
        Some(("synthetic", seed)) => {
            let seed =
                seed.parse().map_err(|_: std::num::ParseIntError| not("the seed is no number of 0 to 4294967295"))?;
            synthetic(spec, size, seed)
        }
        _ if !path.exists() => Err(not("there is no such file")),
        _ if path.is_dir() => Err(not("this directory has no capture manifest")),
        _ => match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("f32" | "bin" | "npy") => recorded(spec, size),
            _ => from_picture(spec, &Picture::open(path, conditions.paper_white)?, size, conditions, None),
        },
    }
}

/// The geometry of a size, with the input's name in its error.
pub(crate) fn geometry(spec: &str, size: Size) -> Result<Geometry, InputError> {
    Geometry::new(size).map_err(|source| InputError::Size { spec: spec.to_owned(), source })
}

fn synthetic(spec: &str, size: Option<Size>, seed: u32) -> Result<Input, InputError> {
    let geometry = geometry(spec, size.unwrap_or(DEFAULT_SIZE))?;
    let features = synthetic::features(&geometry, seed);
    Ok(Input { geometry, features, source: format!("synthetic:{seed}"), notes: Vec::new(), picture: None })
}

/// The input of a picture, resized when another size is asked for.
///
/// # Errors
/// When the size cannot be run.
pub fn from_picture(
    source: &str,
    picture: &Picture,
    size: Option<Size>,
    conditions: &Conditions,
    history: Option<&Picture>,
) -> Result<Input, InputError> {
    if picture.size.width < 2 || picture.size.height < 2 {
        let reason = format!("the image is {}; each side needs at least 2 pixels", picture.size);
        return Err(InputError::NotAnInput { spec: source.to_owned(), reason });
    }
    let size = size.unwrap_or(picture.size);
    let geometry = geometry(source, size)?;
    let mut notes = Vec::new();
    let fitted = if picture.size == size {
        picture.clone()
    } else {
        notes.push(format!("the image of {} was resized to {size}", picture.size));
        picture.resized(size)
    };
    let features = features(&geometry, &fitted, conditions, history.filter(|h| h.size == size));
    if history.is_some_and(|h| h.size != size) {
        notes.push("the history has another size and was left out".to_owned());
    }
    let picture = history.is_none().then_some((fitted, *conditions));
    Ok(Input { geometry, features, source: source.to_owned(), notes, picture })
}

/// The features of a picture of the valid size; without history lanes 7 to 9 copy 4 to 6.
pub fn features(geometry: &Geometry, picture: &Picture, conditions: &Conditions, history: Option<&Picture>) -> Tensor {
    let (valid, field) = (geometry.valid, geometry.field);
    let shape = Shape::new(Element::F32, field, LANES);
    let last = conditions.lanes();
    let bytes = Bytes::build(shape.bytes(), |out| {
        let lanes: &mut [f32] = bytemuck::cast_slice_mut(out);
        lanes.par_chunks_exact_mut(field.width * LANES).enumerate().for_each(|(y, row)| {
            for (x, lane) in row.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                let (sx, sy) = (mirror(x, valid.width), mirror(y, valid.height));
                let centred = |picture: &Picture| picture.at(sx, sy).map(|code| centre(code).to_f32());
                let proxy = centred(picture);
                lane[..3].copy_from_slice(&conditions::noise(x as u32, y as u32, conditions.seed));
                lane[3] = 1.0;
                lane[4..7].copy_from_slice(&proxy);
                lane[7..10].copy_from_slice(&history.map_or(proxy, centred));
                lane[10..].copy_from_slice(&last);
            }
        });
    });
    Tensor::new(FEATURES.into(), shape, bytes).expect("built to its shape")
}

/// Features from a file: raw f32, or an array of f32 or f16.
fn recorded(spec: &str, size: Option<Size>) -> Result<Input, InputError> {
    let path = Path::new(spec);
    let Some(size) = size else {
        let reason = "recorded features need --size WxH, the valid size".to_owned();
        return Err(InputError::NotAnInput { spec: spec.to_owned(), reason });
    };
    let geometry = geometry(spec, size)?;
    let bytes = std::fs::read(path).map_err(|source| InputError::Read { path: path.to_owned(), source })?;
    let data = if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy")) {
        let array = npy::parse(&bytes).map_err(|source| InputError::Npy { path: path.to_owned(), source })?;
        match array.kind {
            NpyType::F2 | NpyType::U2 => widen(array.data),
            NpyType::F4 => array.data.to_vec(),
            NpyType::U1 => {
                let source = NpyError { problem: "features are <f4 or <f2, found |u1".to_owned() };
                return Err(InputError::Npy { path: path.to_owned(), source });
            }
        }
    } else {
        bytes
    };
    let shape = Shape::new(Element::F32, geometry.field, LANES);
    if data.len() != shape.bytes() {
        let (field, expected, found) = (geometry.field, shape.bytes(), data.len());
        return Err(InputError::WrongLength { path: path.to_owned(), size, field, expected, found });
    }
    let features = Tensor::new(FEATURES.into(), shape, Bytes::copy(&data)).expect("checked above");
    Ok(Input { geometry, features, source: spec.to_owned(), notes: Vec::new(), picture: None })
}

fn widen(halves: &[u8]) -> Vec<u8> {
    let single = |b: &[u8; 2]| crate::numerics::f16::from_le_bytes(*b).to_f32().to_le_bytes();
    halves.as_chunks::<2>().0.iter().flat_map(single).collect()
}
