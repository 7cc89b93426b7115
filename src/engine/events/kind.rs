//! The kinds of events, and sets of them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A kind of event inside a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// NaN published as +0.
    #[default]
    #[serde(rename = "nan")]
    NanToZero,
    /// -0 published.
    MinusZero,
    /// A magnitude that rounds above 448, published as 448.
    Saturation,
    /// A half that became infinite.
    Overflow,
    /// A subnormal result.
    Subnormal,
    /// Rounded from the middle between two codes.
    Tie,
}

impl Kind {
    /// Every kind, in the order of lists.
    pub const ALL: &'static [Self] =
        &[Self::NanToZero, Self::MinusZero, Self::Saturation, Self::Overflow, Self::Subnormal, Self::Tie];

    /// The word of commands and files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NanToZero => "nan",
            Self::MinusZero => "minus-zero",
            Self::Saturation => "saturation",
            Self::Overflow => "overflow",
            Self::Subnormal => "subnormal",
            Self::Tie => "tie",
        }
    }

    /// What it is, for menus and tooltips.
    pub const fn title(self) -> &'static str {
        match self {
            Self::NanToZero => "NaN published as +0",
            Self::MinusZero => "-0 published",
            Self::Saturation => "Saturation at \u{b1}448",
            Self::Overflow => "Overflow of a half",
            Self::Subnormal => "Subnormal result",
            Self::Tie => "Rounded from a tie",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|kind| kind.word() == text).copied();
        let all: Vec<&str> = Self::ALL.iter().map(|kind| kind.word()).collect();
        found.ok_or_else(|| format!("expected one of {}; found \"{text}\"", all.join(", ")))
    }
}

/// A set of kinds.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Kinds(pub(super) u8);

impl Kinds {
    /// How many sets there are.
    pub(super) const SETS: usize = 64;

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a kind is in it.
    pub const fn contains(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// With a kind, if it happened.
    #[must_use]
    pub const fn with(self, kind: Kind, happened: bool) -> Self {
        if happened { Self(self.0 | (1 << kind as u8)) } else { self }
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are also in another.
    #[must_use]
    pub const fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Without those of another.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Its kinds, in order.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.iter().copied().filter(move |kind| self.contains(*kind))
    }
}

impl FromIterator<Kind> for Kinds {
    fn from_iter<I: IntoIterator<Item = Kind>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::default(), |set, kind| set.with(kind, true))
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
