// A whole block of 32 channels on matrix units: feed-forward, q, k and v, normalization, attention and projection of one window a
// workgroup. Twin of the reference's six steps, from `ffn` to `output`.
//
// A subgroup carries its 16 tokens from the input to the result in registers: the results of a product, published, are the rows of
// the next. Only keys and values are shared. Tokens outside the field have no keys, values or queries: zero vectors.
// target: vulkan1.3
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
#define JOINT 2
#define EXPONENTS 1
#include "include/constants.glsl"
#include "include/numerics.glsl"

/// What the feed-forward's result is added to: 1 an E4M3 residual, 2 a half residual.
layout(constant_id = 1) const uint SEED = 1;
layout(constant_id = 2) const uint PUBLISHED = 1;
layout(constant_id = 3) const uint RAW = 0;

const uint THREADS = 128;
layout(local_size_x = THREADS) in;
layout(push_constant) uniform Push { WINDOW_ATTENTION_PUSH } push;
#include "include/matrix_attention.glsl"
#include "include/fast_exponential.glsl"

layout(set = 0, binding = 0) readonly buffer Input { uvec4 data[]; } input_;
layout(set = 0, binding = 1) readonly buffer Residual { uint data[]; } residual_;
layout(set = 0, binding = 2) readonly buffer FfnScale { uint data[]; } ffn_scale_;
layout(set = 0, binding = 3) readonly buffer Expand { uvec4 data[]; } expand_;
layout(set = 0, binding = 4) readonly buffer Contract { uvec4 data[]; } contract_;
layout(set = 0, binding = 5) readonly buffer Qkv { uvec4 data[]; } qkv_;
layout(set = 0, binding = 6) readonly buffer HeadScale { uint data[]; } head_scale_;
layout(set = 0, binding = 7) readonly buffer Prior { uvec4 data[]; } prior_;
layout(set = 0, binding = 8) readonly buffer OutputScale { uint data[]; } output_scale_;
layout(set = 0, binding = 9) readonly buffer Project { uvec4 data[]; } project_;
layout(set = 0, binding = 10) writeonly buffer Published { uint data[]; } published_;
layout(set = 0, binding = 11) writeonly buffer Raw { uvec2 data[]; } raw_;

/// Vectors of a staged token's 32 channels; one more keeps neighbours in other banks.
const uint TOKEN = 5;
/// Where keys and values lie, each with its powers behind it.
const uint KEYS_AT = 0;
const uint VALUES = 2 * 64 * TOKEN;

/// The input first, which the subgroups of its tokens alone read, then keys and values.
shared uvec4 pool[2 * VALUES];

/// Two tiles of columns of a group, `groups` in all.
#define READY(weights, tile, groups, group) { \
    [[unroll]] for (uint j = 0; j < 2; j++) { \
        uint at = (((tile) + j) * (groups) + (group)) * MATRIX_STAGED + gl_SubgroupInvocationID; \
        columns[j] = as_columns(weights.data[at], weights.data[at + 32u]); \
    } }

/// Four consecutive seeds of a token.
uvec2 seed4(uint token, uint channel) {
    uint at = (token * 32u + channel) >> 2;
    uvec2 residual;
    if (SEED == 1u) {
        uint four = residual_.data[at];
        residual = uvec2(stage2(four & 0xffu, (four >> 8) & 0xffu).x, stage2((four >> 16) & 0xffu, four >> 24).x);
    } else {
        residual = uvec2(residual_.data[2u * at], residual_.data[2u * at + 1u]);
    }
    return multiply22(residual, uvec2(ffn_scale_.data[channel / 2u], ffn_scale_.data[channel / 2u + 1u]));
}

/// Twin of `numerics::cosine` on two rows: their 32 halves over the four invocations of a row.
void normalize(inout uvec2 v[4], bool query, uint scale) {
    uvec2 factor;
    [[unroll]] for (uint r = 0; r < 2; r++) {
        f16vec2 x[4];
        [[unroll]] for (uint f = 0; f < 4; f++) x[f] = unpackFloat2x16(v[f][r]);
        precise f16vec2 s2 = x[2] * x[2];
        precise f16vec2 s3 = x[3] * x[3];
        precise f16vec2 s0 = fma(x[0], x[0], s2);
        precise f16vec2 s1 = fma(x[1], x[1], s3);
        // Strides 8, 4, 2 and 1 of the tree of half adds.
        uint s = add2(packFloat2x16(s0), packFloat2x16(s1));
        s = add2(s, subgroupShuffleXor(s, 2u));
        s = add2(s, subgroupShuffleXor(s, 1u));
        uint n = half_reciprocal_sqrt(add2(s, s >> 16) & 0xffffu);
        factor[r] = n | n << 16;
    }
    [[unroll]] for (uint f = 0; f < 4; f++) {
        v[f] = multiply22(v[f], factor);
        if (query) v[f] = multiply22(v[f], uvec2(scale));
    }
}

/// Stages two rows' keys or values, published.
void keep(uint at, uint row, uvec2 v[4]) {
    uint lane = gl_SubgroupInvocationID;
    [[unroll]] for (uint f = 0; f < 4; f++) {
        [[unroll]] for (uint r = 0; r < 2; r++) {
            uvec2 two = quantize2(v[f][r]);
            uint to = at + (row + lane / 4u + 8u * r) * TOKEN + f;
            pool[to][lane & 3u] = two.x;
            pool[to + 64 * TOKEN][lane & 3u] = two.y;
        }
    }
}

void main() {
    uint tid = gl_LocalInvocationIndex;
    uint lane = gl_SubgroupInvocationID;
    uint nothing = push.nothing;
    uint row0 = 16u * gl_SubgroupID;
    describe_codes(THREADS);
    barrier();
    {
        uint token = token_at(tid >> 1);
        uvec4 bytes = token == NOWHERE ? uvec4(0) : input_.data[2u * token + (tid & 1u)];
        STAGE16(pool, (tid >> 1) * TOKEN + 2u * (tid & 1u), 64 * TOKEN, bytes);
    }
    MATRIX(float16_t, 16, A) largest = largest_terms();
    Columns columns[2];
    Rows rows;
    uint own = token_at(row0 + exchanged_row());
    bool above = token_at(row0 + lane / 4u) != NOWHERE, below = token_at(row0 + lane / 4u + 8u) != NOWHERE;
    uvec2 inside = uvec2(above ? 0xffffffffu : 0u, below ? 0xffffffffu : 0u);
    barrier();

    // Feed-forward: 32 hidden channels at a time, each published and at once a term of the result.
    uvec2 residual[4];
    [[unroll]] for (uint f = 0; f < 4; f++) {
        residual[f] = exchange(own == NOWHERE ? uvec2(0) : seed4(own, 8u * f + exchanged_column()));
    }
    [[dont_unroll]] for (uint hidden = 0; hidden < 4; hidden++) {
        uvec2 sums[4] = uvec2[4](uvec2(0), uvec2(0), uvec2(0), uvec2(0));
        [[dont_unroll]] for (uint g = 0; g < 2; g++) {
            MATRIX(float16_t, 16, A) values;
            MATRIX(bfloat16_t, 16, A) powers;
            coopMatLoad(values, pool, row0 * TOKEN + 2u * g, TOKEN, ROW_MAJOR);
            coopMatLoad(powers, pool, (64u + row0) * TOKEN + 2u * g, TOKEN, ROW_MAJOR);
            READY(expand_, 2u * hidden, 2u, g)
            group16(beside(values, powers, largest), columns, nothing, sums);
        }
        [[unroll]] for (uint f = 0; f < 4; f++) sums[f] = uvec2(silu2(sums[f].x), silu2(sums[f].y));
        [[dont_unroll]] for (uint g = 0; g < 2; g++) {
            rows = as_rows(sums[0], sums[1], largest);
            sums[0] = sums[2];
            sums[1] = sums[3];
            READY(contract_, 0u, 8u, 2u * hidden + g)
            group16(rows, columns, nothing, residual);
        }
    }

    // Values, keys and queries; what subgroups read of the input is read before others write there.
    barrier();
    uvec2 part[4];
    [[dont_unroll]] for (uint which = 3; which-- > 0;) {
        [[unroll]] for (uint f = 0; f < 4; f++) part[f] = uvec2(0);
        [[unroll]] for (uint g = 0; g < 2; g++) {
            READY(qkv_, 2u * which, 2u, g)
            group16(as_rows(residual[2 * g], residual[2 * g + 1], largest), columns, nothing, part);
        }
        if (which < 2u) normalize(part, which == 0u, (head_scale_.data[0] & 0xffffu) * 0x10001u);
        [[unroll]] for (uint f = 0; f < 4; f++) part[f] &= inside;
        if (which > 0u) keep(which == 1u ? KEYS_AT : VALUES, row0, part);
    }
    barrier();

    uvec2 scores[8];
    [[unroll]] for (uint f = 0; f < 8; f++) {
        MATRIX(float16_t, 8, Accumulator) prior;
        coopMatLoad(prior, prior_.data, row0 * 8u + f, 8, ROW_MAJOR);
        scores[f] = uvec2(packFloat2x16(f16vec2(prior[0], prior[1])), packFloat2x16(f16vec2(prior[2], prior[3])));
    }
    // A loop turn works on the first tiles and turns all of them by as many, so that its code is there once.
    [[dont_unroll]] for (uint t = 0; t < 4; t += 2) {
        uvec2 sums[4] = uvec2[4](scores[0], scores[1], scores[2], scores[3]);
        [[unroll]] for (uint g = 0; g < 2; g++) {
            [[unroll]] for (uint j = 0; j < 2; j++) {
                uint at = KEYS_AT + 16u * (t + j) * TOKEN + 2u * g;
                coopMatLoad(columns[j].values[0], pool, at, TOKEN, COLUMN_MAJOR);
                coopMatLoad(columns[j].values[1], pool, at + 8u * TOKEN, TOKEN, COLUMN_MAJOR);
                coopMatLoad(columns[j].powers, pool, at + 64u * TOKEN, TOKEN, COLUMN_MAJOR);
            }
            group16(as_rows(part[2 * g], part[2 * g + 1], largest), columns, nothing, sums);
        }
        [[unroll]] for (uint f = 0; f < 4; f++) {
            scores[f] = scores[f + 4];
            scores[f + 4] = sums[f];
        }
    }
    [[unroll]] for (uint f = 0; f < 8; f++) scores[f] = exponential(scores[f], nothing);
    uvec2 inverse = reciprocals(scores);

    uvec2 attended[4] = uvec2[4](uvec2(0), uvec2(0), uvec2(0), uvec2(0));
    [[dont_unroll]] for (uint g = 0; g < 4; g++) {
        rows = as_rows(multiply22(scores[0], inverse), multiply22(scores[1], inverse), largest);
        [[unroll]] for (uint f = 0; f < 6; f++) scores[f] = scores[f + 2];
        [[unroll]] for (uint j = 0; j < 2; j++) {
            uint at = VALUES + 16u * g * TOKEN + 2u * j;
            coopMatLoad(columns[j].values[0], pool, at, TOKEN, ROW_MAJOR);
            coopMatLoad(columns[j].values[1], pool, at + 1u, TOKEN, ROW_MAJOR);
            coopMatLoad(columns[j].powers, pool, at + 64u * TOKEN, TOKEN, ROW_MAJOR);
        }
        group16(rows, columns, nothing, attended);
    }

    // Projection, on the feed-forward's result.
    [[unroll]] for (uint f = 0; f < 4; f++) residual[f] = multiply22(residual[f], uvec2(output_scale_.data[4u * f + (lane & 3u)]));
    [[unroll]] for (uint g = 0; g < 2; g++) {
        READY(project_, 0u, 2u, g)
        group16(as_rows(attended[2 * g], attended[2 * g + 1], largest), columns, nothing, residual);
    }
    [[unroll]] for (uint f = 0; f < 4; f++) {
        uvec2 four = exchange(residual[f]);
        if (own == NOWHERE) continue;
        uint at = (own * 32u + 8u * f + exchanged_column()) >> 2;
        if (RAW != 0u) raw_.data[at] = four;
        if (PUBLISHED != 0u) {
            vec4 x = unpack4(four, nothing);
            published_.data[at] = publish_gemm(x.x) | publish_gemm(x.y) << 8 | publish_gemm(x.z) << 16 | publish_gemm(x.w) << 24;
        }
    }
}
