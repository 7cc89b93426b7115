// What the matrix kernels stage of an E4M3 code: its value as a half in bits 0-15, and in bits 16-31 the power 2^(8 e - 3) as a
// bfloat16, e the exponent that the shared exponent counts. Zeros and NaN codes: nothing.
#ifndef MATRIX_CODE_GLSL
#define MATRIX_CODE_GLSL

/// What turns a half's exponent field, which lies where a bfloat16 has it eight times, into that of the power. Products of two
/// have exponent fields of 8 (E + 15) + 1, and 16 of them add 4 at most.
const uint MATRIX_BIAS = 4u << 7;

uint describe_for_matrix(uint code) {
    uint m = code & 7u;
    int e = int((code >> 3) & 15u);
    uint magnitude = code & 127u;
    if (magnitude == 0u || magnitude == 127u) return 0u;
    int top = e == 0 ? findMSB(m) - 9 : e - 7;
    uint fraction = e == 0 ? (m << (3 - findMSB(m))) & 7u : m;
    uint half_ = (code & 128u) << 8 | uint(top + 15) << 10 | fraction << 7;
    return half_ | ((uint(max(top, -6) + 15) << 10) + MATRIX_BIAS) << 16;
}

/// Every code's description, once `describe_codes` has run and a barrier stands behind it.
shared uint codes[256];

void describe_codes(uint invocations) {
    for (uint c = gl_LocalInvocationIndex; c < 256u; c += invocations) codes[c] = describe_for_matrix(c);
}

/// Two codes side by side in K: a word of values and a word of powers.
uvec2 stage2(uint first, uint second) {
    uint low = codes[first], high = codes[second];
    return uvec2((low & 0xffffu) | high << 16, low >> 16 | (high & 0xffff0000u));
}

/// Eight codes side by side in K.
void stage8(uvec2 bytes, out uvec4 values, out uvec4 powers) {
    [[unroll]] for (uint i = 0; i < 4; i++) {
        uint word = bytes[i / 2] >> (16 * (i % 2));
        uvec2 two = stage2(word & 0xffu, (word >> 8) & 0xffu);
        values[i] = two.x;
        powers[i] = two.y;
    }
}

/// Stages sixteen codes of a line of shared memory: two vectors of values, and their powers so many vectors behind.
#define STAGE16(pool, at, powers, bytes) { \
    stage8((bytes).xy, pool[at], pool[(at) + (powers)]); \
    stage8((bytes).zw, pool[(at) + 1u], pool[(at) + (powers) + 1u]); \
}

#endif
