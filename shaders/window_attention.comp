// Window attention: scores on the prior, exponentials, softmax in the fixed order, weighted values.
// Twin of src/engine/reference/window_attention.rs.
//
// One workgroup: one window and head; one invocation: one query, in natural order. Keys and values are in physical
// order; tokens outside the field are zero vectors that still weigh in.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "include/attention.glsl"

layout(push_constant) uniform Push { WINDOW_ATTENTION_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uint codes[]; };
// [head][query][key], both in physical order.
layout(set = 0, binding = 1) readonly buffer Prior { uint priors[]; };
layout(set = 0, binding = 2) writeonly buffer Output { uint output_codes[]; };

const uint OUTSIDE = 0xffffffffu;

// The token at natural index n of this window, or OUTSIDE.
uint token(uint n) {
    uint window = push.first + gl_WorkGroupID.x;
    uint x = window % push.windows * 8u + n % 8u - push.shift_x, y = window / push.windows * 8u + n / 8u - push.shift_y;
    // Coordinates left of and above the plane have wrapped around.
    return x < push.width && y < push.height ? y * push.width + x : OUTSIDE;
}

uint physical(uint n) {
    uint x = n % 8u, y = n / 8u;
    return y / 4u * 32u + x / 4u * 16u + y % 4u * 4u + x % 4u;
}

uint natural(uint p) {
    uint tile = p / 16u, inside = p % 16u;
    return (tile / 2u * 4u + inside / 4u) * 8u + tile % 2u * 4u + inside % 4u;
}

uint word_at(uint at_token, uint word) {
    return at_token == OUTSIDE ? 0u : codes[(at_token * push.heads + gl_WorkGroupID.y) * 24u + word];
}

// Two priors of this invocation's query.
uint prior_word(uint pair) {
    return priors[(gl_WorkGroupID.y * KEYS + physical(gl_LocalInvocationID.x)) * (KEYS / 2u) + pair];
}

void main() {
    uint lane = gl_LocalInvocationID.x, head = gl_WorkGroupID.y;
    uint key_token = token(natural(lane)), query_token = token(lane);
    [[dont_unroll]] for (uint w = 0u; w < 8u; w++) stage(lane, w, word_at(key_token, 8u + w));
    [[dont_unroll]] for (uint w = 0u; w < 8u; w++) {
        uint word = word_at(query_token, w);
        [[dont_unroll]] for (uint b = 0u; b < 4u; b++) set_left(4u * w + b, byte_of(word, b));
    }
    barrier();
    bool inside = query_token != OUTSIDE;
    if (inside) SCORE_KEYS(prior_word, exp_weight)
    barrier();
    [[dont_unroll]] for (uint w = 0u; w < 8u; w++) stage(lane, w, word_at(key_token, 16u + w));
    barrier();
    if (!inside) return;
    uint reciprocal = half_reciprocal(tree());
    [[dont_unroll]] for (uint c = 0u; c < HEAD; c++) attended[c] = 0u;
    [[dont_unroll]] for (uint group = 0u; group < KEYS / FDPA_GROUP_FP8; group++) {
        [[dont_unroll]] for (uint i = 0u; i < FDPA_GROUP_FP8; i++)
            set_left(i, publish(half_mul(exponential(group * FDPA_GROUP_FP8 + i), reciprocal)));
        weigh(group);
    }
    [[dont_unroll]] for (uint w = 0u; w < 8u; w++) {
        uint word = 0u;
        [[dont_unroll]] for (uint b = 0u; b < 4u; b++) word |= publish(attended[4u * w + b]) << (8u * b);
        output_codes[(query_token * push.heads + head) * 8u + w] = word;
    }
}
