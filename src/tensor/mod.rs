//! A named, typed, shaped buffer: the only thing that engines, captures, comparisons and pictures exchange.
//!
//! **Invariants**
//! * Row-major `[tokens][channels]`, `token = y * width + x`; multi-byte elements little-endian.
//! * The bytes never change after construction; clones share them.

mod digest;
mod keep;
pub mod npy;
mod storage;

pub use digest::{Digest, run_digest};
pub use keep::{Keeper, SpillError};
pub use storage::Bytes;

use crate::geometry::Size;
use crate::numerics::{e4m3, f16};
use std::fmt;
use std::sync::Arc;

/// A tensor's name, fixed by the plan: a boundary such as `block-12`, or a kernel's tensor such as `block-12/qkv`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorName(Arc<str>);

impl TensorName {
    /// A name.
    pub fn new(name: impl AsRef<str>) -> Self {
        Self(Arc::from(name.as_ref()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TensorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for TensorName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for TensorName {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// The format of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// An E4M3 code, one byte.
    E4m3,
    /// A half, two bytes.
    F16,
    /// A single, four bytes.
    F32,
}

impl Element {
    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::E4m3 => 1,
            Self::F16 => 2,
            Self::F32 => 4,
        }
    }

    /// Lower-case name, as in captures and digest files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E4m3 => "e4m3",
            Self::F16 => "f16",
            Self::F32 => "f32",
        }
    }
}

/// Element format and extent of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Format of one element.
    pub element: Element,
    /// The plane of tokens.
    pub size: Size,
    /// Channels of a token.
    pub channels: usize,
}

impl Shape {
    /// A shape.
    pub const fn new(element: Element, size: Size, channels: usize) -> Self {
        Self { element, size, channels }
    }

    /// Number of tokens.
    pub const fn tokens(&self) -> usize {
        self.size.tokens()
    }

    /// Number of elements.
    pub const fn elements(&self) -> usize {
        self.tokens() * self.channels
    }

    /// Number of bytes.
    pub const fn bytes(&self) -> usize {
        self.elements() * self.element.bytes()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}][{}]", self.element.name(), self.size, self.channels)
    }
}

/// A tensor's bytes do not fit its shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tensor \"{name}\": {shape} holds {expected} bytes, found {found}")]
pub struct ShapeMismatch {
    /// The tensor.
    pub name: TensorName,
    /// Its shape.
    pub shape: Shape,
    /// Bytes that the shape holds.
    pub expected: usize,
    /// Bytes that were given.
    pub found: usize,
}

/// A named tensor. Cheap to clone: the bytes are shared.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its name in the plan.
    pub name: TensorName,
    /// Its format and extent.
    pub shape: Shape,
    bytes: Arc<Bytes>,
}

impl Tensor {
    /// Wraps bytes.
    ///
    /// # Errors
    /// When the number of bytes is not the shape's.
    pub fn new(name: TensorName, shape: Shape, bytes: Bytes) -> Result<Self, ShapeMismatch> {
        let (expected, found) = (shape.bytes(), bytes.len());
        if expected != found {
            return Err(ShapeMismatch { name, shape, expected, found });
        }
        Ok(Self { name, shape, bytes: Arc::new(bytes) })
    }

    /// All bytes, aligned for every element format.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The codes of an E4M3 tensor.
    ///
    /// # Panics
    /// When the element is another: a fault of the program, since plans fix every tensor's format.
    pub fn codes(&self) -> &[u8] {
        assert_eq!(self.shape.element, Element::E4m3, "{} holds codes", self.name);
        self.bytes()
    }

    /// The halves of an f16 tensor. Panics as [`Self::codes`].
    pub fn halves(&self) -> &[f16] {
        assert_eq!(self.shape.element, Element::F16, "{} holds halves", self.name);
        bytemuck::cast_slice(self.bytes())
    }

    /// The singles of an f32 tensor. Panics as [`Self::codes`].
    pub fn floats(&self) -> &[f32] {
        assert_eq!(self.shape.element, Element::F32, "{} holds singles", self.name);
        bytemuck::cast_slice(self.bytes())
    }

    /// Lets mapped bytes leave memory until they are read again: see [`Bytes::rest`].
    pub fn rest(&self) {
        self.bytes.rest();
    }

    /// Bytes of one token's channels.
    pub fn row(&self, token: usize) -> &[u8] {
        let stride = self.shape.channels * self.shape.element.bytes();
        &self.bytes()[token * stride..(token + 1) * stride]
    }

    /// The value of one element.
    pub fn value(&self, token: usize, channel: usize) -> f32 {
        let index = token * self.shape.channels + channel;
        match self.shape.element {
            Element::E4m3 => e4m3::decode(self.bytes()[index]),
            Element::F16 => self.halves()[index].to_f32(),
            Element::F32 => self.floats()[index],
        }
    }

    /// The bits of one element, in the low bits.
    pub fn bits(&self, token: usize, channel: usize) -> u32 {
        let index = token * self.shape.channels + channel;
        match self.shape.element {
            Element::E4m3 => u32::from(self.bytes()[index]),
            Element::F16 => u32::from(self.halves()[index].to_bits()),
            Element::F32 => self.floats()[index].to_bits(),
        }
    }

    /// The digest of the bytes.
    pub fn digest(&self) -> Digest {
        Digest::of(self.bytes())
    }
}
