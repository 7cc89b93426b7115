// Differences of two tensors of one shape: by class, first, and where they lie. Integers only.
// Twin of src/compare/class.rs and attribution.rs; equal elements are what is left over.
//
// One invocation: words in steps of the grid. Only differing elements cost anything.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/constants.glsl"

layout(constant_id = 0) const uint ELEMENT = ELEMENT_E4M3;

layout(local_size_x = COMPARE_LANES) in;
layout(push_constant) uniform Push { COMPARE_PUSH } push;
layout(set = 0, binding = 0) readonly buffer Subject { uint subjects[]; };
layout(set = 0, binding = 1) readonly buffer Reference { uint references[]; };
// Classes 0 .. 7, then differing bytes, then the first index.
layout(set = 0, binding = 2) buffer Counts { uint counts[]; };
layout(set = 0, binding = 3) buffer Tokens { uint tokens[]; };
layout(set = 0, binding = 4) buffer Channels { uint channels[]; };
// Windows, then positions inside a window.
layout(set = 0, binding = 5) buffer Windows { uint windows[]; };

const uint SIGN_OF_ZERO = 1u, NAN_TO_ZERO = 2u, NAN_CODE = 3u, SATURATION = 4u, ONE_CODE = 5u, SEVERAL_CODES = 6u;
const uint UNWRITTEN = 7u, BYTES = 8u, FIRST = 9u;
const uint BITS = ELEMENT == ELEMENT_E4M3 ? 8u : ELEMENT == ELEMENT_F16 ? 16u : 32u;
const uint SIGN = 1u << (BITS - 1u), MAGNITUDE = SIGN - 1u;
const uint INFINITY = ELEMENT == ELEMENT_F16 ? 0x7c00u : 0x7f800000u;

shared uint own[10];

// One code apart on the line of magnitudes, the two zeros counted as one value. Unsigned differences wrap.
bool one_apart(uint s, uint r) {
    uint ms = s & MAGNITUDE, mr = r & MAGNITUDE;
    if (((s ^ r) & SIGN) == 0u) return ms - mr == 1u || mr - ms == 1u;
    return ms + mr == 1u;
}

uint class_of(uint s, uint r) {
    uint ms = s & MAGNITUDE, mr = r & MAGNITUDE;
    bool one = one_apart(s, r);
    if ((ms | mr) == 0u) return SIGN_OF_ZERO;
    if (ELEMENT == ELEMENT_E4M3) {
        bool nan = ms == 0x7fu || mr == 0x7fu, saturated = ms == 0x7eu || mr == 0x7eu;
        if (saturated && (nan || !one)) return SATURATION;
        if (nan) return s == 0u || r == 0u ? NAN_TO_ZERO : NAN_CODE;
    } else {
        if (ms > INFINITY || mr > INFINITY) return s == 0u || r == 0u ? NAN_TO_ZERO : NAN_CODE;
        if (ms == INFINITY || mr == INFINITY) return SATURATION;
    }
    return one ? ONE_CODE : SEVERAL_CODES;
}

void differs(uint index, uint s, uint r) {
    uint mask = SIGN | MAGNITUDE, kind = class_of(s, r), bytes = 0u;
    if (push.sentinel <= 0xffu && s == (push.sentinel * 0x01010101u & mask)) kind = UNWRITTEN;
    for (uint b = 0u; b < BITS; b += 8u) bytes += ((s ^ r) >> b & 0xffu) != 0u ? 1u : 0u;
    atomicAdd(own[kind], 1u);
    atomicAdd(own[BYTES], bytes);
    atomicMin(own[FIRST], index);
    uint token = index / push.channels;
    atomicAdd(tokens[token], 1u);
    atomicAdd(channels[index % push.channels], 1u);
    if (push.windows != 0u) {
        uint x = token % push.width + push.shift_x, y = token / push.width + push.shift_y;
        atomicAdd(windows[y / 8u * push.windows + x / 8u], 1u);
        atomicAdd(windows[push.positions + y % 8u * 8u + x % 8u], 1u);
    }
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    if (lane < 10u) own[lane] = lane == FIRST ? 0xffffffffu : 0u;
    barrier();
    uint stride = gl_NumWorkGroups.x * COMPARE_LANES;
    for (uint word = gl_WorkGroupID.x * COMPARE_LANES + lane; word < push.words; word += stride) {
        uint s = subjects[word], r = references[word];
        if (s == r) continue;
        if (BITS == 32u) {
            differs(word, s, r);
            continue;
        }
        for (uint b = 0u; b < 32u; b += BITS) {
            uint cs = bitfieldExtract(s, int(b), int(BITS)), cr = bitfieldExtract(r, int(b), int(BITS));
            if (cs != cr) differs(word * (32u / BITS) + b / BITS, cs, cr);
        }
    }
    barrier();
    if (lane < FIRST && own[lane] != 0u) atomicAdd(counts[lane], own[lane]);
    if (lane == FIRST && own[FIRST] != 0xffffffffu) atomicMin(counts[FIRST], own[FIRST]);
}
