//! Fragment orders: where the matrix unit wants each weight, and the plain order that everything here uses.

use super::Matrix;
use crate::numerics::f16;
use rayon::prelude::*;

/// Byte index of stored weight `(k, n)` of an FP8 matrix with `cols` columns. The stored k is not the channel:
/// see [`channel`].
pub const fn index_fp8(k: usize, n: usize, cols: usize) -> usize {
    let lane = (n % 8) * 4 + (k % 16) / 4;
    let byte = ((n % 16) / 8) * 8 + ((k % 32) / 16) * 4 + k % 4;
    (k / 32) * (cols * 32) + (n / 128) * 4096 + ((n % 128) / 64) * 2048 + ((n % 64) / 16) * 512 + lane * 16 + byte
}

/// The activation channel that stored index `k` multiplies. The permutation stays inside a group of 16.
pub const fn channel(k: usize) -> usize {
    (k & !31) + (k & 16) + (k >> 1 & 1) * 8 + (k >> 3 & 1) * 4 + (k >> 2 & 1) * 2 + (k & 1)
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
///
/// Walks the stored order: 512 bytes are a tile of 32 stored rows and 16 columns (see [`index_fp8`], whose terms
/// for n add up to `n / 16 * 512`), 16 bytes a lane. A tile is turned in registers and written row by row.
pub fn unpack_fp8(bytes: &[u8], groups: usize, k: usize, n: usize) -> Matrix {
    let mut codes = vec![0; groups * k * n];
    let bands = bytes[..groups * k * n].par_chunks_exact(32 * n).zip(codes.par_chunks_exact_mut(32 * n));
    bands.for_each(|(stored, plain)| {
        for (column, tile) in stored.as_chunks::<512>().0.iter().enumerate() {
            let mut rows = [[0_u8; 16]; 32];
            for (lane, bytes) in tile.as_chunks::<16>().0.iter().enumerate() {
                let (right, k) = (lane / 4, lane % 4 * 4);
                for (b, &byte) in bytes.iter().enumerate() {
                    let (low, high) = (b % 4, b / 4 % 2 * 16);
                    let code = if byte & 0x7f == 0x7f { 0 } else { byte };
                    rows[CHANNEL[high + k + low]][b / 8 * 8 + right] = code;
                }
            }
            for (row, out) in rows.iter().zip(plain.chunks_exact_mut(n)) {
                out[column * 16..][..16].copy_from_slice(row);
            }
        }
    });
    Matrix { groups, k, n, codes }
}

/// [`channel`] of the 32 stored indices of a group.
const CHANNEL: [usize; 32] = {
    let (mut table, mut k) = ([0; 32], 0);
    while k < 32 {
        table[k] = channel(k);
        k += 1;
    }
    table
};

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
    fn unpacking_by_tiles_is_unpacking_by_index() {
        for (groups, k, n) in [(1, 32, 32), (2, 32, 96), (3, 128, 32), (1, 64, 256), (1, 512, 128)] {
            let bytes: Vec<u8> = (0..groups * k * n).map(|i| (i * 37 + i / 251) as u8).collect();
            let matrix = unpack_fp8(&bytes, groups, k, n);
            for i in 0..groups * k * n {
                let (group, row, column) = (i / (k * n), i / n % k, i % n);
                let byte = bytes[group * k * n + index_fp8(row, column, n)];
                let expected = if byte & 0x7f == 0x7f { 0 } else { byte };
                assert_eq!(matrix.code(group, channel(row), column), expected, "{groups} of {k}x{n}, element {i}");
            }
        }
    }

    #[test]
    fn channels_follow_the_published_order() {
        let first: Vec<usize> = (0..16).map(channel).collect();
        assert_eq!(first, [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15], "first sixteen");
        assert_eq!(channel(37), 32 + channel(5), "repeats every 32");
    }
}
