//! Which instructions the engine's kernels may use: a value, so that tests can force every level in turn.

use std::fmt;

/// A level of SIMD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Nothing beyond what the target guarantees.
    Scalar,
    /// 256-bit vectors, fused multiply-add and half conversions (AVX2, FMA, F16C).
    Avx2,
    /// 512-bit vectors and masks (AVX-512 F, BW, DQ, VL) on top of AVX2.
    Avx512,
}

impl Level {
    /// All levels, lowest first.
    pub const ALL: [Self; 3] = [Self::Scalar, Self::Avx2, Self::Avx512];

    /// The environment variable that forces a level: `scalar`, `avx2` or `avx512`.
    pub const VARIABLE: &str = "BLOCKSCOPE_SIMD";

    /// The best level of this processor, or what [`Self::VARIABLE`] asks for if the processor has it.
    pub fn best() -> Self {
        let asked = std::env::var(Self::VARIABLE).ok().and_then(|text| Self::parse(&text));
        asked.filter(|level| level.is_available()).unwrap_or_else(|| Self::available().max().unwrap_or(Self::Scalar))
    }

    /// The levels that this processor has, lowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|level| level.is_available())
    }

    /// Their names, for messages.
    pub(super) fn available_names() -> String {
        Self::available().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// Whether this processor has the level's instructions.
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
            }
            // There are no kernels of this level yet.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => false,
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    /// The level of a name as the command line spells it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == text)
    }

    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
