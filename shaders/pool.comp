// 2x2 average in halves, published. Twin of src/engine/reference/pool.rs. One invocation: four channels.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/numerics.glsl"

layout(local_size_x = LANES) in;
layout(push_constant) uniform Push { POOL_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Input { uint halves[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint codes[]; };

const uint QUARTER = 0x3400u;

uint at(uint x, uint y, uint channel) {
    uint index = (y * push.above_width + x) * push.channels + channel;
    return half_of(halves[index / 2u], index % 2u);
}

void main() {
    uint word = (push.first + gl_WorkGroupID.x) * LANES + gl_LocalInvocationID.x;
    if (word >= push.words) return;
    uint quads = push.channels / 4u, token = word / quads, channel = word % quads * 4u;
    uint x = token % push.width * 2u, y = token / push.width * 2u, result = 0u;
    // A block that leaves the plane above is 0: levels are rounded up.
    if (x + 1u < push.above_width && y + 1u < push.above_height) {
        for (uint c = 0u; c < 4u; c++) {
            uint top = half_add(at(x, y, channel + c), at(x + 1u, y, channel + c));
            uint bottom = half_add(at(x, y + 1u, channel + c), at(x + 1u, y + 1u, channel + c));
            result |= publish(half_mul(half_add(top, bottom), QUARTER)) << (8u * c);
        }
    }
    codes[word] = result;
}
