// Attention in the registers of fragments: what window attention and the whole block on matrix units share. The includer has
// `push` with the window grid of WINDOW_ATTENTION_PUSH.
//
// An invocation's two results of a row are a word of halves; everything is in physical order, in which the network's sums
// are those of this layout: a chain of an invocation's own words, then its three neighbours'.
#include "matrix.glsl"

const uint NOWHERE = 0xffffffffu;

/// The plane's token at physical index p of this workgroup's window.
uint token_at(uint p) {
    uint n = ((p >> 5) * 4u + ((p >> 2) & 3u)) * 8u + ((p >> 4) & 1u) * 4u + (p & 3u);
    uint window = push.first + gl_WorkGroupID.x;
    int x = int(window % push.windows * 8u + n % 8u) - int(push.shift_x);
    int y = int(window / push.windows * 8u + n / 8u) - int(push.shift_y);
    bool inside = x >= 0 && y >= 0 && x < int(push.width) && y < int(push.height);
    return inside ? uint(y) * push.width + uint(x) : NOWHERE;
}

/// Half arithmetic on two rows' pairs.
uint add2(uint a, uint b) {
    precise f16vec2 sum = unpackFloat2x16(a) + unpackFloat2x16(b);
    return packFloat2x16(sum);
}

uvec2 add22(uvec2 a, uvec2 b) {
    return uvec2(add2(a.x, b.x), add2(a.y, b.y));
}

uint multiply2(uint a, uint b) {
    precise f16vec2 product = unpackFloat2x16(a) * unpackFloat2x16(b);
    return packFloat2x16(product);
}

uvec2 multiply22(uvec2 a, uvec2 b) {
    return uvec2(multiply2(a.x, b.x), multiply2(a.y, b.y));
}

/// The sums of two rows' exponentials in the network's order, as their reciprocals twice in a word.
uvec2 reciprocals(uvec2 e[8]) {
    uvec2 own = add22(add22(add22(add22(e[0], e[1]), add22(e[2], e[3])), add22(e[4], e[5])), add22(e[6], e[7]));
    uint quad = gl_SubgroupInvocationID & 28u;
    uvec2 all = add22(subgroupShuffle(own, quad), subgroupShuffle(own, quad + 1u));
    all = add22(all, subgroupShuffle(own, quad + 2u));
    all = add22(all, subgroupShuffle(own, quad + 3u));
    uvec2 reciprocal = uvec2(half_reciprocal(add2(all.x, all.x >> 16) & 0xffffu), half_reciprocal(add2(all.y, all.y >> 16) & 0xffffu));
    return reciprocal | reciprocal << 16;
}

/// Two halves as published and staged again: their values and powers. The sign of a zero is left to its half.
uvec2 quantize2(uint halves) {
    uint magnitudes = halves & 0x7fff7fffu;
    uint nearest = (magnitudes + 0x003f003fu + ((magnitudes >> 7) & 0x00010001u)) & 0xff80ff80u;
    // Below 2^-6 steps are 2^-9, as those of halves between 2 and 4.
    f16vec2 x = unpackFloat2x16(magnitudes);
    precise f16vec2 lifted = x + f16vec2(2.0);
    precise f16vec2 lowered = lifted - f16vec2(2.0);
    uint small = packFloat2x16(lowered);
    bvec2 is_small = lessThan(x, f16vec2(0.015625));
    bvec2 is_nan = isnan(x);
    uint low = is_nan.x ? 0u : is_small.x ? small & 0xffffu : min(nearest & 0xffffu, 0x5f00u);
    uint high = is_nan.y ? 0u : is_small.y ? small & 0xffff0000u : min(nearest & 0xffff0000u, 0x5f000000u);
    // A power's exponent field is eight times a half's; subnormal codes count as -6, zeros not at all.
    uint low_power = low == 0u ? 0u : max(low & 0x7c00u, 9u << 10) + MATRIX_BIAS;
    uint high_power = high == 0u ? 0u : max(high & 0x7c000000u, 9u << 26) + (MATRIX_BIAS << 16);
    return uvec2(low | high | (halves & 0x80008000u), low_power | high_power);
}

/// Two fragments of results, published, as the rows of a group of 16.
Rows as_rows(uvec2 left, uvec2 right, MATRIX(float16_t, 16, A) largest) {
    MATRIX(float16_t, 16, A) values;
    MATRIX(bfloat16_t, 16, A) powers;
    [[unroll]] for (uint i = 0; i < 4; i++) {
        // Elements 0 and 1 are a row's lower two, 2 and 3 its upper two, the rest those of the row eight below.
        uvec2 two = quantize2(i % 2 == 0 ? left[i / 2] : right[i / 2]);
        f16vec2 value = unpackFloat2x16(two.x);
        u16vec2 power = unpack16(two.y);
        values[2 * i] = value.x;
        values[2 * i + 1] = value.y;
        powers[2 * i] = uintBitsToBFloat16EXT(power.x);
        powers[2 * i + 1] = uintBitsToBFloat16EXT(power.y);
    }
    return beside(values, powers, largest);
}

uint publish2(uint halves, uint nothing) {
    vec2 x = unpackHalf2x16(halves ^ nothing);
    return publish(x.x) | publish(x.y) << 8;
}

