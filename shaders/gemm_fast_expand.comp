// The weights of the fast GEMM as it stages them: FAST_WORDS for 16 codes of a column, made once for a model.
//
// Columns lie in blocks of 32, group after group. PAIRS is 1 for the layout of two-column threads. One invocation:
// one group of one column.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/constants.glsl"
#include "include/fast_code.glsl"

layout(local_size_x = LANES) in;
layout(constant_id = 0) const uint PAIRS = 0;

layout(push_constant) uniform Push { GEMM_FAST_EXPAND_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Codes { uvec4 data[]; } codes_;
layout(set = 0, binding = 1) writeonly buffer Words { uint data[]; } words_;

void main() {
    uint at = (push.first + gl_WorkGroupID.x) * LANES + gl_LocalInvocationID.x;
    if (at >= push.columns * push.groups) return;
    uint lane = at % 32u;
    uint group = at / 32u % push.groups;
    uint column = at / 32u / push.groups * 32u + lane;
    uvec4 bytes = codes_.data[column * push.groups + group];
    uint words[FAST_WORDS];
    for (uint k = 0u; k < 16u; k++) {
        uint word = describe(bitfieldExtract(bytes[k / 4u], int(8u * (k % 4u)), 8));
        words[k] = word & 0xfff00000u;
        words[16u + k] = (word & 0xff00u) << 15;
        words[32u + k / 4u] = (k % 4u == 0u ? 0u : words[32u + k / 4u]) | (word & 0xffu) << (8u * (k % 4u));
    }
    words[36] = (bytes.x & 0x80808080u) | (bytes.y & 0x80808080u) >> 1;
    words[37] = (bytes.z & 0x80808080u) | (bytes.w & 0x80808080u) >> 1;
    uint base = at / 32u * 32u * FAST_WORDS;
    for (uint w = 0u; w < FAST_WORDS; w++) {
        uint to = PAIRS != 0u ? (w >> 1) * 64u + (lane >> 1) * 4u + (w & 1u) * 2u + (lane & 1u) : w * 32u + lane;
        words_.data[base + to] = words[w];
    }
}
