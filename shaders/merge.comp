// A decoder's skip connection: fma(skip, scale, upsample(low)), published and raw.
// Twin of src/engine/reference/merge.rs. One invocation: four channels.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/numerics.glsl"

layout(constant_id = 0) const uint SKIP = ELEMENT_E4M3;
layout(constant_id = 1) const uint LOW = ELEMENT_F16;
layout(constant_id = 2) const bool LOW_SCALED = false;
layout(constant_id = 3) const bool PUBLISHED = true;
layout(constant_id = 4) const bool RAW = false;

layout(local_size_x = LANES) in;
layout(push_constant) uniform Push { MERGE_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Skip { uint skips[]; };
layout(set = 0, binding = 1) readonly buffer SkipScale { uint skip_scales[]; };
layout(set = 0, binding = 2) readonly buffer Low { uint lows[]; };
layout(set = 0, binding = 3) readonly buffer LowScale { uint low_scales[]; };
layout(set = 0, binding = 4) writeonly buffer Published { uint published[]; };
layout(set = 0, binding = 5) writeonly buffer Raw { uint raw[]; };

uint skip_at(uint index) {
    return SKIP == ELEMENT_E4M3 ? e4m3_half(byte_of(skips[index / 4u], index % 4u)) : half_of(skips[index / 2u], index % 2u);
}
uint low_at(uint index) {
    return LOW == ELEMENT_E4M3 ? e4m3_half(byte_of(lows[index / 4u], index % 4u)) : half_of(lows[index / 2u], index % 2u);
}

void main() {
    uint word = (push.first + gl_WorkGroupID.x) * LANES + gl_LocalInvocationID.x;
    if (word >= push.words) return;
    uint quads = push.channels / 4u, token = word / quads, channel = word % quads * 4u;
    uint below = token / push.width / 2u * push.low_width + token % push.width / 2u;
    uint sums[4], codes = 0u;
    for (uint j = 0u; j < 4u; j++) {
        uint c = channel + j, low = low_at(below * push.channels + c);
        if (LOW_SCALED) low = half_mul(low, half_of(low_scales[c / 2u], c % 2u));
        sums[j] = half_fma(skip_at(token * push.channels + c), half_of(skip_scales[c / 2u], c % 2u), low);
        codes |= publish(sums[j]) << (8u * j);
    }
    if (PUBLISHED) published[word] = codes;
    if (RAW) {
        raw[2u * word] = sums[0] | sums[1] << 16;
        raw[2u * word + 1u] = sums[2] | sums[3] << 16;
    }
}
