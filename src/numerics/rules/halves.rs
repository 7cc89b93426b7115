//! Half operations: activation, normalization, pool and merge, and what is left of a result between two of them.

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
