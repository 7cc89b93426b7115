//! Half operations under changed rules. Values travel as `f32`: halves fit, and folded roundings need the room.

use crate::numerics::rules::{Carry, MultiplyAdd, Reads, SiluRule};
use crate::numerics::{Rules, e4m3, f16, float16, silu};
use crate::tensor::{Element, Tensor};
use std::borrow::Cow;

/// The half operations of one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    carry: Carry,
    multiply_add: MultiplyAdd,
}

impl Half {
    /// The operations that a step's rules ask for.
    pub(crate) fn new(rules: &Rules) -> Self {
        Self { carry: rules.carry, multiply_add: rules.multiply_add }
    }

    /// What is left of a result between two operations.
    pub(crate) fn round(self, x: f32) -> f32 {
        match self.carry {
            Carry::Halves => f16::from_f32(x).to_f32(),
            Carry::Singles => x,
            Carry::Flushed => flush(f16::from_f32(x)).to_f32(),
        }
    }

    pub(crate) fn add(self, a: f32, b: f32) -> f32 {
        self.round(a + b)
    }

    pub(crate) fn mul(self, a: f32, b: f32) -> f32 {
        self.round(a * b)
    }

    pub(crate) fn fma(self, a: f32, b: f32, c: f32) -> f32 {
        let halves = [a, b, c].map(f16::from_f32);
        match self.multiply_add {
            MultiplyAdd::Fused if self.carry == Carry::Singles => a * b + c,
            MultiplyAdd::Fused => self.round(float16::fma(halves[0], halves[1], halves[2]).to_f32()),
            MultiplyAdd::RoundedTwice => self.round(a * b + c),
            MultiplyAdd::Unfused => self.add(self.mul(a, b), c),
        }
    }
}

/// A half without subnormals.
fn flush(x: f16) -> f16 {
    if x.to_bits() & 0x7c00 == 0 { f16::from_bits(x.to_bits() & 0x8000) } else { x }
}

/// An element of a tensor as a half, read under a rule.
pub(crate) fn read(tensor: &Tensor, row: usize, channel: usize, reads: Reads) -> f16 {
    let index = row * tensor.shape.channels + channel;
    let x = match tensor.shape.element {
        Element::E4m3 => e4m3::decode_half(read_code(tensor.bytes()[index], reads)),
        Element::F16 => tensor.halves()[index],
        Element::F32 => unreachable!("no op reads singles as halves"),
    };
    match reads {
        Reads::AsIs => x,
        Reads::Published => e4m3::decode_half(e4m3::publish(x)),
        Reads::Flushed => flush(x),
        Reads::Zero => f16::ZERO,
    }
}

/// Codes of a row, read under a rule.
pub(crate) fn read_codes(row: &[u8], reads: Reads) -> Cow<'_, [u8]> {
    match reads {
        Reads::AsIs | Reads::Published => Cow::Borrowed(row),
        Reads::Flushed | Reads::Zero => Cow::Owned(row.iter().map(|&code| read_code(code, reads)).collect()),
    }
}

fn read_code(code: u8, reads: Reads) -> u8 {
    match reads {
        Reads::AsIs | Reads::Published => code,
        Reads::Flushed if code & 0x78 == 0 => code & 0x80,
        Reads::Flushed => code,
        Reads::Zero => 0,
    }
}

/// The activation of a half: the half result, and the value before its last rounding.
pub(crate) fn activate(x: f16, rules: &Rules) -> (f16, f64) {
    let half = Half::new(rules);
    let x32 = x.to_f32();
    let t = x32.clamp(-silu::CLAMP, silu::CLAMP);
    let polynomial = |half: Half| {
        let p = half.fma(silu::SLOPE.to_f32(), t.abs(), silu::OFFSET.to_f32());
        half.fma(t, p, silu::LIFT.to_f32())
    };
    let single = Half { carry: Carry::Singles, ..half };
    let wide = match rules.silu {
        SiluRule::HalfSteps => x32 * polynomial(half),
        SiluRule::Singles => x32 * polynomial(single),
        SiluRule::True => (f64::from(x32) / (1.0 + (-f64::from(x32)).exp())) as f32,
        SiluRule::ClampedProduct => t * polynomial(half),
        SiluRule::Missing => x32,
    };
    (f16::from_f32(wide), f64::from(wide))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_rules_give_the_definitions() {
        let half = Half::new(&Rules::EXACT);
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            if !x.is_nan() {
                assert_eq!(activate(x, &Rules::EXACT).0.to_bits(), silu::silu(x).to_bits(), "silu {bits:#06x}");
            }
            let (y, z) = (f16::from_bits(bits.rotate_left(5) & 0x7bff), f16::from_bits(0x2c01));
            if x.is_finite() {
                let fused = half.fma(x.to_f32(), y.to_f32(), z.to_f32());
                assert_eq!(fused, float16::fma(x, y, z).to_f32(), "fma {bits:#06x}");
                assert_eq!(half.mul(x.to_f32(), y.to_f32()), float16::mul(x, y).to_f32(), "mul {bits:#06x}");
            }
        }
    }
}
