// FP8 matrix product: seed, groups of 16 in K order, partitions added by half adds, activation, publication.
// Twin of src/engine/reference/gemm.rs.
//
// One workgroup: GEMM_ROWS x GEMM_COLUMNS results; one invocation: 4 x 4. A group's operands are decoded to
// shared memory, then two passes over its 16 products find the shared exponent and add the truncated terms. All
// float arithmetic is exact: terms are whole numbers below 2^20 after their truncation.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "include/numerics.glsl"

layout(constant_id = 0) const uint RESIDUAL = ELEMENT_NONE;
layout(constant_id = 1) const bool SILU = false;
layout(constant_id = 2) const bool PUBLISHED = true;
layout(constant_id = 3) const bool RAW = false;

const uint ROWS = GEMM_ROWS, COLUMNS = GEMM_COLUMNS, GROUP = FDPA_GROUP_FP8;

layout(local_size_x = GEMM_LANES) in;
layout(push_constant) uniform Push { GEMM_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uint codes[]; };
// One column after the other, K codes each.
layout(set = 0, binding = 1) readonly buffer Weights { uint weights[]; };
layout(set = 0, binding = 2) readonly buffer Residual { uint residuals[]; };
layout(set = 0, binding = 3) readonly buffer Scale { uint scales[]; };
layout(set = 0, binding = 4) writeonly buffer Published { uint published[]; };
layout(set = 0, binding = 5) writeonly buffer Raw { uint raw[]; };
// publish(silu(h)) of every half h, by its bits.
layout(set = 0, binding = 6) readonly buffer Silu { uint silu[]; };

shared float a_value[GROUP * ROWS], a_power[GROUP * ROWS];
shared float b_value[GROUP * COLUMNS], b_power[GROUP * COLUMNS];

uint accumulator[4][4];

uint half_at(uint index) {
    if (RESIDUAL == ELEMENT_E4M3) return e4m3_half(byte_of(residuals[index / 4u], index % 4u));
    return half_of(residuals[index / 2u], index % 2u);
}

// Decodes group `k / 16` of the tile's rows and columns.
void stage(uint k, uint row, uint column, uint part) {
    uint stride = push.groups * push.k / 4u, lane = gl_LocalInvocationID.x;
    for (uint i = lane; i < ROWS * 4u; i += GEMM_LANES) {
        uint r = i / 4u, w = i % 4u;
        uint word = row + r < push.rows ? codes[(row + r) * stride + (part * push.k + k) / 4u + w] : 0u;
        for (uint b = 0u; b < 4u; b++) {
            uint code = byte_of(word, b), at = (4u * w + b) * ROWS + r;
            a_value[at] = e4m3_value(code);
            a_power[at] = fdpa_power(code);
        }
    }
    for (uint i = lane; i < COLUMNS * 4u; i += GEMM_LANES) {
        uint c = i / 4u, w = i % 4u;
        uint word = weights[((column + c) * push.k + k) / 4u + w];
        for (uint b = 0u; b < 4u; b++) {
            uint code = byte_of(word, b), at = (4u * w + b) * COLUMNS + c;
            precise float power = fdpa_power(code) * 2.0;
            b_value[at] = e4m3_value(code);
            b_power[at] = power;
        }
    }
}

// One group onto the accumulators of this invocation.
void accumulate(uint r0, uint c0) {
    precise float powers[4][4], units[4][4];
    float scales[4][4];
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        [[unroll]] for (uint j = 0u; j < 4u; j++) powers[i][j] = 0.0;
    for (uint k = 0u; k < GROUP; k++) {
        float b[4];
        [[unroll]] for (uint j = 0u; j < 4u; j++) b[j] = b_power[k * COLUMNS + c0 + j];
        [[unroll]] for (uint i = 0u; i < 4u; i++) {
            float a = a_power[k * ROWS + r0 + i];
            [[unroll]] for (uint j = 0u; j < 4u; j++) powers[i][j] += a * b[j];
        }
    }
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            uint h = accumulator[i][j];
            scales[i][j] = power_of_two(FDPA_FRACTION_FP8 - shared_exponent(powers[i][j], h));
            precise float scaled = half_value(h) * scales[i][j];
            units[i][j] = trunc(scaled);
        }
    for (uint k = 0u; k < GROUP; k++) {
        float b[4];
        [[unroll]] for (uint j = 0u; j < 4u; j++) b[j] = b_value[k * COLUMNS + c0 + j];
        [[unroll]] for (uint i = 0u; i < 4u; i++) {
            float a = a_value[k * ROWS + r0 + i];
            [[unroll]] for (uint j = 0u; j < 4u; j++) {
                precise float product = a * b[j];
                precise float scaled = product * scales[i][j];
                units[i][j] += trunc(scaled);
            }
        }
    }
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            if (!half_is_finite(accumulator[i][j])) continue;
            int unit = 127 - int(floatBitsToUint(scales[i][j]) >> 23);
            accumulator[i][j] = half_from_units(int(units[i][j]), unit);
        }
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint r0 = lane / (COLUMNS / 4u) * 4u, c0 = lane % (COLUMNS / 4u) * 4u;
    uint row = (push.first + gl_WorkGroupID.x) * ROWS, column = gl_WorkGroupID.y * COLUMNS;
    uint part = column / push.n, width = push.groups * push.n;
    uint total[4][4];
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            uint n = column + c0 + j, r = row + r0 + i;
            accumulator[i][j] = 0u;
            if (RESIDUAL != ELEMENT_NONE && r < push.rows)
                accumulator[i][j] = fdpa_seed(half_at(r * width + n), half_of(scales[n / 2u], n % 2u));
        }
    for (uint k = 0u; k < push.k; k += GROUP) {
        stage(k, row, column, part);
        barrier();
        accumulate(r0, c0);
        barrier();
        if ((k + GROUP) % push.chain != 0u || push.chain == push.k) continue;
        bool first = k < push.chain, last = k + GROUP == push.k;
        [[unroll]] for (uint i = 0u; i < 4u; i++)
            [[unroll]] for (uint j = 0u; j < 4u; j++) {
                total[i][j] = first ? accumulator[i][j] : half_add(total[i][j], accumulator[i][j]);
                accumulator[i][j] = last ? total[i][j] : 0u;
            }
    }
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        uint r = row + r0 + i, at = r * width + column + c0;
        if (r >= push.rows) continue;
        if (PUBLISHED) {
            uint word = 0u;
            [[unroll]] for (uint j = 0u; j < 4u; j++) {
                uint h = accumulator[i][j];
                uint code = SILU ? byte_of(silu[h / 4u], h % 4u) : publish_gemm(h);
                word |= code << (8u * j);
            }
            published[at / 4u] = word;
        }
        if (RAW) {
            raw[at / 2u] = accumulator[i][0] | accumulator[i][1] << 16;
            raw[at / 2u + 1u] = accumulator[i][2] | accumulator[i][3] << 16;
        }
    }
}
