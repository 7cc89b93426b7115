//! The fast engine: SIMD chosen at run time, all cores, the same bytes as the reference.
