// The weights of the matrix GEMM as its fragments are loaded: for 16 codes of a column 8 halves, room for 8 terms more, 8 halves,
// room again, and 16 powers; made once for a model.
//
// Columns lie in blocks of 32, group after group. One invocation: one group of one column.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/constants.glsl"
#include "include/matrix_code.glsl"

layout(local_size_x = LANES) in;

layout(push_constant) uniform Push { GEMM_FAST_EXPAND_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Codes { uvec4 data[]; } codes_;
layout(set = 0, binding = 1) writeonly buffer Words { uvec4 data[]; } words_;

void main() {
    uint at = (push.first + gl_WorkGroupID.x) * LANES + gl_LocalInvocationID.x;
    if (at >= push.columns * push.groups) return;
    uint group = at / 32u % push.groups;
    uint column = at / 32u / push.groups * 32u + at % 32u;
    uvec4 bytes = codes_.data[column * push.groups + group];
    for (uint h = 0u; h < 2u; h++) {
        uvec4 values = uvec4(0), powers = uvec4(0);
        for (uint k = 0u; k < 8u; k++) {
            uint word = describe_for_matrix(bitfieldExtract(bytes[2u * h + k / 4u], int(8u * (k % 4u)), 8), COLUMN_BIAS);
            values[k / 2u] |= (word & 0xffffu) << (16u * (k % 2u));
            powers[k / 2u] |= (word >> 16) << (16u * (k % 2u));
        }
        words_.data[COLUMN * at + 2u * h] = values;
        words_.data[COLUMN * at + 2u * h + 1u] = uvec4(0);
        words_.data[COLUMN * at + 4u + h] = powers;
    }
}
