//! Memory: how tensors are read, published, laid out and covered, and what the frame is.

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
