//! Attention: windows, prior, exponential, softmax and the weighted values.

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
