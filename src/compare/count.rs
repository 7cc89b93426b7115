//! Counting by class at memory speed.
//!
//! Blocks that are equal cost one `memcmp`. A block with a difference is counted lane by lane, all classes at once,
//! with arithmetic that has no branch: the compiler turns the loops over fixed arrays into vector code. Every lane
//! keeps its counters in its own element type, and they are emptied before they can overflow.

use super::{Class, Counts};
use crate::tensor::Element;
use rayon::prelude::*;

/// Bytes per task.
const TASK: usize = 1 << 18;
/// Bytes that are compared at once before anything is counted.
const BLOCK: usize = 512;
/// Lanes of one vector loop.
const LANES: usize = 32;

/// What counting finds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub(super) counts: Counts,
    pub(super) differing_bytes: u64,
    /// Index of the first element that differs.
    pub(super) first: Option<usize>,
}

/// Counts two equally long buffers of one element format.
pub(super) fn count(element: Element, subject: &[u8], reference: &[u8], sentinel: Option<u8>) -> Found {
    match element {
        Element::E4m3 => count_as::<u8>(subject, reference, sentinel),
        Element::F16 => count_as::<u16>(bytemuck::cast_slice(subject), bytemuck::cast_slice(reference), sentinel),
        Element::F32 => count_as::<u32>(bytemuck::cast_slice(subject), bytemuck::cast_slice(reference), sentinel),
    }
}

/// An element's bits, and the arithmetic of its classes. Every mask is 1 or 0 in the element's own width.
trait Bits: Copy + Default + Eq + Send + Sync + bytemuck::Pod {
    /// Masks of: sign of zero, NaN -> +0, NaN code, saturation, one code apart.
    fn masks(s: Self, r: Self) -> [Self; 5];
    /// 1 where the two differ.
    fn differs(s: Self, r: Self) -> Self;
    /// How many of the element's bytes differ.
    fn bytes(s: Self, r: Self) -> Self;
    /// The element filled with a byte.
    fn filled(byte: u8) -> Self;
    fn add(self, other: Self) -> Self;
    fn and_not(self, mask: Self) -> Self;
    fn and_eq(self, a: Self, b: Self) -> Self;
    fn wide(self) -> u64;
    /// Rounds after which counters of this width are emptied.
    const ROUNDS: usize;
}

macro_rules! bits {
    ($bits:ty, $signed:ty, $magnitude:expr, $rounds:expr, $bytes:expr, $special:expr) => {
        impl Bits for $bits {
            const ROUNDS: usize = $rounds;

            #[inline]
            fn masks(s: Self, r: Self) -> [Self; 5] {
                let (ms, mr) = (s & $magnitude, r & $magnitude);
                let order = |x: Self, m: Self| {
                    let sign = ((x as $signed) >> (Self::BITS - 1)) as Self;
                    ((m ^ sign).wrapping_sub(sign)) as $signed
                };
                let apart = order(s, ms).saturating_sub(order(r, mr));
                let one = Self::from(apart == 1) | Self::from(apart == -1);
                let differs = Self::from(s != r);
                let zeros = differs & Self::from(ms | mr == 0);
                let (nan, saturated): (Self, Self) = $special(ms, mr, one);
                let nan = differs & nan;
                let saturated = differs & saturated;
                let to_zero = nan & (Self::from(s == 0) | Self::from(r == 0));
                [zeros, to_zero, nan & (to_zero ^ 1), saturated, one & ((nan | saturated) ^ 1)]
            }

            #[inline]
            fn differs(s: Self, r: Self) -> Self {
                Self::from(s != r)
            }

            #[inline]
            fn bytes(s: Self, r: Self) -> Self {
                $bytes(s ^ r)
            }

            fn filled(byte: u8) -> Self {
                Self::from_ne_bytes([byte; size_of::<Self>()])
            }

            #[inline]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn and_not(self, mask: Self) -> Self {
                self & (mask ^ 1)
            }

            #[inline]
            fn and_eq(self, a: Self, b: Self) -> Self {
                self & Self::from(a == b)
            }

            fn wide(self) -> u64 {
                u64::from(self)
            }
        }
    };
}

// A NaN code beside +-448 is a missing saturation, not a NaN.
bits!(u8, i8, 0x7f, 255, |x: u8| u8::from(x != 0), |ms: u8, mr: u8, one: u8| {
    let nan = u8::from(ms == 0x7f) | u8::from(mr == 0x7f);
    let saturated = u8::from(ms == 0x7e) | u8::from(mr == 0x7e);
    (nan & (saturated ^ 1), saturated & (nan | (one ^ 1)))
});
bits!(
    u16,
    i16,
    0x7fff,
    16_384,
    |x: u16| u16::from(x & 0xff != 0) + u16::from(x >> 8 != 0),
    |ms: u16, mr: u16, _one: u16| {
        let nan = u16::from(ms > 0x7c00) | u16::from(mr > 0x7c00);
        (nan, (u16::from(ms == 0x7c00) | u16::from(mr == 0x7c00)) & (nan ^ 1))
    }
);
bits!(
    u32,
    i32,
    0x7fff_ffff,
    1 << 20,
    |x: u32| u32::from(x & 0xff != 0)
        + u32::from(x & 0xff00 != 0)
        + u32::from(x & 0x00ff_0000 != 0)
        + u32::from(x >> 24 != 0),
    |ms: u32, mr: u32, _one: u32| {
        let nan = u32::from(ms > 0x7f80_0000) | u32::from(mr > 0x7f80_0000);
        (nan, (u32::from(ms == 0x7f80_0000) | u32::from(mr == 0x7f80_0000)) & (nan ^ 1))
    }
);

fn count_as<T: Bits>(subject: &[T], reference: &[T], sentinel: Option<u8>) -> Found {
    let task = TASK / size_of::<T>();
    let sentinel = sentinel.map(T::filled);
    let tasks = subject.par_chunks(task).zip(reference.par_chunks(task)).enumerate();
    let parts = tasks.map(|(i, (s, r))| {
        let mut found = if s == r { Found::default() } else { count_task(s, r, sentinel) };
        found.counts.add(Class::Equal, s.len() as u64 - found.counts.total());
        found.first = found.first.map(|at| at + i * task);
        found
    });
    parts.reduce(Found::default, |mut a, b| {
        a.counts.merge(&b.counts);
        a.differing_bytes += b.differing_bytes;
        a.first = a.first.or(b.first);
        a
    })
}

/// Counts the elements that differ; equal ones are left to the caller.
fn count_task<T: Bits>(subject: &[T], reference: &[T], sentinel: Option<T>) -> Found {
    let mut found = Found::default();
    let mut sums = Sums::<T>::default();
    let block = BLOCK / size_of::<T>();
    for (i, (s, r)) in subject.chunks(block).zip(reference.chunks(block)).enumerate() {
        if s == r {
            continue;
        }
        if found.first.is_none() {
            found.first = s.iter().zip(r).position(|(s, r)| s != r).map(|at| at + i * block);
        }
        match sentinel {
            None => sums.add::<false>(s, r, T::default()),
            Some(sentinel) => sums.add::<true>(s, r, sentinel),
        }
        if sums.rounds + BLOCK / LANES + 1 > T::ROUNDS {
            sums.empty(&mut found);
        }
    }
    sums.empty(&mut found);
    found
}

/// Counters of every lane: sign of zero, NaN -> +0, NaN code, saturation, one code, unwritten, all that differ, and
/// differing bytes.
struct Sums<T> {
    lanes: [[T; LANES]; 8],
    rounds: usize,
}

impl<T: Bits> Default for Sums<T> {
    fn default() -> Self {
        Self { lanes: [[T::default(); LANES]; 8], rounds: 0 }
    }
}

impl<T: Bits> Sums<T> {
    #[inline]
    fn add<const SENTINEL: bool>(&mut self, s: &[T], r: &[T], sentinel: T) {
        let ((s, s_rest), (r, r_rest)) = (s.as_chunks::<LANES>(), r.as_chunks::<LANES>());
        for (s, r) in s.iter().zip(r) {
            self.round::<SENTINEL>(s, r, sentinel);
        }
        if !s_rest.is_empty() {
            // Padding with equal elements counts nothing.
            let (mut s, mut r) = ([T::default(); LANES], [T::default(); LANES]);
            s[..s_rest.len()].copy_from_slice(s_rest);
            r[..r_rest.len()].copy_from_slice(r_rest);
            self.round::<SENTINEL>(&s, &r, sentinel);
        }
    }

    #[inline]
    fn round<const SENTINEL: bool>(&mut self, s: &[T; LANES], r: &[T; LANES], sentinel: T) {
        self.rounds += 1;
        for i in 0..LANES {
            let differs = T::differs(s[i], r[i]);
            let unwritten = if SENTINEL { differs.and_eq(s[i], sentinel) } else { T::default() };
            let masks = T::masks(s[i], r[i]);
            for (class, mask) in masks.into_iter().enumerate() {
                let mask = if SENTINEL { mask.and_not(unwritten) } else { mask };
                self.lanes[class][i] = self.lanes[class][i].add(mask);
            }
            self.lanes[5][i] = self.lanes[5][i].add(unwritten);
            self.lanes[6][i] = self.lanes[6][i].add(differs);
            self.lanes[7][i] = self.lanes[7][i].add(T::bytes(s[i], r[i]));
        }
    }

    fn empty(&mut self, found: &mut Found) {
        let sum = |class: usize| self.lanes[class].iter().map(|&lane| lane.wide()).sum::<u64>();
        let classes = [Class::SignOfZero, Class::NanToZero, Class::NanCode, Class::Saturation, Class::OneCode];
        let mut named = 0;
        for (i, class) in classes.into_iter().chain([Class::Unwritten]).enumerate() {
            found.counts.add(class, sum(i));
            named += sum(i);
        }
        found.counts.add(Class::SeveralCodes, sum(6) - named);
        found.differing_bytes += sum(7);
        *self = Self::default();
    }
}
