//! Two tensors to a verdict: what differs, in which way, where first.
//!
//! Never one error number. [`compare`] counts elements by [`Class`] and finds the first difference, fast enough to
//! run after every step; [`Details`] says how far apart and where, for tensors that differ. Floating-point
//! measures exist ([`Measures`]), and come second.
//!
//! **Invariants**
//! * A tensor that could not be compared is [`Verdict::NotCompared`] with the reason, and never counts as a pass.
//! * Signs of zero, NaN codes and saturation are classes of their own, not small errors.

mod attribution;
mod class;
mod count;
mod histogram;
mod measures;
mod output;
pub mod parity;
mod recorded;
mod text;

pub use attribution::Attribution;
pub use class::{Class, Counts, class_of, distance};
pub use histogram::Histogram;
pub use measures::Measures;
pub use output::{Image, OUTPUT, Pixels};
pub use text::{bits, percent};

use crate::geometry::WindowGrid;
use crate::tensor::{Digest, Shape, Tensor, TensorName};
use std::fmt;

/// What is said of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every byte is equal: the pass.
    BitExact,
    /// Every difference is a zero of the other sign: a failure, counted apart.
    SignOfZero,
    /// Something differs.
    Differs,
    /// Nothing was compared, for the reason given.
    NotCompared(String),
}

impl Verdict {
    /// One word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::BitExact => "bit-exact",
            Self::SignOfZero => "sign-of-zero",
            Self::Differs => "differs",
            Self::NotCompared(_) => "not-compared",
        }
    }

    /// Whether something was compared and is not equal.
    pub fn is_difference(&self) -> bool {
        matches!(self, Self::SignOfZero | Self::Differs)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BitExact => f.write_str("bit-exact"),
            Self::SignOfZero => f.write_str("equal up to the sign of zero"),
            Self::Differs => f.write_str("differs"),
            Self::NotCompared(reason) => write!(f, "not compared ({reason})"),
        }
    }
}

/// One place where two tensors differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Index of the element, row-major.
    pub index: usize,
    /// Token `y * width + x`.
    pub token: usize,
    /// Column of the token.
    pub x: usize,
    /// Row of the token.
    pub y: usize,
    /// Channel.
    pub channel: usize,
    /// The subject's bits.
    pub subject_bits: u32,
    /// The reference's bits.
    pub reference_bits: u32,
    /// The subject's value.
    pub subject: f32,
    /// The reference's value.
    pub reference: f32,
    /// How they differ.
    pub class: Class,
    /// Codes from the reference to the subject, signed; 0 between the two zeros.
    pub distance: i64,
}

impl Difference {
    /// The pair of elements at an index, whether equal or not.
    ///
    /// # Panics
    /// When the index lies outside the tensors or their shapes differ: callers compare first.
    pub fn at(subject: &Tensor, reference: &Tensor, index: usize) -> Self {
        let Shape { element, size, channels } = reference.shape;
        let (token, channel) = (index / channels, index % channels);
        let (subject_bits, reference_bits) = (subject.bits(token, channel), reference.bits(token, channel));
        Self {
            index,
            token,
            x: token % size.width,
            y: token / size.width,
            channel,
            subject_bits,
            reference_bits,
            subject: subject.value(token, channel),
            reference: reference.value(token, channel),
            class: class_of(element, subject_bits, reference_bits),
            distance: distance(element, subject_bits, reference_bits),
        }
    }
}

/// The result of comparing a subject with a reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The tensor.
    pub name: TensorName,
    /// The verdict.
    pub verdict: Verdict,
    /// Elements by class.
    pub counts: Counts,
    /// Bytes that differ.
    pub differing_bytes: u64,
    /// Bytes compared.
    pub bytes: u64,
    /// The first element, row-major, that differs.
    pub first: Option<Difference>,
    /// Digests of subject and reference, where nothing else of one of them is known.
    pub digests: Option<(Digest, Digest)>,
}

impl Comparison {
    /// A comparison that did not take place.
    pub fn not_compared(name: TensorName, reason: impl Into<String>) -> Self {
        let verdict = Verdict::NotCompared(reason.into());
        Self { name, verdict, counts: Counts::default(), differing_bytes: 0, bytes: 0, first: None, digests: None }
    }

    /// Whether anything was compared.
    pub fn is_compared(&self) -> bool {
        !matches!(self.verdict, Verdict::NotCompared(_))
    }

    /// Differing elements as a share of all, 0 to 1.
    pub fn share(&self) -> f64 {
        let all = self.counts.total();
        if all == 0 { 0.0 } else { self.counts.differing() as f64 / all as f64 }
    }
}

/// Compares two tensors of one name.
pub fn compare(subject: &Tensor, reference: &Tensor) -> Comparison {
    compare_with(subject, reference, None)
}

/// As [`compare`]; with a sentinel, an element of the subject whose bytes all still hold it counts as
/// [`Class::Unwritten`] where it differs.
pub fn compare_with(subject: &Tensor, reference: &Tensor, sentinel: Option<u8>) -> Comparison {
    let name = reference.name.clone();
    if subject.shape != reference.shape {
        let reason = format!("the subject is {}, the reference {}", subject.shape, reference.shape);
        return Comparison::not_compared(name, reason);
    }
    let found = count::count(reference.shape.element, subject.bytes(), reference.bytes(), sentinel);
    let differing = found.counts.differing();
    let verdict = match found.counts.of(Class::SignOfZero) {
        _ if differing == 0 => Verdict::BitExact,
        zeros if zeros == differing => Verdict::SignOfZero,
        _ => Verdict::Differs,
    };
    let first = found.first.map(|index| {
        let mut first = Difference::at(subject, reference, index);
        let width = reference.shape.element.bytes();
        let bytes = &subject.bytes()[index * width..][..width];
        if sentinel.is_some_and(|sentinel| bytes.iter().all(|&b| b == sentinel)) {
            first.class = Class::Unwritten;
        }
        first
    });
    let bytes = reference.bytes().len() as u64;
    let differing_bytes = found.differing_bytes;
    Comparison { name, verdict, counts: found.counts, differing_bytes, bytes, first, digests: None }
}

/// How far apart, and where: for tensors that differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// Signed code distances of the elements that differ.
    pub distances: Histogram,
    /// The element with the largest code distance.
    pub worst: Option<Difference>,
    /// Where the differences lie.
    pub attribution: Attribution,
    /// Floating-point measures.
    pub measures: Measures,
}

impl Details {
    /// The details of two tensors of one shape. `grid` is the window grid of the block that the tensor belongs to.
    ///
    /// # Panics
    /// When the shapes differ: [`compare`] comes first.
    pub fn of(subject: &Tensor, reference: &Tensor, grid: Option<&WindowGrid>) -> Self {
        assert_eq!(subject.shape, reference.shape, "{}: compared first", reference.name);
        let (distances, worst) = histogram::of(reference.shape.element, subject.bytes(), reference.bytes());
        let worst = worst.map(|index| Difference::at(subject, reference, index));
        let attribution = Attribution::of(subject, reference, grid);
        Self { distances, worst, attribution, measures: Measures::of(subject, reference) }
    }
}

#[cfg(test)]
mod tests;
