// Twin of src/numerics: formats, publication, half operations, on bit patterns.
//
// A half is a uint that holds 16 bits; an E4M3 code is a uint that holds 8. Halves are never f16 values: some
// drivers fold f32(f16(x)) into x, so that a rounding disappears. Roundings are integer arithmetic here. Float
// arithmetic is exact, or is one IEEE operation whose operands are halves, and is marked precise.

#ifndef NUMERICS_GLSL
#define NUMERICS_GLSL

#include "constants.glsl"

// ---- packed access: codes four to a word, halves two

uint byte_of(uint word, uint index) { return bitfieldExtract(word, int(8u * index), 8); }
uint half_of(uint word, uint index) { return bitfieldExtract(word, int(16u * index), 16); }

// ---- float16

const uint HALF_SIGN = 0x8000u, HALF_INFINITY = 0x7c00u, HALF_NAN = 0x7e00u;

bool half_is_finite(uint h) { return (h & HALF_INFINITY) != HALF_INFINITY; }
bool half_is_nan(uint h) { return (h & 0x7fffu) > HALF_INFINITY; }

// 2^exponent for exponents of normal singles.
float power_of_two(int exponent) { return uintBitsToFloat(uint(exponent + 127) << 23); }

// The bits of a half as a single, always exact.
uint half_widen(uint h) {
    uint sign = (h & HALF_SIGN) << 16, magnitude = h & 0x7fffu;
    if (magnitude >= HALF_INFINITY) return sign | 0x7f800000u | (magnitude & 0x3ffu) << 13;
    if (magnitude >= 0x400u) return sign | (magnitude << 13) + (112u << 23);
    precise float steps = float(magnitude) * power_of_two(-24);
    return sign | floatBitsToUint(steps);
}
float half_value(uint h) { return uintBitsToFloat(half_widen(h)); }

// value / 2^shift to nearest, ties to even. Needs value < 2^30; a shift above 30 leaves nothing.
uint shift_nearest_even(uint value, int shift) {
    if (shift > 30) return 0u;
    if (shift <= 0) return value << -shift;
    uint even = (value >> shift) & 1u;
    return (value + (1u << (shift - 1)) - 1u + even) >> shift;
}

// units * 2^exponent rounded once to the nearest half; zero gives +0. Needs |units| < 2^30.
uint half_from_units(int units, int exponent) {
    if (units == 0) return 0u;
    uint sign = units < 0 ? HALF_SIGN : 0u, magnitude = uint(abs(units));
    int unit = max(findMSB(magnitude) + exponent - 10, -24);
    uint steps = shift_nearest_even(magnitude, unit - exponent);
    uint bits = unit == -24 ? steps : uint(unit + 24) * 1024u + steps;
    return sign | min(bits, HALF_INFINITY);
}

// The nearest half of a single, ties to even.
uint half_from_single(float x) {
    uint bits = floatBitsToUint(x), sign = (bits >> 16) & HALF_SIGN, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | HALF_NAN | (magnitude >> 13) & 0x3ffu;
    if (magnitude >= 0x477ff000u) return sign | HALF_INFINITY;
    if (magnitude >= 0x38800000u) return sign | shift_nearest_even(magnitude - (112u << 23), 13);
    uint significand = (magnitude & 0x7fffffu) | 0x800000u;
    return sign | shift_nearest_even(significand, 126 - int(magnitude >> 23));
}

uint half_add(uint a, uint b) {
    precise float sum = half_value(a) + half_value(b);
    return half_from_single(sum);
}

uint half_mul(uint a, uint b) {
    precise float product = half_value(a) * half_value(b);
    return half_from_single(product);
}

// Magnitude of a finite half as significand * 2^scale.
uint half_significand(uint h) { return (h & 0x3ffu) | ((h & HALF_INFINITY) != 0u ? 0x400u : 0u); }
int half_scale(uint h) { return int(max((h >> 10) & 0x1fu, 1u)) - 25; }

// f16(a * b + c), the exact value rounded once: the operand below is shifted onto the other's unit, what falls
// off kept as a sticky bit, far below the last bit of a half.
uint half_fma(uint a, uint b, uint c) {
    if (!(half_is_finite(a) && half_is_finite(b) && half_is_finite(c))) {
        precise float product = half_value(a) * half_value(b);
        precise float sum = product + half_value(c);
        return half_from_single(sum);
    }
    bool negative = ((a ^ b) & HALF_SIGN) != 0u, negative_c = (c & HALF_SIGN) != 0u;
    uint product = half_significand(a) * half_significand(b), term = half_significand(c);
    if (product == 0u) return term != 0u ? c : (negative && negative_c ? HALF_SIGN : 0u);
    int scale = half_scale(a) + half_scale(b), scale_c = half_scale(c);
    if (term != 0u) {
        int up = 28 - findMSB(product), up_c = 28 - findMSB(term);
        product <<= up;
        term <<= up_c;
        scale -= up;
        scale_c -= up_c;
        int below = scale - scale_c;
        if (below > 0) {
            int shift = min(below, 30);
            term = (term >> shift) | ((term & ((1u << shift) - 1u)) != 0u ? 1u : 0u);
        } else if (below < 0) {
            int shift = min(-below, 30);
            product = (product >> shift) | ((product & ((1u << shift) - 1u)) != 0u ? 1u : 0u);
            scale = scale_c;
        }
    }
    int sum = (negative ? -int(product) : int(product)) + (negative_c ? -int(term) : int(term));
    return half_from_units(sum, scale);
}

// A finite half's magnitude with its highest bit moved to bit 10: significand and scale.
void half_normalized(uint h, out uint significand, out int scale) {
    significand = half_significand(h);
    int up = 10 - findMSB(significand);
    significand <<= up;
    scale = half_scale(h) - up;
}

// f16(1 / x): an integer division whose remainder is a sticky bit.
uint half_reciprocal(uint h) {
    uint sign = h & HALF_SIGN;
    if (half_is_nan(h)) return HALF_NAN;
    if (!half_is_finite(h)) return sign;
    if ((h & 0x7fffu) == 0u) return sign | HALF_INFINITY;
    uint significand;
    int scale;
    half_normalized(h, significand, scale);
    uint quotient = (1u << 25) / significand;
    uint sticky = quotient * significand != (1u << 25) ? 1u : 0u;
    return sign | half_from_units(int(quotient << 1 | sticky), -26 - scale);
}

// f16(1 / sqrt(x)): an estimate of the root in 13 bits, corrected in integers.
uint half_reciprocal_sqrt(uint h) {
    if ((h & 0x7fffu) == 0u) return (h & HALF_SIGN) | HALF_INFINITY;
    if (half_is_nan(h) || h >= HALF_SIGN) return HALF_NAN;
    if (h == HALF_INFINITY) return 0u;
    uint significand;
    int scale;
    half_normalized(h, significand, scale);
    if ((scale & 1) != 0) {
        significand <<= 1;
        scale -= 1;
    }
    // root = floor(2^18 / sqrt(significand)), that is the largest q with q * q * significand <= 2^36.
    precise float estimate = inversesqrt(float(significand)) * power_of_two(18);
    uint root = uint(estimate), high, low;
    umulExtended(root * root, significand, high, low);
    if (high > 16u || (high == 16u && low != 0u)) root -= 1u;
    umulExtended((root + 1u) * (root + 1u), significand, high, low);
    if (high < 16u || (high == 16u && low == 0u)) root += 1u;
    umulExtended(root * root, significand, high, low);
    uint sticky = high == 16u && low == 0u ? 0u : 1u;
    return half_from_units(int(root << 1 | sticky), -19 - scale / 2);
}

// ---- e4m3

// The value of a code; NaN codes are zeros of their sign.
float e4m3_value(uint code) {
    uint sign = (code & 0x80u) << 24, magnitude = code & 0x7fu;
    if (magnitude == 0x7fu) return uintBitsToFloat(sign);
    if (magnitude >= 8u) return uintBitsToFloat(sign | (magnitude << 20) + (120u << 23));
    precise float steps = float(magnitude) * power_of_two(-9);
    return uintBitsToFloat(sign | floatBitsToUint(steps));
}

// A code as a half: every value is one.
uint e4m3_half(uint code) {
    uint sign = (code & 0x80u) << 8, magnitude = code & 0x7fu;
    if (magnitude == 0x7fu) return sign;
    if (magnitude >= 8u) return sign | (magnitude << 7) + 0x2000u;
    return sign | half_from_units(int(magnitude), -9);
}

// NaN becomes +0, zeros keep their sign, the rest is the nearest code, saturating.
uint publish(uint h) {
    uint magnitude = h & 0x7fffu, sign = (h >> 8) & 0x80u;
    if (magnitude > HALF_INFINITY) return 0u;
    int field = int(magnitude >> 10);
    if (field >= 9) return sign | min(shift_nearest_even(magnitude - (8u << 10), 7), E4M3_MAX_CODE);
    return sign | shift_nearest_even(half_significand(magnitude), field == 0 ? 15 : 16 - field);
}

// The epilogue of the FP8 GEMM: as publish, but -0 publishes as +0.
uint publish_gemm(uint h) { return h == HALF_SIGN ? 0u : publish(h); }

// ---- fdpa

// The first accumulator: f16(residual * scale), -0 used as +0.
uint fdpa_seed(uint residual, uint scale) {
    uint product = half_mul(residual, scale);
    return product == HALF_SIGN ? 0u : product;
}

// An operand of the FP8 product: its value, and 2^(8 * exponent - 15) or 0 for a zero. The powers of two operands
// multiply; spaced by 8, the sum of 16 such products still tells the largest exponent: see shared_exponent.
float fdpa_power(uint code) {
    uint magnitude = code & 0x7fu;
    if (magnitude == 0u || magnitude == 0x7fu) return 0.0;
    return power_of_two(8 * (int(max(magnitude >> 3, 1u)) - 7) - 15);
}

// max over the products of (exponent of a + exponent of b), and the accumulator's exponent; -12 at least, below
// which no term is truncated. `powers` is the sum of the operands' powers' products, times 2.
int shared_exponent(float powers, uint accumulator) {
    int products = int(floatBitsToUint(powers) >> 26) - 12;
    return max(products, int((accumulator >> 10) & 0x1fu) - 15);
}

// ---- exponential

// The weight of a score: slope * score + offset as a half, clamped, bits shifted and biased. NaN takes the lower
// clamp. The product is exact.
uint exp_weight_of(uint score, float slope, float offset, uint low, uint high, uint shift, uint bias) {
    precise float product = slope * half_value(score);
    precise float sum = product + offset;
    uint x = half_from_single(sum);
    // Positive halves are ordered as their bits; negative ones and NaN are below the lower clamp.
    x = x > HALF_INFINITY ? low : clamp(x, low, high);
    return ((x << shift) + bias) & 0xffffu;
}

uint exp_weight(uint score) {
    return exp_weight_of(score, uintBitsToFloat(WINDOW_SLOPE), uintBitsToFloat(WINDOW_OFFSET), WINDOW_LOW,
                         WINDOW_HIGH, WINDOW_SHIFT, WINDOW_BIAS);
}

uint exp_weight_vit(uint score) {
    return exp_weight_of(score, uintBitsToFloat(VIT_SLOPE), uintBitsToFloat(VIT_OFFSET), VIT_LOW, VIT_HIGH, VIT_SHIFT,
                         VIT_BIAS);
}

#endif
