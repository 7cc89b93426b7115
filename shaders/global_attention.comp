// Global attention: unnormalized published weights over all keys in blocks of 64, one division at the end.
// Twin of src/engine/reference/global_attention.rs.
//
// One workgroup: 64 queries of one head; one invocation: one query. Keys beyond the last token are zero vectors
// whose share of the sum is taken off at the end.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "include/attention.glsl"

layout(push_constant) uniform Push { GLOBAL_ATTENTION_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uint codes[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint output_codes[]; };

uint word_at(uint token, uint word) {
    return token < push.tokens ? codes[(token * push.heads + gl_WorkGroupID.y) * 24u + word] : 0u;
}

// The query's channels become the left operands: the weights of the last block have taken their place.
void load_query(uint query) {
    [[dont_unroll]] for (uint w = 0u; w < 8u; w++) {
        uint word = word_at(query, w);
        [[dont_unroll]] for (uint b = 0u; b < 4u; b++) set_left(4u * w + b, byte_of(word, b));
    }
}

uint no_prior(uint pair) { return 0u; }

void main() {
    uint lane = gl_LocalInvocationID.x, head = gl_WorkGroupID.y;
    uint query = (push.first + gl_WorkGroupID.x) * KEYS + lane, total = 0u;
    [[dont_unroll]] for (uint c = 0u; c < HEAD; c++) attended[c] = 0u;
    for (uint block = 0u; block < push.padded; block += KEYS) {
        barrier();
        [[dont_unroll]] for (uint w = 0u; w < 8u; w++) stage(lane, w, word_at(block + lane, 8u + w));
        load_query(query);
        barrier();
        SCORE_KEYS(no_prior, exp_weight_vit)
        total = half_add(total, tree());
        barrier();
        [[dont_unroll]] for (uint w = 0u; w < 8u; w++) stage(lane, w, word_at(block + lane, 16u + w));
        barrier();
        [[dont_unroll]] for (uint group = 0u; group < KEYS / FDPA_GROUP_FP8; group++) {
            [[dont_unroll]] for (uint i = 0u; i < FDPA_GROUP_FP8; i++) set_left(i, publish(exponential(group * FDPA_GROUP_FP8 + i)));
            weigh(group);
        }
    }
    if (query >= push.tokens) return;
    if (push.padded > push.tokens) {
        precise float excess = half_value(exp_weight_vit(0u)) * float(push.padded - push.tokens);
        total = half_add(total, half_from_single(excess) ^ HALF_SIGN);
    }
    uint reciprocal = half_reciprocal(total);
    [[dont_unroll]] for (uint w = 0u; w < 8u; w++) {
        uint word = 0u;
        [[dont_unroll]] for (uint b = 0u; b < 4u; b++) word |= publish(half_mul(attended[4u * w + b], reciprocal)) << (8u * b);
        output_codes[(query * push.heads + head) * 8u + w] = word;
    }
}
