// Window attention of one window and head in one workgroup: twin of `engine/reference/window_attention.rs` and, with
// NORMALIZE, of `engine/reference/normalize.rs` before it.
//
// 128 threads; 64 queries in natural order, 64 keys and values in physical order. A thread makes the scores of 4
// queries and two times 4 keys, later 4 queries by 4 channels. Nothing but the input and the result leaves the chip.
// build: window_attention_fast RTZ=1
// build: window_attention_any RTZ=0
// build: fused_attention_fast RTZ=1 NORMALIZE
// build: fused_attention_any RTZ=0 NORMALIZE
#version 450
#extension GL_GOOGLE_include_directive : require
#define THREADS 128
#define TN 4
#define POOL (128 * 38 / 4)
#include "include/constants.glsl"
#include "include/fast.glsl"

layout(local_size_x = THREADS) in;

layout(push_constant) uniform Push { WINDOW_ATTENTION_FAST_PUSH } push;

// Raw halves with NORMALIZE, else codes; a token's head is 96 of them, q, k and v.
layout(set = 0, binding = 0) readonly buffer Input { uvec4 data[]; } input_;
layout(set = 0, binding = 1) readonly buffer Prior { uvec2 data[]; } prior_;
layout(set = 0, binding = 2) readonly buffer Scale { float data[]; } scale_;
layout(set = 0, binding = 3) writeonly buffer Output { uint data[]; } output_;

// Codes of q (natural order), k and v (physical order): 64 tokens of 32 channels each.
shared uvec4 tokens[3 * 64 * 2];
shared uint partial[8 * 32];
shared uint reciprocal[32];

const uint NOWHERE = 0xffffffffu;

/// The plane's token at natural index n of this workgroup's window.
uint token_at(uint n) {
    uint window = push.first + gl_WorkGroupID.x;
    int x = int(window % push.windows * 8u + n % 8u) - int(push.shift_x);
    int y = int(window / push.windows * 8u + n / 8u) - int(push.shift_y);
    bool inside = x >= 0 && y >= 0 && x < int(push.width) && y < int(push.height);
    return inside ? uint(y) * push.width + uint(x) : NOWHERE;
}

uint natural(uint p) {
    return ((p >> 5) * 4u + ((p >> 2) & 3u)) * 8u + ((p >> 4) & 1u) * 4u + (p & 3u);
}

uint physical(uint n) {
    return (n >> 5) * 32u + ((n >> 2) & 1u) * 16u + ((n >> 3) & 3u) * 4u + (n & 3u);
}

uint publish4(vec4 v) {
    return publish(v.x) | publish(v.y) << 8 | publish(v.z) << 16 | publish(v.w) << 24;
}

#ifdef NORMALIZE
/// `half(v * v + w)` with one rounding: the sum is rounded to odd before it becomes a half.
vec4 square_add(vec4 v, vec4 w, uint nothing) {
    precise vec4 p = v * v;
    vec4 big = max(p, w);
    vec4 small = min(p, w);
    precise vec4 sum = big + small;
    precise vec4 back = sum - big;
    precise vec4 lost = small - back;
    uvec4 bits = floatBitsToUint(sum);
    bvec4 adjust = bvec4(uvec4(notEqual(lost, vec4(0))) & (~bits & 1u));
    uvec4 odd = bits + mix(uvec4(0xffffffffu), uvec4(1), greaterThan(lost, vec4(0)));
    return round4(uintBitsToFloat(mix(bits, odd, adjust)), nothing);
}

vec4 mul4(vec4 a, vec4 b, uint nothing) {
    precise vec4 p = a * b;
    return round4(p, nothing);
}

vec4 add4(vec4 a, vec4 b, uint nothing) {
    precise vec4 s = a + b;
    return round4(s, nothing);
}

/// `half(1 / sqrt(x))` of a half; infinity for zero.
float reciprocal_length(float x, uint nothing) {
    float root = x == 0.0 ? uintBitsToFloat(0x7f800000u) : inversesqrt(x);
    return unpackHalf2x16(pack(root, 0.0) ^ nothing).x;
}

/// Normalizes 32 halves (4 vectors of 8), a query's or a key's.
void normalize(uint first, uint slot, bool query, float scale, uint nothing) {
    uvec4 d0 = input_.data[first];
    uvec4 d1 = input_.data[first + 1u];
    uvec4 d2 = input_.data[first + 2u];
    uvec4 d3 = input_.data[first + 3u];
    vec4 v0 = unpack4(d0.xy, 0u), v1 = unpack4(d0.zw, 0u), v2 = unpack4(d1.xy, 0u), v3 = unpack4(d1.zw, 0u);
    vec4 v4 = unpack4(d2.xy, 0u), v5 = unpack4(d2.zw, 0u), v6 = unpack4(d3.xy, 0u), v7 = unpack4(d3.zw, 0u);
    vec4 r0 = square_add(v0, mul4(v4, v4, nothing), nothing);
    vec4 r1 = square_add(v1, mul4(v5, v5, nothing), nothing);
    vec4 r2 = square_add(v2, mul4(v6, v6, nothing), nothing);
    vec4 r3 = square_add(v3, mul4(v7, v7, nothing), nothing);
    // Strides 8, 4, 2 and 1 of the tree of half adds.
    vec4 r = add4(add4(r0, r2, nothing), add4(r1, r3, nothing), nothing);
    r = add4(r, r.zwxy, nothing);
    float n = reciprocal_length(add4(r, r.yxwz, nothing).x, nothing);
#define SCALED(v) (query ? mul4(mul4(v, vec4(n), nothing), vec4(scale), nothing) : mul4(v, vec4(n), nothing))
    tokens[slot] = uvec4(publish4(SCALED(v0)), publish4(SCALED(v1)), publish4(SCALED(v2)), publish4(SCALED(v3)));
    tokens[slot + 1u] = uvec4(publish4(SCALED(v4)), publish4(SCALED(v5)), publish4(SCALED(v6)), publish4(SCALED(v7)));
}
#endif

/// Puts this window's codes on the chip; tokens outside the field are zero vectors.
void gather() {
    uint tid = gl_LocalInvocationIndex;
    uint head = gl_WorkGroupID.y;
    uint nothing = push.nothing;
#ifdef NORMALIZE
    bool query = tid < 64u;
    uint index = tid & 63u;
    uint token = token_at(query ? index : natural(index));
    uint slot = 2u * tid;
    if (token == NOWHERE) {
        tokens[slot] = uvec4(0);
        tokens[slot + 1u] = uvec4(0);
    } else {
        float scale = unpackHalf2x16(pack(scale_.data[head], 0.0) ^ nothing).x;
        normalize((token * push.heads + head) * 12u + (query ? 0u : 4u), slot, query, scale, nothing);
    }
    token = token_at(natural(tid >> 1));
    uvec4 v = uvec4(0);
    if (token != NOWHERE) {
        uint first = (token * push.heads + head) * 12u + 8u + (tid & 1u) * 2u;
        uvec4 d0 = input_.data[first];
        uvec4 d1 = input_.data[first + 1u];
        v = uvec4(publish4(unpack4(d0.xy, 0u)), publish4(unpack4(d0.zw, 0u)), publish4(unpack4(d1.xy, 0u)), publish4(unpack4(d1.zw, 0u)));
    }
    tokens[256u + tid] = v;
#else
    for (uint at = tid; at < 384u; at += THREADS) {
        uint part = at >> 7;
        uint index = (at >> 1) & 63u;
        uint token = token_at(part == 0u ? index : natural(index));
        tokens[at] = token == NOWHERE ? uvec4(0) : input_.data[(token * push.heads + head) * 6u + part * 2u + (at & 1u)];
    }
#endif
}

uvec2 eight(uint part, uint index, uint group, uint h) {
    uvec4 v = tokens[part * 128u + index * 2u + group];
    return h == 0u ? v.xy : v.zw;
}

/// The exponentials of two times two scores: linear map, clamp, and the shift of mantissa bits into the exponent.
uvec2 exponential(uvec2 scores, uint nothing) {
    precise vec4 linear = fma(vec4(uintBitsToFloat(WINDOW_SLOPE)), unpack4(scores, nothing), vec4(uintBitsToFloat(WINDOW_OFFSET)));
    vec4 low = vec4(unpackHalf2x16(WINDOW_LOW).x);
    vec4 high = vec4(unpackHalf2x16(WINDOW_HIGH).x);
    vec4 x = round4(linear, nothing);
    // A NaN takes the lower clamp.
    x = mix(low, x, greaterThanEqual(x, low));
    x = mix(high, x, lessThanEqual(x, high));
    return ((pack4(x) << WINDOW_SHIFT) & 0xffe0ffe0u) ^ 0x80008000u;
}

uint add2(uint a, uint b, uint nothing) {
    precise vec2 sum = unpackHalf2x16(a ^ nothing) + unpackHalf2x16(b ^ nothing);
    return pack(sum.x, sum.y);
}

void main() {
    uint tid = gl_LocalInvocationIndex;
    uint ty = tid % 16u;
    uint tx = tid / 16u;
    uint head = gl_WorkGroupID.y;
    uint nothing = push.nothing;
    const uint KEYS0 = 64 * WORDS / 4;
    build_codes();
    gather();

    // Scores, on the prior.
    uvec2 s0[4];
    uvec2 s1[4];
#define PRIOR(i) uvec2(prior_.data[(head * 64u + physical(4u * ty + i)) * 16u + tx + at])
#define TRANSPOSE(s, p0, p1, p2, p3) \
    s[0] = uvec2((p0.x & 0xffffu) | p1.x << 16, (p2.x & 0xffffu) | p3.x << 16); \
    s[1] = uvec2(p0.x >> 16 | (p1.x & 0xffff0000u), p2.x >> 16 | (p3.x & 0xffff0000u)); \
    s[2] = uvec2((p0.y & 0xffffu) | p1.y << 16, (p2.y & 0xffffu) | p3.y << 16); \
    s[3] = uvec2(p0.y >> 16 | (p1.y & 0xffff0000u), p2.y >> 16 | (p3.y & 0xffff0000u));
    {
        uint at = 0u;
        uvec2 p0 = PRIOR(0u), p1 = PRIOR(1u), p2 = PRIOR(2u), p3 = PRIOR(3u);
        TRANSPOSE(s0, p0, p1, p2, p3)
        at = 8u;
        p0 = PRIOR(0u); p1 = PRIOR(1u); p2 = PRIOR(2u); p3 = PRIOR(3u);
        TRANSPOSE(s1, p0, p1, p2, p3)
    }
    for (uint g = 0; g < 2u; g++) {
        barrier();
        stage(0, 64, tid & 63u, tid >> 6, eight(0u, tid & 63u, g, tid >> 6), 0x40404040u);
        stage(KEYS0, 64, tid & 63u, tid >> 6, eight(1u, tid & 63u, g, tid >> 6), 0u);
        barrier();
        group16(ty, 16, KEYS0 + tx, 16, 0, nothing, s0);
        group16(ty, 16, KEYS0 + 8u + tx, 16, 0, nothing, s1);
    }

    // Softmax: exponentials as pairs of rows, [key][row pair], over the staged operands.
    barrier();
#define EXPONENTIAL(j) s0[j] = exponential(s0[j], nothing); s1[j] = exponential(s1[j], nothing);
    EACH4(EXPONENTIAL)
#define KEEP(s, key) { uint at = (key) * 32u + 2u * ty; if ((at & 2u) == 0u) pool[at >> 2].xy = s; else pool[at >> 2].zw = s; }
#define KEEPS(j) KEEP(s0[j], 4u * tx + j) KEEP(s1[j], 32u + 4u * tx + j)
    EACH4(KEEPS)
    barrier();
    {
        uint pair = tid % 32u;
#define KEPT(key) pool[(key) * 8u + (pair >> 2)][pair & 3u]
        for (uint g = tid / 32u; g < 8u; g += 4u) {
            uint b0 = add2(KEPT(g), KEPT(g + 8u), nothing);
            uint b1 = add2(KEPT(g + 16u), KEPT(g + 24u), nothing);
            uint b2 = add2(KEPT(g + 32u), KEPT(g + 40u), nothing);
            uint b3 = add2(KEPT(g + 48u), KEPT(g + 56u), nothing);
            partial[g * 32u + pair] = add2(add2(add2(b0, b1, nothing), b2, nothing), b3, nothing);
        }
    }
    barrier();
    if (tid < 32u) {
#define T(g) partial[g * 32u + tid]
        uint even = add2(add2(add2(T(0u), T(2u), nothing), T(4u), nothing), T(6u), nothing);
        uint odd = add2(add2(add2(T(1u), T(3u), nothing), T(5u), nothing), T(7u), nothing);
        vec2 total = unpackHalf2x16(add2(even, odd, nothing) ^ nothing);
        precise vec2 inverted = vec2(1.0) / total;
        reciprocal[tid] = pack(inverted.x, inverted.y);
    }
    barrier();
    vec4 inverse = unpack4(uvec2(reciprocal[2u * ty], reciprocal[2u * ty + 1u]), nothing);

    // Weighted values: four groups of 16 keys from zero. Weights are staged as they are made; they have no sign.
    const uint VALUES0 = KEYS0;
    uvec2 o[4];
#define CLEAR(j) o[j] = uvec2(0);
    EACH4(CLEAR)
#define WORD(x) codes[publish(x)]
#define WEIGHT(s, j) { \
        precise vec4 product = unpack4(s[j], nothing) * inverse; \
        vec4 w = round4(product, nothing); \
        uvec4 word = uvec4(WORD(w.x), WORD(w.y), WORD(w.z), WORD(w.w)); \
        pool[(k + j) * 16u + ty] = word & 0xfff00000u; \
        pool[(16u + k + j) * 16u + ty] = (word & 0xff00u) << 15; \
        low += (word & 0xffu) << (8 * j); }
#define WEIGHTS(s) WEIGHT(s, 0) WEIGHT(s, 1) WEIGHT(s, 2) WEIGHT(s, 3)
    for (uint g = 0; g < 4u; g++) {
        barrier();
        if (tx / 4u == (g & 1u)) {
            uint k = 4u * (tx & 3u);
            uvec4 low = uvec4((tx & 1u) == 0u ? 0x40404040u : 0u);
            if (g < 2u) { WEIGHTS(s0) } else { WEIGHTS(s1) }
            pool[(32u + (tx & 3u)) * 16u + ty] = low;
            if ((tx & 3u) < 2u) pool[(36u + (tx & 3u)) * 16u + ty] = uvec4(0);
        } else {
            uint at = tid & 63u;
            uint channel = at & 31u;
            uint h = at >> 5;
#define VALUE(c) bitfieldExtract(tokens[256u + (16u * g + 8u * h + c) * 2u + (channel >> 4)][(channel >> 2) & 3u], int(8u * (channel & 3u)), 8)
            uvec2 bytes = uvec2(VALUE(0u) | VALUE(1u) << 8 | VALUE(2u) << 16 | VALUE(3u) << 24,
                                VALUE(4u) | VALUE(5u) << 8 | VALUE(6u) << 16 | VALUE(7u) << 24);
            stage(VALUES0, 32, channel, h, bytes, 0u);
        }
        barrier();
        group16(ty, 16, VALUES0 + tx, 8, 0, nothing, o);
    }
    vec4 o0 = unpack4(o[0], nothing), o1 = unpack4(o[1], nothing), o2 = unpack4(o[2], nothing), o3 = unpack4(o[3], nothing);
#define ATTENDED(i) { \
        uint token = token_at(4u * ty + i); \
        if (token != NOWHERE) output_.data[(token * push.heads + head) * 8u + tx] = publish4(vec4(o0[i], o1[i], o2[i], o3[i])); }
    EACH4(ATTENDED)
}
