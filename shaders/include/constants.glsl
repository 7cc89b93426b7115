// Generated from src/engine/vulkan/constants.rs; UPDATE=1 cargo test --test suite shaders:: writes it.

#ifndef CONSTANTS_GLSL
#define CONSTANTS_GLSL

#define CONVERT_PUSH uint first; uint words;
#define GEMM_PUSH uint first; uint rows; uint k; uint n; uint groups; uint chain;
#define GEMM_HALF_PUSH uint first; uint rows; uint k; uint n;
#define NORMALIZE_PUSH uint first; uint tokens; uint heads;
#define WINDOW_ATTENTION_PUSH uint first; uint width; uint height; uint heads; uint shift_x; uint shift_y; uint windows; uint nothing;
#define GEMM_FAST_PUSH uint first; uint rows; uint groups; uint input_row; uint weight_row; uint output_row; uint input_z; uint weight_z; uint output_z; uint nothing;
#define GEMM_FAST_EXPAND_PUSH uint first; uint columns; uint groups;
#define GEMM_FAST_JOIN_PUSH uint first; uint quads; uint parts; uint nothing;
#define NORMALIZE_FAST_PUSH uint first; uint vectors; uint heads; uint nothing;
#define GLOBAL_ATTENTION_FAST_PUSH uint first; uint tokens; uint padded; uint heads; uint excess; uint nothing;
#define GLOBAL_ATTENTION_PUSH uint first; uint tokens; uint padded; uint heads;
#define POOL_PUSH uint first; uint words; uint width; uint channels; uint above_width; uint above_height;
#define MERGE_PUSH uint first; uint words; uint width; uint channels; uint low_width;
#define COMPARE_PUSH uint first; uint words; uint channels; uint width; uint shift_x; uint shift_y; uint windows; uint positions; uint sentinel;
#define COLOUR_PUSH uint first; uint tokens; uint channels; uint red; uint green; uint blue; uint low; uint scale; uint reciprocal_channels;

const uint LANES = 0x40u;
const uint GEMM_ROWS = 0x40u;
const uint GEMM_COLUMNS = 0x20u;
const uint GEMM_LANES = 0x80u;
const uint FAST_WORDS = 0x26u;
const uint MATRIX_SIDE = 0x10u;
const uint MATRIX_STAGED = 0x40u;
const uint MATRIX_SUBGROUPS = 0x4u;
const uint NUMERICS_WORDS = 0x8u;
const uint COMPARE_LANES = 0x100u;
const uint COLOUR_CHANNEL = 0x0u;
const uint COLOUR_MEAN = 0x1u;
const uint COLOUR_MAX = 0x2u;
const uint COLOUR_L2 = 0x3u;
const uint COLOUR_RGB = 0x4u;
const uint ELEMENT_NONE = 0x0u;
const uint ELEMENT_E4M3 = 0x1u;
const uint ELEMENT_F16 = 0x2u;
const uint ELEMENT_F32 = 0x3u;
const uint FDPA_GROUP_FP8 = 0x10u;
const uint FDPA_GROUP_F16 = 0x8u;
const uint E4M3_MAX_CODE = 0x7eu;
const uint HEAD = 0x20u;
const uint KEYS = 0x40u;
const uint SQRT_HEAD = 0x45a8u;
const uint WINDOW_SLOPE = 0x3d380000u;
const uint WINDOW_OFFSET = 0x3fa68000u;
const uint WINDOW_LOW = 0x3c20u;
const uint WINDOW_HIGH = 0x3e47u;
const uint WINDOW_SHIFT = 0x5u;
const uint WINDOW_BIAS = 0x8000u;
const uint VIT_SLOPE = 0x3db76000u;
const uint VIT_OFFSET = 0x3fdac000u;
const uint VIT_LOW = 0x3dc2u;
const uint VIT_HIGH = 0x3fe9u;
const uint VIT_SHIFT = 0x4u;
const uint VIT_BIAS = 0x4000u;
const int FDPA_FRACTION_FP8 = 13;
const int FDPA_FRACTION_F16 = 24;
const int FDPA_ZERO_EXPONENT = -21;

#endif
