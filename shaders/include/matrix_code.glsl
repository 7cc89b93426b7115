// What the matrix kernels stage of an E4M3 code: its value as a half in bits 0-15, and in bits 16-31 the power
// 2^(8 e + BIAS) as a bfloat16, e the exponent that the shared exponent counts. Zeros and NaN codes: nothing.
#ifndef MATRIX_CODE_GLSL
#define MATRIX_CODE_GLSL

/// Biases of the powers of the two operands: together they put 8 (E + 15) into the exponent field of a product.
const int ROW_BIAS = -4;
const int COLUMN_BIAS = -3;

/// Vectors of one group of a staged column.
const uint COLUMN = 6;

uint describe_for_matrix(uint code, int bias) {
    uint m = code & 7u;
    int e = int((code >> 3) & 15u);
    uint magnitude = code & 127u;
    if (magnitude == 0u || magnitude == 127u) return 0u;
    int top = e == 0 ? findMSB(m) - 9 : e - 7;
    uint fraction = e == 0 ? (m << (3 - findMSB(m))) & 7u : m;
    uint half_ = (code & 128u) << 8 | uint(top + 15) << 10 | fraction << 7;
    return half_ | uint(8 * max(top, -6) + bias + 127) << 23;
}

#endif
