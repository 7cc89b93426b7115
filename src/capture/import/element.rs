//! The element formats that dumps come in, and their exact translation into those of the plan.
//!
//! Nothing is rounded here: an element either has a translation with the same value and sign, or none. A half that
//! was never published therefore does not slip in as a published code.

use crate::numerics::{e4m3, f16};
use crate::tensor::Element;

/// Format of one element of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// The network's own: bias 7, largest 448, NaN `0x7f` and `0xff`.
    E4m3,
    /// Bias 8, largest 240, no -0, NaN `0x80`.
    E4m3Fnuz,
    /// 5 exponent and 2 mantissa bits: the upper byte of a half.
    E5m2,
    /// A half.
    F16,
    /// The upper half of a single.
    Bf16,
    /// A single.
    F32,
}

/// A translation that does not exist.
const NONE: u32 = u32::MAX;

impl Format {
    /// Every format, those of the network first.
    pub const ALL: [Self; 6] = [Self::E4m3, Self::F16, Self::F32, Self::E4m3Fnuz, Self::E5m2, Self::Bf16];

    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::E4m3 | Self::E4m3Fnuz | Self::E5m2 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
        }
    }

    /// Its word, as in the sidecar.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E4m3 => "e4m3",
            Self::E4m3Fnuz => "e4m3-fnuz",
            Self::E5m2 => "e5m2",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
        }
    }

    /// The format that holds a tensor of the plan as it is.
    pub const fn of(element: Element) -> Self {
        match element {
            Element::E4m3 => Self::E4m3,
            Element::F16 => Self::F16,
            Element::F32 => Self::F32,
        }
    }

    /// Whether a dump of this format may hold a tensor of that element: the narrow formats hold published ones only.
    pub const fn may_hold(self, element: Element) -> bool {
        self.bytes() >= 2 || matches!(element, Element::E4m3)
    }

    /// The value of the bits; NaN for the codes that are none.
    pub fn value(self, bits: u32) -> f32 {
        match self {
            Self::E4m3 if bits & 0x7f == 0x7f => f32::NAN,
            Self::E4m3 => e4m3::decode(bits as u8),
            Self::E4m3Fnuz => fnuz(bits as u8),
            Self::E5m2 => f16::from_bits((bits as u16) << 8).to_f32(),
            Self::F16 => f16::from_bits(bits as u16).to_f32(),
            Self::Bf16 => f32::from_bits(bits << 16),
            Self::F32 => f32::from_bits(bits),
        }
    }

    /// The bits of an element of the plan with the same value and sign.
    pub fn translate(self, bits: u32, element: Element) -> Option<u32> {
        if self == Self::of(element) {
            return Some(bits);
        }
        let value = self.value(bits);
        let half = f16::from_f32(value);
        let same = value.is_nan() || half.to_f32().to_bits() == value.to_bits();
        match element {
            Element::F32 => Some(value.to_bits()),
            Element::F16 => same.then(|| u32::from(half.to_bits())),
            Element::E4m3 => {
                let code = e4m3::publish(half);
                let back = e4m3::decode_half(code).to_bits() == half.to_bits();
                (same && back && !value.is_nan()).then_some(u32::from(code))
            }
        }
    }
}

/// The value of a code of the variant with bias 8.
fn fnuz(code: u8) -> f32 {
    let magnitude = code & 0x7f;
    let value = match (code, magnitude) {
        (0x80, _) => return f32::NAN,
        // The variant has no NaN up here; the plain code's value is one of the finite ones.
        (_, 0x7f) => 240.0,
        _ => e4m3::decode(magnitude) / 2.0,
    };
    if code & 0x80 == 0 { value } else { -value }
}

/// Translates the elements of a dump, by table where there are few.
pub(super) struct Decoder {
    pub(super) format: Format,
    element: Element,
    table: Vec<(u32, f32)>,
}

impl Decoder {
    pub(super) fn new(format: Format, element: Element) -> Self {
        let count = if format.bytes() == 4 { 0 } else { 1_u32 << (8 * format.bytes()) };
        let table = (0..count).map(|bits| (format.translate(bits, element).unwrap_or(NONE), format.value(bits)));
        Self { format, element, table: table.collect() }
    }

    /// The bits of an element of a dump, by its index.
    pub(super) fn raw(&self, bytes: &[u8], index: usize) -> u32 {
        let at = index * self.format.bytes();
        match self.format.bytes() {
            1 => u32::from(bytes[at]),
            2 => u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])),
            _ => u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]),
        }
    }

    /// Its translation, if there is one.
    pub(super) fn translated(&self, bytes: &[u8], index: usize) -> Option<u32> {
        let raw = self.raw(bytes, index);
        match self.table.get(raw as usize) {
            Some(&(NONE, _)) => None,
            Some(&(bits, _)) => Some(bits),
            None => self.format.translate(raw, self.element),
        }
    }

    /// Its value.
    pub(super) fn value(&self, bytes: &[u8], index: usize) -> f32 {
        let raw = self.raw(bytes, index);
        self.table.get(raw as usize).map_or_else(|| self.format.value(raw), |entry| entry.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translations_keep_value_and_sign_or_do_not_exist() {
        for format in Format::ALL.into_iter().filter(|f| f.bytes() < 4) {
            for bits in 0..1_u32 << (8 * format.bytes()) {
                for element in [Element::E4m3, Element::F16, Element::F32] {
                    let Some(translated) = format.translate(bits, element) else { continue };
                    let (before, after) = (format.value(bits), Format::of(element).value(translated));
                    let same = before.to_bits() == after.to_bits() || before.is_nan() && after.is_nan();
                    assert!(same, "{} {bits:#x} as {}: {before} became {after}", format.name(), element.name());
                }
            }
        }
    }

    #[test]
    fn the_variants_have_their_published_values() {
        assert_eq!(Format::E4m3Fnuz.value(0x40), 1.0, "bias 8");
        assert_eq!(Format::E4m3Fnuz.value(0x7f), 240.0, "largest");
        assert_eq!(Format::E4m3Fnuz.value(0x01), 1.0 / 1024.0, "smallest");
        assert!(Format::E4m3Fnuz.value(0x80).is_nan(), "its only NaN");
        assert_eq!(Format::E5m2.value(0x3c), 1.0, "E5M2");
        assert_eq!(Format::E5m2.translate(0x3d, Element::E4m3), Some(0x3a), "1.25 is a code");
        assert_eq!(Format::F32.translate(1.0625_f32.to_bits(), Element::E4m3), None, "between two codes");
        assert_eq!(Format::F32.translate((-0.0_f32).to_bits(), Element::E4m3), Some(0x80), "a signed zero");
        assert_eq!(Format::F16.translate(0x7e00, Element::E4m3), None, "NaN is never published");
        assert_eq!(Format::Bf16.translate(0x7f80, Element::E4m3), None, "infinity saturates, and so is not exact");
    }
}
