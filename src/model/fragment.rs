//! Fragment orders: where the matrix unit wants each weight, and the plain order that everything here uses.

use super::Matrix;
use crate::numerics::f16;

/// Byte index of stored weight `(k, n)` of an FP8 matrix with `cols` columns. The stored k is not the channel:
/// see [`channel`].
pub const fn index_fp8(k: usize, n: usize, cols: usize) -> usize {
    let lane = (n % 8) * 4 + (k % 16) / 4;
    let byte = ((n % 16) / 8) * 8 + ((k % 32) / 16) * 4 + k % 4;
    (k / 32) * (cols * 32) + (n / 128) * 4096 + ((n % 128) / 64) * 2048 + ((n % 64) / 16) * 512 + lane * 16 + byte
}

/// The activation channel that stored index `k` multiplies. The permutation stays inside a group of 16.
pub fn channel(k: usize) -> usize {
    let bit = |b: usize| (k >> b) & 1;
    (k & !31) + bit(4) * 16 + bit(1) * 8 + bit(3) * 4 + bit(2) * 2 + bit(0)
}

/// Half index of `(k, n)` of an f16 matrix with `cols` columns.
pub const fn index_f16(k: usize, n: usize, cols: usize) -> usize {
    let lane = (n % 8) * 4 + (k % 8) / 2;
    let high = if k % 16 >= 8 { 2 } else { 0 };
    ((k / 16) * cols.div_ceil(16) + n / 16) * 256 + lane * 8 + ((n % 16) / 8) * 4 + high + k % 2
}

/// Half index of `(head, query, key)` of a prior, both in physical order.
pub const fn index_prior(head: usize, query: usize, key: usize) -> usize {
    let lane = (query % 8) * 4 + (key % 8) / 2;
    let high = if query % 16 >= 8 { 2 } else { 0 };
    head * 4096 + (query / 16) * 1024 + (key / 16) * 256 + lane * 8 + ((key % 16) / 8) * 4 + high + key % 2
}

/// Plain order of `groups` matrices that lie back to back; the channel permutation undone, NaN codes as +0.
pub fn unpack_fp8(bytes: &[u8], groups: usize, k: usize, n: usize) -> Matrix {
    let mut codes = vec![0; groups * k * n];
    for (stored, plain) in bytes.chunks_exact(k * n).zip(codes.chunks_exact_mut(k * n)) {
        for row in 0..k {
            let out = &mut plain[channel(row) * n..][..n];
            for (column, code) in out.iter_mut().enumerate() {
                let byte = stored[index_fp8(row, column, n)];
                *code = if byte & 0x7f == 0x7f { 0 } else { byte };
            }
        }
    }
    Matrix { groups, k, n, codes }
}

/// Plain order `[k][n]` of an f16 matrix.
pub fn unpack_f16(bytes: &[u8], k: usize, n: usize) -> Vec<f16> {
    let half = |i: usize| f16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
    (0..k * n).map(|i| half(index_f16(i / n, i % n, n))).collect()
}

/// Plain order `[head][query][key]` of a prior.
pub fn unpack_prior(bytes: &[u8], heads: usize) -> Vec<f16> {
    let half = |i: usize| f16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
    (0..heads * 4096).map(|i| half(index_prior(i / 4096, i / 64 % 64, i % 64))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragment_indices_are_permutations() {
        for (k, n) in [(32, 32), (32, 96), (128, 128), (64, 256), (512, 64)] {
            let mut seen = vec![false; k * n];
            (0..k * n).for_each(|i| seen[index_fp8(i / n, i % n, n)] = true);
            assert!(seen.iter().all(|&s| s), "fp8 {k}x{n}");
        }
        let mut seen = vec![false; 4096];
        (0..4096).for_each(|i| seen[index_prior(0, i / 64, i % 64)] = true);
        assert!(seen.iter().all(|&s| s), "prior");
    }

    #[test]
    fn channels_follow_the_published_order() {
        let first: Vec<usize> = (0..16).map(channel).collect();
        assert_eq!(first, [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15], "first sixteen");
        assert_eq!(channel(37), 32 + channel(5), "repeats every 32");
    }
}
