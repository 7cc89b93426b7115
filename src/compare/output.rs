//! The output image of a recorded run, beside the one that a head composes to: the last answer of a comparison.
//!
//! Images are compared as recorded: RGBA bytes, or RGBA of halves kept as singles. Two recordings of different kinds
//! are compared as bytes. What is composed here is composed without history, as a single frame.

use super::parity::Question;
use super::{Class, Comparison, Counts, Difference, Verdict, class_of, distance};
use crate::frame::{self, Composed};
use crate::geometry::{Geometry, Size};
use crate::numerics::f16;
use crate::tensor::{Element, Tensor, TensorName};

/// The name of the output image in a comparison: no tensor of the plan.
pub const OUTPUT: &str = "output";

/// An RGBA image of a recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Its size.
    pub size: Size,
    /// Row-major pixels of four channels.
    pub pixels: Pixels,
}

/// The channels of all pixels.
#[derive(Clone, Debug, PartialEq)]
pub enum Pixels {
    /// Bytes.
    Codes(Vec<u8>),
    /// Colours of 0 to 1, each meant to be a half's value.
    Colours(Vec<f32>),
}

impl Pixels {
    fn codes(&self) -> Vec<u8> {
        match self {
            Self::Codes(codes) => codes.clone(),
            Self::Colours(colours) => {
                let code = |value: &f32| (value * 255.0 + 0.5).floor().clamp(0.0, 255.0) as u8;
                colours.iter().map(code).collect()
            }
        }
    }
}

impl Image {
    /// What a head composes to, in the form of another image.
    pub fn composed(like: &Self, geometry: &Geometry, features: &Tensor, head: &Tensor) -> Self {
        let composed: Composed = frame::compose(geometry, features, head, None);
        let pixels = match like.pixels {
            Pixels::Codes(_) => Pixels::Codes(composed.to_u8()),
            Pixels::Colours(_) => Pixels::Colours(composed.pixels.iter().flatten().map(|half| half.to_f32()).collect()),
        };
        Self { size: composed.size, pixels }
    }

    /// A subject's image against a reference's.
    pub fn compare(&self, reference: &Self) -> Comparison {
        let name = TensorName::from(OUTPUT);
        if self.size != reference.size {
            let reason = format!("the subject's image is {}, the reference's {}", self.size, reference.size);
            return Comparison::not_compared(name, reason);
        }
        let mut answer = Comparison { verdict: Verdict::BitExact, ..Comparison::not_compared(name, "") };
        match (&self.pixels, &reference.pixels) {
            (Pixels::Colours(s), Pixels::Colours(r)) => {
                let half = |value: &f32| f16::from_f32(*value).to_f32().to_bits() == value.to_bits();
                let halves = s.iter().chain(r).all(half);
                let bits =
                    |value: f32| if halves { u32::from(f16::from_f32(value).to_bits()) } else { value.to_bits() };
                let element = if halves { Element::F16 } else { Element::F32 };
                let judge = |s, r| (class_of(element, s, r), distance(element, s, r));
                let pairs = s.iter().zip(r).map(|(&s, &r)| (bits(s), bits(r), s, r));
                collect(&mut answer, pairs, self.size, 4, &judge);
            }
            (s, r) => {
                let judge = |s: u32, r: u32| {
                    let apart = i64::from(s) - i64::from(r);
                    (if apart.abs() == 1 { Class::OneCode } else { Class::SeveralCodes }, apart)
                };
                let (s, r) = (s.codes(), r.codes());
                let pairs = s.iter().zip(&r).map(|(&s, &r)| (s.into(), r.into(), s.into(), r.into()));
                collect(&mut answer, pairs, self.size, 1, &judge);
            }
        }
        answer.verdict = match (answer.counts.differing(), answer.counts.of(Class::SignOfZero)) {
            (0, _) => Verdict::BitExact,
            (all, zeros) if all == zeros => Verdict::SignOfZero,
            _ => Verdict::Differs,
        };
        answer
    }
}

/// What a head composes to, if there is one, beside a recorded image.
pub(super) fn judge(
    head: Result<Tensor, String>,
    known: &Result<Image, String>,
    question: &Question<'_>,
    head_is_subject: bool,
) -> Comparison {
    let compose = || {
        let (known, head) = (known.as_ref().map_err(Clone::clone)?, head?);
        let features = question.features.as_ref().ok_or("there is no input to compose it with")?;
        let own = Image::composed(known, &question.plan.geometry, features, &head);
        Ok(if head_is_subject { own.compare(known) } else { known.compare(&own) })
    };
    compose().unwrap_or_else(|reason: String| Comparison::not_compared(OUTPUT.into(), reason))
}

/// Counts pairs of channels: bits and values of both sides.
fn collect(
    answer: &mut Comparison,
    pairs: impl Iterator<Item = (u32, u32, f32, f32)>,
    size: Size,
    bytes: u64,
    judge: &dyn Fn(u32, u32) -> (Class, i64),
) {
    let mut counts = Counts::default();
    for (index, (subject_bits, reference_bits, subject, reference)) in pairs.enumerate() {
        answer.bytes += bytes;
        if subject_bits == reference_bits {
            counts.add(Class::Equal, 1);
            continue;
        }
        let (class, distance) = judge(subject_bits, reference_bits);
        counts.add(class, 1);
        // Singles that hold halves: the bytes that differ are those of the file.
        let apart = if bytes == 1 { 1 } else { bytes_apart(subject, reference) };
        answer.differing_bytes += apart;
        let (token, channel) = (index / 4, index % 4);
        let (x, y) = (token % size.width, token / size.width);
        answer.first.get_or_insert(Difference {
            index,
            token,
            x,
            y,
            channel,
            subject_bits,
            reference_bits,
            subject,
            reference,
            class,
            distance,
        });
    }
    answer.counts = counts;
}

fn bytes_apart(a: f32, b: f32) -> u64 {
    a.to_le_bytes().iter().zip(b.to_le_bytes()).filter(|(a, b)| **a != *b).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(pixels: Pixels) -> Image {
        Image { size: Size::new(2, 1), pixels }
    }

    #[test]
    fn codes_and_colours_are_compared_as_recorded() {
        let codes = |last: u8| image(Pixels::Codes(vec![0, 1, 2, 255, 4, 5, 6, last]));
        assert_eq!(codes(255).compare(&codes(255)).verdict, Verdict::BitExact, "equal");
        let near = codes(254).compare(&codes(255));
        assert_eq!((near.verdict, near.differing_bytes, near.bytes), (Verdict::Differs, 1, 8), "one byte");
        let first = near.first.unwrap();
        assert_eq!((first.x, first.channel, first.class, first.distance), (1, 3, Class::OneCode, -1), "the place");

        let colours = |last: f32| image(Pixels::Colours(vec![0.0, 0.5, 0.25, 1.0, 0.0, 0.5, 0.25, last]));
        let half = colours(f16::from_bits(0x3bff).to_f32()).compare(&colours(1.0));
        let first = half.first.unwrap();
        assert_eq!((first.subject_bits, first.reference_bits, first.distance), (0x3bff, 0x3c00, -1), "as halves");
        let zero = image(Pixels::Colours(vec![-0.0; 8])).compare(&image(Pixels::Colours(vec![0.0; 8])));
        assert_eq!(zero.verdict, Verdict::SignOfZero, "signs");
    }

    #[test]
    fn images_of_two_kinds_are_compared_as_bytes_and_other_sizes_not_at_all() {
        let colours = image(Pixels::Colours(vec![1.0; 8]));
        assert_eq!(colours.compare(&image(Pixels::Codes(vec![255; 8]))).verdict, Verdict::BitExact, "the same bytes");
        let other = Image { size: Size::new(1, 2), ..colours.clone() };
        assert!(matches!(colours.compare(&other).verdict, Verdict::NotCompared(_)), "another size");
    }
}
