//! Where the differences lie: by channel, by window, by position in the window, by row and column of the plane.

use crate::geometry::{Size, WindowGrid, window};
use crate::tensor::Tensor;
use rayon::prelude::*;

/// Differing elements, attributed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// By token, row-major.
    pub tokens: Vec<u32>,
    /// By channel.
    pub channels: Vec<u64>,
    /// By column of the plane.
    pub columns: Vec<u64>,
    /// By row of the plane.
    pub rows: Vec<u64>,
    /// By window, where the tensor's block has a window grid.
    pub windows: Option<Windows>,
}

/// Differing elements by window and by position inside the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Windows per row and column.
    pub size: Size,
    /// By window, row-major.
    pub counts: Vec<u64>,
    /// By natural position inside the window, all windows together.
    pub positions: [u64; window::TOKENS],
}

impl Attribution {
    /// Attributes the differing elements of two tensors of one shape.
    pub(super) fn of(subject: &Tensor, reference: &Tensor, grid: Option<&WindowGrid>) -> Self {
        let (size, channels) = (reference.shape.size, reference.shape.channels);
        let width = reference.shape.element.bytes();
        let row = size.width * channels * width;
        let parts: Vec<(Vec<u32>, Vec<u64>)> = subject
            .bytes()
            .par_chunks(row)
            .zip(reference.bytes().par_chunks(row))
            .map(|(s, r)| row_of(s, r, size.width, channels, width))
            .collect();
        let mut sums = vec![0_u64; channels];
        let mut tokens = Vec::with_capacity(size.tokens());
        for (row, by_channel) in parts {
            tokens.extend(row);
            sums.iter_mut().zip(by_channel).for_each(|(sum, count)| *sum += count);
        }
        let (mut columns, mut rows) = (vec![0; size.width], vec![0; size.height]);
        for (token, &count) in tokens.iter().enumerate() {
            columns[token % size.width] += u64::from(count);
            rows[token / size.width] += u64::from(count);
        }
        let windows = grid.filter(|grid| grid.size == size).map(|grid| Windows::of(&tokens, grid));
        Self { tokens, channels: sums, columns, rows, windows }
    }
}

impl Windows {
    fn of(tokens: &[u32], grid: &WindowGrid) -> Self {
        let mut counts = vec![0; grid.len()];
        let mut positions = [0; window::TOKENS];
        for (token, &count) in tokens.iter().enumerate().filter(|(_, count)| **count > 0) {
            let ((x, y), n) = grid.locate(token);
            counts[y * grid.windows.width + x] += u64::from(count);
            positions[n] += u64::from(count);
        }
        Self { size: grid.windows, counts, positions }
    }
}

/// Differing elements of one row of tokens, by token and by channel.
fn row_of(s: &[u8], r: &[u8], tokens: usize, channels: usize, width: usize) -> (Vec<u32>, Vec<u64>) {
    let (mut by_token, mut by_channel) = (vec![0; tokens], vec![0; channels]);
    if s == r {
        return (by_token, by_channel);
    }
    let stride = channels * width;
    for (token, (s, r)) in s.chunks_exact(stride).zip(r.chunks_exact(stride)).enumerate() {
        if s == r {
            continue;
        }
        for (c, (s, r)) in s.chunks_exact(width).zip(r.chunks_exact(width)).enumerate() {
            let differs = s != r;
            by_token[token] += u32::from(differs);
            by_channel[c] += u64::from(differs);
        }
    }
    (by_token, by_channel)
}
