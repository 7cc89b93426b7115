// C[row][n] = sum over k of A[row][k] W[n][k], exact and fast: twin of src/engine/reference/gemm.rs.
//
// One workgroup makes a tile of ROWS rows (x) and COLUMNS columns (y) of one block-diagonal group or part of K (z),
// 4 x TN outputs an invocation: four columns where there is much to do, two where a device would else be half idle.
// build: gemm_fast_wide TN=4 RTZ=1
// build: gemm_fast_narrow TN=2 RTZ=1
// build: gemm_fast_any_wide TN=4 RTZ=0
// build: gemm_fast_any_narrow TN=2 RTZ=0
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/constants.glsl"

/// The tile: multiples of 4 rows and of 32 columns.
layout(constant_id = 7) const uint ROWS = 64;
layout(constant_id = 8) const uint COLUMNS = 32;
layout(local_size_x_id = 9) in;
const uint THREADS = (ROWS / 4) * (COLUMNS / TN);
const uint POOL = (ROWS + COLUMNS) * FAST_WORDS / 4;
#include "include/fast.glsl"

/// The first accumulator: 0 zero, 1 an E4M3 residual times a scale, 2 a half residual times a scale.
layout(constant_id = 1) const uint SEED = 0;
layout(constant_id = 2) const uint SILU = 0;
layout(constant_id = 3) const uint PUBLISHED = 1;
layout(constant_id = 4) const uint RAW = 0;
/// Groups of one partition, 0 for one chain.
layout(constant_id = 5) const uint PARTITION = 0;
/// 1: z counts parts of K, all but the first start from zero, and the raw results of the parts are joined later.
layout(constant_id = 6) const uint SPLIT = 0;
/// 1: weights were staged once and for all by gemm_fast_expand, in blocks of 32 columns; 0: they are codes.
layout(constant_id = 10) const uint EXPANDED = 0;

layout(push_constant) uniform Push { GEMM_FAST_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uvec2 data[]; } a_;
layout(set = 0, binding = 1) readonly buffer Weights { uvec4 data[]; } w_;
layout(set = 0, binding = 2) readonly buffer Residual { uint data[]; } residual_;
layout(set = 0, binding = 3) readonly buffer Scale { uvec2 data[]; } scale_;
layout(set = 0, binding = 4) writeonly buffer Published { uint data[]; } published_;
layout(set = 0, binding = 5) writeonly buffer Raw { uvec2 data[]; } raw_;

const uint TX = COLUMNS / TN;
const uint RA = ROWS / 4;
#if TN == 4
const uint RB = COLUMNS / 4;
#define STAGE_COLUMN stage
#else
const uint RB = COLUMNS / 2;
#define STAGE_COLUMN stage_pair
#endif
const uint B0 = ROWS * WORDS / 4;
/// Vectors of one group of a block of 32 expanded columns, and of one word, or pair of words, of it.
const uint BLOCK = 32 * WORDS / 4;
const uint BLOCK_ROW = 32 / TN;

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
    // Eight columns by four rows of threads in 32 neighbours, so that they read few banks.
    bool blocked = TX % 8u == 0u && RA % 4u == 0u;
    uint tx = blocked ? (tid & 7u) + 8u * ((tid >> 5) % (TX / 8u)) : tid % TX;
    uint ty = blocked ? ((tid >> 3) & 3u) + 4u * ((tid >> 5) / (TX / 8u)) : tid / TX;
    uint z = gl_WorkGroupID.z;
    uint row0 = (push.first + gl_WorkGroupID.x) * ROWS;
    uint column0 = gl_WorkGroupID.y * COLUMNS;
    uint row = row0 + 4u * ty;
    uint column = z * push.output_z + column0 + TN * tx;
    build_codes();
    uint last = push.rows - 1u;
    uint nothing = push.nothing;

    uvec2 h[TN];
    uvec2 total[TN];
#define START(j) h[j] = uvec2(0); total[j] = uvec2(0);
    EACH_COLUMN(START)
    if (SEED != 0u && (SPLIT == 0u || z == 0u)) {
        barrier();
        vec4 r[4];
#define SEED_ROW(i) r[i] = seed4(min(row + i, last), column & ~3u);
        EACH4(SEED_ROW)
#if TN == 2
        if ((column & 2u) != 0u) { r[0] = r[0].zwzw; r[1] = r[1].zwzw; r[2] = r[2].zwzw; r[3] = r[3].zwzw; }
#endif
#define PACK_SEED(j) h[j] = pack4(vec4(r[0][j], r[1][j], r[2][j], r[3][j]));
        EACH_COLUMN(PACK_SEED)
    }
    // Each thread stages the same half groups of rows and columns every time; the next ones are on their way while
    // this group is multiplied.
    const uint ITEMS = 2 * (ROWS + (EXPANDED != 0u ? 0u : COLUMNS));
    const uint EACH = (ITEMS + THREADS - 1) / THREADS;
    const uint COPIES = EXPANDED != 0u ? BLOCK * (COLUMNS / 32) : 0;
    const uint EACH_COPY = EXPANDED != 0u ? (COPIES + THREADS - 1) / THREADS : 1;
    uint from[EACH];
    uvec2 bytes[EACH];
    uvec4 weights[EACH_COPY];
    uint weights_at = column0 / 32u * push.weight_row + z * push.weight_z;
#define FETCH \
    for (uint i = 0; i < EACH; i++) { \
        uint it = tid + i * THREADS; \
        if (it < 2 * ROWS) bytes[i] = a_.data[from[i]]; \
        else if (it < ITEMS) bytes[i] = (from[i] & 1u) == 0u ? w_.data[from[i] >> 1].xy : w_.data[from[i] >> 1].zw; \
        from[i] += 2u; \
    } \
    for (uint i = 0; i < EACH_COPY; i++) { \
        uint it = tid + i * THREADS; \
        if (it < COPIES) weights[i] = w_.data[weights_at + it / BLOCK * push.weight_row + it % BLOCK]; \
    } \
    weights_at += BLOCK;
    for (uint i = 0; i < EACH; i++) {
        uint it = tid + i * THREADS;
        uint c = it - 2 * ROWS;
        from[i] = it < 2 * ROWS
            ? (min(row0 + it % ROWS, last) * push.input_row + z * push.input_z) / 8u + it / ROWS
            : ((column0 + c % COLUMNS) * push.weight_row + z * push.weight_z) / 8u + c / COLUMNS;
    }
    FETCH
    for (uint g = 0; g < push.groups; g++) {
        barrier();
        for (uint i = 0; i < EACH; i++) {
            uint it = tid + i * THREADS;
            uint c = it - 2 * ROWS;
            if (it < 2 * ROWS) stage(0, ROWS, it % ROWS, it / ROWS, bytes[i], 0x40404040u);
            else if (it < ITEMS) STAGE_COLUMN(B0, COLUMNS, c % COLUMNS, c / COLUMNS, bytes[i], 0u);
        }
        for (uint i = 0; i < EACH_COPY; i++) {
            uint it = tid + i * THREADS;
            uint w = it % BLOCK;
            if (it < COPIES) pool[B0 + w / BLOCK_ROW * RB + it / BLOCK * BLOCK_ROW + w % BLOCK_ROW] = weights[i];
        }
        barrier();
        if (g + 1u < push.groups) { FETCH }
        group16(ty, RA, B0 + tx, RB, nothing, h);
        if (PARTITION != 0u && (g + 1u) % PARTITION == 0u) {
            bool first = g + 1u == PARTITION;
#define JOIN(j) { \
            precise vec4 sum = unpack4(total[j], nothing) + unpack4(h[j], nothing); \
            total[j] = first ? h[j] : pack4(sum); \
            h[j] = uvec2(0); }
            EACH_COLUMN(JOIN)
        }
    }
#define RESULT(j) (PARTITION != 0u ? total[j] : h[j])
#if TN == 4
    vec4 t0 = unpack4(RESULT(0), nothing), t1 = unpack4(RESULT(1), nothing);
    vec4 t2 = unpack4(RESULT(2), nothing), t3 = unpack4(RESULT(3), nothing);
#define WRITE(i) if (row + i <= last) write4(row + i, column, vec4(t0[i], t1[i], t2[i], t3[i]));
    EACH4(WRITE)
#else
    // Two columns are half a word of codes: results pass through shared memory, so that a thread has four.
    barrier();
#define KEEP(j) { \
        uint at = (2u * tx + j) * (ROWS / 2) + 2u * ty; \
        pool[at >> 2][at & 3u] = RESULT(j).x; \
        pool[at >> 2][(at & 3u) + 1u] = RESULT(j).y; }
    EACH_COLUMN(KEEP)
    barrier();
    uint quad = tid % (COLUMNS / 4);
    uint pair = tid / (COLUMNS / 4);
#define KEPT(i) unpackHalf2x16(pool[((4u * quad + i) * (ROWS / 2) + pair) >> 2][((4u * quad + i) * (ROWS / 2) + pair) & 3u] ^ nothing)
    vec2 t0 = KEPT(0), t1 = KEPT(1), t2 = KEPT(2), t3 = KEPT(3);
    column = z * push.output_z + column0 + 4u * quad;
    row = row0 + 2u * pair;
    if (row <= last) write4(row, column, vec4(t0.x, t1.x, t2.x, t3.x));
    if (row + 1u <= last) write4(row + 1u, column, vec4(t0.y, t1.y, t2.y, t3.y));
#endif
}
