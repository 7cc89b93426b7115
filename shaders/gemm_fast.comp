// C[row][n] = sum over k of A[row][k] W[n][k], exact and fast: twin of src/engine/reference/gemm.rs.
//
// One workgroup makes a tile of ROWS rows (x) and COLUMNS columns (y) of one block-diagonal group or part of K (z),
// 4 x TN outputs an invocation.
// build: gemm_fast_64x64 ROWS=64 COLUMNS=64 TN=4 RTZ=1
// build: gemm_fast_64x32 ROWS=64 COLUMNS=32 TN=4 RTZ=1
// build: gemm_fast_32x32 ROWS=32 COLUMNS=32 TN=4 RTZ=1
// build: gemm_fast_any_64x64 ROWS=64 COLUMNS=64 TN=4 RTZ=0
// build: gemm_fast_any_64x32 ROWS=64 COLUMNS=32 TN=4 RTZ=0
// build: gemm_fast_any_32x32 ROWS=32 COLUMNS=32 TN=4 RTZ=0
#version 450
#extension GL_GOOGLE_include_directive : require
#define THREADS ((ROWS / 4) * (COLUMNS / TN))
#define POOL ((ROWS + COLUMNS) * 38 / 4)
#include "include/constants.glsl"
#include "include/fast.glsl"

layout(local_size_x = THREADS) in;

/// The first accumulator: 0 zero, 1 an E4M3 residual times a scale, 2 a half residual times a scale.
layout(constant_id = 1) const uint SEED = 0;
layout(constant_id = 2) const uint SILU = 0;
layout(constant_id = 3) const uint PUBLISHED = 1;
layout(constant_id = 4) const uint RAW = 0;
/// Groups of one partition, 0 for one chain.
layout(constant_id = 5) const uint PARTITION = 0;

/// 1: z counts parts of K, all but the first start from zero, and the raw results of the parts are joined later.
layout(constant_id = 6) const uint SPLIT = 0;

layout(push_constant) uniform Push { GEMM_FAST_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uvec2 data[]; } a_;
layout(set = 0, binding = 1) readonly buffer Weights { uvec2 data[]; } w_;
layout(set = 0, binding = 2) readonly buffer Residual { uint data[]; } residual_;
layout(set = 0, binding = 3) readonly buffer Scale { uvec2 data[]; } scale_;
layout(set = 0, binding = 4) writeonly buffer Published { uint data[]; } published_;
layout(set = 0, binding = 5) writeonly buffer Raw { uvec2 data[]; } raw_;

const uint TX = COLUMNS / TN;
const uint RA = ROWS / 4;
const uint RB = COLUMNS / 4;
const uint B0 = ROWS * WORDS / 4;

/// Four consecutive seeds of a row. Those of -0 are used as +0: the first group makes no difference between them.
vec4 seed4(uint row, uint column) {
    uint at = (row * push.output_row + column) >> 2;
    vec4 residual;
    if (SEED == 1u) {
        uint four = residual_.data[at];
#define DECODE(i) residual[i] = uintBitsToFloat(codes[bitfieldExtract(four, 8 * i, 8)] & 0xfff00000u);
        EACH4(DECODE)
    } else {
        residual = unpack4(uvec2(residual_.data[2u * at], residual_.data[2u * at + 1u]), push.nothing);
    }
    precise vec4 seed = residual * unpack4(scale_.data[column >> 2], push.nothing);
    return seed;
}

void write4(uint row, uint column, vec4 x) {
    uint at = (row * push.output_row + column) >> 2;
    if (RAW != 0u) raw_.data[at] = pack4(x);
    if (PUBLISHED != 0u) {
        if (SILU != 0u) x = silu4(x, push.nothing);
        published_.data[at] = publish_gemm(x.x) | publish_gemm(x.y) << 8 | publish_gemm(x.z) << 16 | publish_gemm(x.w) << 24;
    }
}

void main() {
    uint tid = gl_LocalInvocationIndex;
#if (COLUMNS / TN) % 8 == 0 && (ROWS / 4) % 4 == 0
    uint tx = (tid & 7u) + 8u * ((tid >> 5) % (TX / 8));
    uint ty = ((tid >> 3) & 3u) + 4u * ((tid >> 5) / (TX / 8));
#else
    uint tx = tid % TX;
    uint ty = tid / TX;
#endif
    uint z = gl_WorkGroupID.z;
    uint row0 = (push.first + gl_WorkGroupID.x) * ROWS;
    uint column0 = gl_WorkGroupID.y * COLUMNS;
    uint row = row0 + 4u * ty;
    build_codes();
    uint last = push.rows - 1u;
    uint nothing = push.nothing;

    uvec2 h[TN];
    uvec2 total[TN];
#define START(j) h[j] = uvec2(0); total[j] = uvec2(0);
    EACH_COLUMN(START)
    if (SEED != 0u && (SPLIT == 0u || z == 0u)) {
        barrier();
#define PACK_SEED(q, j) h[4 * q + j] = pack4(vec4(r0[j], r1[j], r2[j], r3[j]));
#define SEEDS(q) { \
            uint column = z * push.output_z + column0 + q * 4u * TX + 4u * tx; \
            vec4 r0 = seed4(min(row, last), column); \
            vec4 r1 = seed4(min(row + 1u, last), column); \
            vec4 r2 = seed4(min(row + 2u, last), column); \
            vec4 r3 = seed4(min(row + 3u, last), column); \
            PACK_SEED(q, 0) PACK_SEED(q, 1) PACK_SEED(q, 2) PACK_SEED(q, 3) }
        EACH_QUAD(SEEDS)
    }
    uint in0 = z * push.input_z;
    uint weight0 = z * push.weight_z;
    // Each thread stages the same half groups of rows and columns every time; the next ones are on their way while
    // this group is multiplied.
    const uint ITEMS = 2 * (ROWS + COLUMNS);
    const uint EACH = (ITEMS + THREADS - 1) / THREADS;
    uint from[EACH];
    uvec2 bytes[EACH];
    for (uint i = 0; i < EACH; i++) {
        uint it = tid + i * THREADS;
        uint column = it - 2 * ROWS;
        from[i] = it < 2 * ROWS
            ? (min(row0 + it % ROWS, last) * push.input_row + in0) / 8u + it / ROWS
            : ((column0 + column % COLUMNS) * push.weight_row + weight0) / 8u + column / COLUMNS;
        bytes[i] = it < 2 * ROWS ? a_.data[from[i]] : it < ITEMS ? w_.data[from[i]] : uvec2(0);
    }
    for (uint g = 0; g < push.groups; g++) {
        barrier();
        for (uint i = 0; i < EACH; i++) {
            uint it = tid + i * THREADS;
            uint column = it - 2 * ROWS;
            if (it < 2 * ROWS) stage(0, ROWS, it % ROWS, it / ROWS, bytes[i], 0x40404040u);
            else if (it < ITEMS) stage(B0, COLUMNS, column % COLUMNS, column / COLUMNS, bytes[i], 0u);
        }
        barrier();
        if (g + 1u < push.groups) {
            for (uint i = 0; i < EACH; i++) {
                uint it = tid + i * THREADS;
                from[i] += 2u;
                bytes[i] = it < 2 * ROWS ? a_.data[from[i]] : it < ITEMS ? w_.data[from[i]] : uvec2(0);
            }
        }
        group16(ty, RA, B0 + tx, RB, TX, nothing, h);
        if (PARTITION != 0u && (g + 1u) % PARTITION == 0u) {
            bool first = g + 1u == PARTITION;
#define JOIN(j) { \
            precise vec4 sum = unpack4(total[j], nothing) + unpack4(h[j], nothing); \
            total[j] = first ? h[j] : pack4(sum); \
            h[j] = uvec2(0); }
            EACH_COLUMN(JOIN)
        }
    }
#define RESULT(q, j) unpack4(PARTITION != 0u ? total[4 * q + j] : h[4 * q + j], nothing)
#define WRITE(q) { \
        uint column = z * push.output_z + column0 + q * 4u * TX + 4u * tx; \
        vec4 t0 = RESULT(q, 0); vec4 t1 = RESULT(q, 1); vec4 t2 = RESULT(q, 2); vec4 t3 = RESULT(q, 3); \
        if (row <= last) write4(row, column, vec4(t0.x, t1.x, t2.x, t3.x)); \
        if (row + 1u <= last) write4(row + 1u, column, vec4(t0.y, t1.y, t2.y, t3.y)); \
        if (row + 2u <= last) write4(row + 2u, column, vec4(t0.z, t1.z, t2.z, t3.z)); \
        if (row + 3u <= last) write4(row + 3u, column, vec4(t0.w, t1.w, t2.w, t3.w)); }
    EACH_QUAD(WRITE)
}
