//! Where the differences of a tensor lie, and where they do not: what can be said when no known cause explains them.

use super::moves;
use crate::compare::{Class, Counts, Details, percent};
use crate::geometry::WindowGrid;
use crate::tensor::Tensor;

/// One statement about the place of differences: a part of the tensor, its share of all elements, and its share
/// of the differing ones.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Share {
    /// The part, in words.
    pub part: String,
    /// Its elements as a share of all.
    pub of_elements: f64,
    /// Its differing elements as a share of all that differ.
    pub of_differences: f64,
}

impl Share {
    /// Whether the part holds many more, or many fewer, than its share.
    pub fn is_striking(&self) -> bool {
        self.of_differences > 0.0 && self.of_differences > 2.0 * self.of_elements
            || self.of_differences > 0.999
            || self.of_differences < 0.2 * self.of_elements
    }
}

/// The pattern of a tensor's differences.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Pattern {
    /// Elements that differ.
    pub differing: u64,
    /// Differing elements by class.
    pub classes: Vec<(String, u64)>,
    /// Signed code distances: first, last, count.
    pub distances: Vec<(i64, i64, u64)>,
    /// Striking parts.
    pub shares: Vec<Share>,
    /// Periods found along x and y, in tokens.
    pub periods: Vec<(char, usize)>,
    /// The tensor as a whole, in sentences.
    pub notes: Vec<String>,
}

impl Pattern {
    /// The pattern of two tensors of one shape, `counts` being their classes.
    pub fn of(subject: &Tensor, exact: &Tensor, counts: &Counts, grid: Option<&WindowGrid>) -> Self {
        let details = Details::of(subject, exact, grid);
        let all = &details.attribution;
        let (size, channels) = (exact.shape.size, exact.shape.channels);
        let differing = counts.differing();
        let mut shares = Vec::new();
        let mut add = |part: String, elements: usize, count: u64| {
            let of_elements = elements as f64 / exact.shape.elements() as f64;
            let share = Share { part, of_elements, of_differences: count as f64 / differing.max(1) as f64 };
            if share.is_striking() && of_elements < 0.999 {
                shares.push(share);
            }
        };
        let tokens = |inside: &dyn Fn(usize, usize) -> bool| {
            let places = all.tokens.iter().enumerate().filter(|(t, _)| inside(t % size.width, t / size.width));
            places.fold((0, 0), |(n, sum), (_, &count)| (n + channels, sum + u64::from(count)))
        };
        let edge = |x: usize, y: usize| x < 4 || y < 4 || x + 4 >= size.width || y + 4 >= size.height;
        let (n, count) = tokens(&edge);
        add("within 4 tokens of the field's edge".to_owned(), n, count);
        if let Some(grid) = grid.filter(|grid| grid.size == size) {
            let outside = |x: usize, y: usize| {
                let (at, _) = grid.locate(y * size.width + x);
                (0..64).any(|n| grid.token(at, n).is_none())
            };
            let (n, count) = tokens(&outside);
            add("in windows that leave the field".to_owned(), n, count);
            let border = |x: usize, y: usize| {
                let (_, n) = grid.locate(y * size.width + x);
                n % 8 == 0 || n % 8 == 7 || n / 8 == 0 || n / 8 == 7
            };
            let (n, count) = tokens(&border);
            add("at the border of their window".to_owned(), n, count);
        }
        let group = if channels % 96 == 0 && exact.name.as_str().ends_with(['v', 'd']) { 96 } else { 32 };
        for (g, counts) in all.channels.chunks(group).enumerate().filter(|_| channels > group) {
            let part = format!("in channels {}-{}", g * group, g * group + counts.len() - 1);
            add(part, size.tokens() * counts.len(), counts.iter().sum());
        }
        for parity in [0, 1] {
            let (n, count) = tokens(&|x, _| x % 2 == parity);
            add(format!("in {} columns", ["even", "odd"][parity]), n, count);
        }
        let periods = [('x', &all.columns), ('y', &all.rows)];
        let periods = periods.into_iter().filter_map(|(axis, counts)| Some((axis, period(counts)?))).collect();
        let classes = counts.iter().filter(|&(class, n)| n > 0 && class != Class::Equal);
        Self {
            differing,
            classes: classes.map(|(class, n)| (class.word().to_owned(), n)).collect(),
            distances: details.distances.iter().collect(),
            shares,
            periods,
            notes: notes(subject, exact, differing),
        }
    }

    /// The pattern in sentences, for reports.
    pub fn sentences(&self) -> Vec<String> {
        let mut out = self.notes.clone();
        for share in &self.shares {
            let (d, e) = (percent(share.of_differences), percent(share.of_elements));
            out.push(format!("{d} of the differences lie {} ({e} of the elements).", share.part));
        }
        for (axis, period) in &self.periods {
            out.push(format!("Differences repeat along {axis} with a period of {period} tokens."));
        }
        out
    }
}

/// What the two tensors as wholes say.
fn notes(subject: &Tensor, exact: &Tensor, differing: u64) -> Vec<String> {
    let mut notes = Vec::new();
    let elements = exact.shape.elements() as u64;
    let sorted = |tensor: &Tensor| {
        let mut counts = [0_u64; 256];
        tensor.bytes().iter().for_each(|&b| counts[usize::from(b)] += 1);
        counts
    };
    let (s, r) = (sorted(subject), sorted(exact));
    if s == r && differing > 0 {
        notes.push("Both sides hold the same bytes the same number of times: a permutation (layout).".to_owned());
    }
    if let Some(byte) = (0..256).find(|&b| s[b] == subject.bytes().len() as u64) {
        notes.push(format!(
            "The subject holds nothing but the byte {byte:#04x}: it was never written, or its input was empty."
        ));
    }
    if differing * 50 > elements * 49 {
        let share = percent((elements - differing) as f64 / elements as f64);
        notes.push(format!("Only {share} of the elements are equal: layout, element type or source, not rounding."));
    }
    notes.extend(moves::notes(subject, exact));
    notes
}

/// The smallest period of at least 2 in which counts repeat, if their variation is mostly periodic.
fn period(counts: &[u64]) -> Option<usize> {
    let n = counts.len();
    let mean = counts.iter().sum::<u64>() as f64 / n.max(1) as f64;
    let spread = |values: &mut dyn Iterator<Item = f64>| values.map(|v| (v - mean) * (v - mean)).sum::<f64>();
    let total = spread(&mut counts.iter().map(|&c| c as f64));
    [2, 4, 8, 16].into_iter().filter(|p| n >= 3 * p).find(|&p| {
        let folded: Vec<f64> = (0..p)
            .map(|i| {
                let column: Vec<f64> = counts.iter().skip(i).step_by(p).map(|&c| c as f64).collect();
                column.iter().sum::<f64>() / column.len() as f64
            })
            .collect();
        let explained = spread(&mut (0..n).map(|i| folded[i % p]));
        total > 0.0 && explained > 0.6 * total
    })
}

#[cfg(test)]
mod tests {
    use super::period;

    #[test]
    fn periods_are_found_and_noise_has_none() {
        let striped: Vec<u64> = (0..64).map(|i| if i % 8 == 3 { 90 } else { 10 + i % 3 }).collect();
        assert_eq!(period(&striped), Some(8), "every eighth column");
        let noise: Vec<u64> = (0..64_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58).collect();
        assert_eq!(period(&noise), None, "noise");
    }
}
