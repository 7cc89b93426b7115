//! In which way two elements differ, and by how many codes.

use crate::tensor::Element;
use std::fmt;

/// How a subject's element relates to the reference's. Each pair of bits has exactly one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The same bits.
    Equal,
    /// Two zeros of different sign.
    SignOfZero,
    /// A NaN on one side where the other published +0: the NaN -> +0 rule was kept on one side only.
    NanToZero,
    /// Any other pair with a NaN in it.
    NanCode,
    /// One side saturated or overflowed: +-448 against a NaN code or a value several codes away (E4M3); an infinity
    /// against another value (f16, f32).
    Saturation,
    /// Neighbours: one code apart.
    OneCode,
    /// Finite values several codes apart.
    SeveralCodes,
    /// The subject still holds the sentinel that its memory was filled with.
    Unwritten,
}

impl Class {
    /// All classes, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Equal,
        Self::SignOfZero,
        Self::NanToZero,
        Self::NanCode,
        Self::Saturation,
        Self::OneCode,
        Self::SeveralCodes,
        Self::Unwritten,
    ];

    /// One word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::SignOfZero => "sign-of-zero",
            Self::NanToZero => "nan-to-zero",
            Self::NanCode => "nan-code",
            Self::Saturation => "saturation",
            Self::OneCode => "one-code",
            Self::SeveralCodes => "several-codes",
            Self::Unwritten => "unwritten",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "equal",
            Self::SignOfZero => "+-0",
            Self::NanToZero => "NaN -> +0",
            Self::NanCode => "NaN code",
            Self::Saturation => "saturation",
            Self::OneCode => "one code apart",
            Self::SeveralCodes => "several codes apart",
            Self::Unwritten => "unwritten",
        })
    }
}

/// Elements by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; 8]);

impl Counts {
    /// Elements of a class.
    pub fn of(&self, class: Class) -> u64 {
        self.0[class as usize]
    }

    /// Elements compared.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Elements that are not equal.
    pub fn differing(&self) -> u64 {
        self.total() - self.of(Class::Equal)
    }

    /// Classes with their counts, in the order of [`Class::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Class, u64)> + '_ {
        Class::ALL.into_iter().map(|class| (class, self.of(class)))
    }

    /// Adds elements of a class.
    pub fn add(&mut self, class: Class, elements: u64) {
        self.0[class as usize] += elements;
    }

    /// Adds all counts of another.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum += count);
    }
}

/// The class of a pair of elements, given as bits in the low bits. ([`Class::Unwritten`] needs a sentinel, and is
/// found by the comparison itself.)
pub fn class_of(element: Element, subject: u32, reference: u32) -> Class {
    match element {
        Element::E4m3 => class_e4m3(subject as u8, reference as u8),
        Element::F16 => class_float::<0x7fff, 0x7c00>(subject, reference),
        Element::F32 => class_float::<0x7fff_ffff, 0x7f80_0000>(subject, reference),
    }
}

fn class_e4m3(s: u8, r: u8) -> Class {
    let (ms, mr) = (s & 0x7f, r & 0x7f);
    let apart = distance(Element::E4m3, u32::from(s), u32::from(r)).unsigned_abs();
    let (nan, saturated) = (ms == 0x7f || mr == 0x7f, ms == 0x7e || mr == 0x7e);
    match () {
        () if s == r => Class::Equal,
        () if ms | mr == 0 => Class::SignOfZero,
        () if saturated && (nan || apart != 1) => Class::Saturation,
        () if nan && (s == 0 || r == 0) => Class::NanToZero,
        () if nan => Class::NanCode,
        () if apart == 1 => Class::OneCode,
        () => Class::SeveralCodes,
    }
}

fn class_float<const MAGNITUDE: u32, const INFINITY: u32>(s: u32, r: u32) -> Class {
    let (ms, mr) = (s & MAGNITUDE, r & MAGNITUDE);
    let order = |x: u32, magnitude: u32| if x == magnitude { i64::from(magnitude) } else { -i64::from(magnitude) };
    match () {
        () if s == r => Class::Equal,
        () if ms | mr == 0 => Class::SignOfZero,
        () if ms > INFINITY || mr > INFINITY => {
            if s == 0 || r == 0 {
                Class::NanToZero
            } else {
                Class::NanCode
            }
        }
        () if ms == INFINITY || mr == INFINITY => Class::Saturation,
        () if order(s, ms).abs_diff(order(r, mr)) == 1 => Class::OneCode,
        () => Class::SeveralCodes,
    }
}

/// Codes from the reference to the subject: the number of representable values passed on the way, signed, the two
/// zeros counted as one value. NaN codes count as the value one beyond the largest.
pub fn distance(element: Element, subject: u32, reference: u32) -> i64 {
    let mask: u32 = match element {
        Element::E4m3 => 0x7f,
        Element::F16 => 0x7fff,
        Element::F32 => 0x7fff_ffff,
    };
    let order = |x: u32| if x & !mask == 0 { i64::from(x & mask) } else { -i64::from(x & mask) };
    order(subject) - order(reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_codes_fall_into_the_class_they_are_named_for() {
        let e4m3 = |s, r| class_of(Element::E4m3, s, r);
        for (s, r, class) in [
            (0x38, 0x38, Class::Equal),
            (0x80, 0x00, Class::SignOfZero),
            (0x7f, 0x00, Class::NanToZero),
            (0x00, 0xff, Class::NanToZero),
            (0x7f, 0x38, Class::NanCode),
            (0x7f, 0xff, Class::NanCode),
            (0x7f, 0x7e, Class::Saturation),
            (0x7e, 0x10, Class::Saturation),
            (0x7e, 0x7d, Class::OneCode),
            (0x01, 0x80, Class::OneCode),
            (0x81, 0x01, Class::SeveralCodes),
            (0x38, 0x3a, Class::SeveralCodes),
        ] {
            assert_eq!(e4m3(s, r), class, "{s:#04x} against {r:#04x}");
        }
    }

    #[test]
    fn halves_and_singles_have_the_same_classes() {
        let half = |s, r| class_of(Element::F16, s, r);
        assert_eq!(half(0x7bff, 0x7c00), Class::Saturation, "65504 against infinity");
        assert_eq!(half(0x7e00, 0x0000), Class::NanToZero, "NaN against +0");
        assert_eq!(half(0x7e00, 0x7e01), Class::NanCode, "two NaNs");
        assert_eq!(half(0x8001, 0x0000), Class::OneCode, "across zero");
        let single = |s: f32, r: f32| class_of(Element::F32, s.to_bits(), r.to_bits());
        assert_eq!(single(-0.0, 0.0), Class::SignOfZero, "zeros");
        assert_eq!(single(1.0, 1.0 + f32::EPSILON), Class::OneCode, "neighbours");
        assert_eq!(single(1.0, 2.0), Class::SeveralCodes, "far");
    }

    #[test]
    fn distances_are_signed_and_pass_zero_once() {
        assert_eq!(distance(Element::E4m3, 0x01, 0x81), 2, "from -1 step to +1 step");
        assert_eq!(distance(Element::E4m3, 0x80, 0x00), 0, "zeros");
        assert_eq!(distance(Element::F16, 0x3c00, 0x3c05), -5, "below");
    }
}
