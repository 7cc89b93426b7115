// C[row][n] = sum over k of A[row][k] W[n][k], exact on matrix units that cut 25 bits below their largest term: twin of
// src/engine/reference/gemm.rs.
//
// A matrix unit cuts every term of 16 products at 25 bits below the largest exponent; the network wants 13 bits below
// the largest exponent E of *this* result's operands. So every product of 8 real terms carries two terms more, +2^(E+12) and
// -2^(E+12): they are the largest, they cancel, and what is left is cut where the network cuts it, the accumulator too.
// A first product, of powers of 2^8, tells every result's E. Results of one fragment differ in E, so the product runs once
// for each E that occurs and each result takes its own. Why each step is exact: docs of `engine::vulkan::gemm_matrix`.
//
// Subgroups of 32 work on their own: one makes TILES fragments of 16 x 16 of one block-diagonal group or part of K (z), from
// 16 rows that it stages and columns that lie ready as fragments. A workgroup has SUBGROUPS of them, one below the other.
// target: vulkan1.3
// build: gemm_matrix_wide TILES=2 SUBGROUPS=8
// build: gemm_matrix_narrow TILES=1 SUBGROUPS=2
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_control_flow_attributes : require
#pragma use_vulkan_memory_model
#include "include/constants.glsl"
#include "include/fast_half.glsl"
#include "include/matrix_code.glsl"

/// The first accumulator: 0 zero, 1 an E4M3 residual times a scale, 2 a half residual times a scale.
layout(constant_id = 1) const uint SEED = 0;
layout(constant_id = 2) const uint SILU = 0;
layout(constant_id = 3) const uint PUBLISHED = 1;
layout(constant_id = 4) const uint RAW = 0;
/// Groups of one partition, 0 for one chain.
layout(constant_id = 5) const uint PARTITION = 0;
/// 1: z counts parts of K, all but the first start from zero, and the raw results of the parts are joined later.
layout(constant_id = 6) const uint SPLIT = 0;

layout(local_size_x = 32 * SUBGROUPS) in;
layout(push_constant) uniform Push { GEMM_FAST_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uvec4 data[]; } a_;
layout(set = 0, binding = 1) readonly buffer Weights { uvec4 data[]; } w_;
layout(set = 0, binding = 2) readonly buffer Residual { uint data[]; } residual_;
layout(set = 0, binding = 3) readonly buffer Scale { uvec2 data[]; } scale_;
layout(set = 0, binding = 4) writeonly buffer Published { uint data[]; } published_;
layout(set = 0, binding = 5) writeonly buffer Raw { uvec2 data[]; } raw_;

/// A subgroup's part of the result.
const uint ROWS = 16;
const uint COLUMNS = 16 * TILES;
/// Vectors of a staged row: 8 values, 8 spare, 8 values, 8 spare, and one so that neighbours meet other banks.
const uint VALUES = 5;
/// Of its powers: 16, and one likewise.
const uint POWERS = 3;
const uint STAGE = ROWS * (VALUES + POWERS);
/// Vectors of a row of results.
const uint RESULT = 2 * TILES + 1;
/// Pairs of elements of a fragment that an invocation holds.
const uint PAIRS = 4;

shared uvec4 pool[SUBGROUPS * STAGE];
shared uvec4 marks[32];
shared uint codes[256];

#define MATRIX(T, USE) coopmat<T, gl_ScopeSubgroup, 16, 16, gl_MatrixUse##USE>
#define ROW_MAJOR gl_CooperativeMatrixLayoutRowMajor
#define COLUMN_MAJOR gl_CooperativeMatrixLayoutColumnMajor

float decode(uint code) {
    return unpackHalf2x16(codes[code]).x;
}

/// Four consecutive seeds of a row. Those of -0 are used as +0: the first group makes no difference between them.
vec4 seed4(uint row, uint column) {
    uint at = (row * push.output_row + column) >> 2;
    vec4 residual;
    if (SEED == 1u) {
        uint four = residual_.data[at];
        residual = vec4(decode(four & 0xffu), decode((four >> 8) & 0xffu), decode((four >> 16) & 0xffu), decode(four >> 24));
    } else {
        residual = unpack4(uvec2(residual_.data[2u * at], residual_.data[2u * at + 1u]), push.nothing);
    }
    precise vec4 seed = residual * unpack4(scale_.data[column >> 2], push.nothing);
    return seed;
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

/// Stages eight codes, half `h` of a group, of one row.
void stage(uint base, uint row, uint h, uint low, uint high) {
    uint w[8];
#define LOOK(i) w[i] = codes[bitfieldExtract(low, 8 * i, 8)]; w[4 + i] = codes[bitfieldExtract(high, 8 * i, 8)];
    EACH4(LOOK)
    uvec4 values, powers;
#define JOIN_CODES(i) values[i] = (w[2 * i] & 0xffffu) | w[2 * i + 1] << 16; powers[i] = w[2 * i] >> 16 | (w[2 * i + 1] & 0xffff0000u);
    EACH4(JOIN_CODES)
    pool[base + row * VALUES + 2u * h] = values;
    pool[base + ROWS * VALUES + row * POWERS + h] = powers;
}

void main() {
    uint tid = gl_LocalInvocationIndex;
    uint lane = gl_SubgroupInvocationID;
    uint z = gl_WorkGroupID.z;
    uint row0 = ((push.first + gl_WorkGroupID.x) * SUBGROUPS + gl_SubgroupID) * ROWS;
    uint column0 = gl_WorkGroupID.y * COLUMNS;
    uint last = push.rows - 1u;
    uint nothing = push.nothing;
    uint base = gl_SubgroupID * STAGE;
    for (uint c = tid; c < 256u; c += 32u * SUBGROUPS) codes[c] = describe_for_matrix(c, ROW_BIAS);
    if (tid < 32u) marks[tid] = uvec4((tid & 1u) == 0u ? 0u : 0x3c003c00u, 0, 0, 0);
    barrier();
    if (row0 > last) return;
    // Four consecutive channels of some rows are this invocation's own, before and after the products.
    const uint QUADS = COLUMNS / 4;
    uint quad = lane % QUADS;
    uint channel = z * push.output_z + column0 + 4u * quad;
    // Accumulators as pairs of halves.
    uint sum[TILES][PAIRS];
    uint total[TILES][PAIRS];
    bool seeded = SEED != 0u && (SPLIT == 0u || z == 0u);
    if (seeded) {
        for (uint r = lane / QUADS; r < ROWS; r += 32u / QUADS) {
            uvec2 seed = pack4(seed4(min(row0 + r, last), channel));
            if ((quad & 1u) == 0u) pool[base + r * RESULT + quad / 2u].xy = seed;
            else pool[base + r * RESULT + quad / 2u].zw = seed;
        }
        subgroupBarrier();
    }
    for (uint t = 0; t < TILES; t++) {
        MATRIX(float16_t, Accumulator) start = MATRIX(float16_t, Accumulator)(0.0);
        if (seeded) coopMatLoad(start, pool, base + 2u * t, RESULT, ROW_MAJOR);
        for (uint i = 0; i < PAIRS; i++) {
            sum[t][i] = packHalf2x16(vec2(start[2 * i], start[2 * i + 1]));
            total[t][i] = 0u;
        }
    }
    MATRIX(float16_t, B) mark;
    coopMatLoad(mark, marks, 0, 2, COLUMN_MAJOR);
    // The largest terms of rows: +-2^14 for both halves of a group. Those of columns are added in registers.
    subgroupBarrier();
    for (uint i = lane; i < 2u * ROWS; i += 32u) pool[base + (i >> 1) * VALUES + 2u * (i & 1u) + 1u] = uvec4(0xf4007400u, 0, 0, 0);

    // Half a row an invocation.
    uint row = lane % ROWS;
    uint from = (min(row0 + row, last) * push.input_row + z * push.input_z) / 16u;
    bool upper = lane >= ROWS;
    uint weights = column0 / 32u * push.weight_row + z * push.weight_z + (column0 & 16u) * COLUMN;
    uvec4 bytes = a_.data[from];
    for (uint g = 0; g < push.groups; g++) {
        subgroupBarrier();
        stage(base, row, lane / ROWS, upper ? bytes.z : bytes.x, upper ? bytes.w : bytes.y);
        subgroupBarrier();
        if (g + 1u < push.groups) bytes = a_.data[from + g + 1u];
        MATRIX(float16_t, A) a0, a1;
        MATRIX(bfloat16_t, A) a_power;
        coopMatLoad(a0, pool, base, VALUES, ROW_MAJOR);
        coopMatLoad(a1, pool, base + 2u, VALUES, ROW_MAJOR);
        coopMatLoad(a_power, pool, base + ROWS * VALUES, POWERS, ROW_MAJOR);
        for (uint t = 0; t < TILES; t++) {
            uint at = weights + 16u * t * COLUMN;
            MATRIX(float16_t, B) b0, b1;
            MATRIX(bfloat16_t, B) b_power;
            coopMatLoad(b_power, w_.data, at + 4u, COLUMN, COLUMN_MAJOR);
            coopMatLoad(b0, w_.data, at, COLUMN, COLUMN_MAJOR);
            coopMatLoad(b1, w_.data, at + 2u, COLUMN, COLUMN_MAJOR);
            // The exponent field of a half, eight times: where it lies in a single three bits further up.
            MATRIX(float, Accumulator) power, acc;
            for (uint i = 0; i < PAIRS; i++) {
                uint pair = sum[t][i];
                power[2 * i] = uintBitsToFloat((pair << 16) & 0x7c000000u);
                power[2 * i + 1] = uintBitsToFloat(pair & 0x7c000000u);
                vec2 two = unpackHalf2x16(pair ^ nothing);
                acc[2 * i] = two.x;
                acc[2 * i + 1] = two.y;
            }
            power = coopMatMulAdd(a_power, b_power, power);
            uint exponents[2 * PAIRS];
            uint present = 0u;
            for (uint i = 0; i < 2 * PAIRS; i++) {
                exponents[i] = floatBitsToUint(power[i]) >> 26;
                present |= 1u << exponents[i];
            }
            present = subgroupOr(present);
            // Below 2^-11 no term has bits to cut, so one exponent serves all of them.
#define PRODUCT(r, e) \
            uint e = findLSB(present); \
            present &= present - 1u; \
            MATRIX(float16_t, B) largest_##r = mark * float16_t(unpackHalf2x16((max(e, 4u) - 2u) << 10).x); \
            MATRIX(float, Accumulator) r = coopMatMulAdd(a0, b0 + largest_##r, acc); \
            r = coopMatMulAdd(a1, b1 + largest_##r, r);
            PRODUCT(result, first)
            while (present != 0u) {
                PRODUCT(other, e)
                for (uint i = 0; i < 2 * PAIRS; i++) if (exponents[i] == e) result[i] = other[i];
            }
            for (uint i = 0; i < PAIRS; i++) sum[t][i] = pack(result[2 * i], result[2 * i + 1]);
        }
        weights += 32u * COLUMN;
        if (PARTITION != 0u && (g + 1u) % PARTITION == 0u) {
            for (uint t = 0; t < TILES; t++) {
                for (uint i = 0; i < PAIRS; i++) {
                    precise vec2 joined = unpackHalf2x16(total[t][i] ^ nothing) + unpackHalf2x16(sum[t][i] ^ nothing);
                    total[t][i] = g + 1u == PARTITION ? sum[t][i] : pack(joined.x, joined.y);
                    sum[t][i] = 0u;
                }
            }
        }
    }
    subgroupBarrier();
    for (uint t = 0; t < TILES; t++) {
        MATRIX(float16_t, Accumulator) end;
        for (uint i = 0; i < PAIRS; i++) {
            vec2 two = unpackHalf2x16((PARTITION != 0u ? total[t][i] : sum[t][i]) ^ nothing);
            end[2 * i] = float16_t(two.x);
            end[2 * i + 1] = float16_t(two.y);
        }
        coopMatStore(end, pool, base + 2u * t, RESULT, ROW_MAJOR);
    }
    subgroupBarrier();
    [[unroll]] for (uint i = 0; i < ROWS * QUADS / 32; i++) {
        uint r = lane / QUADS + i * (32u / QUADS);
        if (row0 + r > last) continue;
        uvec4 eight = pool[base + r * RESULT + quad / 2u];
        uvec2 four = (quad & 1u) == 0u ? eight.xy : eight.zw;
        uint at = ((row0 + r) * push.output_row + channel) >> 2;
        if (RAW != 0u) raw_.data[at] = four;
        if (PUBLISHED != 0u) {
            if (SILU != 0u) four = uvec2(silu2(four.x), silu2(four.y));
            vec4 x = unpack4(four, nothing);
            published_.data[at] = publish_gemm(x.x) | publish_gemm(x.y) << 8 | publish_gemm(x.z) << 16 | publish_gemm(x.w) << 24;
        }
    }
}
