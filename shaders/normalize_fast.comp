// Cosine normalization, one invocation for the q, the k or the v of one head of one token.
// Twin of src/engine/reference/normalize.rs.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/constants.glsl"
#include "include/fast_normalize.glsl"

layout(constant_id = 1) const uint VIT = 0;

layout(local_size_x = LANES) in;
layout(push_constant) uniform Push { NORMALIZE_FAST_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uvec4 data[]; } input_;
layout(set = 0, binding = 1) readonly buffer Scale { uint data[]; } scale_;
layout(set = 0, binding = 2) writeonly buffer Output { uvec4 data[]; } output_;

void main() {
    uint at = (push.first + gl_WorkGroupID.x) * LANES + gl_LocalInvocationIndex;
    if (at >= push.vectors) return;
    uint part = at % 3u;
    uvec4 d0 = input_.data[4u * at], d1 = input_.data[4u * at + 1u], d2 = input_.data[4u * at + 2u], d3 = input_.data[4u * at + 3u];
    uvec4 low, high;
    if (part == 2u) {
        low = publish16(d0, d1);
        high = publish16(d2, d3);
    } else {
        float scale = unpackHalf2x16(scale_.data[at / 3u % push.heads]).x;
        normalize(d0, d1, d2, d3, part == 0u, VIT == 1u, scale, push.nothing, low, high);
    }
    output_.data[2u * at] = low;
    output_.data[2u * at + 1u] = high;
}
