//! The rules of a step's arithmetic that a known cause may change.
//!
//! Every step of a plan carries its rules. [`Rules::EXACT`] is the network's text, and the only value that the
//! fast kernels accept; any other value sends the step to the reference's scalar rows, which interpret it.

/// One step's arithmetic rules. The default is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rules {}

impl Rules {
    /// The network's own arithmetic.
    pub const EXACT: Self = Self {};

    /// Whether every rule is the network's own.
    pub fn is_exact(&self) -> bool {
        *self == Self::EXACT
    }
}
