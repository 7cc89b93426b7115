//! Values that are right and lie elsewhere, and other plain faults of a dump: what no variant of the catalogue says,
//! since no kernel makes it. Shifts, mirrors, exchanged channels, one region, zeros, one constant distance.
//!
//! A statement is made only where nine of ten differing elements follow it: chance gives a few per cent.

use crate::tensor::Tensor;
use std::collections::BTreeMap;

/// Differing elements that a rearrangement is tried on.
const SAMPLED: usize = 2048;
/// Tokens by which channels are recognised.
const TOKENS: usize = 2048;
/// Share of the sample that a statement must explain.
const ENOUGH: f64 = 0.9;
/// Shifts tried, in elements, in tokens and in rows.
const SHIFTS: isize = 64;

/// A place: x, y and channel.
type Place = (usize, usize, usize);

/// What can be said about how the subject's values lie, a sentence each; both tensors have one shape.
pub(super) fn notes(subject: &Tensor, exact: &Tensor) -> Vec<String> {
    let seen = Seen::of(subject, exact);
    let all = seen.differing;
    if all == 0 {
        return Vec::new();
    }
    let step = all.div_ceil(SAMPLED);
    let sample: Vec<usize> = differing(subject, exact).step_by(step).collect();
    let moved = rearranged(subject, exact, &sample).or_else(|| permuted(subject, exact));
    let most = |count: usize| count as f64 >= ENOUGH * all as f64;
    let (zeros, signs) = (seen.zeros, seen.signs);
    let zeros = most(zeros).then(|| {
        format!("{zeros} of {all} differing elements are zero in the subject: perhaps they were never written.")
    });
    let signs = most(signs).then(|| format!("{signs} of {all} differing elements have the other sign."));
    moved.into_iter().chain(seen.region(exact)).chain(zeros).chain(signs).collect()
}

/// Indices of the elements that differ.
fn differing<'a>(subject: &'a Tensor, exact: &'a Tensor) -> impl Iterator<Item = usize> + 'a {
    let width = exact.shape.element.bytes();
    let pairs = subject.bytes().chunks_exact(width).zip(exact.bytes().chunks_exact(width)).enumerate();
    pairs.filter(|(_, (s, r))| s != r).map(|(index, _)| index)
}

/// What one look at all differing elements counts.
struct Seen {
    differing: usize,
    /// Zero in the subject.
    zeros: usize,
    /// Different in the sign only.
    signs: usize,
    /// The smallest and the largest place.
    first: Place,
    last: Place,
}

impl Seen {
    fn of(subject: &Tensor, exact: &Tensor) -> Self {
        let (columns, channels) = (exact.shape.size.width, exact.shape.channels);
        let sign = 1_u32 << (8 * exact.shape.element.bytes() - 1);
        let none = (usize::MAX, usize::MAX, usize::MAX);
        let mut seen = Self { differing: 0, zeros: 0, signs: 0, first: none, last: (0, 0, 0) };
        for index in differing(subject, exact) {
            let (token, c) = (index / channels, index % channels);
            let (s, r) = (subject.bits(token, c), exact.bits(token, c));
            let (x, y) = (token % columns, token / columns);
            seen.differing += 1;
            seen.zeros += usize::from(s & !sign == 0);
            seen.signs += usize::from(s ^ r == sign);
            seen.first = (seen.first.0.min(x), seen.first.1.min(y), seen.first.2.min(c));
            seen.last = (seen.last.0.max(x), seen.last.1.max(y), seen.last.2.max(c));
        }
        seen
    }

    /// The rectangle and channels of all differences, where that is a small part.
    fn region(&self, exact: &Tensor) -> Option<String> {
        let ((left, top, first), (right, bottom, last)) = (self.first, self.last);
        let inside = (right - left + 1) * (bottom - top + 1) * (last - first + 1);
        let range =
            |name: &str, a: usize, b: usize| if a == b { format!("{name} {a}") } else { format!("{name} {a}-{b}") };
        let [x, y, c] = [range("x", left, right), range("y", top, bottom), range("channel", first, last)];
        (inside * 4 <= exact.shape.elements()).then(|| {
            format!("All differences lie at {x}, {y}, {c}; {} of the {inside} elements there differ.", self.differing)
        })
    }
}

/// The first plain rearrangement of the exact tensor that the subject is.
fn rearranged(subject: &Tensor, exact: &Tensor, sample: &[usize]) -> Option<String> {
    let (size, channels) = (exact.shape.size, exact.shape.channels);
    let (columns, rows, elements) = (size.width, size.height, exact.shape.elements());
    let follows = |from: &dyn Fn(usize) -> Option<usize>| {
        let bits = |tensor: &Tensor, index: usize| tensor.bits(index / channels, index % channels);
        let same = |&&index: &&usize| from(index).is_some_and(|other| bits(subject, index) == bits(exact, other));
        sample.iter().filter(same).count() as f64 >= ENOUGH * sample.len() as f64
    };
    let units = [(channels * columns, "row"), (channels, "token"), (1, "element")];
    for (unit, word) in units {
        for n in (1..=SHIFTS).flat_map(|n| [n, -n]) {
            let shift = n * unit as isize;
            let from = |index: usize| index.checked_add_signed(shift).filter(|&other| other < elements);
            if follows(&from) {
                let (n, much) = (n.unsigned_abs(), if n.unsigned_abs() == 1 { "" } else { "s" });
                let way = if shift > 0 { "early" } else { "late" };
                return Some(format!("The values lie {n} {word}{much} too {way}: a shifted or cut dump."));
            }
        }
    }
    let placed = |to: &dyn Fn(Place) -> Place| {
        follows(&|index| {
            let (token, channel) = (index / channels, index % channels);
            let (x, y, channel) = to((token % columns, token / columns, channel));
            Some((y * columns + x) * channels + channel)
        })
    };
    let mirrors: [(&str, &dyn Fn(Place) -> Place); 4] = [
        ("upside down", &|(x, y, c)| (x, rows - 1 - y, c)),
        ("mirrored left to right", &|(x, y, c)| (columns - 1 - x, y, c)),
        ("turned by half a circle", &|(x, y, c)| (columns - 1 - x, rows - 1 - y, c)),
        ("with their channels last to first", &|(x, y, c)| (x, y, channels - 1 - c)),
    ];
    let mirrored = mirrors.iter().find(|(_, to)| placed(*to));
    let mirrored = mirrored.map(|(how, _)| format!("The values lie {how}."));
    let exchanged = || {
        let runs = (0..channels.ilog2()).map(|bit| 1_usize << bit).filter(|run| channels % (2 * run) == 0);
        let run = runs.into_iter().find(|&run| placed(&|(x, y, c)| (x, y, c ^ run)))?;
        Some(format!("Neighbouring runs of {run} channels are exchanged."))
    };
    mirrored.or_else(exchanged)
}

/// Whether the channels are the exact ones in another order, recognised by all their values on some tokens.
fn permuted(subject: &Tensor, exact: &Tensor) -> Option<String> {
    let (tokens, channels) = (exact.shape.tokens(), exact.shape.channels);
    let step = tokens.div_ceil(TOKENS).max(1);
    let column = |tensor: &Tensor, c: usize| (0..tokens).step_by(step).map(|t| tensor.bits(t, c)).collect::<Vec<_>>();
    let known: BTreeMap<Vec<u32>, usize> = (0..channels).map(|c| (column(exact, c), c)).collect();
    let found: Vec<Option<usize>> = (0..channels).map(|c| known.get(&column(subject, c)).copied()).collect();
    let moved: Vec<(usize, usize)> = found
        .iter()
        .enumerate()
        .filter_map(|(c, other)| Some((c, (*other)?)))
        .filter(|(c, other)| c != other)
        .collect();
    let recognised = found.iter().flatten().count() as f64 >= ENOUGH * channels as f64;
    (recognised && !moved.is_empty()).then(|| {
        let few = moved.iter().take(4).map(|(c, other)| format!("{c} holds {other}")).collect::<Vec<_>>().join(", ");
        let more = if moved.len() > 4 { ", ..." } else { "" };
        format!("{} of {channels} channels hold what another one should: {few}{more}.", moved.len())
    })
}

#[cfg(test)]
mod tests {
    use super::notes;
    use crate::geometry::Size;
    use crate::tensor::{Bytes, Element, Shape, Tensor};

    const SIZE: Size = Size::new(12, 24);
    const CHANNELS: usize = 32;

    fn tensor(codes: &[u8]) -> Tensor {
        Tensor::new("block-1".into(), Shape::new(Element::E4m3, SIZE, CHANNELS), Bytes::copy(codes)).unwrap()
    }

    fn exact() -> Vec<u8> {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            (state >> 24) as u8
        };
        (0..SIZE.tokens() * CHANNELS).map(|_| next()).collect()
    }

    /// What is said when the element at (x, y, c) is the exact one of another place.
    fn said(from: impl Fn(usize, usize, usize) -> (usize, usize, usize)) -> String {
        let codes = exact();
        let places = (0..codes.len()).map(|i| (i / CHANNELS % SIZE.width, i / CHANNELS / SIZE.width, i % CHANNELS));
        let moved: Vec<u8> = places
            .map(|(x, y, c)| {
                let (x, y, c) = from(x, y, c);
                codes[(y % SIZE.height * SIZE.width + x % SIZE.width) * CHANNELS + c % CHANNELS]
            })
            .collect();
        notes(&tensor(&moved), &tensor(&codes)).join(" ")
    }

    #[test]
    fn rearrangements_are_named() {
        let cases = [
            (said(|x, y, c| (x, y + 1, c)), "1 row too early"),
            (said(|x, y, c| (x, SIZE.height - 1 - y, c)), "upside down"),
            (said(|x, y, c| (SIZE.width - 1 - x, y, c)), "left to right"),
            (said(|x, y, c| (x, y, CHANNELS - 1 - c)), "last to first"),
            (said(|x, y, c| (x, y, c ^ 1)), "runs of 1 channels"),
            (said(|x, y, c| (x, y, c ^ 16)), "runs of 16 channels"),
            (said(|x, y, c| (x, y, c * 5 % 32)), "channels hold what another one should"),
        ];
        for (said, wanted) in cases {
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
        let codes = exact();
        let mut late = vec![0; 3];
        late.extend(&codes[..codes.len() - 3]);
        let told = notes(&tensor(&late), &tensor(&codes)).join(" ");
        assert!(told.contains("3 elements too late"), "{told}");
    }

    #[test]
    fn regions_zeros_and_signs_are_told_and_noise_is_not() {
        let codes = exact();
        let (mut hole, mut noise) = (codes.clone(), codes.clone());
        (0..8).for_each(|x| hole[(3 * SIZE.width + x) * CHANNELS..][..CHANNELS].fill(0));
        let told = notes(&tensor(&hole), &tensor(&codes)).join(" ");
        assert!(told.contains("at x 0-7, y 3, channel 0-31") && told.contains("zero in the subject"), "{told}");
        let flipped: Vec<u8> = codes.iter().map(|code| code ^ 0x80).collect();
        assert!(notes(&tensor(&flipped), &tensor(&codes)).join(" ").contains("other sign"), "signs");
        noise.iter_mut().step_by(7).for_each(|code| *code ^= 1);
        assert_eq!(notes(&tensor(&noise), &tensor(&codes)), Vec::<String>::new(), "noise");
        assert_eq!(notes(&tensor(&codes), &tensor(&codes)), Vec::<String>::new(), "equal");
    }
}
