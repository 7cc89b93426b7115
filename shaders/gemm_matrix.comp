// C[row][n] = sum over k of A[row][k] W[n][k], exact on matrix units: twin of src/engine/reference/gemm.rs.
//
// A workgroup of four subgroups stages 16 rows for each that lies below another; a subgroup makes TILES tiles of 16 x 16 of one
// block-diagonal group or part of K (z), from columns that lie ready as its invocations hold them. EXPONENTS: `matrix.glsl`.
// target: vulkan1.3
// build: gemm_matrix_wide TILES=2 JOINT=2 EXPONENTS=1
// build: gemm_matrix_narrow TILES=1 JOINT=1 EXPONENTS=2
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_control_flow_attributes : require
#pragma use_vulkan_memory_model
#include "include/constants.glsl"
#include "include/fast_half.glsl"
#include "include/matrix.glsl"

/// The first accumulator: 0 zero, 1 an E4M3 residual times a scale, 2 a half residual times a scale.
layout(constant_id = 1) const uint SEED = 0;
layout(constant_id = 2) const uint SILU = 0;
layout(constant_id = 3) const uint PUBLISHED = 1;
layout(constant_id = 4) const uint RAW = 0;
/// Groups of one partition, 0 for one chain.
layout(constant_id = 5) const uint PARTITION = 0;
/// 1: z counts parts of K, all but the first start from zero, and the raw results of the parts are joined later.
layout(constant_id = 6) const uint SPLIT = 0;
/// Subgroups below each other; the others lie beside them.
layout(constant_id = 7) const uint ROW_SUBGROUPS = 1;

layout(local_size_x = 32 * MATRIX_SUBGROUPS) in;
layout(push_constant) uniform Push { GEMM_FAST_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uvec4 data[]; } a_;
layout(set = 0, binding = 1) readonly buffer Weights { uvec4 data[]; } w_;
layout(set = 0, binding = 2) readonly buffer Residual { uint data[]; } residual_;
layout(set = 0, binding = 3) readonly buffer Scale { uvec2 data[]; } scale_;
layout(set = 0, binding = 4) writeonly buffer Published { uint data[]; } published_;
layout(set = 0, binding = 5) writeonly buffer Raw { uvec2 data[]; } raw_;

/// Columns of a subgroup's part of the result; it has a tile's rows.
const uint COLUMNS = TILES * MATRIX_SIDE;
/// Groups of K that are staged at once: one for every invocation and row.
const uint CHUNK = 2 * MATRIX_SUBGROUPS / ROW_SUBGROUPS;
/// Vectors of a staged row, of values or of powers: one more than there are, so that neighbours meet other banks.
const uint LINE = 2 * CHUNK + 1;
const uint POWERS = ROW_SUBGROUPS * MATRIX_SIDE * LINE;

shared uvec4 pool[2 * POWERS];
float decode(uint code) {
    return unpackHalf2x16(codes[code]).x;
}

/// Four consecutive seeds of a row. Those of -0 are used as +0: the first group makes no difference between them.
vec4 seed4(uint row, uint column) {
    uint at = (row * push.output_row + column) >> 2;
    vec4 residual;
    if (SEED == 1u) {
        uint four = residual_.data[at];
        residual = vec4(decode(four & 0xffu), decode((four >> 8) & 0xffu), decode((four >> 16) & 0xffu), decode(four >> 24));
    } else {
        residual = unpack4(uvec2(residual_.data[2u * at], residual_.data[2u * at + 1u]), push.nothing);
    }
    precise vec4 seed = residual * unpack4(scale_.data[column >> 2], push.nothing);
    return seed;
}

void main() {
    uint tid = gl_LocalInvocationIndex;
    uint lane = gl_SubgroupInvocationID;
    uint z = gl_WorkGroupID.z;
    uint below = gl_SubgroupID % ROW_SUBGROUPS;
    uint first = (push.first + gl_WorkGroupID.x) * ROW_SUBGROUPS * MATRIX_SIDE;
    uint row0 = first + below * MATRIX_SIDE;
    uint column0 = (gl_WorkGroupID.y * (MATRIX_SUBGROUPS / ROW_SUBGROUPS) + gl_SubgroupID / ROW_SUBGROUPS) * COLUMNS;
    uint last = push.rows - 1u;
    uint nothing = push.nothing;
    describe_codes(32u * MATRIX_SUBGROUPS);
    barrier();
    // Four consecutive channels of one row are this invocation's own, before and after the products.
    uint row = row0 + exchanged_row();
    uint channel = z * push.output_z + column0 + exchanged_column();
    // Accumulators as pairs of halves.
    uvec2 sum[2 * TILES];
    uvec2 total[2 * TILES];
    bool seeded = SEED != 0u && (SPLIT == 0u || z == 0u);
    [[unroll]] for (uint t = 0; t < 2 * TILES; t++) {
        sum[t] = seeded ? exchange(pack4(seed4(min(row, last), channel + 8u * t))) : uvec2(0);
        total[t] = uvec2(0);
    }
    MATRIX(float16_t, 16, A) largest = largest_terms();

    uint weights = column0 / MATRIX_SIDE * push.weight_row + z * push.weight_z + lane;
    uvec4 next[2 * TILES];
    [[unroll]] for (uint t = 0; t < 2 * TILES; t++) next[t] = w_.data[weights + t / 2 * push.weight_row + 32 * (t % 2)];
    // A group of one row is this invocation's to stage.
    uint line = tid / CHUNK, unit = tid % CHUNK;
    uint from = (min(first + line, last) * push.input_row + z * push.input_z) / 16u + unit;
    uvec4 bytes = unit < push.groups ? a_.data[from] : uvec4(0);
    for (uint chunk = 0; chunk < push.groups; chunk += CHUNK) {
        barrier();
        if (chunk + unit < push.groups) STAGE16(pool, line * LINE + 2u * unit, POWERS, bytes);
        barrier();
        if (chunk + CHUNK + unit < push.groups) bytes = a_.data[from + chunk + CHUNK];
        uint end = min(chunk + CHUNK, push.groups);
        for (uint g = chunk; g < end; g++) {
            uint at = below * MATRIX_SIDE * LINE + 2u * (g - chunk);
            MATRIX(float16_t, 16, A) values;
            MATRIX(bfloat16_t, 16, A) powers;
            coopMatLoad(values, pool, at, LINE, ROW_MAJOR);
            coopMatLoad(powers, pool, POWERS + at, LINE, ROW_MAJOR);
            Rows rows = beside(values, powers, largest);
            uvec4 held[2 * TILES];
            weights += MATRIX_STAGED;
            [[unroll]] for (uint t = 0; t < 2 * TILES; t++) {
                held[t] = next[t];
                if (g + 1u < push.groups) next[t] = w_.data[weights + t / 2 * push.weight_row + 32 * (t % 2)];
            }
            [[unroll]] for (uint t = 0; t < TILES; t += JOINT) {
                Columns columns[JOINT];
                uvec2 sums[2 * JOINT];
                [[unroll]] for (uint j = 0; j < JOINT; j++) columns[j] = as_columns(held[2 * (t + j)], held[2 * (t + j) + 1]);
                [[unroll]] for (uint j = 0; j < 2 * JOINT; j++) sums[j] = sum[2 * t + j];
                group16(rows, columns, nothing, sums);
                [[unroll]] for (uint j = 0; j < 2 * JOINT; j++) sum[2 * t + j] = sums[j];
            }
            if (PARTITION != 0u && (g + 1u) % PARTITION == 0u) {
                [[unroll]] for (uint t = 0; t < 2 * TILES; t++) {
                    uvec2 joined = pack4(add4(unpack4(total[t], nothing), unpack4(sum[t], nothing), nothing));
                    total[t] = g + 1u == PARTITION ? sum[t] : joined;
                    sum[t] = uvec2(0);
                }
            }
        }
    }
    [[unroll]] for (uint t = 0; t < 2 * TILES; t++) {
        uvec2 four = exchange(PARTITION != 0u ? total[t] : sum[t]);
        if (row > last) continue;
        uint at = (row * push.output_row + channel + 8u * t) >> 2;
        if (RAW != 0u) raw_.data[at] = four;
        if (PUBLISHED != 0u) {
            if (SILU != 0u) four = uvec2(silu2(four.x), silu2(four.y));
            vec4 x = unpack4(four, nothing);
            published_.data[at] = publish_gemm(x.x) | publish_gemm(x.y) << 8 | publish_gemm(x.z) << 16 | publish_gemm(x.w) << 24;
        }
    }
}
