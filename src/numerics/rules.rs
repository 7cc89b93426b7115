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

rule! {
    /// What a dot product's chain of groups carries from one group to the next.
    Chain {
        /// A half, rounded to nearest.
        Halves,
        /// An `f32`: the half rounding between groups is folded away.
        Singles,
        /// A half, rounded toward zero.
        TowardZero,
        /// A half whose subnormals are zeros.
        Flushed,
        /// A half that never overflows: 65504 instead of infinity.
        Clamped,
    }
}

rule! {
    /// How a term is brought to the group's unit.
    Align {
        /// Toward zero.
        TowardZero,
        /// Toward minus infinity, as an arithmetic shift does.
        Floor,
        /// To the nearest unit.
        Nearest,
    }
}

rule! {
    /// Which exponents a group's shared exponent is the maximum of.
    SharedExponent {
        /// Sums of the operands' exponents, subnormals counted at the smallest normal.
        OperandSum,
        /// The products' own exponents, up to one higher.
        Product,
        /// Sums of the operands' exponents without the floor for subnormals.
        Unfloored,
    }
}

rule! {
    /// What kind of unit sums the products.
    Unit {
        /// One fixed-point group after the other.
        FixedPoint,
        /// Hopper's two half matrix instructions per 32 products, the accumulator added at the end.
        TwoHalves,
        /// `f32` multiply-adds in K order.
        Singles,
    }
}

rule! {
    /// In which order K is walked.
    KOrder {
        /// Upwards.
        Forward,
        /// Downwards.
        Reversed,
    }
}

/// How a dot product is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dot {
    /// What is carried between groups.
    pub chain: Chain,
    /// Products of one group; 0 for the format's own.
    pub group: u8,
    /// Fractional bits kept below the shared exponent; 0 for the format's own.
    pub fraction: u8,
    /// How terms are aligned.
    pub align: Align,
    /// What the shared exponent is.
    pub exponent: SharedExponent,
    /// What sums.
    pub unit: Unit,
    /// The order of K.
    pub order: KOrder,
}

impl Dot {
    /// The network's own.
    pub const EXACT: Self = Self {
        chain: Chain::Halves,
        group: 0,
        fraction: 0,
        align: Align::TowardZero,
        exponent: SharedExponent::OperandSum,
        unit: Unit::FixedPoint,
        order: KOrder::Forward,
    };
}

rule! {
    /// How an op reads its main input.
    Reads {
        /// As it is.
        AsIs,
        /// Halves rounded to E4M3 first.
        Published,
        /// Subnormals of the input's format as zeros.
        Flushed,
        /// A buffer of zeros instead.
        Zero,
    }
}

rule! {
    /// How an FP8 matrix's bytes are read.
    WeightOrder {
        /// Fragment order, channels restored.
        Fragment,
        /// As if they were row-major.
        RowMajor,
        /// Fragment order, the channel permutation inside 16 not undone.
        StoredChannels,
        /// Fragment order of a matrix with another number of columns.
        OtherColumns,
        /// The independent matrices of a batch last to first.
        ReversedGroups,
        /// Subnormal weights as zeros.
        Flushed,
    }
}

rule! {
    /// How a residual enters a matrix product.
    SeedRule {
        /// As the first accumulator, rounded to a half.
        First,
        /// Added at the end by a half add.
        AtEnd,
        /// As the first accumulator, the product with its scale kept in `f32`.
        Single,
        /// Without its scale.
        Unscaled,
    }
}

rule! {
    /// How intermediate values between half operations are carried (norm, softmax, silu, pool, merge, partitions).
    Carry {
        /// Every result is rounded to a half.
        Halves,
        /// Results stay in `f32`; the rounding is folded away.
        Singles,
        /// Halves whose subnormals are zeros.
        Flushed,
    }
}

rule! {
    /// The activation.
    SiluRule {
        /// Five half steps.
        HalfSteps,
        /// The same polynomial in `f32`.
        Singles,
        /// `x * sigmoid(x)`.
        True,
        /// The last product takes the clamped argument.
        ClampedProduct,
        /// Left out.
        Missing,
    }
}

rule! {
    /// How a value becomes an E4M3 code.
    Publication {
        /// From the half, to nearest, NaN to +0, saturating; -0 by the kernel's rule.
        Nearest,
        /// Toward zero.
        TowardZero,
        /// Ties away from zero.
        TiesAway,
        /// From the unrounded value, without the half in between.
        FromSingle,
        /// NaN keeps its code `0x7f`.
        NanKept,
        /// Every zero is +0.
        PlusZero,
        /// The GEMM's epilogue keeps -0.
        MinusZero,
        /// Magnitudes beyond 448 become the NaN code.
        Unsaturated,
        /// Subnormal codes become zeros.
        Flushed,
        /// In E4M3 "fnuz": bias 8, no -0.
        Fnuz,
        /// In E5M2.
        E5m2,
    }
}

rule! {
    /// The bits of a raw half output.
    RawBits {
        /// IEEE half.
        Half,
        /// bfloat16.
        Bfloat16,
    }
}

rule! {
    /// A half multiply-add.
    MultiplyAdd {
        /// One rounding of the exact value.
        Fused,
        /// Through `f32`: two roundings.
        RoundedTwice,
        /// A half product, then a half sum.
        Unfused,
    }
}

rule! {
    /// The order of the sum of squares.
    Squares {
        /// Tree with strides 8, 4, 2, 1.
        Tree,
        /// One after the other.
        InOrder,
        /// Tree of neighbours.
        Neighbours,
    }
}

rule! {
    /// The reciprocal length.
    Length {
        /// `f16(1 / sqrt(sum))`.
        Own,
        /// The root rounded to a half, then its reciprocal.
        HalfSteps,
        /// Of the mean of squares instead of their sum.
        Mean,
    }
}

rule! {
    /// How a query is scaled.
    ScaleRule {
        /// By the text.
        Own,
        /// Learned scale left out.
        Missing,
        /// Learned scale on keys instead of queries.
        OnKeys,
        /// Learned scale not rounded to a half.
        Single,
        /// All factors multiplied into one first.
        Merged,
        /// The ViT's `sqrt(32)` left out.
        RootMissing,
    }
}

rule! {
    /// The softmax's exponential.
    ExponentialRule {
        /// The bit trick.
        Bits,
        /// A true exponential, rounded to a half.
        True,
        /// A true exponential of the score minus the row's maximum.
        MaxSubtracted,
        /// The bit trick with the constants' `f32` spellings.
        SingleConstants,
        /// The bit trick, its product rounded to a half before the add.
        HalfSteps,
        /// The bit trick without its clamps.
        Unclamped,
    }
}

rule! {
    /// The scores between their dot product and the exponential.
    ScoreRule {
        /// Halves.
        Halves,
        /// Rounded to E4M3.
        Published,
    }
}

rule! {
    /// The order of the softmax's sum.
    SoftmaxSum {
        /// The fixed tree over physical keys.
        Tree,
        /// Key after key.
        InOrder,
        /// A tree of neighbours.
        Neighbours,
        /// The fixed tree over natural keys.
        NaturalKeys,
        /// In `f32`.
        Singles,
    }
}

rule! {
    /// How a sum is divided by.
    Divide {
        /// By multiplying with the half reciprocal.
        Reciprocal,
        /// By a division.
        Division,
    }
}

rule! {
    /// The softmax's weights in front of the values.
    WeightRule {
        /// Published to E4M3.
        Published,
        /// Kept as halves.
        Halves,
        /// The ViT's weights divided by the total before publication, not after.
        Normalized,
    }
}

rule! {
    /// What a window's token outside the field is.
    Outside {
        /// A zero vector that still weighs in.
        Zero,
        /// Left out of the softmax.
        Masked,
        /// The nearest token of the field.
        Clamped,
        /// The token on the opposite side, as a cyclic shift gives.
        Wrapped,
    }
}

rule! {
    /// The ViT's padding keys in the denominator.
    Padding {
        /// Subtracted again.
        Subtracted,
        /// Left in.
        Kept,
        /// Each left out of the sum.
        Masked,
    }
}

rule! {
    /// How the attention prior is read.
    PriorRule {
        /// Physical queries and keys.
        Physical,
        /// Keys in natural order.
        NaturalKeys,
        /// Queries in natural order.
        NaturalQueries,
        /// Queries and keys exchanged.
        Transposed,
        /// In storage order, as if it were row-major.
        StorageOrder,
        /// Not at all.
        Missing,
        /// Added after the dot product instead of seeding it.
        AtEnd,
        /// The first head's for every head.
        FirstHead,
    }
}

rule! {
    /// The order of the values.
    ValueOrder {
        /// Physical, as the weights.
        Physical,
        /// Natural.
        Natural,
    }
}

rule! {
    /// The shift of a window grid.
    Shift {
        /// The phase's.
        Own,
        /// With the opposite sign.
        Negated,
        /// x and y exchanged.
        Swapped,
    }
}

rule! {
    /// The pool.
    PoolRule {
        /// `(a + b) + (c + d)`.
        Rows,
        /// `(a + c) + (b + d)`.
        Columns,
        /// The first of the four.
        Corner,
        /// The largest of the four.
        Largest,
    }
}

rule! {
    /// The upsampling of a merge.
    Upsample {
        /// Nearest.
        Nearest,
        /// Bilinear between pixel centres.
        Bilinear,
    }
}

rule! {
    /// The input features.
    FrameRule {
        /// As given.
        Own,
        /// Noise lanes zero.
        NoiseMissing,
        /// Noise of the mirrored coordinate instead of the padded one.
        NoiseMirrored,
        /// History lanes zero.
        HistoryMissing,
        /// History lanes a copy of the present.
        HistoryCopied,
        /// Tone and structure lanes zero.
        ToneZero,
        /// Style not divided by 128.
        StyleUnscaled,
        /// Edge pixels repeated outside the valid rectangle instead of mirrored.
        EdgeRepeated,
        /// Rounded to halves toward zero.
        TowardZero,
    }
}

rule! {
    /// The order in which an output lies in memory, read as row-major.
    Layout {
        /// Row-major.
        RowMajor,
        /// Tokens in 4x4 tiles.
        Tiles4,
        /// Tokens in 8x8 windows.
        Windows8,
        /// Channels first.
        ChannelsFirst,
        /// Channels in blocks of 16.
        Blocks16,
        /// Channels in blocks of 32: head-major.
        Blocks32,
        /// Columns of tokens first.
        Transposed,
        /// Rows of tokens padded to a multiple of 64 and read as packed.
        Pitch64,
        /// Channels of every 32 in fragment order.
        FragmentChannels,
    }
}

rule! {
    /// Which part of an output is written; the rest is zero.
    Coverage {
        /// All.
        All,
        /// The first half of the channels.
        FirstHalf,
        /// All but the last 16 channels.
        ButLastChannels,
        /// All but the last tile of 64 tokens.
        ButLastTokens,
    }
}

rule! {
    /// Whether a cause edited the op itself so that its sources may have other formats than the network's.
    Edited {
        /// The network's own op.
        Own,
        /// An edited op: only the scalar rows can be trusted with it.
        Op,
    }
}

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
