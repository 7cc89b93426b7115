//! Pictures of tensors, made on worker threads: one pixel per token, straight sRGB.

use super::ColourMap;
use crate::geometry::Size;
use crate::tensor::TensorName;

/// How a picture's colours are read.
#[derive(Clone, Debug, PartialEq)]
pub enum Legend {
    /// Values from `low` to `high` through a map.
    Scale {
        /// The map, never [`ColourMap::Auto`].
        map: ColourMap,
        /// Value of the first colour.
        low: f32,
        /// Value of the last colour.
        high: f32,
        /// Whether magnitudes are spread by their logarithm.
        log: bool,
        /// What the values are: `value`, `codes`, `distinct codes`.
        unit: String,
    },
    /// Classes with a colour each.
    Classes(Vec<LegendClass>),
    /// Three channels as colours.
    Plain,
    /// An image for eyes.
    Image,
}

/// One class of a [`Legend::Classes`].
#[derive(Clone, Debug, PartialEq)]
pub struct LegendClass {
    /// Its colour.
    pub colour: [u8; 3],
    /// Its name.
    pub label: String,
    /// Elements in it.
    pub count: u64,
}

/// A picture of one plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Changes whenever the pixels do: textures are kept by it.
    pub id: u64,
    /// The tensor shown.
    pub tensor: TensorName,
    /// One pixel per token.
    pub size: Size,
    /// RGBA, row-major.
    pub pixels: Vec<[u8; 4]>,
    /// How to read the colours.
    pub legend: Legend,
    /// The picture at a half, a quarter and so on of its size; none of a small one.
    pub reduced: Vec<Reduced>,
}

/// A picture from afar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// Half the size above it, rounded up.
    pub size: Size,
    /// RGBA, row-major.
    pub pixels: Vec<[u8; 4]>,
}

impl Picture {
    /// A new picture, with what it looks like from afar.
    pub(super) fn new(
        tensor: &TensorName,
        size: Size,
        pixels: Vec<[u8; 4]>,
        legend: Legend,
        blend: super::afar::Blend,
    ) -> Self {
        let reduced = super::afar::halves(size, &pixels, blend);
        Self { id: super::paint::fresh(), tensor: tensor.clone(), size, pixels, legend, reduced }
    }
}

/// All channels of a tensor, small, in one image.
#[derive(Clone, Debug, PartialEq)]
pub struct Thumbnails {
    /// As [`Picture::id`].
    pub id: u64,
    /// The tensor shown.
    pub tensor: TensorName,
    /// Number of channels.
    pub channels: usize,
    /// Size of one channel's tile.
    pub tile: Size,
    /// Tiles in a row of the atlas.
    pub columns: usize,
    /// Size of the atlas.
    pub size: Size,
    /// RGBA, row-major.
    pub pixels: Vec<[u8; 4]>,
}

/// The three pictures of the canvas.
#[derive(Clone, Debug, Default)]
pub struct Canvas {
    /// The subject's tensor, or its output image.
    pub subject: super::Requested<Picture>,
    /// The reference's, with the same scale.
    pub reference: super::Requested<Picture>,
    /// Their difference.
    pub difference: super::Requested<Picture>,
    /// The input image, for [`Image::Output`](super::Image::Output).
    pub input: super::Requested<Picture>,
    /// Tokens that differ, for the overlay.
    pub marks: super::Requested<Marks>,
    /// How the two composed output images differ, for [`Image::Output`](super::Image::Output).
    pub output: Option<OutputDifference>,
}

/// How two composed images differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OutputDifference {
    /// Bytes of red, green and blue that differ.
    pub differing: u64,
    /// Bytes compared.
    pub total: u64,
    /// The largest difference of a byte.
    pub largest: u8,
    /// Peak signal to noise ratio in decibels; `None` when nothing differs.
    pub psnr: Option<f64>,
}

/// Places on the plane of the selected tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The plane.
    pub size: Option<Size>,
    /// For each token, how many of its channels differ.
    pub differing: Vec<u16>,
    /// A veil over what differs, one pixel per token, premultiplied; absent where nothing does.
    pub veil: Option<Veil>,
    /// What the tested cause explains, likewise, with what became of each token.
    pub explained: Option<(Veil, std::sync::Arc<Mask>)>,
}

/// A see-through picture over a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Veil {
    /// As [`Picture::id`].
    pub id: u64,
    /// Premultiplied RGBA, row-major. In the veil of what differs white stands for the theme's colour.
    pub pixels: Vec<[u8; 4]>,
    /// As [`Picture::reduced`].
    pub reduced: Vec<Reduced>,
}

/// What a tested cause did to each token of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// The tensor.
    pub tensor: TensorName,
    /// Its plane.
    pub size: Size,
    /// One entry per token.
    pub tokens: Vec<Fate>,
}

/// What became of a token when the tested cause was switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Equal before and after.
    #[default]
    Equal,
    /// Every byte that differed is reproduced, and no other is broken.
    Explained,
    /// Some bytes still differ.
    Unexplained,
    /// Equal bytes were broken.
    NewlyWrong,
}
