//! What a reading is measured on: telling places of the expected tensor, or neighbours in the plane it makes.

use super::element::Decoder;
use super::layout::{Layout, Places};
use super::search::Reading;
use super::{Format, Order};
use crate::tensor::{Shape, Tensor};

/// Places looked at for telling ones.
const LOOKED: usize = 1 << 16;
/// Telling places kept.
const KEPT: usize = 4096;
/// Score that an array's extents add where they speak for an order.
const EXTENTS: (f64, f64) = (0.02, 0.1);

/// Pseudo-random indexes below a bound, the same on every run.
pub(super) fn spread(count: usize, bound: usize, salt: u64) -> impl Iterator<Item = usize> {
    let index = move |i: usize| {
        let mut h = (i as u64 ^ salt.wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h = (h ^ (h >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        ((h >> 16) % bound.max(1) as u64) as usize
    };
    (0..count).map(index)
}

/// Places of an expected tensor whose element is not its most common one.
pub(super) struct Telling {
    places: Vec<(usize, usize, u32, f32)>,
}

impl Telling {
    pub(super) fn of(expected: &Tensor) -> Self {
        let channels = expected.shape.channels;
        let elements = expected.shape.elements();
        let at = |i: usize| {
            let (token, channel) = (i / channels, i % channels);
            let bits = expected.bits(token, channel);
            (token, channel, bits, Format::of(expected.shape.element).value(bits))
        };
        let looked: Vec<(usize, usize, u32, f32)> = match elements {
            0..=LOOKED => (0..elements).map(at).collect(),
            _ => spread(LOOKED, elements, 1).map(at).collect(),
        };
        let mut bits: Vec<u32> = looked.iter().map(|place| place.2).collect();
        bits.sort_unstable();
        let common = bits.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).map(|run| run[0]);
        let telling: Vec<_> = looked.iter().copied().filter(|place| Some(place.2) != common).collect();
        let from = if telling.len() >= 64 { telling } else { looked };
        let step = from.len().div_ceil(KEPT).max(1);
        Self { places: from.into_iter().step_by(step).collect() }
    }

    /// Measures a reading against the expected elements.
    pub(super) fn measure(
        &self,
        bytes: &[u8],
        decoder: &Decoder,
        places: &Places,
        layout: Layout,
        suits: bool,
    ) -> Reading {
        let (mut equal, mut apart, mut sum) = (0, 0.0, 0.0);
        for &(token, channel, bits, value) in &self.places {
            let index = places.token(token) + places.channel(channel);
            equal += usize::from(decoder.translated(bytes, index) == Some(bits));
            let (found, value) = (f64::from(decoder.value(bytes, index)), f64::from(value));
            if found.is_finite() && value.is_finite() {
                apart += (found - value).abs();
                sum += found.abs() + value.abs();
            } else if found.is_finite() != value.is_finite() {
                let finite = if found.is_finite() { found } else { value };
                apart += finite.abs() + 1.0;
                sum += finite.abs() + 1.0;
            }
        }
        let agreement = equal as f64 / self.places.len().max(1) as f64;
        // 1 for equal values, 0 for values that share nothing; a factor of two is 2/3.
        let close = if sum > 0.0 { 1.0 - apart / sum } else { agreement };
        let bonus = if suits { EXTENTS.0 } else { 0.0 } - layout.pitch.map_or(0.0, |_| 0.005);
        let said = if suits { ", as the array's extents say" } else { "" };
        let evidence = format!(
            "{:.2} % of {} telling elements equal the reference's, closeness {close:.2}{said}",
            agreement * 100.0,
            self.places.len()
        );
        let score = (0.5 * agreement + 0.5 * close + bonus).clamp(0.0, 1.0);
        Reading { format: decoder.format, layout, score, evidence, agreement: Some(agreement) }
    }
}

/// Measures a reading by the plane that it makes: neighbours resemble each other more than tokens far apart.
pub(super) fn smoothness(
    bytes: &[u8],
    shape: Shape,
    decoder: &Decoder,
    places: &Places,
    layout: Layout,
    suits: bool,
) -> Reading {
    let (width, height) = (shape.size.width, shape.size.height);
    let inner = width.saturating_sub(1) * height.saturating_sub(1);
    let tokens: Vec<usize> = spread(1024, inner, 2).map(|i| i / (width - 1) * width + i % (width - 1)).collect();
    let channels: Vec<usize> = match shape.channels {
        0..=16 => (0..shape.channels).collect(),
        n => spread(16, n, 4).collect(),
    };
    let value = |token: usize, channel: usize| decoder.value(bytes, places.token(token) + places.channel(channel));
    let mut values: Vec<[f64; 4]> = Vec::with_capacity(tokens.len() * channels.len());
    let (mut none, mut inexact, mut all) = (0_usize, 0_usize, 0_usize);
    // Any element of the dump, whatever the layout: every reading is measured against the same spread, so that one that
    // mixes channels does not profit from their being far apart.
    let elements = bytes.len() / decoder.format.bytes();
    let mut others = spread(tokens.len() * channels.len(), elements, 3);
    // Padding read as tokens is smooth, and says nothing.
    let empty = |token: usize| channels.iter().all(|&channel| value(token, channel) == 0.0);
    let padding = |token: usize| [token, token + 1, token + width].into_iter().all(empty);
    for &token in tokens.iter().filter(|token| !padding(**token)) {
        for &channel in &channels {
            let other = others.next().map_or(0.0, |index| f64::from(decoder.value(bytes, index)));
            let [here, right, below] = [token, token + 1, token + width].map(|token| f64::from(value(token, channel)));
            let four = [here, right, below, other];
            all += 1;
            let index = places.token(token) + places.channel(channel);
            inexact += usize::from(decoder.translated(bytes, index).is_none());
            if four.iter().all(|v| v.is_finite()) {
                values.push(four);
            } else {
                none += 1;
            }
        }
    }
    let mut sizes: Vec<f64> = values.iter().map(|four| four[0].abs()).filter(|v| *v > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    let median = sizes.get(sizes.len() / 2).copied().unwrap_or(1.0);
    let squeeze = |v: f64| (v / median).asinh();
    let mut apart = [0.0; 3];
    for four in &values {
        for (sum, other) in apart.iter_mut().zip(&four[1..]) {
            *sum += (squeeze(four[0]) - squeeze(*other)).abs();
        }
    }
    let smooth = if apart[2] > 0.0 { 1.0 - apart[0].max(apart[1]) / apart[2] } else { 0.0 };
    let share = |count: usize| count as f64 / all.max(1) as f64;
    let (none, exact) = (share(none), 1.0 - share(inexact));
    let plausible = exact * (1.0 - (20.0 * none).min(1.0)) * range(&sizes, decoder.format) * convention(decoder.format);
    let said = if suits { ", as the array's extents say" } else { "" };
    let bonus = if suits { EXTENTS.1 } else { 0.0 };
    let evidence = format!(
        "neighbours are {:.0} % closer than others, {:.2} % of values are exact{}{said}",
        smooth * 100.0,
        exact * 100.0,
        if none > 0.0 { format!(", {:.2} % are NaN", none * 100.0) } else { String::new() }
    );
    let simple = if layout.order == Order::RowMajor { 0.002 } else { 0.0 };
    // A smooth, nearly square plane is as smooth when turned; ports that turn it are few.
    let upright = if layout.order.is_turned() { 0.95 } else { 1.0 };
    let score = (plausible * upright * (0.2 + 0.8 * smooth.max(0.0) + bonus) + simple).clamp(0.0, 1.0);
    Reading { format: decoder.format, layout, score, evidence, agreement: None }
}

/// Halves read as bfloat16 spread over dozens of binades, bfloat16 read as halves over less than two.
fn range(sizes: &[f64], format: Format) -> f64 {
    if sizes.is_empty() || format.bytes() == 1 {
        return 1.0;
    }
    let logs: Vec<f64> = sizes.iter().map(|v| v.log2()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let deviation = (logs.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / logs.len() as f64).sqrt();
    let largest = sizes.last().copied().unwrap_or(0.0);
    match () {
        () if largest > 65_504.0 || mean < -20.0 || deviation > 6.0 => 0.1,
        () if deviation < 0.5 => 0.6,
        () => 1.0,
    }
}

/// Of formats that the bytes alone do not tell apart, the network's own is the likelier.
const fn convention(format: Format) -> f64 {
    match format {
        Format::E4m3 | Format::F16 | Format::F32 => 1.0,
        Format::Bf16 => 0.95,
        Format::E4m3Fnuz => 0.9,
        Format::E5m2 => 0.85,
    }
}
