// Joins the parts of a product whose K was cut into workgroups of their own: half adds in order, then the epilogue.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/constants.glsl"
#include "include/fast_half.glsl"

layout(constant_id = 1) const uint SILU = 0;
layout(constant_id = 2) const uint PUBLISHED = 1;
layout(constant_id = 3) const uint RAW = 0;

layout(local_size_x = LANES) in;
layout(push_constant) uniform Push { GEMM_FAST_JOIN_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Parts { uvec2 data[]; } parts_;
layout(set = 0, binding = 1) writeonly buffer Published { uint data[]; } published_;
layout(set = 0, binding = 2) writeonly buffer Raw { uvec2 data[]; } raw_;

void main() {
    uint at = (push.first + gl_WorkGroupID.x) * LANES + gl_LocalInvocationIndex;
    if (at >= push.quads) return;
    vec4 total = unpack4(parts_.data[at], push.nothing);
    for (uint part = 1; part < push.parts; part++) {
        total = add4(total, unpack4(parts_.data[part * push.quads + at], push.nothing), push.nothing);
    }
    if (RAW != 0u) raw_.data[at] = pack4(total);
    if (PUBLISHED != 0u) {
        if (SILU != 0u) total = silu4(total, push.nothing);
        published_.data[at] = publish_gemm(total.x) | publish_gemm(total.y) << 8 | publish_gemm(total.z) << 16 | publish_gemm(total.w) << 24;
    }
}
