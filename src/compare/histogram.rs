//! Signed code distances of the elements that differ: every distance up to 16 apart, then powers of two.

use super::distance;
use crate::tensor::Element;
use rayon::prelude::*;

/// Distances up to this have a bucket of their own.
const SINGLE: u64 = 16;
/// Buckets on one side of zero: 16 single ones, then (16, 32], (32, 64] ... up to 2^32.
const SIDE: usize = 16 + 28;

/// Counts of signed code distances. Bucket `SIDE` holds distance 0: zeros of different sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; 2 * SIDE + 1] }
    }
}

impl Histogram {
    /// Adds one distance.
    pub fn add(&mut self, distance: i64) {
        self.buckets[bucket(distance)] += 1;
    }

    /// Buckets that are not empty, from the most negative: first and last distance, both included, and count.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64, u64)> + '_ {
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(i, &count)| {
            let (low, high) = range(i.abs_diff(SIDE));
            if i < SIDE { (-high, -low, count) } else { (low, high, count) }
        })
    }

    /// Elements counted.
    pub fn total(&self) -> u64 {
        self.buckets.iter().sum()
    }

    fn merge(mut self, other: &Self) -> Self {
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(sum, count)| *sum += count);
        self
    }
}

fn bucket(distance: i64) -> usize {
    let magnitude = distance.unsigned_abs();
    let step = if magnitude <= SINGLE { magnitude as usize } else { 17 + (magnitude - 1).ilog2() as usize - 4 };
    if distance < 0 { SIDE - step } else { SIDE + step }
}

/// Distances of the bucket `step` away from zero.
fn range(step: usize) -> (i64, i64) {
    if step <= 16 { (step as i64, step as i64) } else { ((1 << (step - 13)) + 1, 1 << (step - 12)) }
}

/// The histogram of two buffers, and the index of the first element with the largest distance.
pub(super) fn of(element: Element, subject: &[u8], reference: &[u8]) -> (Histogram, Option<usize>) {
    const TASK: usize = 1 << 18;
    let width = element.bytes();
    let bits = |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte));
    let tasks = subject.par_chunks(TASK).zip(reference.par_chunks(TASK)).enumerate();
    let parts = tasks.map(|(i, (s, r))| {
        let (mut histogram, mut worst) = (Histogram::default(), None);
        // Eight bytes at a time: words that are equal hold no difference.
        for (word, (s, r)) in s.chunks(8).zip(r.chunks(8)).enumerate() {
            if s == r {
                continue;
            }
            for (j, (s, r)) in s.chunks_exact(width).zip(r.chunks_exact(width)).enumerate() {
                if s != r {
                    let apart = distance(element, bits(s), bits(r));
                    histogram.add(apart);
                    worst = further(worst, Some((apart.unsigned_abs(), (i * TASK + word * 8) / width + j)));
                }
            }
        }
        (histogram, worst)
    });
    let (histogram, worst) = parts.reduce(|| (Histogram::default(), None), |a, b| (a.0.merge(&b.0), further(a.1, b.1)));
    (histogram, worst.map(|(_, index)| index))
}

/// The larger distance; of equal ones the first.
fn further(a: Option<(u64, usize)>, b: Option<(u64, usize)>) -> Option<(u64, usize)> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) { b } else { a }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_distance_lies_in_the_range_of_its_bucket() {
        let distances = (-3000..3000).chain([i64::from(u32::MAX), -i64::from(u32::MAX), 1 << 31, -(1 << 20)]);
        for distance in distances {
            let mut histogram = Histogram::default();
            histogram.add(distance);
            let (low, high, count) = histogram.iter().next().unwrap();
            assert!((low..=high).contains(&distance) && count == 1, "{distance} in {low}..={high}");
        }
    }

    #[test]
    fn single_distances_stay_apart() {
        let mut histogram = Histogram::default();
        (-16..=16).for_each(|d| histogram.add(d));
        assert!(histogram.iter().eq((-16..=16).map(|d| (d, d, 1))), "{histogram:?}");
    }
}
