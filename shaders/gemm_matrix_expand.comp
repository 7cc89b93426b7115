// The weights of the matrix GEMM as its invocations hold them: 16 codes of 16 columns are two fragments of values and one of
// powers, and an invocation's elements make a vector of either; made once for a model.
//
// Tiles lie in order of columns, group after group. One invocation: one group of one column, then its share of a tile.
// target: vulkan1.3
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_control_flow_attributes : require
#pragma use_vulkan_memory_model
#include "include/constants.glsl"
#include "include/matrix_code.glsl"

layout(local_size_x = LANES) in;

layout(push_constant) uniform Push { GEMM_FAST_EXPAND_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Codes { uvec4 data[]; } codes_;
layout(set = 0, binding = 1) writeonly buffer Words { uvec4 data[]; } words_;

/// Where the powers lie behind the values.
const uint POWERS = 2 * LANES;
shared uvec4 pool[2 * POWERS];

void main() {
    uint tid = gl_LocalInvocationIndex;
    uint all = push.columns * push.groups;
    uint from = (push.first + gl_WorkGroupID.x) * LANES;
    uint at = min(from + tid, all - 1u);
    uint group = at / 16u % push.groups;
    uint column = at / 16u / push.groups * 16u + at % 16u;
    uvec4 bytes = codes_.data[column * push.groups + group];
    describe_codes(LANES);
    barrier();
    STAGE16(pool, 2u * tid, POWERS, bytes);
    barrier();
    for (uint tile = gl_SubgroupID; tile < LANES / 16u; tile += gl_NumSubgroups) {
        if (from + 16u * tile >= all) break;
        coopmat<float16_t, gl_ScopeSubgroup, 16, 8, gl_MatrixUseB> left, right;
        coopmat<bfloat16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> powers;
        coopMatLoad(left, pool, 32u * tile, 2, gl_CooperativeMatrixLayoutColumnMajor);
        coopMatLoad(right, pool, 32u * tile + 16u, 2, gl_CooperativeMatrixLayoutColumnMajor);
        coopMatLoad(powers, pool, POWERS + 32u * tile, 2, gl_CooperativeMatrixLayoutColumnMajor);
        uvec4 value, power;
        for (uint i = 0u; i < 2u; i++) {
            value[i] = packFloat2x16(f16vec2(left[2u * i], left[2u * i + 1u]));
            value[2u + i] = packFloat2x16(f16vec2(right[2u * i], right[2u * i + 1u]));
        }
        for (uint i = 0u; i < 4u; i++) {
            power[i] = pack32(u16vec2(bfloat16BitsToUintEXT(powers[2u * i]), bfloat16BitsToUintEXT(powers[2u * i + 1u])));
        }
        uint to = (from / 16u + tile) * 64u + gl_SubgroupInvocationID;
        words_.data[to] = value;
        words_.data[to + 32u] = power;
    }
}
