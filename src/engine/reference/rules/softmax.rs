//! Attention under changed rules: the window grid, tokens outside, exponentials, the order of the softmax's sum.

use super::Half;
use crate::geometry::Size;
use crate::geometry::{WindowGrid, window};
use crate::numerics::exponential::Exponential;
use crate::numerics::rules::{Carry, ExponentialRule, Outside, Shift, SoftmaxSum};
use crate::numerics::softmax::{KEYS, Tree};
use crate::numerics::{Rules, f16, softmax};
use crate::plan::ops::WindowAttention;

/// The constants' `f32` spellings that some write-ups give for the ViT.
const VIT_SINGLE: (f32, f32) = (0.089_539_468, 1.709_336_4);

/// The windows of an op.
pub(crate) fn window_grid(op: &WindowAttention, size: Size, rules: &Rules) -> WindowGrid {
    let (x, y) = op.phase.shift();
    let (x, y) = (x as isize, y as isize);
    match rules.shift {
        Shift::Own => op.grid(size),
        Shift::Negated => WindowGrid::with_shift(size, (-x, -y)),
        Shift::Swapped => WindowGrid::with_shift(size, (y, x)),
    }
}

/// The token whose key and value stand at natural index `n` of a window; `None` for a zero vector.
pub(crate) fn outside_token(grid: &WindowGrid, at: (usize, usize), n: usize, rule: Outside) -> Option<usize> {
    let inside = grid.token(at, n);
    if inside.is_some() || matches!(rule, Outside::Zero | Outside::Masked) {
        return inside;
    }
    let (w, h) = (grid.size.width as isize, grid.size.height as isize);
    let x = (at.0 * window::SIDE + n % window::SIDE) as isize - grid.shift.0;
    let y = (at.1 * window::SIDE + n / window::SIDE) as isize - grid.shift.1;
    let (x, y) = match rule {
        Outside::Wrapped => (x.rem_euclid(w), y.rem_euclid(h)),
        _ => (x.clamp(0, w - 1), y.clamp(0, h - 1)),
    };
    Some((y * w + x) as usize)
}

/// The exponential of a score; `most` is the largest score of its row.
pub(crate) fn exponential(own: &Exponential, score: f16, most: f16, rules: &Rules) -> f16 {
    let s = score.to_f32();
    match rules.exponential {
        ExponentialRule::Bits => own.weight(score),
        ExponentialRule::True => f16::from_f64(score.to_f64().exp()),
        ExponentialRule::MaxSubtracted => f16::from_f64((score.to_f64() - most.to_f64()).exp()),
        ExponentialRule::SingleConstants => {
            Exponential { slope: VIT_SINGLE.0, offset: VIT_SINGLE.1, ..*own }.weight(score)
        }
        ExponentialRule::HalfSteps => {
            let product = f16::from_f32(own.slope * s);
            let x = f16::from_f32(product.to_f32() + own.offset).to_f32().max(own.low).min(own.high);
            f16::from_bits((f16::from_f32(x).to_bits() << own.shift).wrapping_add(own.bias))
        }
        ExponentialRule::Unclamped => {
            let x = f16::from_f32(own.slope * s + own.offset);
            f16::from_bits((x.to_bits() << own.shift).wrapping_add(own.bias))
        }
    }
}

/// The sum over 64 keys, `None` for a key that is left out.
pub(crate) fn total(e: &[f16; KEYS], counted: impl Fn(usize) -> bool, rules: &Rules) -> (Tree, f32) {
    let e: [f16; KEYS] = std::array::from_fn(|p| if counted(p) { e[p] } else { f16::ZERO });
    let half = Half::new(rules);
    let tree = softmax::tree(&e);
    let values = e.map(f16::to_f32);
    let singles = rules.softmax == SoftmaxSum::Singles || rules.carry == Carry::Singles;
    let sum = match rules.softmax {
        _ if singles => values.iter().sum(),
        SoftmaxSum::Tree if rules.carry == Carry::Halves => return (tree, tree.total.to_f32()),
        SoftmaxSum::Tree | SoftmaxSum::Singles => half.round(tree.total.to_f32()),
        SoftmaxSum::InOrder => values.iter().fold(0.0, |sum, &x| half.add(sum, x)),
        SoftmaxSum::Neighbours => {
            let mut level = values.to_vec();
            while level.len() > 1 {
                level = level.as_chunks::<2>().0.iter().map(|&[a, b]| half.add(a, b)).collect();
            }
            level[0]
        }
        SoftmaxSum::NaturalKeys => {
            let natural: [f16; KEYS] = std::array::from_fn(|n| e[window::physical(n)]);
            softmax::tree(&natural).total.to_f32()
        }
    };
    (Tree { total: f16::from_f32(sum), ..tree }, sum)
}
