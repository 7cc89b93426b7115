//! The rules of a step's arithmetic that a known cause may change.
//!
//! Every step of a plan carries its rules. [`Rules::EXACT`] is the network's text, and the only value that the
//! fast kernels accept; any other value sends the step to the reference's scalar rows, which interpret it.
//! One field for each question that a port can answer wrongly, one enum for each field, the right answer first.
//! What a port reads or writes in the wrong place (a source, a seed, a phase) is no rule: a cause edits the op.

/// Declares a rule: an enum whose first variant is the network's own.
macro_rules! rule {
    ($(#[$doc:meta])* $name:ident { $(#[$own_doc:meta])* $own:ident, $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name {
            $(#[$own_doc])*
            #[default]
            $own,
            $($(#[$variant_doc])* $variant,)*
        }
    };
}

mod attention;
mod halves;
mod memory;
mod products;

pub use attention::{
    Divide, ExponentialRule, Outside, Padding, PriorRule, ScoreRule, Shift, SoftmaxSum, ValueOrder, WeightRule,
};
pub use halves::{Carry, Length, MultiplyAdd, PoolRule, ScaleRule, SiluRule, Squares, Upsample};
pub use memory::{Coverage, Edited, FrameRule, Layout, Publication, RawBits, Reads};
pub use products::{Align, Chain, Dot, KOrder, SeedRule, SharedExponent, Unit, WeightOrder};

/// One step's arithmetic rules. The default is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Matrix products and attention scores.
    pub dot: Dot,
    /// The attention's weighted values.
    pub weigh: Dot,
    /// The main input.
    pub reads: Reads,
    /// A matrix's bytes.
    pub weights: WeightOrder,
    /// A product's residual.
    pub seed: SeedRule,
    /// Values between half operations.
    pub carry: Carry,
    /// The activation.
    pub silu: SiluRule,
    /// E4M3 outputs.
    pub publication: Publication,
    /// Raw half outputs.
    pub raw: RawBits,
    /// Half multiply-adds.
    pub multiply_add: MultiplyAdd,
    /// The sum of squares.
    pub squares: Squares,
    /// The reciprocal length.
    pub length: Length,
    /// The query's scale.
    pub scale: ScaleRule,
    /// The exponential.
    pub exponential: ExponentialRule,
    /// The scores.
    pub scores: ScoreRule,
    /// The softmax's sum.
    pub softmax: SoftmaxSum,
    /// The softmax's division.
    pub divide: Divide,
    /// The softmax's weights.
    pub share: WeightRule,
    /// Tokens outside the field.
    pub outside: Outside,
    /// The ViT's padding keys.
    pub padding: Padding,
    /// The prior.
    pub prior: PriorRule,
    /// The values.
    pub values: ValueOrder,
    /// The window grid.
    pub shift: Shift,
    /// The pool.
    pub pool: PoolRule,
    /// The upsampling.
    pub upsample: Upsample,
    /// The input features.
    pub frame: FrameRule,
    /// The layout of every output.
    pub layout: Layout,
    /// The part of every output that is written.
    pub coverage: Coverage,
    /// Whether the op was edited.
    pub edited: Edited,
}

impl Rules {
    /// The network's own arithmetic.
    pub const EXACT: Self = Self {
        dot: Dot::EXACT,
        weigh: Dot::EXACT,
        reads: Reads::AsIs,
        weights: WeightOrder::Fragment,
        seed: SeedRule::First,
        carry: Carry::Halves,
        silu: SiluRule::HalfSteps,
        publication: Publication::Nearest,
        raw: RawBits::Half,
        multiply_add: MultiplyAdd::Fused,
        squares: Squares::Tree,
        length: Length::Own,
        scale: ScaleRule::Own,
        exponential: ExponentialRule::Bits,
        scores: ScoreRule::Halves,
        softmax: SoftmaxSum::Tree,
        divide: Divide::Reciprocal,
        share: WeightRule::Published,
        outside: Outside::Zero,
        padding: Padding::Subtracted,
        prior: PriorRule::Physical,
        values: ValueOrder::Physical,
        shift: Shift::Own,
        pool: PoolRule::Rows,
        upsample: Upsample::Nearest,
        frame: FrameRule::Own,
        layout: Layout::RowMajor,
        coverage: Coverage::All,
        edited: Edited::Own,
    };

    /// Whether every rule is the network's own.
    pub fn is_exact(&self) -> bool {
        *self == Self::EXACT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_exact_and_a_change_is_seen() {
        assert!(Rules::default().is_exact(), "default");
        let changed = Rules { softmax: SoftmaxSum::InOrder, ..Rules::EXACT };
        assert!(!changed.is_exact(), "changed");
    }
}
