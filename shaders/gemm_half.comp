// f16 matrix product in groups of 8. Twin of src/engine/reference/gemm_half.rs.
// One invocation: four results of one row. Integers throughout: the terms of a group fit 30 bits.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/numerics.glsl"

layout(constant_id = 0) const bool PUBLISHED = true;
layout(constant_id = 1) const bool RAW = false;
layout(constant_id = 2) const bool SINGLE = false;

layout(local_size_x = LANES) in;
layout(push_constant) uniform Push { GEMM_HALF_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uint halves[]; };
// One column after the other, K halves each.
layout(set = 0, binding = 1) readonly buffer Weights { uint weights[]; };
layout(set = 0, binding = 2) writeonly buffer Published { uint published[]; };
layout(set = 0, binding = 3) writeonly buffer Raw { uint raw[]; };
layout(set = 0, binding = 4) writeonly buffer Single { uint single[]; };

const uint GROUP = FDPA_GROUP_F16;

int exponent(uint h) { return half_scale(h) + 10; }
bool is_zero(uint h) { return (h & 0x7fffu) == 0u; }

// |a * b| in units of 2^(shared - 24), truncated, with its sign.
int term(uint a, uint b, int shared_exponent) {
    uint product = half_significand(a) * half_significand(b) << 4;
    int magnitude = int(product >> min(shared_exponent - exponent(a) - exponent(b), 31));
    return ((a ^ b) & HALF_SIGN) != 0u ? -magnitude : magnitude;
}

uint fdpa(uint row, uint column, uint accumulator) {
    if (!half_is_finite(accumulator)) return accumulator;
    int shared_exponent = is_zero(accumulator) ? FDPA_ZERO_EXPONENT : exponent(accumulator);
    for (uint i = 0u; i < GROUP; i++) {
        uint a = half_of(halves[row + i / 2u], i % 2u), b = half_of(weights[column + i / 2u], i % 2u);
        if (!is_zero(a) && !is_zero(b)) shared_exponent = max(shared_exponent, exponent(a) + exponent(b));
    }
    int own = int(half_significand(accumulator) << 14 >> min(shared_exponent - exponent(accumulator), 31));
    int units = (accumulator & HALF_SIGN) != 0u ? -own : own;
    if (is_zero(accumulator)) units = 0;
    for (uint i = 0u; i < GROUP; i++) {
        uint a = half_of(halves[row + i / 2u], i % 2u), b = half_of(weights[column + i / 2u], i % 2u);
        if (!is_zero(a) && !is_zero(b)) units += term(a, b, shared_exponent);
    }
    return half_from_units(units, shared_exponent - FDPA_FRACTION_F16);
}

void main() {
    uint at = (push.first + gl_WorkGroupID.x) * LANES + gl_LocalInvocationID.x;
    uint quads = push.n / 4u, row = at / quads, n = at % quads * 4u;
    if (row >= push.rows) return;
    uint result[4];
    for (uint j = 0u; j < 4u; j++) {
        result[j] = 0u;
        for (uint k = 0u; k < push.k; k += GROUP)
            result[j] = fdpa((row * push.k + k) / 2u, ((n + j) * push.k + k) / 2u, result[j]);
    }
    uint out_at = row * push.n + n;
    if (PUBLISHED) {
        published[out_at / 4u] =
            publish(result[0]) | publish(result[1]) << 8 | publish(result[2]) << 16 | publish(result[3]) << 24;
    }
    if (RAW) {
        raw[out_at / 2u] = result[0] | result[1] << 16;
        raw[out_at / 2u + 1u] = result[2] | result[3] << 16;
    }
    if (SINGLE) {
        for (uint j = 0u; j < 4u; j++) single[out_at + j] = half_widen(result[j]);
    }
}
