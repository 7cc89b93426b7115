//! A picture of a tensor, made on the device: a channel or a reduction through a palette, or three channels as RGB.
//!
//! Only the pixels are read back, four bytes a token. [`value`] and [`Range::step`] are the CPU's spelling of what the
//! shader does; the tests hold the two together.

use super::Vulkan;
use super::constants::{COLOUR_CHANNEL, COLOUR_L2, COLOUR_MAX, COLOUR_MEAN, COLOUR_RGB, ColourPush, LANES};
use super::gemm::element;
use super::kernel::Dispatch;
use super::raw::Slice;
use super::runner::Stop;
use super::shaders::COLOUR;
use crate::engine::{Control, EngineError};
use crate::geometry::Size;
use crate::tensor::{Shape, Tensor, TensorName};
use std::time::Duration;

/// Entries of a palette: 256 steps, and the colour of NaN.
pub const PALETTE: usize = 257;

/// What is shown of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// One channel.
    Channel(usize),
    /// The mean of all channels.
    Mean,
    /// The largest magnitude; NaN where there is one.
    MaxAbs,
    /// The Euclidean length.
    Length,
    /// Three channels as red, green and blue.
    Rgb([usize; 3]),
}

/// The range of values that the palette covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Value of step 0.
    pub low: f32,
    /// Value of step 255.
    pub high: f32,
}

impl Range {
    /// Steps per unit of value; 0 for an empty range.
    fn scale(self) -> f32 {
        let span = self.high - self.low;
        if span > 0.0 { 255.0 / span } else { 0.0 }
    }

    /// Step 0 to 255 of a value, 256 for NaN.
    pub fn step(self, value: f32) -> usize {
        if value.is_nan() {
            return 256;
        }
        let scaled = (value - self.low) * self.scale();
        ((scaled.clamp(0.0, 255.0) + 0.5) as usize).min(255)
    }
}

/// How a picture is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// What is shown of a token.
    pub show: Show,
    /// The range of the palette; the smallest and largest finite values without one.
    pub range: Option<Range>,
    /// RGBA of 256 steps and of NaN.
    pub palette: Box<[[u8; 4]; PALETTE]>,
}

/// A picture of one tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Pixels are tokens.
    pub size: Size,
    /// RGBA, row-major.
    pub pixels: Vec<[u8; 4]>,
    /// The range that was used.
    pub range: Range,
    /// What the kernels took.
    pub duration: Duration,
}

/// The value shown of a token, as the shader computes it: singles, added in the order of the channels.
pub fn value(tensor: &Tensor, token: usize, show: Show) -> f32 {
    let channels = tensor.shape.channels;
    let values = || (0..channels).map(|c| tensor.value(token, c));
    match show {
        Show::Channel(channel) | Show::Rgb([channel, ..]) => tensor.value(token, channel),
        Show::Mean => values().fold(0.0, |sum, x| sum + x) * (1.0 / channels as f32),
        Show::MaxAbs => {
            values().fold(0.0_f32, |max, x| if max.is_nan() || x.is_nan() { f32::NAN } else { max.max(x.abs()) })
        }
        Show::Length => values().fold(0.0, |sum, x| sum + x * x).sqrt(),
    }
}

impl Vulkan {
    /// A picture of a held tensor; `None` when it is not held or has no such channel. Without a range, the smallest and
    /// largest finite values are its ends. The palette is RGBA of 256 steps and of NaN.
    ///
    /// # Errors
    /// When the device fails.
    pub fn picture(
        &mut self,
        name: &TensorName,
        show: Show,
        range: Option<Range>,
        palette: &[[u8; 4]; PALETTE],
    ) -> Result<Option<Picture>, EngineError> {
        let has = |shape: &Shape| match show {
            Show::Channel(c) => c < shape.channels,
            Show::Rgb(all) => all.iter().all(|&c| c < shape.channels),
            Show::Mean | Show::MaxAbs | Show::Length => true,
        };
        let Some(shape) = self.store.shape(name).filter(has) else { return Ok(None) };
        self.paint(name, shape, show, range, palette).map(Some).map_err(|stop| self.stopped(stop))
    }

    fn paint(
        &mut self,
        name: &TensorName,
        shape: Shape,
        show: Show,
        range: Option<Range>,
        palette: &[[u8; 4]; PALETTE],
    ) -> Result<Picture, Stop> {
        let tokens = shape.tokens();
        let bounds = self.store.scratch("picture range", 2)?;
        let pixels = self.store.scratch("picture pixels", tokens)?;
        let colours = self.store.table("picture palette", bytemuck::cast_slice(palette))?;
        let (mode, [red, green, blue]) = match show {
            Show::Channel(channel) => (COLOUR_CHANNEL, [channel, 0, 0]),
            Show::Mean => (COLOUR_MEAN, [0; 3]),
            Show::MaxAbs => (COLOUR_MAX, [0; 3]),
            Show::Length => (COLOUR_L2, [0; 3]),
            Show::Rgb(channels) => (COLOUR_RGB, channels),
        };
        let input = self.store.slice(name).expect("its shape was found");
        let dispatch = |range: Range, picture: bool| {
            let push = ColourPush {
                first: 0,
                tokens: tokens as u32,
                channels: shape.channels as u32,
                red: red as u32,
                green: green as u32,
                blue: blue as u32,
                low: range.low.to_bits(),
                scale: range.scale().to_bits(),
                reciprocal_channels: (1.0 / shape.channels as f32).to_bits(),
            };
            let buffers = vec![input.clone(), colours.clone(), bounds.clone(), pixels.clone()];
            Dispatch::new(&COLOUR, buffers, &push, [(tokens as u32).div_ceil(LANES), 1, 1]).specialized(vec![
                element(shape.element),
                mode,
                u32::from(picture),
            ])
        };
        let mut times = [Duration::ZERO];
        let range = if let Some(range) = range {
            range
        } else {
            // Bounds start crossed, and stay so when nothing is finite.
            self.runner.fill(&Slice { bytes: 4, ..bounds.clone() }, u32::MAX)?;
            self.runner.fill(&Slice { offset: 4, bytes: 4, ..bounds.clone() }, 0)?;
            let unknown = Range { low: 0.0, high: 0.0 };
            self.runner.record(0, &[dispatch(unknown, false)], &mut times, &Control::new())?;
            self.runner.flush(&mut times)?;
            let found = self.store.words(&bounds, 2)?;
            if found[0] > found[1] { unknown } else { Range { low: unordered(found[0]), high: unordered(found[1]) } }
        };
        self.runner.record(0, &[dispatch(range, true)], &mut times, &Control::new())?;
        self.runner.flush(&mut times)?;
        let mut rgba = vec![[0_u8; 4]; tokens];
        self.store.fetch(&pixels, bytemuck::cast_slice_mut(&mut rgba))?;
        Ok(Picture { size: shape.size, pixels: rgba, range, duration: times[0] })
    }
}

/// The single behind an integer of the shader's order.
fn unordered(bits: u32) -> f32 {
    f32::from_bits(if bits & 0x8000_0000 == 0 { !bits } else { bits & 0x7fff_ffff })
}
