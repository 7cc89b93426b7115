// What window and global attention share: 64 keys of one head in shared memory, one query per invocation.
//
// The array of decoded operands serves the keys first and the values afterwards. Exponentials lie in shared
// memory, two to a word, each invocation in its own column.

#ifndef ATTENTION_GLSL
#define ATTENTION_GLSL

#include "numerics.glsl"

layout(local_size_x = KEYS) in;

shared float staged_value[KEYS * HEAD], staged_power[KEYS * HEAD];
shared uint exponentials[KEYS / 2u * KEYS];

// The left operand of a group: 32 channels of a query, or 16 weights.
float left_value[HEAD], left_power[HEAD];
uint attended[HEAD];

void set_left(uint index, uint code) {
    precise float power = fdpa_power(code) * 2.0;
    left_value[index] = e4m3_value(code);
    left_power[index] = power;
}

// Decodes four channels of the key or value that this invocation stages.
void stage(uint key, uint word, uint codes) {
    [[dont_unroll]] for (uint b = 0u; b < 4u; b++) {
        uint at = key * HEAD + 4u * word + b;
        staged_value[at] = e4m3_value(byte_of(codes, b));
        staged_power[at] = fdpa_power(byte_of(codes, b));
    }
}

// One group of 16: left operands from `left`, staged ones from `at` in steps of `stride`.
uint fdpa(uint left, uint at, uint stride, uint accumulator) {
    if (!half_is_finite(accumulator)) return accumulator;
    precise float powers = 0.0;
    for (uint i = 0u; i < FDPA_GROUP_FP8; i++)
        powers += left_power[left + i] * staged_power[at + i * stride];
    int shared_exponent = shared_exponent(powers, accumulator);
    float scale = power_of_two(FDPA_FRACTION_FP8 - shared_exponent);
    precise float own = half_value(accumulator) * scale;
    precise float units = trunc(own);
    for (uint i = 0u; i < FDPA_GROUP_FP8; i++) {
        precise float product = left_value[left + i] * staged_value[at + i * stride];
        precise float scaled = product * scale;
        units += trunc(scaled);
    }
    return half_from_units(int(units), shared_exponent - FDPA_FRACTION_FP8);
}

// Exponentials of all staged keys. Functions are inlined wherever they are called: one call in a loop keeps the code
// small, and its compilation short.
#define SCORE_KEYS(PRIOR_WORD, EXP_WEIGHT)                                                              \
    [[dont_unroll]] for (uint key = 0u; key < KEYS; key++) {                                                            \
        uint h = half_of(PRIOR_WORD(key / 2u), key % 2u);                                               \
        [[dont_unroll]] for (uint group = 0u; group < HEAD; group += FDPA_GROUP_FP8) h = fdpa(group, key * HEAD + group, 1u, h); \
        set_exponential(key, EXP_WEIGHT(h));                                                            \
    }

void set_exponential(uint key, uint h) {
    uint at = key / 2u * KEYS + gl_LocalInvocationID.x;
    exponentials[at] = key % 2u == 0u ? h : exponentials[at] | h << 16;
}
uint exponential(uint key) { return half_of(exponentials[key / 2u * KEYS + gl_LocalInvocationID.x], key % 2u); }

// The sum of the 64 exponentials in the fixed order: lanes of 8 keys, even and odd lanes chained apart.
uint tree() {
    uint chains[2] = uint[2](0u, 0u);
    [[dont_unroll]] for (uint g = 0u; g < 8u; g++) {
        uint lane = 0u;
        [[dont_unroll]] for (uint j = 0u; j < 4u; j++) {
            uint pair = half_add(exponential(g + 16u * j), exponential(g + 16u * j + 8u));
            lane = j == 0u ? pair : half_add(lane, pair);
        }
        uint chained = g < 2u ? lane : half_add(g % 2u == 0u ? chains[0] : chains[1], lane);
        if (g % 2u == 0u) chains[0] = chained;
        else chains[1] = chained;
    }
    return half_add(chains[0], chains[1]);
}

// Adds 16 weighted values to every channel; the weights are the left operands.
void weigh(uint group) {
    [[dont_unroll]] for (uint c = 0u; c < HEAD; c++)
        attended[c] = fdpa(0u, group * FDPA_GROUP_FP8 * HEAD + c, HEAD, attended[c]);
}

#endif
