//! The softmax's sum over 64 keys in one fixed order: 63 half adds, and the weights published from it.

use super::{e4m3, f16, float16};

/// Keys of one window, and of one block of the ViT's keys.
pub const KEYS: usize = 64;

/// Every partial sum of one softmax total, in the order in which they are added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tree {
    /// `b[g][j] = e[g + 16 j] + e[g + 16 j + 8]`.
    pub pairs: [[f16; 4]; 8],
    /// `t[g] = ((b[g][0] + b[g][1]) + b[g][2]) + b[g][3]`.
    pub lanes: [f16; 8],
    /// `((t0 + t2) + t4) + t6`.
    pub even: f16,
    /// `((t1 + t3) + t5) + t7`.
    pub odd: f16,
    /// `even + odd`.
    pub total: f16,
}

/// Adds 64 exponentials in the fixed order.
pub fn tree(e: &[f16; KEYS]) -> Tree {
    let pairs: [[f16; 4]; 8] =
        std::array::from_fn(|g| std::array::from_fn(|j| float16::add(e[g + 16 * j], e[g + 16 * j + 8])));
    let chain = |terms: [f16; 4]| terms[1..].iter().fold(terms[0], |sum, &x| float16::add(sum, x));
    let lanes: [f16; 8] = std::array::from_fn(|g| chain(pairs[g]));
    let even = chain([lanes[0], lanes[2], lanes[4], lanes[6]]);
    let odd = chain([lanes[1], lanes[3], lanes[5], lanes[7]]);
    Tree { pairs, lanes, even, odd, total: float16::add(even, odd) }
}

/// Published window weights: `publish(e[k] * f16(1 / total))`.
pub fn weights(e: &[f16; KEYS], total: f16) -> [u8; KEYS] {
    let r = float16::reciprocal(total);
    e.map(|x| e4m3::publish(float16::mul(x, r)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_exponentials_give_equal_weights() {
        let e = [f16::ONE; KEYS];
        let tree = tree(&e);
        assert_eq!(tree.total.to_f32(), 64.0, "total");
        assert_eq!(weights(&e, tree.total), [0x08; KEYS], "1/64 is the smallest normal code");
    }

    #[test]
    fn every_key_enters_the_total_once() {
        for k in 0..KEYS {
            let mut e = [f16::ZERO; KEYS];
            e[k] = f16::ONE;
            assert_eq!(tree(&e).total.to_f32(), 1.0, "key {k}");
        }
    }

    #[test]
    fn the_order_of_the_adds_matters() {
        // 2048 + 1 rounds back to 2048 in halves; pairs (k, k + 8) meet first.
        let mut e = [f16::ZERO; KEYS];
        (e[0], e[8], e[1]) = (f16::from_f32(2048.0), f16::ONE, f16::ONE);
        assert_eq!(tree(&e).total.to_f32(), 2048.0, "both ones are lost");
        (e[0], e[8], e[1], e[9]) = (f16::from_f32(2048.0), f16::ZERO, f16::ONE, f16::ONE);
        assert_eq!(tree(&e).total.to_f32(), 2050.0, "the ones meet before they meet 2048");
    }
}
