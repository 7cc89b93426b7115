// Attention in one workgroup: twin of `engine/reference/window_attention.rs`; with NORMALIZE, of `normalize.rs` before
// it; with GLOBAL, of `global_attention.rs`.
//
// 128 threads; 64 queries of one head, and 64 keys and values in physical order: a window's, or block after block of all
// tokens. A thread makes the scores of 4 queries and two times 4 keys, then 4 queries by 4 channels. Nothing but the
// input and the result leaves the chip.
// build: window_attention_fast RTZ=1
// build: window_attention_any RTZ=0
// build: fused_attention_fast RTZ=1 NORMALIZE
// build: fused_attention_any RTZ=0 NORMALIZE
// build: global_attention_fast RTZ=1 GLOBAL
// build: global_attention_any RTZ=0 GLOBAL
#version 450
#extension GL_GOOGLE_include_directive : require
#define THREADS 128
#define TN 4
#define POOL (128 * FAST_WORDS / 4)
#include "include/constants.glsl"
#include "include/fast.glsl"
#include "include/fast_normalize.glsl"
#include "include/fast_exponential.glsl"

layout(local_size_x = THREADS) in;

// Raw halves with NORMALIZE, else codes; a token's head is 96 of them, q, k and v.
layout(set = 0, binding = 0) readonly buffer Input { uvec4 data[]; } input_;
#ifdef GLOBAL
layout(push_constant) uniform Push { GLOBAL_ATTENTION_FAST_PUSH } push;
layout(set = 0, binding = 1) writeonly buffer Output { uint data[]; } output_;
#else
layout(push_constant) uniform Push { WINDOW_ATTENTION_PUSH } push;
layout(set = 0, binding = 1) readonly buffer Prior { uvec2 data[]; } prior_;
layout(set = 0, binding = 2) readonly buffer Scale { uint data[]; } scale_;
layout(set = 0, binding = 3) writeonly buffer Output { uint data[]; } output_;
#endif

// Codes of q (natural order), k and v (physical order): 64 tokens of 32 channels each.
shared uvec4 tokens[3 * 64 * 2];
shared uint partial[8 * 32];
// Sums of the exponentials so far, then their reciprocals: two queries to a word.
shared uint totals[32];

const uint NOWHERE = 0xffffffffu;

#ifdef GLOBAL
uint query_at(uint n) {
    uint token = (push.first + gl_WorkGroupID.x) * 64u + n;
    return token < push.tokens ? token : NOWHERE;
}

uint key_at(uint block, uint p) {
    uint token = block * 64u + p;
    return token < push.tokens ? token : NOWHERE;
}
#else
/// The plane's token at natural index n of this workgroup's window.
uint query_at(uint n) {
    uint window = push.first + gl_WorkGroupID.x;
    int x = int(window % push.windows * 8u + n % 8u) - int(push.shift_x);
    int y = int(window / push.windows * 8u + n / 8u) - int(push.shift_y);
    bool inside = x >= 0 && y >= 0 && x < int(push.width) && y < int(push.height);
    return inside ? uint(y) * push.width + uint(x) : NOWHERE;
}

uint key_at(uint block, uint p) {
    return query_at(((p >> 5) * 4u + ((p >> 2) & 3u)) * 8u + ((p >> 4) & 1u) * 4u + (p & 3u));
}

uint physical(uint n) {
    return (n >> 5) * 32u + ((n >> 2) & 1u) * 16u + ((n >> 3) & 3u) * 4u + (n & 3u);
}
#endif

/// Puts 64 tokens' codes on the chip; tokens outside the field are zero vectors.
void gather(uint block) {
    uint tid = gl_LocalInvocationIndex;
    uint head = gl_WorkGroupID.y;
#ifdef NORMALIZE
    bool query = tid < 64u;
    uint token = query ? query_at(tid) : key_at(block, tid & 63u);
    uvec4 low = uvec4(0), high = uvec4(0);
    if (token != NOWHERE) {
        uint at = (token * push.heads + head) * 12u + (query ? 0u : 4u);
        float scale = unpackHalf2x16(scale_.data[head]).x;
        normalize(input_.data[at], input_.data[at + 1u], input_.data[at + 2u], input_.data[at + 3u], query, false, scale, push.nothing, low, high);
    }
    tokens[2u * tid] = low;
    tokens[2u * tid + 1u] = high;
    token = key_at(block, tid >> 1);
    uint at = (token * push.heads + head) * 12u + 8u + (tid & 1u) * 2u;
    tokens[256u + tid] = token == NOWHERE ? uvec4(0) : publish16(input_.data[at], input_.data[at + 1u]);
#else
    for (uint at = tid + (block == 0u ? 0u : 128u); at < 384u; at += THREADS) {
        uint part = at >> 7;
        uint index = (at >> 1) & 63u;
        uint token = part == 0u ? query_at(index) : key_at(block, index);
        tokens[at] = token == NOWHERE ? uvec4(0) : input_.data[(token * push.heads + head) * 6u + part * 2u + (at & 1u)];
    }
#endif
}

uvec2 eight(uint part, uint index, uint group, uint h) {
    uvec4 v = tokens[part * 128u + index * 2u + group];
    return h == 0u ? v.xy : v.zw;
}

uint add2(uint a, uint b, uint nothing) {
    precise vec2 sum = unpackHalf2x16(a ^ nothing) + unpackHalf2x16(b ^ nothing);
    return pack(sum.x, sum.y);
}

/// The reciprocals of two halves.
uint reciprocal2(uint h) {
    return half_reciprocal(h & 0xffffu) | half_reciprocal(h >> 16) << 16;
}

void main() {
    uint tid = gl_LocalInvocationIndex;
    uint ty = tid % 16u;
    uint tx = tid / 16u;
    uint head = gl_WorkGroupID.y;
    uint nothing = push.nothing;
    const uint KEYS0 = 64 * WORDS / 4;
    build_codes();
    uvec2 o[4];
#define CLEAR(j) o[j] = uvec2(0);
    EACH4(CLEAR)
#ifdef GLOBAL
    for (uint block = 0; block < push.padded / 64u; block++) {
    barrier();
#else
    const uint block = 0;
#endif
    gather(block);

    // Scores, on the prior.
    uvec2 s0[4];
    uvec2 s1[4];
#ifdef GLOBAL
#define NO_PRIOR(j) s0[j] = uvec2(0); s1[j] = uvec2(0);
    EACH4(NO_PRIOR)
#else
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
#endif
    for (uint g = 0; g < 2u; g++) {
        barrier();
        stage(0, 64, tid & 63u, tid >> 6, eight(0u, tid & 63u, g, tid >> 6), 0x40404040u);
        stage(KEYS0, 64, tid & 63u, tid >> 6, eight(1u, tid & 63u, g, tid >> 6), 0u);
        barrier();
        group16(ty, 16, KEYS0 + tx, 16, nothing, s0);
        group16(ty, 16, KEYS0 + 8u + tx, 16, nothing, s1);
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
        uint sum = add2(even, odd, nothing);
#ifdef GLOBAL
        totals[tid] = block == 0u ? sum : add2(totals[tid], sum, nothing);
#else
        totals[tid] = reciprocal2(sum);
#endif
    }
#ifdef GLOBAL
    const vec4 inverse = vec4(1);
#else
    barrier();
    vec4 inverse = unpack4(uvec2(totals[2u * ty], totals[2u * ty + 1u]), nothing);
#endif

    // Weighted values: four groups of 16 keys from zero. Weights are staged as they are made; they have no sign.
    const uint VALUES0 = KEYS0;
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
        group16(ty, 16, VALUES0 + tx, 8, nothing, o);
    }
#ifdef GLOBAL
    }
    barrier();
    // The weights were not normalized; padding keys are taken off the sum, then the results are divided.
    if (tid < 32u) {
        uint sum = totals[tid];
        if (push.excess != 0u) sum = add2(sum, (push.excess | push.excess << 16) ^ 0x80008000u, nothing);
        totals[tid] = reciprocal2(sum);
    }
    barrier();
    vec4 inverse = unpack4(uvec2(totals[2u * ty], totals[2u * ty + 1u]), nothing);
#define DIVIDE(j) o[j] = pack4(mul4(unpack4(o[j], nothing), inverse, nothing));
    EACH4(DIVIDE)
#endif
    vec4 o0 = unpack4(o[0], nothing), o1 = unpack4(o[1], nothing), o2 = unpack4(o[2], nothing), o3 = unpack4(o[3], nothing);
#define ATTENDED(i) { \
        uint token = query_at(4u * ty + i); \
        if (token != NOWHERE) output_.data[(token * push.heads + head) * 8u + tx] = publish4(vec4(o0[i], o1[i], o2[i], o3[i])); }
    EACH4(ATTENDED)
}
