// The bit-trick exponential of four scores: twin of `numerics::exponential`. The includer defines RTZ as for `fast.glsl`, and
// GLOBAL for the ViT's.
#include "fast_half.glsl"

#ifdef GLOBAL
#define SLOPE VIT_SLOPE
#define OFFSET VIT_OFFSET
#define LOW VIT_LOW
#define HIGH VIT_HIGH
#else
#define SLOPE WINDOW_SLOPE
#define OFFSET WINDOW_OFFSET
#define LOW WINDOW_LOW
#define HIGH WINDOW_HIGH
#endif

/// The exponentials of four scores: linear map, clamp, and the shift of mantissa bits into the exponent.
uvec2 exponential(uvec2 scores, uint nothing) {
    precise vec4 product = unpack4(scores, nothing) * uintBitsToFloat(SLOPE);
    precise vec4 linear = product + uintBitsToFloat(OFFSET);
#if RTZ == 1
    // The text adds to nearest. Between the clamps a last bit is 2^-23: it is added where half of it was cut off.
    precise vec4 back = linear - uintBitsToFloat(OFFSET);
    precise vec4 cut = product - back;
    precise vec4 nearest = linear + mix(vec4(0), vec4(1.1920928955078125e-07), greaterThan(cut, vec4(5.9604644775390625e-08)));
#define LINEAR nearest
#else
#define LINEAR linear
#endif
    vec4 low = vec4(unpackHalf2x16(LOW).x);
    vec4 high = vec4(unpackHalf2x16(HIGH).x);
    vec4 x = round4(LINEAR, nothing);
    // A NaN takes the lower clamp.
    x = mix(low, x, greaterThanEqual(x, low));
    x = mix(high, x, lessThanEqual(x, high));
    uvec2 bits = pack4(x);
#ifdef GLOBAL
    bits = (bits << VIT_SHIFT) & 0xfff0fff0u;
    return ((bits + VIT_BIAS) & 0xffffu) | ((bits & 0xffff0000u) + (VIT_BIAS << 16));
#else
    return ((bits << WINDOW_SHIFT) & 0xffe0ffe0u) ^ (WINDOW_BIAS | WINDOW_BIAS << 16);
#endif
}
