// The fixed-point dot product on matrix units that cut 25 bits below their largest term: 16 products per step, twin of
// `numerics::fdpa::fdpa_fp8`. The includer defines JOINT, the tiles of 16 columns that are worked
// on together, and EXPONENTS, how many further exponents are tried at once.
//
// A matrix unit cuts every term of 16 products at 25 bits below the largest exponent; the network wants 13 bits below
// the largest exponent E of *this* result's operands. So every product of 8 real terms carries two terms more, +2^(E+12) and
// -2^(E+12): they are the largest, they cancel, and what is left is cut where the network cuts it, the accumulator too.
// A product of powers of 2^8 tells every result's E. Results of one fragment differ in E, so the product runs once
// for each E that occurs and each result takes its own. Why each step is exact: docs of `engine::vulkan::gemm_matrix`.
//
// An invocation's elements of a fragment lie as `engine::vulkan::matrix_unit` has proven: of 16 x 16 rows pairs of k in the
// lower and the upper half by turns, of 16 x 8 results two of a row and two of the row eight below.
#ifndef MATRIX_GLSL
#define MATRIX_GLSL

#include "fast_half.glsl"
#include "matrix_code.glsl"

#define MATRIX(T, COLUMNS, USE) coopmat<T, gl_ScopeSubgroup, 16, COLUMNS, gl_MatrixUse##USE>
#define SUMS MATRIX(float, 8, Accumulator)
#define ROW_MAJOR gl_CooperativeMatrixLayoutRowMajor
#define COLUMN_MAJOR gl_CooperativeMatrixLayoutColumnMajor

/// The element of 16 x 16 results that is element `i` of their left (0) or right (1) 16 x 8.
#define WIDE(right, i) (4 * ((i) / 2) + 2 * (right) + (i) % 2)

/// Rows of a group: 16 values as two times 8 beside the largest terms, and their powers.
struct Rows {
    MATRIX(float16_t, 16, A) lower;
    MATRIX(float16_t, 16, A) upper;
    MATRIX(bfloat16_t, 16, A) powers;
};

/// Sixteen columns of a group.
struct Columns {
    MATRIX(float16_t, 8, B) values[2];
    MATRIX(bfloat16_t, 16, B) powers;
};

/// Rows of the largest terms alone: +2^14 and -2^14 in the lower half of K, and in the upper.
MATRIX(float16_t, 16, A) largest_terms() {
    f16vec2 pair = (gl_SubgroupInvocationID & 3u) == 0u ? f16vec2(16384.0, -16384.0) : f16vec2(0.0);
    MATRIX(float16_t, 16, A) largest;
    [[unroll]] for (uint i = 0; i < 8; i++) largest[i] = pair[i % 2];
    return largest;
}

Rows beside(MATRIX(float16_t, 16, A) values, MATRIX(bfloat16_t, 16, A) powers, MATRIX(float16_t, 16, A) largest) {
    Rows rows = Rows(values, largest, powers);
    [[unroll]] for (uint i = 2; i < 8; i += 4) {
        rows.upper[i] = values[i];
        rows.upper[i + 1] = values[i + 1];
        rows.lower[i] = largest[i];
        rows.lower[i + 1] = largest[i + 1];
    }
    return rows;
}

/// Columns as they lie ready: a vector of values, one of powers.
Columns as_columns(uvec4 values, uvec4 powers) {
    Columns columns;
    [[unroll]] for (uint i = 0; i < 8; i++) {
        columns.values[i / 4][i % 4] = unpackFloat2x16(values[i / 2])[i % 2];
        columns.powers[i] = uintBitsToBFloat16EXT(unpack16(powers[i / 2])[i % 2]);
    }
    return columns;
}

/// Twin of `numerics::silu` for two halves, in half arithmetic.
uint silu2(uint halves) {
    f16vec2 x = unpackFloat2x16(halves);
    f16vec2 t = clamp(x, f16vec2(-4.0), f16vec2(4.0));
    precise f16vec2 inner = fma(f16vec2(-0.055908203125), abs(t), f16vec2(0.447265625));
    precise f16vec2 outer = fma(t, inner, f16vec2(0.89453125));
    precise f16vec2 y = x * outer;
    return packFloat2x16(y);
}

/// Where results lie, and where memory wants them: an invocation holds two of a row and two of the row eight below, and gets
/// four of one of these rows, the upper one where its number is even. The same exchange leads back.
uvec2 exchange(uvec2 sums) {
    bool even = (gl_SubgroupInvocationID & 1u) == 0u;
    uint other = subgroupShuffleXor(even ? sums.y : sums.x, 1u);
    return even ? uvec2(sums.x, other) : uvec2(other, sums.y);
}

/// The row of these four, and the first of their columns.
uint exchanged_row() {
    return gl_SubgroupInvocationID / 4u + 8u * (gl_SubgroupInvocationID & 1u);
}

uint exchanged_column() {
    return 4u * (gl_SubgroupInvocationID / 2u & 1u);
}

/// The product of a group with one exponent for all results.
SUMS product(Rows rows, MATRIX(float16_t, 8, B) values, float16_t largest, SUMS sums) {
    MATRIX(float16_t, 8, B) lower = values, upper = values;
    lower[2] = largest;
    lower[3] = largest;
    upper[0] = largest;
    upper[1] = largest;
    return coopMatMulAdd(rows.upper, upper, coopMatMulAdd(rows.lower, lower, sums));
}

/// Adds a group of 16 products to every sum, two fragments of 8 columns to a tile. `nothing` is 0 at run time.
void group16(Rows rows, Columns columns[JOINT], uint nothing, inout uvec2 sums[2 * JOINT]) {
    SUMS start[2 * JOINT], result[2 * JOINT];
    uint exponents[2 * JOINT][4];
    uint present = 0u;
    MATRIX(float, 16, Accumulator) powers;
    [[unroll]] for (uint j = 0; j < 2 * JOINT; j++) {
        if (j % 2 == 0) powers = coopMatMulAdd(rows.powers, columns[j / 2].powers, MATRIX(float, 16, Accumulator)(0.0));
        [[unroll]] for (uint i = 0; i < 4; i++) {
            // The exponent of a sum of powers is eight times E and less than eight more.
            uint own = bitfieldExtract(sums[j][i / 2], int(16 * (i % 2) + 10), 5);
            exponents[j][i] = max(floatBitsToUint(powers[WIDE(j % 2, i)]) >> 26, own);
            present |= 1u << exponents[j][i];
            start[j][i] = unpackHalf2x16(sums[j][i / 2] ^ nothing)[i % 2];
        }
    }
    present = subgroupOr(present);
    // Below 2^-11 no term has bits to cut, so one exponent serves all of them.
#define NEXT_EXPONENT \
    uint e = findLSB(present); \
    present &= present - 1u; \
    float16_t largest = unpackFloat2x16((max(e, 4u) - 2u) << 10).x;
    {
        NEXT_EXPONENT
        [[unroll]] for (uint j = 0; j < 2 * JOINT; j++) result[j] = product(rows, columns[j / 2].values[j % 2], largest, start[j]);
    }
    while (present != 0u) {
        // Where little else runs beside this subgroup, two at a time take no longer than one: a fragment that no result has an
        // exponent for is left over.
        uint other[EXPONENTS];
        float16_t most[EXPONENTS];
        [[unroll]] for (uint x = 0; x < EXPONENTS; x++) {
            NEXT_EXPONENT
            other[x] = e;
            most[x] = largest;
        }
        [[unroll]] for (uint x = 0; x < EXPONENTS; x++) {
            [[unroll]] for (uint j = 0; j < 2 * JOINT; j++) {
                SUMS sum = product(rows, columns[j / 2].values[j % 2], most[x], start[j]);
                [[unroll]] for (uint i = 0; i < 4; i++) if (exponents[j][i] == other[x]) result[j][i] = sum[i];
            }
        }
    }
    [[unroll]] for (uint j = 0; j < 2 * JOINT; j++) {
        sums[j] = uvec2(pack(result[j][0], result[j][1]), pack(result[j][2], result[j][3]));
    }
}

#endif
