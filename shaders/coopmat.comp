// The GEMM on matrix units: E4M3 decoded to halves, products and sums as the unit makes them. Not exact: the unit
// aligns and rounds its own way. Everything around the products is as in `gemm_fast`.
//
// One workgroup: 64 rows (x) and 32 columns (y) of one block-diagonal group (z); one subgroup of 32: 16 rows.
// target: vulkan1.3
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#pragma use_vulkan_memory_model
#include "include/constants.glsl"
#include "include/fast_half.glsl"

layout(constant_id = 1) const uint SEED = 0;
layout(constant_id = 2) const uint SILU = 0;
layout(constant_id = 3) const uint PUBLISHED = 1;
layout(constant_id = 4) const uint RAW = 0;
/// Groups of one partition.
layout(constant_id = 5) const uint PARTITION = 1;

layout(local_size_x = 128) in;
layout(push_constant) uniform Push { GEMM_FAST_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uint data[]; } a_;
layout(set = 0, binding = 1) readonly buffer Weights { uint data[]; } w_;
layout(set = 0, binding = 2) readonly buffer Residual { uint data[]; } residual_;
layout(set = 0, binding = 3) readonly buffer Scale { uvec2 data[]; } scale_;
layout(set = 0, binding = 4) writeonly buffer Published { uint data[]; } published_;
layout(set = 0, binding = 5) writeonly buffer Raw { uvec2 data[]; } raw_;

shared float16_t rows_[64 * 16];
shared float16_t columns_[32 * 16];
shared float16_t results_[64 * 32];

float decode(uint code) {
    if ((code & 0x7fu) == 0x7fu) return 0.0;
    precise float value = unpackHalf2x16((code & 0x7fu) << 7 | (code & 0x80u) << 8).x * 256.0;
    return value;
}

void main() {
    uint tid = gl_LocalInvocationIndex;
    uint z = gl_WorkGroupID.z;
    uint row0 = (push.first + gl_WorkGroupID.x) * 64u;
    uint column0 = gl_WorkGroupID.y * 32u;
    uint last = push.rows - 1u;
    uint nothing = push.nothing;
    // Four consecutive channels of four rows are this invocation's own, before and after the products.
    uint quad = tid % 8u;
    uint channel = z * push.output_z + column0 + 4u * quad;
    for (uint r = tid / 8u; r < 64u; r += 16u) {
        uint at = (min(row0 + r, last) * push.output_row + channel) >> 2;
        vec4 seed = vec4(0);
        if (SEED != 0u) {
            vec4 residual;
            if (SEED == 1u) {
                uint four = residual_.data[at];
                residual = vec4(decode(four & 0xffu), decode((four >> 8) & 0xffu), decode((four >> 16) & 0xffu), decode(four >> 24));
            } else {
                residual = unpack4(uvec2(residual_.data[2u * at], residual_.data[2u * at + 1u]), nothing);
            }
            seed = mul4(residual, unpack4(scale_.data[channel >> 2], nothing), nothing);
        }
        for (uint i = 0; i < 4u; i++) results_[r * 32u + 4u * quad + i] = float16_t(seed[i]);
    }
    barrier();
    uint first = gl_SubgroupID * 16u;
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum0, sum1, total0, total1;
    coopMatLoad(sum0, results_, first * 32u, 32, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(sum1, results_, first * 32u + 16u, 32, gl_CooperativeMatrixLayoutRowMajor);
    for (uint g = 0; g < push.groups; g++) {
        barrier();
        for (uint i = tid; i < 64u * 4u; i += 128u) {
            uint row = min(row0 + i / 4u, last);
            uint four = a_.data[(row * push.input_row + z * push.input_z + 16u * g) / 4u + i % 4u];
            for (uint b = 0; b < 4u; b++) rows_[4u * i + b] = float16_t(decode((four >> (8u * b)) & 0xffu));
        }
        for (uint i = tid; i < 32u * 4u; i += 128u) {
            uint four = w_.data[((column0 + i / 4u) * push.weight_row + z * push.weight_z + 16u * g) / 4u + i % 4u];
            for (uint b = 0; b < 4u; b++) columns_[4u * i + b] = float16_t(decode((four >> (8u * b)) & 0xffu));
        }
        barrier();
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b0, b1;
        coopMatLoad(a, rows_, first * 16u, 16, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(b0, columns_, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
        coopMatLoad(b1, columns_, 16 * 16, 16, gl_CooperativeMatrixLayoutColumnMajor);
        sum0 = coopMatMulAdd(a, b0, sum0);
        sum1 = coopMatMulAdd(a, b1, sum1);
        if ((g + 1u) % PARTITION == 0u) {
            precise coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> next0 = total0 + sum0;
            precise coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> next1 = total1 + sum1;
            total0 = g + 1u == PARTITION ? sum0 : next0;
            total1 = g + 1u == PARTITION ? sum1 : next1;
            sum0 = coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
            sum1 = coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
        }
    }
    coopMatStore(total0, results_, first * 32u, 32, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(total1, results_, first * 32u + 16u, 32, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    for (uint r = tid / 8u; r < 64u; r += 16u) {
        uint row = row0 + r;
        if (row > last) continue;
        uint from = r * 32u + 4u * quad;
        vec4 x = vec4(float(results_[from]), float(results_[from + 1u]), float(results_[from + 2u]), float(results_[from + 3u]));
        uint at = (row * push.output_row + channel) >> 2;
        if (RAW != 0u) raw_.data[at] = pack4(x);
        if (PUBLISHED != 0u) {
            if (SILU != 0u) x = silu4(x, nothing);
            published_.data[at] = publish_gemm(x.x) | publish_gemm(x.y) << 8 | publish_gemm(x.z) << 16 | publish_gemm(x.w) << 24;
        }
    }
}
