// What this driver does to halves and singles where nothing forbids it. The values come from a buffer, so that no
// compiler knows them. Read by src/engine/vulkan/probe.rs; its float operations are left unmarked on purpose.
#version 450
#extension GL_EXT_spirv_intrinsics : require

// OpQuantizeToF16
spirv_instruction(id = 116) float quantize(float x);

layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer Input { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint found[]; };

void main() {
    // f32(f16(x)), alone and inside an expression.
    found[0] = floatBitsToUint(unpackHalf2x16(packHalf2x16(vec2(x[0], 0.0))).x);
    found[1] = floatBitsToUint(unpackHalf2x16(packHalf2x16(vec2(x[0] * x[1], 0.0))).x - x[1]);
    found[12] = floatBitsToUint(quantize(x[0]));
    found[13] = floatBitsToUint(quantize(x[0] * x[1]) - x[1]);
    // Subnormal halves, written and read.
    found[2] = packHalf2x16(vec2(x[2], 0.0));
    found[3] = floatBitsToUint(unpackHalf2x16(floatBitsToUint(x[3])).x);
    // Subnormal singles, through a multiplication and an addition.
    found[4] = floatBitsToUint(x[4] * x[1]);
    found[5] = floatBitsToUint(x[5] - x[6]);
    // Contraction of a * b + c: unmarked, marked, and asked for.
    found[6] = floatBitsToUint(x[0] * x[0] + x[7]);
    precise float product = x[0] * x[0];
    precise float sum = product + x[7];
    found[7] = floatBitsToUint(sum);
    found[8] = floatBitsToUint(fma(x[0], x[0], x[7]));
    // Rounding of the conversion: above a tie, two ties, overflow.
    found[9] = packHalf2x16(vec2(x[8], x[9]));
    found[10] = packHalf2x16(vec2(x[10], x[11]));
    // Rounding of an addition of singles.
    found[11] = floatBitsToUint(x[1] + x[12]);
}
