//! Recovers the order of channels by finding each expected channel among those of the dump.
//!
//! A permutation of channels leaves each token's sum of magnitudes as it is: where those do not follow the expected
//! ones, the tokens are in another order, and no permutation is looked for. Channels that are equal everywhere are
//! found by their hash; the rest by counting equal elements, so that a few differing values do not matter.

use super::element::Decoder;
use super::sample::spread;
use super::search::Reading;
use super::{Format, Layout};
use crate::tensor::Tensor;
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// Tokens on which channels are counted.
const TOKENS: usize = 160;
/// Pairs of channels counted at most: beyond, only equal channels are found.
const PAIRS: usize = 1 << 20;
/// Readings tried at most.
const TRIED: usize = 6;

/// Permuted layouts worth measuring, for the readings whose tokens follow the expected ones.
pub(super) fn search(
    ranked: &[Reading],
    bytes: &[u8],
    expected: &Tensor,
    decoders: &[Decoder],
) -> Vec<(Format, Layout)> {
    if expected.shape.channels < 2 {
        return Vec::new();
    }
    let decoder = |format: Format| decoders.iter().find(|d| d.format == format).expect("one for each format");
    let mut alike: Vec<(f64, &Reading)> = ranked
        .par_iter()
        .map(|reading| (follows(reading, bytes, expected, decoder(reading.format)), reading))
        .filter(|(share, _)| *share > 0.4)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let found = alike.into_iter().take(TRIED).filter_map(|(_, reading)| {
        let permutation = recover(reading, bytes, expected, decoder(reading.format))?;
        Some((reading.format, Layout { permutation: Some(permutation), ..reading.layout.clone() }))
    });
    found.collect()
}

/// Correlation of the tokens' sums of magnitudes.
fn follows(reading: &Reading, bytes: &[u8], expected: &Tensor, decoder: &Decoder) -> f64 {
    let shape = expected.shape;
    let places = reading.layout.places(shape, reading.format.bytes()).expect("it fits");
    let squeeze = |v: f32| if v.is_finite() { f64::from(v.abs()).min(1e6) } else { 0.0 };
    let pairs: Vec<(f64, f64)> = spread(256, shape.tokens(), 5)
        .map(|token| {
            let at = places.token(token);
            let own: f64 = (0..shape.channels).map(|c| squeeze(decoder.value(bytes, at + places.slot(c)))).sum();
            let wanted: f64 = (0..shape.channels).map(|c| squeeze(expected.value(token, c))).sum();
            (own, wanted)
        })
        .collect();
    let count = pairs.len() as f64;
    let (ma, mb) = (pairs.iter().map(|p| p.0).sum::<f64>() / count, pairs.iter().map(|p| p.1).sum::<f64>() / count);
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>();
    let (aa, bb) = (sum(&|p| (p.0 - ma).powi(2)), sum(&|p| (p.1 - mb).powi(2)));
    let ab = sum(&|p| (p.0 - ma) * (p.1 - mb));
    if aa > 0.0 && bb > 0.0 { ab / (aa * bb).sqrt() } else { 0.0 }
}

/// For each channel of the tensor the channel of the dump that is most like it.
fn recover(reading: &Reading, bytes: &[u8], expected: &Tensor, decoder: &Decoder) -> Option<Vec<usize>> {
    let shape = expected.shape;
    let channels = shape.channels;
    let places = reading.layout.places(shape, reading.format.bytes()).ok()?;
    let mut found: Vec<Option<usize>> = vec![None; channels];
    let mut taken = vec![false; channels];
    let hash = |bits: &dyn Fn(usize) -> u32| {
        let mut state = Sha256::new();
        (0..shape.tokens()).for_each(|token| state.update(bits(token).to_le_bytes()));
        state.finalize().to_vec()
    };
    let own = |slot: usize| {
        hash(&|token| decoder.translated(bytes, places.token(token) + places.slot(slot)).unwrap_or(u32::MAX))
    };
    let hashes: Vec<Vec<u8>> = (0..channels).into_par_iter().map(own).collect();
    let mut by_hash: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    hashes.iter().enumerate().rev().for_each(|(slot, hash)| by_hash.entry(hash).or_default().push(slot));
    let wanted: Vec<Vec<u8>> = (0..channels).into_par_iter().map(|c| hash(&|token| expected.bits(token, c))).collect();
    for (channel, hash) in wanted.iter().enumerate() {
        if let Some(slots) = by_hash.get_mut(hash.as_slice())
            && let Some(slot) =
                slots.iter().position(|&s| s == channel).map(|i| slots.remove(i)).or_else(|| slots.pop())
        {
            (found[channel], taken[slot]) = (Some(slot), true);
        }
    }
    let open: Vec<usize> = (0..channels).filter(|&c| found[c].is_none()).collect();
    let free: Vec<usize> = (0..channels).filter(|&s| !taken[s]).collect();
    if open.len() * free.len() > PAIRS {
        return None;
    }
    let tokens: Vec<usize> = spread(TOKENS, shape.tokens(), 6).collect();
    let column = |slot: usize| -> Vec<u32> {
        let bits = |&token: &usize| decoder.translated(bytes, places.token(token) + places.slot(slot));
        tokens.iter().map(|token| bits(token).unwrap_or(u32::MAX)).collect()
    };
    let columns: Vec<Vec<u32>> = free.iter().map(|&slot| column(slot)).collect();
    let counts = |&channel: &usize| -> Vec<(usize, usize, usize)> {
        let wanted: Vec<u32> = tokens.iter().map(|&token| expected.bits(token, channel)).collect();
        let equal = |column: &Vec<u32>| column.iter().zip(&wanted).filter(|(a, b)| a == b).count();
        columns.iter().zip(&free).map(|(column, &slot)| (equal(column), channel, slot)).collect()
    };
    let mut pairs: Vec<(usize, usize, usize)> = open.par_iter().flat_map_iter(counts).collect();
    // Most equal first; among equals a channel that did not move.
    pairs.sort_by_key(|&(count, channel, slot)| (std::cmp::Reverse(count), channel != slot, channel, slot));
    for (_, channel, slot) in pairs {
        if found[channel].is_none() && !taken[slot] {
            (found[channel], taken[slot]) = (Some(slot), true);
        }
    }
    let list: Option<Vec<usize>> = found.into_iter().collect();
    list.filter(|list| list.iter().enumerate().any(|(c, p)| c != *p))
}
