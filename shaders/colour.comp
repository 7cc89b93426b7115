// A picture of a tensor: one value per token (a channel, or a reduction over channels) through a palette, or three
// channels as red, green and blue. Twin of src/engine/vulkan/colour.rs.
//
// One invocation: one token. Without a picture to make, it only widens the range of values.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/numerics.glsl"

layout(constant_id = 0) const uint ELEMENT = ELEMENT_E4M3;
layout(constant_id = 1) const uint MODE = COLOUR_CHANNEL;
layout(constant_id = 2) const bool PICTURE = false;

layout(local_size_x = LANES) in;
layout(push_constant) uniform Push { COLOUR_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uint words[]; };
// RGBA of 256 steps, and of NaN.
layout(set = 0, binding = 1) readonly buffer Palette { uint palette[]; };
// Smallest and largest finite value, as integers ordered like the values.
layout(set = 0, binding = 2) buffer Range { uint range[]; };
layout(set = 0, binding = 3) writeonly buffer Picture { uint pixels[]; };

float value_at(uint index) {
    if (ELEMENT == ELEMENT_E4M3) return e4m3_value(byte_of(words[index / 4u], index % 4u));
    if (ELEMENT == ELEMENT_F16) return half_value(half_of(words[index / 2u], index % 2u));
    return uintBitsToFloat(words[index]);
}

bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bool is_finite(float x) { return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u; }

// Integers in the order of the values.
uint ordered(float x) {
    uint bits = floatBitsToUint(x);
    return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

float reduced(uint token) {
    uint first = token * push.channels;
    if (MODE == COLOUR_CHANNEL) return value_at(first + push.red);
    precise float sum = 0.0;
    for (uint c = 0u; c < push.channels; c++) {
        float x = value_at(first + c);
        if (MODE == COLOUR_MEAN) sum += x;
        if (MODE == COLOUR_L2) {
            precise float square = x * x;
            sum += square;
        }
        // A NaN stays: it is what one looks for.
        if (MODE == COLOUR_MAX) sum = is_nan(sum) || is_nan(x) ? uintBitsToFloat(0x7fc00000u) : max(sum, abs(x));
    }
    precise float mean = sum * uintBitsToFloat(push.reciprocal_channels);
    return MODE == COLOUR_MEAN ? mean : MODE == COLOUR_L2 ? sqrt(sum) : sum;
}

// Step 0 .. 255 of a value in the range, or 256 for NaN.
uint step_of(float x) {
    if (is_nan(x)) return 256u;
    precise float above = x - uintBitsToFloat(push.low);
    precise float scaled = above * uintBitsToFloat(push.scale);
    precise float rounded = clamp(scaled, 0.0, 255.0) + 0.5;
    return min(uint(rounded), 255u);
}

void widen(float x) {
    if (!is_finite(x)) return;
    atomicMin(range[0], ordered(x));
    atomicMax(range[1], ordered(x));
}

void main() {
    uint token = (push.first + gl_WorkGroupID.x) * LANES + gl_LocalInvocationID.x;
    if (token >= push.tokens) return;
    if (MODE == COLOUR_RGB) {
        uint at = token * push.channels, pixel = 0xff000000u;
        uint channels[3] = uint[3](push.red, push.green, push.blue);
        for (uint i = 0u; i < 3u; i++) {
            float x = value_at(at + channels[i]);
            if (!PICTURE) widen(x);
            uint s = step_of(x);
            pixel |= (s == 256u ? 255u : s) << (8u * i);
        }
        if (PICTURE) pixels[token] = pixel;
        return;
    }
    float x = reduced(token);
    if (PICTURE) pixels[token] = palette[step_of(x)];
    else widen(x);
}
