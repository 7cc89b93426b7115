//! Comparison against the slow and obvious way, over lengths, tails and all pairs of codes.

use super::*;
use crate::geometry::{Phase, Size};
use crate::tensor::{Bytes, Element};

fn tensor(element: Element, size: Size, channels: usize, bytes: &[u8]) -> Tensor {
    Tensor::new("t".into(), Shape::new(element, size, channels), Bytes::copy(bytes)).unwrap()
}

fn random(state: &mut u32) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    *state
}

/// Counts by looking at every element.
fn slow(subject: &Tensor, reference: &Tensor) -> (Counts, Option<usize>) {
    let (mut counts, mut first) = (Counts::default(), None);
    for index in 0..reference.shape.elements() {
        let pair = Difference::at(subject, reference, index);
        counts.add(pair.class, 1);
        first = first.or((pair.class != Class::Equal).then_some(index));
    }
    (counts, first)
}

fn check(subject: &Tensor, reference: &Tensor) {
    let found = compare(subject, reference);
    let (counts, first) = slow(subject, reference);
    assert_eq!(found.counts, counts, "{}", reference.shape);
    assert_eq!(found.first.map(|d| d.index), first, "{}", reference.shape);
    let bytes = subject.bytes().iter().zip(reference.bytes()).filter(|(s, r)| s != r).count();
    assert_eq!(found.differing_bytes, bytes as u64, "{}", reference.shape);
    assert_eq!(Details::of(subject, reference, None).distances.total(), counts.differing(), "{}", reference.shape);
}

#[test]
fn all_pairs_of_codes_are_counted_as_they_are_classed() {
    let pairs: Vec<(u8, u8)> = (0..=u8::MAX).flat_map(|s| (0..=u8::MAX).map(move |r| (s, r))).collect();
    let (s, r): (Vec<u8>, Vec<u8>) = pairs.into_iter().unzip();
    let size = Size::new(256, 8);
    check(&tensor(Element::E4m3, size, 32, &s), &tensor(Element::E4m3, size, 32, &r));
}

#[test]
fn lengths_tails_and_densities_agree_with_the_slow_way() {
    let mut state = 7;
    for element in [Element::E4m3, Element::F16, Element::F32] {
        for tokens in [1, 3, 31, 33, 130, 5000] {
            for density in [0, 2, 100, 256] {
                let len = tokens * 5 * element.bytes();
                let r: Vec<u8> = (0..len).map(|_| random(&mut state) as u8).collect();
                let changed = |x: &u8, draw: u32| if draw % 256 < density { (draw >> 8) as u8 } else { *x };
                let s: Vec<u8> = r.iter().map(|x| changed(x, random(&mut state))).collect();
                let size = Size::new(tokens, 1);
                check(&tensor(element, size, 5, &s), &tensor(element, size, 5, &r));
            }
        }
    }
}

#[test]
fn special_halves_and_singles_agree_with_the_slow_way() {
    let halves = [0, 0x8000, 1, 0x8001, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xfe00, 0xffff];
    let pairs = |f: fn(u16) -> u32| -> (Vec<u32>, Vec<u32>) {
        halves.iter().flat_map(|&s| halves.iter().map(move |&r| (f(s), f(r)))).unzip()
    };
    let (s, r) = pairs(u32::from);
    let narrow = |bits: &[u32]| bits.iter().flat_map(|&b| (b as u16).to_le_bytes()).collect::<Vec<u8>>();
    let size = Size::new(14, 14);
    check(&tensor(Element::F16, size, 1, &narrow(&s)), &tensor(Element::F16, size, 1, &narrow(&r)));
    let (s, r) = pairs(|h| half::f16::from_bits(h).to_f32().to_bits());
    let wide = |bits: &[u32]| bits.iter().flat_map(|b| b.to_le_bytes()).collect::<Vec<u8>>();
    check(&tensor(Element::F32, size, 1, &wide(&s)), &tensor(Element::F32, size, 1, &wide(&r)));
}

#[test]
fn verdicts_tell_zeros_of_other_sign_from_differences() {
    let size = Size::new(8, 8);
    let base = vec![0; 64 * 32];
    let reference = tensor(Element::E4m3, size, 32, &base);
    assert_eq!(compare(&reference, &reference).verdict, Verdict::BitExact, "itself");
    let mut zero = base.clone();
    zero[100] = 0x80;
    let signed = compare(&tensor(Element::E4m3, size, 32, &zero), &reference);
    assert_eq!(signed.verdict, Verdict::SignOfZero, "{signed:?}");
    zero[101] = 1;
    let other = compare(&tensor(Element::E4m3, size, 32, &zero), &reference);
    assert_eq!(other.verdict, Verdict::Differs, "{other:?}");
    let first = other.first.unwrap();
    assert_eq!((first.token, first.x, first.y, first.channel), (3, 3, 0, 4), "{first:?}");
    let small = tensor(Element::E4m3, Size::new(1, 1), 32, &base[..32]);
    assert!(matches!(compare(&small, &reference).verdict, Verdict::NotCompared(_)), "another shape");
}

#[test]
fn a_sentinel_marks_unwritten_elements() {
    let size = Size::new(16, 4);
    let reference = tensor(Element::F16, size, 16, &[1; 64 * 32]);
    let mut bytes = [1; 64 * 32];
    bytes[64..128].fill(0xff);
    let subject = tensor(Element::F16, size, 16, &bytes);
    let with = compare_with(&subject, &reference, Some(0xff));
    assert_eq!((with.counts.of(Class::Unwritten), with.counts.of(Class::NanCode)), (32, 0), "{with:?}");
    assert_eq!(with.first.unwrap().class, Class::Unwritten, "first");
    let without = compare(&subject, &reference);
    assert_eq!((without.counts.of(Class::Unwritten), without.counts.of(Class::NanCode)), (0, 32), "{without:?}");
}

#[test]
fn differences_are_attributed_to_channel_window_and_position() {
    let size = Size::new(20, 12);
    let reference = tensor(Element::E4m3, size, 3, &[0x38; 20 * 12 * 3]);
    let mut bytes = vec![0x38; 20 * 12 * 3];
    let token = 5 * 20 + 9;
    bytes[token * 3 + 1] = 0x39;
    bytes[token * 3 + 2] = 0x30;
    let subject = tensor(Element::E4m3, size, 3, &bytes);
    let grid = WindowGrid::new(size, Phase(1));
    let details = Details::of(&subject, &reference, Some(&grid));
    let at = details.attribution;
    assert_eq!((at.channels, at.columns[9], at.rows[5]), (vec![0, 1, 1], 2, 2), "channel, column, row");
    let windows = at.windows.unwrap();
    assert_eq!((windows.counts[4], windows.positions[8 + 5]), (2, 2), "window (1, 1), position (5, 1)");
    assert_eq!(details.worst.unwrap().distance, -8, "the further one");
    assert_eq!(details.measures.max_abs, 0.5, "1 against 0.5");
}

/// Prints the speed on data that is equal, mostly equal and mostly different; run it by name.
#[test]
#[ignore = "a measurement, not a check"]
fn speed() {
    let mut state = 1;
    let len = 64 << 20;
    let r: Vec<u8> = (0..len).map(|_| random(&mut state) as u8).collect();
    for (element, channels) in [(Element::E4m3, 32), (Element::F16, 16), (Element::F32, 8)] {
        let size = Size::new(1024, len / 1024 / 32);
        let reference = tensor(element, size, channels, &r);
        for density in [0, 1, 25, 100] {
            let s: Vec<u8> = r.iter().map(|&x| if random(&mut state) % 100 < density { x ^ 1 } else { x }).collect();
            let subject = tensor(element, size, channels, &s);
            let mut times: Vec<f64> = (0..7)
                .map(|_| {
                    let start = std::time::Instant::now();
                    std::hint::black_box(compare(&subject, &reference));
                    start.elapsed().as_secs_f64()
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let rate = len as f64 / times[3] / 1e9;
            #[expect(clippy::print_stderr, reason = "a measurement")]
            {
                eprintln!("{} {density:3} % differing: {rate:.2} GB/s of one tensor", element.name());
            }
        }
    }
}
