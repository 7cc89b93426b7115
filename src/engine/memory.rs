//! How much memory running a plan takes at least, so that a budget is refused before it is broken.
//!
//! A step needs its inputs, its outputs and whatever of its block is still to be read; boundaries that no step has
//! in hand may lie on disk. On top come the weights, once as stored and once in an engine's own order.

use crate::plan::{Plan, Role};
use std::ops::Range;

/// What the program itself takes, threads and buffers included.
const PROGRAM: u64 = 96 << 20;

/// How many tensors a job has in memory at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// One step after the other on each of so many engines.
    Steps {
        /// Engines of this process.
        engines: u64,
    },
    /// All tensors of a block, and a step's outputs again for everybody who compares them.
    Blocks,
}

/// The least budget that a range of a plan's steps can be run in.
pub fn least(plan: &Plan, range: &Range<usize>, model: u64, habit: Habit) -> u64 {
    let step = step_bytes(plan, range);
    PROGRAM
        + match habit {
            Habit::Steps { engines } => model + engines * (model + step),
            Habit::Blocks => 3 * model + block_bytes(plan, range) + 2 * step,
        }
}

/// The most that a step has in hand: what it reads and writes, and what of its block is read later.
fn step_bytes(plan: &Plan, range: &Range<usize>) -> u64 {
    let last_reads = plan.last_reads();
    let inside = |step: usize| {
        let in_hand = |name| {
            let op = &plan.steps[step].op;
            op.inputs().contains(&name) || op.outputs().contains(&name)
        };
        let alive = plan.tensors.iter().filter(|(name, info)| match info.role {
            Role::Input | Role::Boundary => in_hand(name),
            Role::Intermediate => {
                let written = info.step.is_some_and(|written| written <= step);
                in_hand(name) || written && last_reads.get(*name).is_some_and(|&last| last > step)
            }
        });
        alive.map(|(_, info)| info.shape.bytes() as u64).sum()
    };
    range.clone().map(inside).max().unwrap_or_default()
}

/// The most that the tensors of one block take, with what its steps read from outside.
fn block_bytes(plan: &Plan, range: &Range<usize>) -> u64 {
    let steps = &plan.steps[range.clone()];
    let block = |block: usize| {
        let mine = steps.iter().filter(|step| step.block == block);
        let names = mine.flat_map(|step| step.op.tensors());
        let names: std::collections::BTreeSet<_> = names.collect();
        names.into_iter().map(|name| plan.shape(name).bytes() as u64).sum()
    };
    let mut blocks: Vec<usize> = steps.iter().map(|step| step.block).collect();
    blocks.dedup();
    blocks.into_iter().map(block).max().unwrap_or_default()
}

/// A number of bytes with an optional K, M or G, KiB, MiB or GiB (powers of 1024).
///
/// # Errors
/// What was expected and found.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.trim_end_matches(['b', 'B']).trim_end_matches('i') {
        t if t.ends_with(['k', 'K']) => (&t[..t.len() - 1], 10),
        t if t.ends_with(['m', 'M']) => (&t[..t.len() - 1], 20),
        t if t.ends_with(['g', 'G']) => (&t[..t.len() - 1], 30),
        t => (t, 0),
    };
    let number: Option<u64> = digits.trim().parse().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("expected bytes such as 4GiB, 512M or 1000000, found \"{text}\""))
}

/// Bytes as [`bytes`] reads them, in the largest unit that leaves no rest.
pub fn words(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units.into_iter().find(|(shift, _)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift));
    whole.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Geometry, Size};
    use crate::plan::Detail;

    #[test]
    fn the_least_budget_grows_with_size_and_habit() {
        let plan = |w, h| Plan::new(Geometry::new(Size::new(w, h)).expect("a size that runs"), Detail::Needed);
        let least = |plan: &Plan, habit| least(plan, &(0..plan.steps.len()), 147_683_378, habit) >> 20;
        let (small, large) = (plan(512, 512), plan(3840, 2160));
        let one = Habit::Steps { engines: 1 };
        assert!(least(&small, one) < 1 << 10, "512x512 in 1 GiB: {} MiB", least(&small, one));
        assert!(least(&large, one) < 4 << 10, "3840x2160 in 4 GiB: {} MiB", least(&large, one));
        assert!(least(&small, one) < least(&small, Habit::Steps { engines: 2 }), "a second engine");
        assert!(least(&small, one) < least(&small, Habit::Blocks), "whole blocks");
    }

    #[test]
    fn sizes_have_units_of_1024() {
        for (text, expected) in
            [("7", 7), ("2k", 2048), ("512M", 512 << 20), ("4G", 4 << 30), ("4GiB", 4 << 30), ("800MiB", 800 << 20)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
            assert_eq!(bytes(&words(expected)), Ok(expected), "there and back");
        }
        assert!(bytes("much").unwrap_err().contains("much"), "words are refused");
        assert!(bytes("-1").is_err() && bytes("1.5G").is_err() && bytes("").is_err(), "no such number");
        assert!(bytes("99999999999G").is_err(), "too much");
    }
}
