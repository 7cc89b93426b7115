//! The adds of one softmax sum over 64 keys, in the order in which a step's rules make them.

use super::attention::Add;
use crate::geometry::window;
use crate::numerics::rules::{Carry, SoftmaxSum};
use crate::numerics::softmax::{self, KEYS, Tree};
use crate::numerics::{Rules, f16, float16};

/// Every add, and the sum as a half. A masked key counts as zero.
pub(super) fn adds(e: &[f16; KEYS], masked: &[bool], rules: &Rules, prefix: &str) -> (Vec<Add>, f16) {
    let e: [f16; KEYS] = std::array::from_fn(|p| if masked[p] { f16::ZERO } else { e[p] });
    match rules.softmax {
        SoftmaxSum::Singles => singles(&e, prefix),
        _ if rules.carry == Carry::Singles => singles(&e, prefix),
        SoftmaxSum::Tree => of_tree(&e, prefix),
        SoftmaxSum::NaturalKeys => of_tree(&std::array::from_fn(|n| e[window::physical(n)]), prefix),
        SoftmaxSum::InOrder => in_order(&e, prefix),
        SoftmaxSum::Neighbours => neighbours(&e, prefix),
    }
}

fn half(all: &mut Vec<Add>, name: String, a: f16, b: f16) -> f16 {
    let sum = float16::add(a, b);
    all.push(Add::new(name, a, b, sum));
    sum
}

/// The network's own tree.
fn of_tree(e: &[f16; KEYS], prefix: &str) -> (Vec<Add>, f16) {
    let mut all = Vec::new();
    let Tree { pairs, lanes, even, odd, total } = softmax::tree(e);
    for g in 0..8 {
        for j in 0..4 {
            let (a, b) = (e[g + 16 * j], e[g + 16 * j + 8]);
            all.push(Add::new(format!("{prefix}pair[{g}][{j}]"), a, b, pairs[g][j]));
        }
    }
    let mut chain = |name: String, terms: [f16; 4], last: f16| {
        let sum = terms[1..].iter().fold(terms[0], |sum, &term| half(&mut all, name.clone(), sum, term));
        debug_assert_eq!(sum.to_bits(), last.to_bits(), "{name}: the tree's own sum");
    };
    for g in 0..8 {
        chain(format!("{prefix}lane[{g}]"), pairs[g], lanes[g]);
    }
    chain(format!("{prefix}even"), [lanes[0], lanes[2], lanes[4], lanes[6]], even);
    chain(format!("{prefix}odd"), [lanes[1], lanes[3], lanes[5], lanes[7]], odd);
    all.push(Add::new(format!("{prefix}sum"), even, odd, total));
    (all, total)
}

/// One key after the other.
fn in_order(e: &[f16; KEYS], prefix: &str) -> (Vec<Add>, f16) {
    let mut all = Vec::new();
    let add = |sum, (k, &x): (usize, &f16)| half(&mut all, format!("{prefix}sum to key {k}"), sum, x);
    let sum = e.iter().enumerate().fold(f16::ZERO, add);
    (all, sum)
}

/// Neighbours, then neighbours of those.
fn neighbours(e: &[f16; KEYS], prefix: &str) -> (Vec<Add>, f16) {
    let (mut all, mut level) = (Vec::new(), e.to_vec());
    while level.len() > 1 {
        let width = KEYS / level.len() * 2;
        let pairs = level.as_chunks::<2>().0.iter().enumerate();
        level = pairs.map(|(i, &[a, b])| half(&mut all, format!("{prefix}keys of {width}[{i}]"), a, b)).collect();
    }
    (all, level[0])
}

/// One key after the other in singles, rounded to a half where the sum is shown as one.
fn singles(e: &[f16; KEYS], prefix: &str) -> (Vec<Add>, f16) {
    let mut sum = 0.0;
    let mut all = Vec::new();
    for (k, x) in e.iter().enumerate() {
        all.push(Add::single(format!("{prefix}sum to key {k}"), sum, x.to_f32()));
        sum += x.to_f32();
    }
    (all, f16::from_f32(sum))
}
