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

#endif
