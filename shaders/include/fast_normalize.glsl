// Cosine normalization of one 32-vector on four lanes at a time: twin of `numerics::cosine`.
#include "numerics.glsl"
#include "fast_half.glsl"

/// `half(v * v + w)` with one rounding: the sum is rounded to odd before it becomes a half.
vec4 square_add(vec4 v, vec4 w, uint nothing) {
    precise vec4 p = v * v;
    // Not max and min: they lose a NaN.
    bvec4 order = greaterThanEqual(p, w);
    vec4 big = mix(w, p, order);
    vec4 small = mix(p, w, order);
    precise vec4 sum = big + small;
    precise vec4 back = sum - big;
    precise vec4 lost = small - back;
    uvec4 bits = floatBitsToUint(sum);
    bvec4 adjust = bvec4(uvec4(notEqual(lost, vec4(0))) & (~bits & 1u));
    uvec4 odd = bits + mix(uvec4(0xffffffffu), uvec4(1), greaterThan(lost, vec4(0)));
    return round4(uintBitsToFloat(mix(bits, odd, adjust)), nothing);
}

/// Normalizes 32 halves, a query or a key, to codes. Queries are scaled; those of the ViT by sqrt(32) first.
void normalize(uvec4 d0, uvec4 d1, uvec4 d2, uvec4 d3, bool query, bool vit, float scale, uint nothing, out uvec4 low, out uvec4 high) {
    vec4 v0 = unpack4(d0.xy, 0u), v1 = unpack4(d0.zw, 0u), v2 = unpack4(d1.xy, 0u), v3 = unpack4(d1.zw, 0u);
    vec4 v4 = unpack4(d2.xy, 0u), v5 = unpack4(d2.zw, 0u), v6 = unpack4(d3.xy, 0u), v7 = unpack4(d3.zw, 0u);
    vec4 r0 = square_add(v0, mul4(v4, v4, nothing), nothing);
    vec4 r1 = square_add(v1, mul4(v5, v5, nothing), nothing);
    vec4 r2 = square_add(v2, mul4(v6, v6, nothing), nothing);
    vec4 r3 = square_add(v3, mul4(v7, v7, nothing), nothing);
    // Strides 8, 4, 2 and 1 of the tree of half adds.
    vec4 r = add4(add4(r0, r2, nothing), add4(r1, r3, nothing), nothing);
    r = add4(r, r.zwxy, nothing);
    uint length2 = pack4(add4(r, r.yxwz, nothing)).x & 0xffffu;
    vec4 n = vec4(unpackHalf2x16(half_reciprocal_sqrt(length2) ^ nothing).x);
    vec4 root = vec4(unpackHalf2x16(SQRT_HEAD).x);
#define SCALED(v) v = mul4(v, n, nothing); if (query && vit) v = mul4(v, root, nothing); if (query) v = mul4(v, vec4(scale), nothing);
    SCALED(v0) SCALED(v1) SCALED(v2) SCALED(v3) SCALED(v4) SCALED(v5) SCALED(v6) SCALED(v7)
    low = uvec4(publish4(v0), publish4(v1), publish4(v2), publish4(v3));
    high = uvec4(publish4(v4), publish4(v5), publish4(v6), publish4(v7));
}

/// Publishes 16 halves.
uvec4 publish16(uvec4 d0, uvec4 d1) {
    return uvec4(publish4(unpack4(d0.xy, 0u)), publish4(unpack4(d0.zw, 0u)), publish4(unpack4(d1.xy, 0u)), publish4(unpack4(d1.zw, 0u)));
}
