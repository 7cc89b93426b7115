// f16(features). Twin of src/engine/reference/convert.rs. One invocation: two elements, one word.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/numerics.glsl"

layout(local_size_x = LANES) in;
layout(push_constant) uniform Push { CONVERT_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uint singles[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint halves[]; };

void main() {
    uint word = (push.first + gl_WorkGroupID.x) * LANES + gl_LocalInvocationID.x;
    if (word >= push.words) return;
    uint low = half_from_single(uintBitsToFloat(singles[2u * word]));
    uint high = half_from_single(uintBitsToFloat(singles[2u * word + 1u]));
    halves[word] = low | high << 16;
}
