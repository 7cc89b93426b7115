// Window attention on matrix units: twin of `engine/reference/window_attention.rs`; with NORMALIZE, of `normalize.rs` before it.
//
// A workgroup has one window (x) and head (y); a subgroup 16 queries, from their scores to their result: a fragment of
// scores becomes a fragment of weights in the registers that hold it. Everything is in physical order, in which the network's
// sums are those of a matrix unit's own layout: an invocation's keys are a chain of them, its neighbours' the next.
// target: vulkan1.3
// build: window_attention_matrix JOINT=2 EXPONENTS=1
// build: fused_attention_matrix JOINT=2 EXPONENTS=1 NORMALIZE
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_control_flow_attributes : require
#pragma use_vulkan_memory_model
#define RTZ 0
#include "include/constants.glsl"
#include "include/matrix.glsl"
#include "include/fast_normalize.glsl"
#include "include/fast_exponential.glsl"

const uint THREADS = 128;
layout(local_size_x = THREADS) in;
layout(push_constant) uniform Push { WINDOW_ATTENTION_PUSH } push;
// Raw halves with NORMALIZE, else codes; a token's head is 96 of them, q, k and v.
layout(set = 0, binding = 0) readonly buffer Input { uvec4 data[]; } input_;
layout(set = 0, binding = 1) readonly buffer Prior { uvec4 data[]; } prior_;
layout(set = 0, binding = 2) readonly buffer Scale { uint data[]; } scale_;
layout(set = 0, binding = 3) writeonly buffer Output { uint data[]; } output_;

/// Vectors of a staged token's 32 channels, and of a staged channel's 64 tokens; one more keeps neighbours in other banks.
const uint TOKEN = 5;
const uint CHANNEL = 9;
/// Where queries, keys and values lie, each with its powers behind it.
const uint QUERIES = 0;
const uint KEYS_AT = 2 * 64 * TOKEN;
const uint VALUES = 2 * KEYS_AT;

shared uvec4 pool[VALUES + 2 * 32 * CHANNEL];

#include "include/matrix_attention.glsl"

/// Puts the window on the chip; tokens outside the field are zero vectors.
void gather() {
    uint tid = gl_LocalInvocationIndex;
    uint head = gl_WorkGroupID.y;
    bool query = tid < 64u;
    uint token = token_at(tid & 63u);
    uint at = (query ? QUERIES : KEYS_AT) + (tid & 63u) * TOKEN;
    uvec4 low = uvec4(0), high = uvec4(0);
    if (token != NOWHERE) {
#ifdef NORMALIZE
        uint from = (token * push.heads + head) * 12u + (query ? 0u : 4u);
        float scale = unpackHalf2x16(scale_.data[head]).x;
        uvec4 raw[4];
        [[unroll]] for (uint i = 0; i < 4; i++) raw[i] = input_.data[from + i];
        normalize(raw[0], raw[1], raw[2], raw[3], query, false, scale, push.nothing, low, high);
#else
        uint from = (token * push.heads + head) * 6u + (query ? 0u : 2u);
        low = input_.data[from];
        high = input_.data[from + 1u];
#endif
    }
    STAGE16(pool, at, 64 * TOKEN, low);
    STAGE16(pool, at + 2u, 64 * TOKEN, high);
    // Eight channels of two values, the keys of a word.
    uint pair = tid & 31u;
    uint eight = tid / 32u;
    uvec2 v[2];
    [[unroll]] for (uint i = 0; i < 2; i++) {
        token = token_at(2u * pair + i);
        v[i] = uvec2(0);
        if (token != NOWHERE) {
#ifdef NORMALIZE
            uvec4 raw = input_.data[(token * push.heads + head) * 12u + 8u + eight];
            v[i] = uvec2(publish4(unpack4(raw.xy, 0u)), publish4(unpack4(raw.zw, 0u)));
#else
            uvec4 raw = input_.data[(token * push.heads + head) * 6u + 4u + eight / 2u];
            v[i] = (eight & 1u) == 0u ? raw.xy : raw.zw;
#endif
        }
    }
    [[unroll]] for (uint c = 0; c < 8; c++) {
        uvec2 two = stage2(bitfieldExtract(v[0][c / 4], int(8 * (c % 4)), 8), bitfieldExtract(v[1][c / 4], int(8 * (c % 4)), 8));
        uint to = VALUES + (8u * eight + c) * CHANNEL + pair / 4u;
        pool[to][pair & 3u] = two.x;
        pool[to + 32 * CHANNEL][pair & 3u] = two.y;
    }
}

/// Sixteen of `lines` staged keys or channels as columns, `line` vectors apart.
Columns staged(uint at, uint lines, uint line) {
    Columns columns;
    coopMatLoad(columns.values[0], pool, at, line, COLUMN_MAJOR);
    coopMatLoad(columns.values[1], pool, at + 8u * line, line, COLUMN_MAJOR);
    coopMatLoad(columns.powers, pool, at + lines * line, line, COLUMN_MAJOR);
    return columns;
}

void main() {
    uint tid = gl_LocalInvocationIndex;
    uint head = gl_WorkGroupID.y;
    uint nothing = push.nothing;
    uint row0 = 16u * gl_SubgroupID;
    describe_codes(THREADS);
    barrier();
    gather();
    MATRIX(float16_t, 16, A) largest = largest_terms();
    MATRIX(float16_t, 16, A) values;
    MATRIX(bfloat16_t, 16, A) powers;

    // Scores, on the prior.
    uvec2 scores[8];
    [[unroll]] for (uint f = 0; f < 8; f++) {
        MATRIX(float16_t, 8, Accumulator) prior;
        coopMatLoad(prior, prior_.data, (head * 64u + row0) * 8u + f, 8, ROW_MAJOR);
        scores[f] = uvec2(packFloat2x16(f16vec2(prior[0], prior[1])), packFloat2x16(f16vec2(prior[2], prior[3])));
    }
    barrier();
    // A loop turn works on the first tiles and turns all of them by as many, so that its code is there once.
    [[dont_unroll]] for (uint t = 0; t < 4; t += JOINT) {
        uvec2 sums[2 * JOINT];
        [[unroll]] for (uint j = 0; j < 2 * JOINT; j++) sums[j] = scores[j];
        [[dont_unroll]] for (uint g = 0; g < 2; g++) {
            coopMatLoad(values, pool, QUERIES + row0 * TOKEN + 2u * g, TOKEN, ROW_MAJOR);
            coopMatLoad(powers, pool, QUERIES + (64u + row0) * TOKEN + 2u * g, TOKEN, ROW_MAJOR);
            Columns columns[JOINT];
            [[unroll]] for (uint j = 0; j < JOINT; j++) {
                columns[j] = staged(KEYS_AT + 16u * (t + j) * TOKEN + 2u * g, 64u, TOKEN);
            }
            group16(beside(values, powers, largest), columns, nothing, sums);
        }
        [[unroll]] for (uint f = 0; f < 8 - 2 * JOINT; f++) scores[f] = scores[f + 2 * JOINT];
        [[unroll]] for (uint j = 0; j < 2 * JOINT; j++) scores[8 - 2 * JOINT + j] = sums[j];
    }

    [[unroll]] for (uint f = 0; f < 8; f++) scores[f] = exponential(scores[f], nothing);
    uvec2 inverse = reciprocals(scores);

    // Weighted values: four groups of 16 keys from zero.
    uvec2 attended[4] = uvec2[4](uvec2(0), uvec2(0), uvec2(0), uvec2(0));
    [[dont_unroll]] for (uint g = 0; g < 4; g++) {
        uvec2 left = multiply22(scores[0], inverse), right = multiply22(scores[1], inverse);
        [[unroll]] for (uint f = 0; f < 6; f++) scores[f] = scores[f + 2];
        Rows rows = as_rows(left, right, largest);
        [[unroll]] for (uint t = 0; t < 2; t += JOINT) {
            Columns columns[JOINT];
            uvec2 sums[2 * JOINT];
            [[unroll]] for (uint j = 0; j < JOINT; j++) {
                columns[j] = staged(VALUES + 16u * (t + j) * CHANNEL + 2u * g, 32u, CHANNEL);
            }
            [[unroll]] for (uint j = 0; j < 2 * JOINT; j++) sums[j] = attended[2 * t + j];
            group16(rows, columns, nothing, sums);
            [[unroll]] for (uint j = 0; j < 2 * JOINT; j++) attended[2 * t + j] = sums[j];
        }
    }

    uint token = token_at(row0 + exchanged_row());
    [[unroll]] for (uint f = 0; f < 4; f++) {
        uvec2 four = exchange(attended[f]);
        uint at = (token * push.heads + head) * 8u + 2u * f + exchanged_column() / 4u;
        if (token != NOWHERE) output_.data[at] = publish2(four.x, nothing) | publish2(four.y, nothing) << 16;
    }
}
