// As half_probe.comp, for f16 values in shaders: the third spelling of f32(f16(x)), and f16 arithmetic.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer Input { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint found[]; };

void main() {
    found[0] = floatBitsToUint(float(float16_t(x[0])));
    found[1] = floatBitsToUint(float(float16_t(x[0] * x[1])) - x[1]);
    // A subnormal half through a multiplication.
    found[2] = floatBitsToUint(float(float16_t(x[13]) * float16_t(x[1])));
    // Contraction in halves.
    float16_t a = float16_t(x[14]);
    found[3] = floatBitsToUint(float(a * a + float16_t(x[15])));
    // Rounding of the cast: above a tie, and at one.
    found[4] = floatBitsToUint(float(float16_t(x[8])));
    found[5] = floatBitsToUint(float(float16_t(x[10])));
}
