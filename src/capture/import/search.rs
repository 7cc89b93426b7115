//! Which element format and which layout a dump has: every reading that its size allows, ranked by evidence.
//!
//! With a tensor that is expected there (the reference's), a reading is measured by how many of its elements equal it
//! on a sample of telling places, and by how close the rest comes: a port that differs still resembles. Without one, by
//! how smooth the plane is that it makes, and by how plausible its values are.
//!
//! **Invariants**
//! * Samples are the same on every run.
//! * Two readings that make the same bytes are no rivals.

use super::dump::Dump;
use super::element::Decoder;
use super::layout::Order;
use super::mapping::Entry;
use super::{Format, Layout, permutation, sample};
use crate::tensor::{Element, Shape, Tensor};
use rayon::prelude::*;
use std::fmt;

/// Differences of score below this decide nothing; without an expected tensor, below twice this.
const MARGIN: f64 = 0.05;
/// The best reading must have at least this score, with and without an expected tensor.
const LEAST: (f64, f64) = (0.35, 0.22);

/// One way to read a dump.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Format of its elements.
    pub format: Format,
    /// Where they lie.
    pub layout: Layout,
    /// How well it explains the dump, 0 to 1.
    pub score: f64,
    /// Why, in words.
    pub evidence: String,
    /// Share of elements equal to the expected ones, where there are some.
    pub agreement: Option<f64>,
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} (score {:.2}: {})", self.format.name(), self.layout, self.score, self.evidence)
    }
}

/// What is decided about a dump.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Every reading, best first.
    pub ranked: Vec<Reading>,
    /// How sure the first one is, 0 to 1; `None` when it is not clear.
    pub confidence: Option<f64>,
}

/// Ranks the readings that a dump's size, its container and an entry of the mapping allow.
///
/// # Errors
/// When no reading fits: the sizes that would.
pub(super) fn rank(
    dump: &Dump,
    bytes: &[u8],
    shape: Shape,
    entry: &Entry,
    expected: Option<&Tensor>,
) -> Result<Verdict, String> {
    let fitting = fitting(dump, shape, entry)?;
    let mut formats: Vec<Format> = fitting.iter().map(|(format, _)| *format).collect();
    formats.dedup();
    let decoders: Vec<Decoder> = formats.into_iter().map(|format| Decoder::new(format, shape.element)).collect();
    let decoder = |format: Format| decoders.iter().find(|d| d.format == format).expect("one for each format");
    let sample = expected.map(sample::Telling::of);
    let suits = |layout: &Layout| {
        !dump.extents.is_empty() && layout.order.suits(&dump.extents, shape.size, shape.channels, layout.phase)
    };
    let measure = |(format, layout): (Format, Layout)| {
        let suits = suits(&layout);
        let places = layout.places(shape, format.bytes()).expect("it fits");
        match &sample {
            Some(sample) => sample.measure(bytes, decoder(format), &places, layout, suits),
            None => sample::smoothness(bytes, shape, decoder(format), &places, layout, suits),
        }
    };
    let mut ranked: Vec<Reading> = fitting.into_par_iter().map(measure).collect();
    // Stable: of equals the plainer one stays first.
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    if let (Some(expected), Some(sample)) = (expected, &sample)
        && entry.permutation.is_none()
        && ranked[0].agreement.is_some_and(|share| share < 0.9)
    {
        let found = permutation::search(&ranked, bytes, expected, &decoders);
        for layout in found {
            let places = layout.1.places(shape, layout.0.bytes()).expect("it fits");
            let reading = sample.measure(bytes, decoder(layout.0), &places, layout.1, false);
            let plain = ranked.iter().find(|r| r.format == reading.format && r.layout.order == reading.layout.order);
            if plain.is_none_or(|plain| reading.score > plain.score + MARGIN) {
                ranked.push(reading);
            }
        }
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
    // Real boundaries are too rough for smoothness to tell blocks, tiles, windows and heads apart: it names a wrong one
    // about as often as the right one. So without an expected tensor only what is plain, or told, is taken.
    let best = &ranked[0].layout;
    let plain = matches!(best.order, Order::RowMajor | Order::ChannelsFirst);
    let taken = expected.is_some() || plain || entry.layout.is_some() || suits(best);
    let confidence = taken.then(|| confidence(&mut ranked, bytes, shape, expected)).flatten();
    Ok(Verdict { ranked, confidence })
}

/// Whether any reading has a dump's size, before its bytes are read.
///
/// # Errors
/// Names the sizes that would.
pub(super) fn fits(dump: &Dump, shape: Shape, entry: &Entry) -> Result<(), String> {
    fitting(dump, shape, entry).map(drop)
}

/// Formats and layouts of the right size.
fn fitting(dump: &Dump, shape: Shape, entry: &Entry) -> Result<Vec<(Format, Layout)>, String> {
    let formats: Vec<Format> = match entry.element {
        Some(format) => vec![format],
        None => dump.formats.iter().copied().filter(|format| format.may_hold(shape.element)).collect(),
    };
    let mut found = Vec::new();
    for &format in &formats {
        for layout in Layout::fitting(shape, format.bytes(), dump.bytes) {
            if entry.allows(format, &layout) {
                let permutation = entry.permutation.clone();
                found.push((format, Layout { permutation, ..layout }));
            }
        }
    }
    if found.is_empty() {
        return Err(sizes(dump, shape, &formats));
    }
    for (format, layout) in &found {
        layout.places(shape, format.bytes())?;
    }
    Ok(found)
}

/// A size that fits nothing, and those that would.
fn sizes(dump: &Dump, shape: Shape, formats: &[Format]) -> String {
    let mut widths: Vec<usize> = formats.iter().map(|format| format.bytes()).collect();
    widths.sort_unstable();
    widths.dedup();
    if widths.is_empty() {
        let (found, kind) = (dump.formats.iter().map(|f| f.name()).collect::<Vec<_>>().join(" or "), shape);
        return format!("it holds {found}, and the tensor is {kind}: nothing was rounded to make it fit");
    }
    let windows = |width: usize| {
        let mut all: Vec<usize> = (0..4)
            .filter_map(|phase| Layout::plain(Order::Windows8x8, phase).places(shape, width).ok())
            .map(|places| places.elements() * width)
            .filter(|&bytes| bytes != shape.elements() * width)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let each = widths.into_iter().map(|width| {
        let names: Vec<&str> = formats.iter().filter(|f| f.bytes() == width).map(|f| f.name()).collect();
        let records: Vec<String> = windows(width).iter().map(ToString::to_string).collect();
        let records =
            if records.is_empty() { String::new() } else { format!(", or {} in window records", records.join(" or ")) };
        format!("{} bytes of {}{records}", shape.elements() * width, names.join(" or "))
    });
    let each: Vec<String> = each.collect();
    format!("{} bytes fit no reading of {shape}; expected {}, or rows padded alike", dump.bytes, each.join("; "))
}

/// How clear the first of the ranked readings is.
fn confidence(ranked: &mut [Reading], bytes: &[u8], shape: Shape, expected: Option<&Tensor>) -> Option<f64> {
    if let Some(expected) = expected {
        // The sample chose; the whole tensor confirms.
        let near = ranked[0].score - 2.0 * MARGIN;
        for reading in ranked.iter_mut().filter(|reading| reading.score >= near).take(4) {
            let share = whole(reading, bytes, expected);
            reading.agreement = Some(share);
            let evidence = format!("{}, {:.2} % of all", reading.evidence, share * 100.0);
            reading.evidence = evidence;
        }
        if let Some(exact) = ranked.iter().position(|reading| reading.agreement == Some(1.0)) {
            ranked[..=exact].rotate_right(1);
            return Some(1.0);
        }
    }
    let best = &ranked[0];
    let least = if expected.is_some() { LEAST.0 } else { LEAST.1 };
    if best.score < least {
        return None;
    }
    let narrow = |reading: &Reading| reading.format.bytes() == 1 && reading.layout == best.layout;
    let rival = ranked[1..].iter().filter(|reading| best.score - reading.score < 4.0 * MARGIN).find(|reading| {
        // Without an expected tensor some readings are told apart by convention only: the narrow formats, and the
        // axes of a smooth plane that is nearly square.
        let turned = reading.layout.order.is_turned() != best.layout.order.is_turned();
        let convention = expected.is_none() && (turned || narrow(best) && narrow(reading));
        !convention && !same_bytes(best, reading, bytes, shape)
    });
    let margin = rival.map_or(4.0 * MARGIN, |rival| best.score - rival.score);
    // Smoothness deceives more easily than a known tensor.
    let enough = if expected.is_some() { MARGIN } else { 2.0 * MARGIN };
    (margin >= enough).then(|| (0.6 + 2.0 * margin).min(0.99))
}

fn same_bytes(a: &Reading, b: &Reading, bytes: &[u8], shape: Shape) -> bool {
    match (translate(a, bytes, shape), translate(b, bytes, shape)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Share of all elements that equal the expected ones.
fn whole(reading: &Reading, bytes: &[u8], expected: &Tensor) -> f64 {
    let shape = expected.shape;
    let decoder = Decoder::new(reading.format, shape.element);
    let places = reading.layout.places(shape, reading.format.bytes()).expect("it fits");
    let channels: Vec<usize> = (0..shape.channels).map(|c| places.channel(c)).collect();
    let equal = |token: usize| {
        let at = places.token(token);
        let same = |(c, place): (usize, &usize)| decoder.translated(bytes, at + place) == Some(expected.bits(token, c));
        channels.iter().enumerate().filter(|pair| same(*pair)).count()
    };
    let count: usize = (0..shape.tokens()).into_par_iter().map(equal).sum();
    count as f64 / shape.elements() as f64
}

/// Elements that have no translation.
#[derive(Clone, Debug, PartialEq)]
pub struct Inexact {
    /// How many.
    pub count: usize,
    /// Token and channel of the first, row-major.
    pub first: (usize, usize),
    /// Its value.
    pub value: f32,
}

/// The tensor's bytes under a reading.
///
/// # Errors
/// When an element has no exact translation.
pub(super) fn translate(reading: &Reading, bytes: &[u8], shape: Shape) -> Result<Vec<u8>, Inexact> {
    let decoder = Decoder::new(reading.format, shape.element);
    let places = reading.layout.places(shape, reading.format.bytes()).expect("it fits");
    let channels: Vec<usize> = (0..shape.channels).map(|c| places.channel(c)).collect();
    let width = shape.element.bytes();
    let mut out = vec![0; shape.bytes()];
    let fill = |(token, row): (usize, &mut [u8])| {
        let at = places.token(token);
        let mut wrong = (0, None);
        for (c, (place, element)) in channels.iter().zip(row.chunks_exact_mut(width)).enumerate() {
            match decoder.translated(bytes, at + place) {
                Some(bits) => element.copy_from_slice(&bits.to_le_bytes()[..width]),
                None => wrong = (wrong.0 + 1, wrong.1.or(Some((token, c)))),
            }
        }
        wrong
    };
    let add = |a: (usize, Option<(usize, usize)>), b: (usize, Option<(usize, usize)>)| {
        let first = match (a.1, b.1) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        (a.0 + b.0, first)
    };
    let rows = out.par_chunks_exact_mut(shape.channels * width).enumerate();
    match rows.map(fill).reduce(|| (0, None), add) {
        (count, Some(first)) => {
            let value = decoder.value(bytes, places.token(first.0) + places.channel(first.1));
            Err(Inexact { count, first, value })
        }
        (_, None) => Ok(out),
    }
}

impl Inexact {
    /// What it means, and what to do.
    pub(super) fn explain(&self, shape: Shape) -> String {
        let (all, width) = (shape.elements(), shape.size.width);
        let Self { count, first: (token, channel), value } = *self;
        let (kind, advice) = match shape.element {
            Element::E4m3 => (
                "E4M3 codes",
                "these are values before publication; dump the published tensor, or name the raw one with --map \
                 (\"tensor\": \"block-N/output_raw\")",
            ),
            _ => ("halves", "the network's tensor holds halves; dump it as it is"),
        };
        format!(
            "{count} of {all} values are no {kind}, the first {value:e} at token {token} (x {}, y {}) channel {channel}; \
             {advice}",
            token % width,
            token / width
        )
    }
}
