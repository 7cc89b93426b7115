//! From a valid size to the padded field and its six levels.

use std::fmt;
use std::str::FromStr;

/// Number of levels below the field.
pub const LEVELS: usize = 6;
/// Smallest field side.
const MIN_FIELD: usize = 320;
/// Largest accepted valid side: beyond it the token counts of intermediate tensors stop fitting memory.
const MAX_SIDE: usize = 16_384;

/// A width and a height, in pixels or tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Size {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Size {
    /// A size.
    pub const fn new(width: usize, height: usize) -> Self {
        Self { width, height }
    }

    /// Number of tokens.
    pub const fn tokens(self) -> usize {
        self.width * self.height
    }

    /// Each axis mapped on its own.
    #[must_use]
    pub fn map(self, f: impl Fn(usize) -> usize) -> Self {
        Self { width: f(self.width), height: f(self.height) }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl FromStr for Size {
    type Err = GeometryError;

    fn from_str(text: &str) -> Result<Self, GeometryError> {
        let parse = |part: &str| part.trim().parse::<usize>().ok();
        text.split_once(['x', 'X'])
            .and_then(|(w, h)| Some(Self::new(parse(w)?, parse(h)?)))
            .ok_or_else(|| GeometryError::NotASize { text: text.to_owned() })
    }
}

/// Why a size cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// The text is not of the form `WxH`.
    #[error("expected a size of the form WIDTHxHEIGHT, such as 512x512; found \"{text}\"")]
    NotASize {
        /// What was given.
        text: String,
    },
    /// A side is zero or too large.
    #[error("size {size} is out of range: each side must be between 1 and {MAX_SIDE}")]
    OutOfRange {
        /// What was given.
        size: Size,
    },
    /// The rule has no answer for this size.
    #[error(
        "size {valid} is refused: its level 0 would be {level0}, and both sides must be multiples of 8 \
         (this happens for valid sides of 1-16 and 25-32); use a size of at least 33x33"
    )]
    LevelZero {
        /// What was given.
        valid: Size,
        /// The level 0 that the rule gives.
        level0: Size,
    },
}

/// A plane of tokens: the padded field or one of the levels below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Plane {
    /// Full resolution.
    Field,
    /// Level 0..=5, halved 1..=6 times.
    Level(usize),
}

impl fmt::Display for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field => f.write_str("field"),
            Self::Level(k) => write!(f, "level {k}"),
        }
    }
}

/// The planes of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The requested size.
    pub valid: Size,
    /// The padded size that the network runs at.
    pub field: Size,
    /// Levels 0 to 5.
    pub levels: [Size; LEVELS],
}

impl Geometry {
    /// Derives field and levels from a valid size.
    ///
    /// # Errors
    /// Refuses sides of 0 or above 16,384, and sizes whose level 0 is not a multiple of 8 on both axes.
    pub fn new(valid: Size) -> Result<Self, GeometryError> {
        let in_range = |side: usize| (1..=MAX_SIDE).contains(&side);
        if !in_range(valid.width) || !in_range(valid.height) {
            return Err(GeometryError::OutOfRange { size: valid });
        }
        let unit = valid.map(|side| 1 << reductions(side));
        let pad = |side: usize, unit: usize| side.next_multiple_of(unit).max(MIN_FIELD);
        let mut field = Size::new(pad(valid.width, unit.width), pad(valid.height, unit.height));
        // A rule without a known reason; required.
        if field.width.is_multiple_of(4 * unit.width) && field.height.is_multiple_of(4 * unit.height) {
            field.width += unit.width;
        }
        let mut above = field;
        let levels = std::array::from_fn(|_| {
            above = above.map(|side| side.div_ceil(2).next_multiple_of(4));
            above
        });
        let level0 = levels[0];
        if !level0.width.is_multiple_of(8) || !level0.height.is_multiple_of(8) {
            return Err(GeometryError::LevelZero { valid, level0 });
        }
        Ok(Self { valid, field, levels })
    }

    /// The size of a plane.
    pub fn size(&self, plane: Plane) -> Size {
        match plane {
            Plane::Field => self.field,
            Plane::Level(k) => self.levels[k],
        }
    }

    /// The part of a plane that the valid rectangle covers, rounded up.
    pub fn valid_on(&self, plane: Plane) -> Size {
        let halvings = match plane {
            Plane::Field => 0,
            Plane::Level(k) => k + 1,
        };
        let size = self.size(plane);
        let covered = self.valid.map(|side| side.div_ceil(1 << halvings));
        Size::new(covered.width.min(size.width), covered.height.min(size.height))
    }
}

/// How many halvings an axis takes before it stops shrinking.
fn reductions(valid: usize) -> u32 {
    let (mut size, mut n) = (valid, 0);
    for level in 0..LEVELS {
        let half = size.div_ceil(2).next_multiple_of(4);
        n += u32::from(half < size);
        n += u32::from(level == 0 && !half.is_multiple_of(8));
        size = half;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(width: usize, height: usize) -> Geometry {
        Geometry::new(Size::new(width, height)).expect("a size that runs")
    }

    #[test]
    fn published_fields_and_levels() {
        let g = geometry(512, 512);
        assert_eq!(g.field, Size::new(576, 512), "512x512");
        let levels = [(288, 256), (144, 128), (72, 64), (36, 32), (20, 16), (12, 8)];
        assert_eq!(g.levels, levels.map(|(w, h)| Size::new(w, h)), "512x512 levels");
        assert_eq!(geometry(768, 768).field, Size::new(832, 768), "768x768");
        assert_eq!(geometry(644, 768).field, Size::new(768, 768), "644x768");
        let hd = geometry(1920, 1080);
        assert_eq!((hd.field, hd.levels[5]), (Size::new(1920, 1152), Size::new(32, 20)), "1920x1080");
        let uhd = geometry(3840, 2160);
        assert_eq!((uhd.field, uhd.levels[5]), (Size::new(3840, 2176), Size::new(60, 36)), "3840x2160");
        let small = geometry(64, 64);
        let levels = [(168, 160), (84, 80), (44, 40), (24, 20), (12, 12), (8, 8)];
        assert_eq!((small.field, small.levels), (Size::new(336, 320), levels.map(|(w, h)| Size::new(w, h))), "64x64");
    }

    #[test]
    fn small_sides_are_refused_exactly_where_the_rule_says() {
        for side in 1..=64 {
            let refused = matches!(side, 1..=16 | 25..=32);
            let result = Geometry::new(Size::new(side, side));
            assert_eq!(result.is_err(), refused, "{side}: {result:?}");
        }
        for size in [Size::new(0, 64), Size::new(64, 0), Size::new(100_000, 100_000)] {
            assert_eq!(Geometry::new(size), Err(GeometryError::OutOfRange { size }), "{size}");
        }
    }

    #[test]
    fn sizes_are_parsed_or_refused_with_what_was_given() {
        assert_eq!("512x384".parse(), Ok(Size::new(512, 384)), "plain");
        for text in ["512", "-1x5", "ax4", "", "4x"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
