//! The synthetic model: a deterministic generator, byte-compatible with "three-dlss-nr synthetic v1".
//!
//! Only integers, IEEE double arithmetic and one square root per matrix shape, so that every machine makes the
//! same bytes and the digests that other implementations published gate this one. Records are independent of
//! each other, and are made on all cores.

use super::layout::{self, BlockKind, Contents, RecordLayout, Region};
use super::{Model, ParameterKind, fragment};
use crate::numerics::{e4m3, f16};
use rayon::prelude::*;
use std::sync::Arc;

/// `format` in the manifest of a synthetic model directory.
pub const FORMAT: &str = "three-dlss-nr synthetic v1";
/// Weights are cut to this magnitude code.
const MAX_WEIGHT: u8 = 0x51;
/// A first draw below this makes a weight zero: 4 % of 2^32.
const ZERO_BELOW: u32 = 171_798_692;

/// The synthetic model of a seed.
pub fn model(seed: u32) -> Model {
    let made = layout::records().par_iter().map(|r| (r.name.clone(), Arc::from(record(r, seed)))).collect();
    Model::from_records(format!("synthetic:{seed}"), made)
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
fn record(layout: &RecordLayout, seed: u32) -> Vec<u8> {
    let mut random = Xorshift::new(fnv1a(&layout.name) ^ seed);
    let mut bytes = vec![0; layout.length];
    for region in &layout.regions {
        fill(&mut bytes[region.offset..][..region.contents.bytes()], region, layout.block, &mut random);
    }
    bytes
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
            for byte in out {
                let zero = random.draw() < ZERO_BELOW;
                let code = table[bytesum(random.draw()) as usize];
                *byte = if zero { 0 } else { code };
            }
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
