//! Matrix products: what is carried between groups, how terms are aligned, in which order and from what weights.

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
        /// `f32`: a tree over each 16 products, its result added to the accumulator.
        SinglesTree,
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
