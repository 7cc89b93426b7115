// Halves as singles, four at a time: rounding, publication, silu. Twin of `numerics::float16`, `e4m3` and `silu`.
#ifndef FAST_HALF_GLSL
#define FAST_HALF_GLSL

#define EACH4(F) F(0) F(1) F(2) F(3)

/// How halves are rounded: 0 on bit patterns, 1 by packHalf2x16, where the self-test found it right.
layout(constant_id = 0) const uint HALF = 0;

uint half_bits(float x) {
    uint u = floatBitsToUint(x);
    uint m = u & 0x7fffffffu;
    bool small = m < 0x38800000u;
    precise float lifted = uintBitsToFloat(m) + 6.103515625e-05;
    uint y = small ? floatBitsToUint(lifted) : m;
    uint r = ((y + 0xfffu + ((y >> 13) & 1u)) >> 13) - (small ? 113u << 10 : 112u << 10);
    r = m > 0x7f800000u ? 0x7e00u : min(r, 0x7c00u);
    return ((u >> 16) & 0x8000u) | r;
}

uint pack(float a, float b) {
    if (HALF == 1u) return packHalf2x16(vec2(a, b));
    return half_bits(a) | half_bits(b) << 16;
}

uvec2 pack4(vec4 v) {
    return uvec2(pack(v.x, v.y), pack(v.z, v.w));
}

/// Four halves as singles. `nothing` is 0 at run time: no compiler may see that a rounding is undone.
vec4 unpack4(uvec2 h, uint nothing) {
    return vec4(unpackHalf2x16(h.x ^ nothing), unpackHalf2x16(h.y ^ nothing));
}

/// The nearest E4M3 code of a half given as a single; NaN is +0.
uint publish(float x) {
    uint u = floatBitsToUint(x);
    uint m = u & 0x7fffffffu;
    bool small = m < 0x3c800000u;
    precise float lifted = uintBitsToFloat(m) + 0.015625;
    uint y = small ? floatBitsToUint(lifted) : m;
    uint r = ((y + 0x7ffffu + ((y >> 20) & 1u)) >> 20) - (small ? 121u << 3 : 120u << 3);
    return m > 0x7f800000u ? 0u : min(r, 0x7eu) | ((u >> 24) & 0x80u);
}

/// As `publish`, but -0 is +0: the epilogue of the FP8 GEMM.
uint publish_gemm(float x) {
    return floatBitsToUint(x) == 0x80000000u ? 0u : publish(x);
}

/// The halves nearest to four singles, as singles.
vec4 round4(vec4 v, uint nothing) {
    return unpack4(pack4(v), nothing);
}

vec4 silu4(vec4 x, uint nothing) {
    vec4 t = clamp(x, vec4(-4.0), vec4(4.0));
    precise vec4 inner = fma(vec4(-0.055908203125), abs(t), vec4(0.447265625));
    precise vec4 outer = fma(t, round4(inner, nothing), vec4(0.89453125));
    precise vec4 y = x * round4(outer, nothing);
    return round4(y, nothing);
}

uint publish4(vec4 v) {
    return publish(v.x) | publish(v.y) << 8 | publish(v.z) << 16 | publish(v.w) << 24;
}

vec4 mul4(vec4 a, vec4 b, uint nothing) {
    precise vec4 p = a * b;
    return round4(p, nothing);
}

vec4 add4(vec4 a, vec4 b, uint nothing) {
    precise vec4 s = a + b;
    return round4(s, nothing);
}

#endif
