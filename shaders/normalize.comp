// Cosine normalization, head by head. Twin of src/engine/reference/normalize.rs.
// One invocation: one head of one token, 96 halves in, 96 codes out.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "include/numerics.glsl"

layout(constant_id = 0) const bool VIT = false;

layout(local_size_x = LANES) in;
layout(push_constant) uniform Push { NORMALIZE_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uint halves[]; };
// One half per head, each in a word.
layout(set = 0, binding = 1) readonly buffer Scale { uint scales[]; };
layout(set = 0, binding = 2) writeonly buffer Output { uint codes[]; };

const uint WORDS = HEAD / 2u;

uint vector[WORDS];

uint channel(uint c) { return half_of(vector[c / 2u], c % 2u); }

uint square_sum() {
    uint r[16];
    [[dont_unroll]] for (uint c = 0u; c < 16u; c++)
        r[c] = half_fma(channel(c), channel(c), half_mul(channel(c + 16u), channel(c + 16u)));
    [[dont_unroll]] for (uint stride = 8u; stride > 0u; stride /= 2u)
        [[dont_unroll]] for (uint c = 0u; c < stride; c++) r[c] = half_add(r[c], r[c + stride]);
    return r[0];
}

void main() {
    uint at = (push.first + gl_WorkGroupID.x) * LANES + gl_LocalInvocationID.x;
    if (at >= push.heads * push.tokens) return;
    uint scale = scales[at % push.heads];
    for (uint part = 0u; part < 3u; part++) {
        for (uint w = 0u; w < WORDS; w++) vector[w] = halves[(at * 3u + part) * WORDS + w];
        uint length = part < 2u ? half_reciprocal_sqrt(square_sum()) : 0u;
        for (uint w = 0u; w < HEAD / 4u; w++) {
            uint word = 0u;
            [[dont_unroll]] for (uint b = 0u; b < 4u; b++) {
                uint h = channel(4u * w + b);
                if (part < 2u) h = half_mul(h, length);
                if (part == 0u && VIT) h = half_mul(h, SQRT_HEAD);
                if (part == 0u) h = half_mul(h, scale);
                word |= publish(h) << (8u * b);
            }
            codes[(at * 3u + part) * (HEAD / 4u) + w] = word;
        }
    }
}
