//! The synthetic model: a deterministic generator, byte-compatible with "three-dlss-nr synthetic v1".
//!
//! Only integers, IEEE double arithmetic and one square root per matrix shape, so that every machine makes the
//! same bytes and the digests that other implementations published gate this one. Records are independent of
//! each other, and are made when they are wanted.

use super::layout::{self, BlockKind, Contents, RecordLayout, Region};
use super::record::Record;
use super::{Model, ParameterKind, fragment};
use crate::numerics::{e4m3, f16};
use std::sync::{Arc, Weak};

/// `format` in the manifest of a synthetic model directory.
pub const FORMAT: &str = "three-dlss-nr synthetic v1";
/// Weights are cut to this magnitude code.
const MAX_WEIGHT: u8 = 0x51;
/// Places of a region that are filled side by side.
const LANES: usize = 8;
/// A first draw below this makes a weight zero: 4 % of 2^32.
const ZERO_BELOW: u32 = 171_798_692;

/// The synthetic model of a seed. Its records are made when they are first wanted, and by a thread of their own in
/// the order of the blocks, which a run follows.
pub fn model(seed: u32) -> Model {
    let later = |r: &'static RecordLayout| Arc::new(Record::later(r.length, move || record(r, seed)));
    let records: Vec<Arc<Record>> = layout::records().iter().map(later).collect();
    let ahead: Vec<Weak<Record>> = records.iter().map(Arc::downgrade).collect();
    let make = move || ahead.iter().map_while(Weak::upgrade).for_each(|record| record.make());
    // Without the thread everything is made in time all the same.
    drop(std::thread::Builder::new().name("synthetic model".to_owned()).spawn(make));
    let names = layout::records().iter().map(|r| r.name.clone());
    Model::of(format!("synthetic:{seed}"), names.zip(records).collect())
}

/// The generator's random source.
#[derive(Clone, Debug)]
pub struct Xorshift(u32);

impl Xorshift {
    /// Starts from a state; 0 becomes `0x9e3779b9`.
    pub fn new(state: u32) -> Self {
        Self(if state == 0 { 0x9e37_79b9 } else { state })
    }

    /// The next draw.
    pub fn draw(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// A draw in `[low, high)`.
    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (f64::from(self.draw()) / 4_294_967_296.0)
    }
}

/// Sum of a word's four bytes.
fn bytesum(draw: u32) -> u32 {
    draw.to_le_bytes().iter().map(|&b| u32::from(b)).sum()
}

/// An approximate standard normal: the sum of four bytes, centred and scaled.
pub fn normal(draw: u32) -> f64 {
    (f64::from(bytesum(draw)) - 510.0) / 21_845_f64.sqrt()
}

/// The generator's rounding to a half: twice, through `f32`.
pub fn half(value: f64) -> f16 {
    f16::from_f32(value as f32)
}

/// One record's bytes.
fn record(layout: &RecordLayout, seed: u32) -> Arc<[u8]> {
    let mut random = Xorshift::new(fnv1a(&layout.name) ^ seed);
    let mut bytes = vec![0; layout.length];
    for region in &layout.regions {
        fill(&mut bytes[region.offset..][..region.contents.bytes()], region, layout.block, &mut random);
    }
    bytes.into()
}

fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn fill(out: &mut [u8], region: &Region, block: usize, random: &mut Xorshift) {
    match region.contents {
        Contents::Fp8 { k, .. } => {
            // The code depends on the draw's byte sum alone: one of 1021.
            let step = gain(region.kind) / (k as f64).sqrt();
            let table: Vec<u8> = (0..=1020).map(|sum| weight(sum, step)).collect();
            codes(out, &table, random);
        }
        Contents::HalfMatrix { k, n } => {
            let sigma = if region.kind == ParameterKind::Head { 0.1 } else { 0.35 };
            for i in 0..k * n {
                let at = 2 * fragment::index_f16(i / n, i % n, n);
                out[at..at + 2].copy_from_slice(&half(normal(random.draw()) * sigma).to_le_bytes());
            }
        }
        Contents::Halves(_) => {
            for bytes in out.as_chunks_mut::<2>().0 {
                *bytes = match region.kind {
                    ParameterKind::BlendScale => half(0.75),
                    ParameterKind::Unread => half(1.0),
                    _ => {
                        let (low, high) = scale_range(block);
                        half(random.uniform(low, high))
                    }
                }
                .to_le_bytes();
            }
        }
        Contents::Prior { .. } => {
            out.as_chunks_mut::<2>().0.iter_mut().for_each(|b| *b = half(random.uniform(-1.0, 1.0)).to_le_bytes());
        }
        Contents::HeadScales(n) => {
            let vit = layout::block_kind(block).0 == BlockKind::Vit;
            let (low, high) = if vit { (0.15, 0.5) } else { (2.0, 6.0) };
            for bytes in &mut out.as_chunks_mut::<4>().0[..n] {
                *bytes = (random.uniform(low, high) as f32).to_le_bytes();
            }
        }
    }
}

/// Weight codes, two draws each. The random source is started at [`LANES`] places of the region at once, so that the
/// draws of one do not wait for those of another.
fn codes(out: &mut [u8], table: &[u8], random: &mut Xorshift) {
    let length = out.len() / LANES;
    let skip = Jump::of(2 * length);
    let mut lanes: [Xorshift; LANES] = std::array::from_fn(|_| {
        let lane = random.clone();
        random.0 = skip.from(random.0);
        lane
    });
    let mut parts = out.chunks_exact_mut(length.max(1));
    let mut parts: [&mut [u8]; LANES] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    for i in 0..length {
        let first: [u32; LANES] = std::array::from_fn(|lane| lanes[lane].draw());
        let sums: [u32; LANES] = std::array::from_fn(|lane| bytesum(lanes[lane].draw()));
        for (lane, part) in parts.iter_mut().enumerate() {
            part[i] = if first[lane] < ZERO_BELOW { 0 } else { table[sums[lane] as usize] };
        }
    }
    for byte in &mut out[length * LANES..] {
        let zero = random.draw() < ZERO_BELOW;
        let code = table[bytesum(random.draw()) as usize];
        *byte = if zero { 0 } else { code };
    }
}

/// Many draws at once: the generator is linear over its 32 bits, and this is the matrix of so many steps.
struct Jump([u32; 32]);

impl Jump {
    /// The jump over a number of draws, by repeated squaring.
    fn of(draws: usize) -> Self {
        let one = Self(std::array::from_fn(|bit| {
            let mut random = Xorshift(1 << bit);
            random.draw()
        }));
        let (mut all, mut power, mut left) = (Self(std::array::from_fn(|bit| 1 << bit)), one, draws);
        while left > 0 {
            if left & 1 == 1 {
                all = Self(all.0.map(|column| power.from(column)));
            }
            power = Self(power.0.map(|column| power.from(column)));
            left >>= 1;
        }
        all
    }

    /// The state behind the jump from a state: the sum of the columns of its bits.
    fn from(&self, state: u32) -> u32 {
        self.0.iter().enumerate().fold(0, |sum, (bit, column)| sum ^ if state >> bit & 1 == 1 { *column } else { 0 })
    }
}

fn weight(sum: u32, step: f64) -> u8 {
    let value = ((f64::from(sum) - 510.0) / 21_845_f64.sqrt()) * step;
    let code = e4m3::publish(half(value));
    code & 0x80 | (code & 0x7f).min(MAX_WEIGHT)
}

fn gain(kind: ParameterKind) -> f64 {
    match kind {
        ParameterKind::Branch | ParameterKind::Expand | ParameterKind::Transition => 1.0,
        _ => 0.8,
    }
}

fn scale_range(block: usize) -> (f64, f64) {
    match block {
        31..=38 => (0.6, 0.8),
        48.. => (0.65, 0.85),
        _ => (0.7, 0.9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_as_many_draws() {
        for draws in [0, 1, 2, 7, 1000] {
            let mut random = Xorshift::new(0x1234_5678);
            let from = random.0;
            for _ in 0..draws {
                random.draw();
            }
            assert_eq!(Jump::of(draws).from(from), random.0, "{draws} draws");
        }
    }

    #[test]
    fn codes_made_side_by_side_are_those_of_one_sequence() {
        let table: Vec<u8> = (0..=1020_u32).map(|sum| (sum / 4) as u8).collect();
        for length in [0, 5, 8, 1024, 1029] {
            let (mut random, mut plain) = (Xorshift::new(7), Xorshift::new(7));
            let mut out = vec![0xff; length];
            codes(&mut out, &table, &mut random);
            let expected: Vec<u8> = (0..length)
                .map(|_| {
                    let zero = plain.draw() < ZERO_BELOW;
                    let code = table[bytesum(plain.draw()) as usize];
                    if zero { 0 } else { code }
                })
                .collect();
            assert_eq!((out, random.0), (expected, plain.0), "{length} codes, and the state behind them");
        }
    }

    #[test]
    fn weights_are_cut_to_a_magnitude_and_keep_their_sign() {
        // No shape of the network reaches the cut: the largest sum over sqrt(32) rows is far below 9.
        assert_eq!((weight(1020, 1.0), weight(0, 1.0)), (0x46, 0xc6), "3.45 is 3.5 as a code");
        assert_eq!((weight(1020, 100.0), weight(0, 100.0)), (0x51, 0xd1), "cut");
        let largest = weight(1020, 1.0 / 32_f64.sqrt());
        assert!(largest < MAX_WEIGHT, "{largest:#x}");
    }
}
