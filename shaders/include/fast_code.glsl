// What the fast dot product stages of an E4M3 code, in one word: the value in bits 20-31 of an f32, the exponent field of its
// power 2^(8 e - 15) in bits 8-15, 19 - (exponent of its lowest set bit) in bits 0-7. Zeros and NaN codes: a zero of their
// sign, no power, 7.
uint describe(uint code) {
    uint m = code & 7u;
    uint e = (code >> 3) & 15u;
    uint magnitude = code & 127u;
    if (magnitude == 0u || magnitude == 127u) return (code & 128u) << 24 | 7u;
    int top = e == 0u ? findMSB(m) - 9 : int(e) - 7;
    uint fraction = e == 0u ? (m << (3 - findMSB(m))) & 7u : m;
    int low = e == 0u ? findLSB(m) - 9 : findLSB(m | 8u) + int(e) - 10;
    uint power = uint(8 * max(top, -6) + 112);
    return (code & 128u) << 24 | uint(top + 127) << 23 | fraction << 20 | power << 8 | uint(19 - low);
}
