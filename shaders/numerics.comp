// Every function of include/numerics.glsl on given operands, for the self-test: twin of src/numerics as a whole.
// One invocation: one case of three halves, two words in, NUMERICS_WORDS out.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/numerics.glsl"

layout(local_size_x = LANES) in;
layout(set = 0, binding = 0) readonly buffer Input { uint operands[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint results[]; };

void main() {
    uint at = gl_WorkGroupID.x * LANES + gl_LocalInvocationID.x;
    uint ab = operands[2u * at], a = half_of(ab, 0u), b = half_of(ab, 1u), c = half_of(operands[2u * at + 1u], 0u);
    uint to = at * NUMERICS_WORDS;
    results[to] = publish(a) | publish_gemm(a) << 16;
    results[to + 1u] = exp_weight(a) | exp_weight_vit(a) << 16;
    results[to + 2u] = half_reciprocal(a) | half_reciprocal_sqrt(a) << 16;
    results[to + 3u] = half_add(a, b) | half_mul(a, b) << 16;
    results[to + 4u] = half_fma(a, b, c) | half_from_single(uintBitsToFloat(ab)) << 16;
    results[to + 5u] = floatBitsToUint(e4m3_value(a & 0xffu));
    results[to + 6u] = e4m3_half(a & 0xffu) | fdpa_seed(a, b) << 16;
    results[to + 7u] = half_widen(a);
}
