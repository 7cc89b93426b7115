//! The compiled shaders, committed as SPIR-V so that a fresh machine needs no compiler.

use super::constants as c;

/// A compiled shader and its interface.
#[derive(Debug)]
pub struct Shader {
    /// Stem of its file in `shaders/`.
    pub name: &'static str,
    /// SPIR-V, little-endian.
    spirv: &'static [u8],
    /// Storage buffers at bindings 0, 1, ... of set 0.
    pub bindings: u32,
    /// Bytes of push constants.
    pub push: u32,
    /// The subgroup size that it needs; `None` when any will do.
    pub subgroup: Option<u32>,
}

impl Shader {
    /// A shader that needs no subgroup size.
    pub(crate) const fn new(name: &'static str, spirv: &'static [u8], bindings: u32, push: u32) -> Self {
        Self { name, spirv, bindings, push, subgroup: None }
    }

    /// The module's words.
    pub fn words(&self) -> Vec<u32> {
        self.spirv.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
    }

    /// The module's bytes.
    pub fn spirv(&self) -> &'static [u8] {
        self.spirv
    }
}

/// Includes `shaders/spv/<name>.spv`.
macro_rules! shader {
    ($name:literal, $bindings:expr, $push:expr) => {
        $crate::engine::vulkan::shaders::Shader::new(
            $name,
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/spv/", $name, ".spv")),
            $bindings,
            $push,
        )
    };
}

pub(crate) static CONVERT: Shader = shader!("convert", 2, c::ConvertPush::BYTES);
pub(crate) static GEMM: Shader = shader!("gemm", 7, c::GemmPush::BYTES);
pub(crate) static GEMM_HALF: Shader = shader!("gemm_half", 5, c::GemmHalfPush::BYTES);
pub(crate) static NORMALIZE: Shader = shader!("normalize", 3, c::NormalizePush::BYTES);
pub(crate) static WINDOW_ATTENTION: Shader = shader!("window_attention", 3, c::WindowAttentionPush::BYTES);
pub(crate) static GLOBAL_ATTENTION: Shader = shader!("global_attention", 2, c::GlobalAttentionPush::BYTES);
pub(crate) static POOL: Shader = shader!("pool", 2, c::PoolPush::BYTES);
pub(crate) static MERGE: Shader = shader!("merge", 6, c::MergePush::BYTES);
pub(crate) static COMPARE: Shader = shader!("compare", 6, c::ComparePush::BYTES);
pub(crate) static COLOUR: Shader = shader!("colour", 4, c::ColourPush::BYTES);
pub(crate) static NUMERICS: Shader = shader!("numerics", 2, 0);
pub(crate) static HALF_PROBE: Shader = shader!("half_probe", 2, 0);
pub(crate) static HALF_PROBE_F16: Shader = shader!("half_probe_f16", 2, 0);

/// The fast GEMM with four and with two columns a thread: where rounding toward zero can be asked for, and anywhere.
pub(crate) static GEMM_FAST: [Shader; 4] = [
    shader!("gemm_fast_wide", 6, c::GemmFastPush::BYTES),
    shader!("gemm_fast_narrow", 6, c::GemmFastPush::BYTES),
    shader!("gemm_fast_any_wide", 6, c::GemmFastPush::BYTES),
    shader!("gemm_fast_any_narrow", 6, c::GemmFastPush::BYTES),
];
/// Its weights, staged once.
pub(crate) static GEMM_FAST_EXPAND: Shader = shader!("gemm_fast_expand", 2, c::GemmFastExpandPush::BYTES);
/// The exact GEMM on matrix units, with a large and a small tile, and its weights, staged once.
pub(crate) static GEMM_MATRIX: [Shader; 2] =
    [shader!("gemm_matrix_wide", 6, c::GemmFastPush::BYTES), shader!("gemm_matrix_narrow", 6, c::GemmFastPush::BYTES)];
pub(crate) static GEMM_MATRIX_EXPAND: Shader = shader!("gemm_matrix_expand", 2, c::GemmFastExpandPush::BYTES);
/// Groups of 16 on a matrix unit.
pub(crate) static MATRIX_PROBE: Shader = shader!("matrix_probe", 2, 0);
/// Window attention of the same two kinds.
pub(crate) static WINDOW_ATTENTION_FAST: [Shader; 2] = [
    shader!("window_attention_fast", 4, c::WindowAttentionPush::BYTES),
    shader!("window_attention_any", 4, c::WindowAttentionPush::BYTES),
];
/// Window attention on matrix units, and with normalization before it.
pub(crate) static WINDOW_ATTENTION_MATRIX: Shader =
    shader!("window_attention_matrix", 4, c::WindowAttentionPush::BYTES);
pub(crate) static FUSED_ATTENTION_MATRIX: Shader = shader!("fused_attention_matrix", 4, c::WindowAttentionPush::BYTES);
/// A whole block of 32 channels.
pub(crate) static BLOCK_MATRIX: Shader = shader!("block_matrix", 12, c::WindowAttentionPush::BYTES);
/// The inexact product on matrix units.
pub(crate) static COOPMAT: Shader = shader!("coopmat", 6, c::GemmFastPush::BYTES);
/// Sums of parts of a product.
pub(crate) static GEMM_FAST_JOIN: Shader = shader!("gemm_fast_join", 3, c::GemmFastJoinPush::BYTES);
/// Normalization, four lanes at a time.
pub(crate) static NORMALIZE_FAST: Shader = shader!("normalize_fast", 3, c::NormalizeFastPush::BYTES);
/// Global attention of the same two kinds as the GEMM.
pub(crate) static GLOBAL_ATTENTION_FAST: [Shader; 2] = [
    shader!("global_attention_fast", 2, c::GlobalAttentionFastPush::BYTES),
    shader!("global_attention_any", 2, c::GlobalAttentionFastPush::BYTES),
];
/// Normalization and window attention in one.
pub(crate) static FUSED_ATTENTION: [Shader; 2] = [
    shader!("fused_attention_fast", 4, c::WindowAttentionPush::BYTES),
    shader!("fused_attention_any", 4, c::WindowAttentionPush::BYTES),
];

/// Every shader; a test demands that they are the files of `shaders/`, and compiles each anew.
pub fn all() -> Vec<&'static Shader> {
    let base = [&CONVERT, &GEMM, &GEMM_HALF, &NORMALIZE, &WINDOW_ATTENTION, &GLOBAL_ATTENTION, &POOL, &MERGE];
    let beside = [&COMPARE, &COLOUR, &NUMERICS, &HALF_PROBE, &HALF_PROBE_F16];
    base.into_iter()
        .chain(beside)
        .chain(&GEMM_FAST)
        .chain(&GEMM_MATRIX)
        .chain([&GEMM_MATRIX_EXPAND, &MATRIX_PROBE, &WINDOW_ATTENTION_MATRIX, &FUSED_ATTENTION_MATRIX, &BLOCK_MATRIX])
        .chain(&WINDOW_ATTENTION_FAST)
        .chain(&FUSED_ATTENTION)
        .chain([&COOPMAT, &GEMM_FAST_EXPAND, &GEMM_FAST_JOIN, &NORMALIZE_FAST])
        .chain(&GLOBAL_ATTENTION_FAST)
        .collect()
}
