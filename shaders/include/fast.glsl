// The fast exact FP8 dot product on ordinary ALUs: 16 products per step, twin of `numerics::fdpa::fdpa_fp8`.
//
// The includer defines THREADS, TN (4 or 2 columns a thread; rows are always 4), POOL (uvec4s of staged operands) and RTZ:
//   1  round toward zero by execution mode: one FMA per product adds floor(a*b / unit), and a population count
//      turns floors into truncations;
//   0  any rounding to nearest: half a unit, less a little, against the product's sign, then one addition.
//
// Per group of 16 and output: s = sum of 2^(8 (ea + eb) - 30) has the shared exponent in its exponent field (eight
// apart, sixteen equal maxima do not carry); M = 1.5 * 2^(E + 10) has the unit 2^(E - 13) as its last bit, so that adding
// to M truncates. Why each step is exact: docs of `engine::vulkan::gemm_fast`.
#include "fast_code.glsl"
#include "fast_half.glsl"
#if RTZ == 1
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4468], 4463, 32);
#endif

// Loops over registers are written out by the preprocessor, so that no driver keeps the arrays in memory.
#define EACH8(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define UNROLL 8
#if TN == 4
#define EACH_K(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define EACH_COLUMN(F) F(0) F(1) F(2) F(3)
#elif TN == 2
// Two columns of two words lie side by side, so that one vector serves two k.
#define EACH_K(F) F(0) F(2) F(4) F(6)
#define EACH_COLUMN(F) F(0) F(1)
#endif

// Words of one staged row or column: 16 values, 16 powers, 4 words of low bits, 2 of signs.
const uint WORDS = FAST_WORDS;
shared uvec4 pool[POOL];
shared uint codes[256];

void build_codes() {
    for (uint c = gl_LocalInvocationIndex; c < 256; c += THREADS) codes[c] = describe(c);
}

void put(uint base, uint rows, uint word, uint row, uint value) {
    uint at = word * rows + row;
    pool[base + (at >> 2)][at & 3u] = value;
}

void put_pair(uint base, uint rows, uint word, uint row, uint value) {
    uint at = (word >> 1) * 2u * rows + (row >> 1) * 4u + (word & 1u) * 2u + (row & 1u);
    pool[base + (at >> 2)][at & 3u] = value;
}

#define STAGE(c) { \
        uint word = codes[bitfieldExtract(bytes[(c) / 4], 8 * ((c) % 4), 8)]; \
        PUT(base, rows, 8u * h + c, row, word & 0xfff00000u); \
        PUT(base, rows, 16u + 8u * h + c, row, (word & 0xff00u) << 15); \
        low[c / 4] += (word & 0xffu) << (8 * (c % 4)); }
#define STAGE_ALL \
    uint low[2] = uint[2](mark, 0u); \
    EACH8(STAGE) \
    PUT(base, rows, 32u + 2u * h, row, low[0]); \
    PUT(base, rows, 33u + 2u * h, row, low[1]); \
    PUT(base, rows, 36u + h, row, (bytes.x & 0x80808080u) | ((bytes.y & 0x80808080u) >> 1));

/// Stages eight codes, half `h` of a group, of one row or column. `mark` is 64 in each byte on one side only.
void stage(uint base, uint rows, uint row, uint h, uvec2 bytes, uint mark) {
#define PUT put
    STAGE_ALL
#undef PUT
}

/// The same for a column that two-column threads read.
void stage_pair(uint base, uint rows, uint row, uint h, uvec2 bytes, uint mark) {
#define PUT put_pair
    STAGE_ALL
#undef PUT
}

#if RTZ == 1
vec4 fma_rz(vec4 a, float b, vec4 c) { precise vec4 r = fma(a, vec4(b), c); return r; }
vec4 add_rz(vec4 a, vec4 b) { precise vec4 r = a + b; return r; }
#endif

/// One group: adds 16 products to each of 4 x TN accumulators, packed two rows to a word.
/// `a` and `b` are this thread's first vectors of the staged rows and columns, `ra` and `rb` the vectors of a word (of two
/// words of columns when TN is 2).
void group16(uint a, uint ra, uint b, uint rb, uint nothing, inout uvec2 h[TN]) {
    precise vec4 s[TN];
    precise vec4 c[TN];
#define ZERO(j) s[j] = vec4(0);
    EACH_COLUMN(ZERO)
    uint end = 16u ^ nothing;
#if TN == 4
#define OPERANDS(F, word) { \
        vec4 av = uintBitsToFloat(pool[a + (word) * ra]); \
        vec4 bv = uintBitsToFloat(pool[b + (word) * rb]); \
        F(0, av, bv.x) F(1, av, bv.y) F(2, av, bv.z) F(3, av, bv.w) }
#else
#define OPERANDS(F, word) { \
        vec4 a0 = uintBitsToFloat(pool[a + (word) * ra]); \
        vec4 a1 = uintBitsToFloat(pool[a + (word + 1u) * ra]); \
        vec4 bv = uintBitsToFloat(pool[b + ((word) >> 1) * rb]); \
        F(0, a0, bv.x) F(1, a0, bv.y) F(0, a1, bv.z) F(1, a1, bv.w) }
#endif
#define POWER(j, av, bv) s[j] = fma(av, vec4(bv), s[j]);
#define POWERS(k) OPERANDS(POWER, 16u + k0 + k)
    for (uint k0 = 0; k0 < end; k0 += UNROLL) { EACH_K(POWERS) }

    uint shift23 = 0x800000u ^ nothing;
    uint flags = 0x80808080u ^ nothing;
    uint one = 0x01010101u ^ nothing;
#if RTZ != 0
    uvec4 low0 = pool[a + 32 * ra];
    uvec4 low1 = pool[a + 33 * ra];
    uvec4 low2 = pool[a + 34 * ra];
    uvec4 low3 = pool[a + 35 * ra];
    uvec4 sign0 = pool[a + 36 * ra];
    uvec4 sign1 = pool[a + 37 * ra];
#define MIDDLE(j) { \
        vec4 acc = unpack4(h[j], nothing); \
        uvec4 bits = floatBitsToUint(acc); \
        precise vec4 own = abs(acc) * 2.407412430484045e-35; \
        uvec4 v = max(floatBitsToUint(s[j]) >> 3, floatBitsToUint(own)); \
        uvec4 f = v >> 23; \
        uvec4 mb = f * shift23 + ((125u << 23) | 0x400000u); \
        vec4 ms = uintBitsToFloat((bits & 0x80000000u) | mb); \
        c[j] = add_rz(uintBitsToFloat(mb), add_rz(add_rz(acc, ms), -ms)); \
        uvec4 uf = f * one; \
        uvec4 r0 = low0 + b0[j] + uf; \
        uvec4 r1 = low1 + b1[j] + uf; \
        uvec4 r2 = low2 + b2[j] + uf; \
        uvec4 r3 = low3 + b3[j] + uf; \
        uvec4 w0 = ((r0 & flags) | (r1 & ~flags)) & (sign0 ^ t0[j]); \
        uvec4 w1 = ((r2 & flags) | (r3 & ~flags)) & (sign1 ^ t1[j]); \
        s[j] = uintBitsToFloat(mb - uvec4(bitCount(w0)) - uvec4(bitCount(w1))); }
#if TN == 2
#define MIDDLES { \
        uvec4 b01 = pool[b + 16 * rb]; \
        uvec4 b23 = pool[b + 17 * rb]; \
        uvec4 t01 = pool[b + 18 * rb]; \
        uvec2 b0 = b01.xy, b1 = b01.zw, b2 = b23.xy, b3 = b23.zw, t0 = t01.xy, t1 = t01.zw; \
        MIDDLE(0) MIDDLE(1) }
#else
#define MIDDLES { \
        uvec4 b0 = pool[b + 32 * rb]; \
        uvec4 b1 = pool[b + 33 * rb]; \
        uvec4 b2 = pool[b + 34 * rb]; \
        uvec4 b3 = pool[b + 35 * rb]; \
        uvec4 t0 = pool[b + 36 * rb]; \
        uvec4 t1 = pool[b + 37 * rb]; \
        MIDDLE(0) MIDDLE(1) MIDDLE(2) MIDDLE(3) }
#endif
#define PRODUCT(j, av, bv) c[j] = fma_rz(av, bv, c[j]);
#define FINISH(j) h[j] = pack4(add_rz(c[j], -s[j]));
#else
#define MIDDLE(j) { \
        vec4 acc = unpack4(h[j], nothing); \
        uvec4 bits = floatBitsToUint(acc); \
        ivec4 v = max(ivec4(floatBitsToUint(s[j]) >> 3), ivec4(bits & 0x7fffffffu) - (115 << 23)); \
        ivec4 f = v >> 23; \
        vec4 unit = uintBitsToFloat(uvec4(f + 102) << 23); \
        vec4 inverse = uintBitsToFloat(uvec4(152 - f) << 23); \
        precise vec4 whole = trunc(acc * inverse) * unit; \
        precise vec4 start = uintBitsToFloat(uvec4(f << 23) + ((125u << 23) | 0x400000u)) + whole; \
        c[j] = start; \
        s[j] = unit * -0.498046875; \
        h[j].x = uint(f.x & 0xffff) | uint(f.y) << 16; \
        h[j].y = uint(f.z & 0xffff) | uint(f.w) << 16; }
#define MIDDLES EACH_COLUMN(MIDDLE)
#define PRODUCT(j, av, bv) { \
        float y = bv; \
        uvec4 sign = (floatBitsToUint(av) ^ floatBitsToUint(y)) & 0x80000000u; \
        precise vec4 t = fma(av, vec4(y), uintBitsToFloat(floatBitsToUint(s[j]) ^ sign)); \
        precise vec4 sum = c[j] + t; \
        c[j] = sum; }
#define FINISH(j) { \
        ivec4 f = ivec4(int(h[j].x << 16) >> 16, int(h[j].x) >> 16, int(h[j].y << 16) >> 16, int(h[j].y) >> 16); \
        precise vec4 r = c[j] - uintBitsToFloat(uvec4(f << 23) + ((125u << 23) | 0x400000u)); \
        h[j] = pack4(r); }
#endif
    MIDDLES
#define PRODUCTS(k) OPERANDS(PRODUCT, k0 + k)
    for (uint k0 = 0; k0 < end; k0 += UNROLL) { EACH_K(PRODUCTS) }
    EACH_COLUMN(FINISH)
}
