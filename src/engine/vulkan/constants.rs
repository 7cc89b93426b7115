//! What shaders and Rust must agree on: push constants, tile sizes and the numbers of the network's arithmetic.
//!
//! The text of [`glsl`] is committed as `shaders/include/constants.glsl`; a test demands that it is fresh.

use crate::numerics::{cosine, e4m3, exponential, f16, fdpa, softmax};
use std::fmt::Write as _;

/// Invocations of a workgroup of the kernels without tiles.
pub(crate) const LANES: u32 = 64;
/// Rows of one tile of the base GEMM.
pub(crate) const GEMM_ROWS: u32 = 64;
/// Columns of one tile of the base GEMM; divides every matrix's N.
pub(crate) const GEMM_COLUMNS: u32 = 32;
/// Invocations of the base GEMM: 4 x 4 results each.
pub(crate) const GEMM_LANES: u32 = GEMM_ROWS * GEMM_COLUMNS / 16;

/// Words of 16 staged codes of the fast GEMM.
pub(crate) const FAST_WORDS: u32 = 38;
/// Rows, columns and terms of a tile on matrix units.
pub(crate) const MATRIX_SIDE: u32 = 16;
/// Vectors of a staged tile of columns, one group of K: two for every invocation of a subgroup.
pub(crate) const MATRIX_STAGED: u32 = 64;
/// Subgroups of a workgroup of the GEMM on matrix units.
pub(crate) const MATRIX_SUBGROUPS: u32 = 4;

/// Words that the arithmetic's test writes for a case.
pub(crate) const NUMERICS_WORDS: u32 = 8;
/// Invocations of a workgroup of the comparison.
pub(crate) const COMPARE_LANES: u32 = 256;
/// Colour modes, as specialization constants: one channel.
pub(crate) const COLOUR_CHANNEL: u32 = 0;
/// The mean of all channels.
pub(crate) const COLOUR_MEAN: u32 = 1;
/// The largest magnitude.
pub(crate) const COLOUR_MAX: u32 = 2;
/// The Euclidean length.
pub(crate) const COLOUR_L2: u32 = 3;
/// Three channels as red, green and blue.
pub(crate) const COLOUR_RGB: u32 = 4;

/// No tensor, as a specialization constant.
pub(crate) const ELEMENT_NONE: u32 = 0;
/// E4M3 codes.
pub(crate) const ELEMENT_E4M3: u32 = 1;
/// Halves.
pub(crate) const ELEMENT_F16: u32 = 2;
/// Singles.
pub(crate) const ELEMENT_F32: u32 = 3;

/// Declares a kernel's push constants once, for Rust and GLSL. The first word is always `first`: the x index of the
/// first workgroup of a dispatch, so that long ones can be split.
macro_rules! push_constants {
    ($(#[$doc:meta])* $name:ident, $glsl:literal { $($(#[$about:meta])* $field:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, bytemuck::Zeroable, bytemuck::Pod)]
        pub(crate) struct $name {
            pub(crate) first: u32,
            $($(#[$about])* pub(crate) $field: u32,)+
        }

        impl $name {
            const DEFINE: &str = concat!("#define ", $glsl, " uint first; ", $("uint ", stringify!($field), "; "),+);
            /// Bytes of the block.
            pub(crate) const BYTES: u32 = size_of::<Self>() as u32;
        }
    };
}

push_constants! {
    /// `convert`.
    ConvertPush, "CONVERT_PUSH" { words }
}
push_constants! {
    /// `gemm`: K and N of one of the block-diagonal groups; products of one chain of K.
    GemmPush, "GEMM_PUSH" { rows, k, n, groups, chain }
}
push_constants! {
    /// `gemm_half`.
    GemmHalfPush, "GEMM_HALF_PUSH" { rows, k, n }
}
push_constants! {
    /// `normalize`.
    NormalizePush, "NORMALIZE_PUSH" { tokens, heads }
}
push_constants! {
    /// `window_attention`, its variants and whole blocks: the plane, the grid's shift, windows in a row, and a 0 that no
    /// compiler knows.
    WindowAttentionPush, "WINDOW_ATTENTION_PUSH" { width, height, heads, shift_x, shift_y, windows, nothing }
}
push_constants! {
    /// `gemm_fast`: groups of 16 in one chain; bytes of an input row and of a weight column (vectors of a block of 32
    /// columns where weights are expanded); channels of an output row; what one z adds to input, weights and output, in
    /// the same units; and a 0 that no compiler knows.
    GemmFastPush, "GEMM_FAST_PUSH" {
        rows, groups, input_row, weight_row, output_row, input_z, weight_z, output_z, nothing,
    }
}
push_constants! {
    /// `gemm_fast_expand`: columns of all groups, and groups of 16 in each.
    GemmFastExpandPush, "GEMM_FAST_EXPAND_PUSH" { columns, groups }
}
push_constants! {
    /// `gemm_fast_join`: four results each, and the parts that they are the sums of.
    GemmFastJoinPush, "GEMM_FAST_JOIN_PUSH" { quads, parts, nothing }
}
push_constants! {
    /// `normalize_fast`: vectors of 32, three to a head of a token.
    NormalizeFastPush, "NORMALIZE_FAST_PUSH" { vectors, heads, nothing }
}
push_constants! {
    /// `global_attention_fast`: `excess` is the half that padding keys add to every sum, 0 without padding.
    GlobalAttentionFastPush, "GLOBAL_ATTENTION_FAST_PUSH" { tokens, padded, heads, excess, nothing }
}
push_constants! {
    /// `global_attention`.
    GlobalAttentionPush, "GLOBAL_ATTENTION_PUSH" { tokens, padded, heads }
}
push_constants! {
    /// `pool`: words and width of the plane below.
    PoolPush, "POOL_PUSH" { words, width, channels, above_width, above_height }
}
push_constants! {
    /// `merge`.
    MergePush, "MERGE_PUSH" { words, width, channels, low_width }
}
push_constants! {
    /// `compare`: the tensor's words, the window grid where there is one (0 windows in a row without), where the
    /// positions begin behind the windows, and the sentinel byte (above 255 without).
    ComparePush, "COMPARE_PUSH" { words, channels, width, shift_x, shift_y, windows, positions, sentinel }
}
push_constants! {
    /// `colour`: channels to show, and the range of values as the bits of singles: its low end, and steps per value.
    ColourPush, "COLOUR_PUSH" { tokens, channels, red, green, blue, low, scale, reciprocal_channels }
}

/// The text of `shaders/include/constants.glsl`.
pub fn glsl() -> String {
    let mut text =
        "// Generated from src/engine/vulkan/constants.rs; UPDATE=1 cargo test --test suite shaders:: writes it.\n\n\
                    #ifndef CONSTANTS_GLSL\n#define CONSTANTS_GLSL\n\n"
            .to_owned();
    for define in [
        ConvertPush::DEFINE,
        GemmPush::DEFINE,
        GemmHalfPush::DEFINE,
        NormalizePush::DEFINE,
        WindowAttentionPush::DEFINE,
        GemmFastPush::DEFINE,
        GemmFastExpandPush::DEFINE,
        GemmFastJoinPush::DEFINE,
        NormalizeFastPush::DEFINE,
        GlobalAttentionFastPush::DEFINE,
        GlobalAttentionPush::DEFINE,
        PoolPush::DEFINE,
        MergePush::DEFINE,
        ComparePush::DEFINE,
        ColourPush::DEFINE,
    ] {
        writeln!(text, "{}", define.trim_end()).expect("strings take everything");
    }
    text.push('\n');
    let half = |x: f32| u32::from(f16::from_f32(x).to_bits());
    let (window, vit) = (exponential::WINDOW, exponential::VIT);
    for (name, value) in [
        ("LANES", LANES),
        ("GEMM_ROWS", GEMM_ROWS),
        ("GEMM_COLUMNS", GEMM_COLUMNS),
        ("GEMM_LANES", GEMM_LANES),
        ("FAST_WORDS", FAST_WORDS),
        ("MATRIX_SIDE", MATRIX_SIDE),
        ("MATRIX_STAGED", MATRIX_STAGED),
        ("MATRIX_SUBGROUPS", MATRIX_SUBGROUPS),
        ("NUMERICS_WORDS", NUMERICS_WORDS),
        ("COMPARE_LANES", COMPARE_LANES),
        ("COLOUR_CHANNEL", COLOUR_CHANNEL),
        ("COLOUR_MEAN", COLOUR_MEAN),
        ("COLOUR_MAX", COLOUR_MAX),
        ("COLOUR_L2", COLOUR_L2),
        ("COLOUR_RGB", COLOUR_RGB),
        ("ELEMENT_NONE", ELEMENT_NONE),
        ("ELEMENT_E4M3", ELEMENT_E4M3),
        ("ELEMENT_F16", ELEMENT_F16),
        ("ELEMENT_F32", ELEMENT_F32),
        ("FDPA_GROUP_FP8", fdpa::GROUP_FP8 as u32),
        ("FDPA_GROUP_F16", fdpa::GROUP_F16 as u32),
        ("E4M3_MAX_CODE", u32::from(e4m3::MAX_CODE)),
        ("HEAD", cosine::HEAD as u32),
        ("KEYS", softmax::KEYS as u32),
        ("SQRT_HEAD", u32::from(cosine::SQRT_HEAD.to_bits())),
        ("WINDOW_SLOPE", window.slope.to_bits()),
        ("WINDOW_OFFSET", window.offset.to_bits()),
        ("WINDOW_LOW", half(window.low)),
        ("WINDOW_HIGH", half(window.high)),
        ("WINDOW_SHIFT", window.shift),
        ("WINDOW_BIAS", u32::from(window.bias)),
        ("VIT_SLOPE", vit.slope.to_bits()),
        ("VIT_OFFSET", vit.offset.to_bits()),
        ("VIT_LOW", half(vit.low)),
        ("VIT_HIGH", half(vit.high)),
        ("VIT_SHIFT", vit.shift),
        ("VIT_BIAS", u32::from(vit.bias)),
    ] {
        writeln!(text, "const uint {name} = {value:#x}u;").expect("strings take everything");
    }
    for (name, value) in [
        ("FDPA_FRACTION_FP8", fdpa::FRACTION_FP8),
        ("FDPA_FRACTION_F16", fdpa::FRACTION_F16),
        ("FDPA_ZERO_EXPONENT", fdpa::ZERO_EXPONENT),
    ] {
        writeln!(text, "const int {name} = {value};").expect("strings take everything");
    }
    text.push_str("\n#endif\n");
    text
}
