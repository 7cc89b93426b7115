//! Colour maps: a share between 0 and 1 (or -1 and 1) to sRGB.

use super::ColourMap;
use crate::compare::Class;

/// Nine anchors each, evenly spaced.
const VIRIDIS: [[u8; 3]; 9] = [
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
];
const MAGMA: [[u8; 3]; 9] = [
    [0, 0, 4],
    [28, 16, 68],
    [79, 18, 123],
    [129, 37, 129],
    [181, 54, 122],
    [229, 80, 100],
    [251, 135, 97],
    [254, 194, 135],
    [252, 253, 191],
];
/// Dark in the middle, so that what is near zero recedes.
const DIVERGING: [[u8; 3]; 9] = [
    [214, 233, 255],
    [122, 182, 255],
    [52, 125, 222],
    [28, 68, 122],
    [24, 26, 31],
    [122, 66, 20],
    [219, 126, 39],
    [255, 184, 108],
    [255, 236, 212],
];

/// The colour of a share 0..=1; for the diverging map 0.5 is zero.
pub fn colour(map: ColourMap, share: f32) -> [u8; 3] {
    let anchors = match map {
        ColourMap::Viridis | ColourMap::Auto => &VIRIDIS,
        ColourMap::Magma => &MAGMA,
        ColourMap::Diverging => &DIVERGING,
        ColourMap::Grey => {
            let grey = (share.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
            return [grey; 3];
        }
    };
    let place = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) } * 8.0;
    let low = (place as usize).min(7);
    let part = place - low as f32;
    std::array::from_fn(|i| {
        let (a, b) = (f32::from(anchors[low][i]), f32::from(anchors[low + 1][i]));
        (a + (b - a) * part + 0.5) as u8
    })
}

/// The colour of a class of differences; told apart by people with any colour vision (Okabe and Ito).
pub fn class_colour(class: Class) -> [u8; 3] {
    match class {
        Class::Equal => [24, 26, 31],
        Class::SignOfZero => [86, 180, 233],
        Class::NanToZero => [240, 228, 66],
        Class::NanCode => [204, 121, 167],
        Class::Saturation => [213, 94, 0],
        Class::OneCode => [0, 158, 115],
        Class::SeveralCodes => [230, 159, 0],
        Class::Unwritten => [255, 255, 255],
    }
}

/// How values become shares of a colour map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The map, never [`ColourMap::Auto`].
    pub map: ColourMap,
    /// Value of the first colour.
    pub low: f32,
    /// Value of the last colour.
    pub high: f32,
    /// Whether magnitudes are spread by their logarithm.
    pub log: bool,
}

impl Scale {
    /// The share of a value, 0..=1.
    pub fn share(&self, value: f32) -> f32 {
        let span = self.high - self.low;
        if span <= 0.0 || value.is_nan() {
            return if self.map == ColourMap::Diverging { 0.5 } else { 0.0 };
        }
        if !self.log {
            return ((value - self.low) / span).clamp(0.0, 1.0);
        }
        let spread = |x: f32| (1.0 + x.abs() * 1023.0).log2() / 10.0;
        if self.map == ColourMap::Diverging {
            let part = value / self.high.max(-self.low);
            (0.5 + 0.5 * spread(part.clamp(-1.0, 1.0)).copysign(part)).clamp(0.0, 1.0)
        } else {
            spread(((value - self.low) / span).clamp(0.0, 1.0))
        }
    }

    /// The colour of a value.
    pub fn colour(&self, value: f32) -> [u8; 3] {
        colour(self.map, self.share(value))
    }
}
