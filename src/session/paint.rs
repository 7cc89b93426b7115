//! From tensors to pictures: reductions, ranges, differences, classes, the composed image.

use super::afar::Blend;
use super::colour::{Scale, class_colour, colour};
use super::picture::{Legend, LegendClass, Marks, Mask, OutputDifference, Picture, Thumbnails};
use super::{ColourMap, Difference, Image, Range, Reduction, veil};
use crate::compare::{self, Class};
use crate::frame;
use crate::geometry::{Geometry, Size};
use crate::numerics::{e4m3, f16};
use crate::tensor::{Element, Tensor};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What to paint, and how.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) subject: Option<Tensor>,
    pub(crate) reference: Option<Tensor>,
    pub(crate) features: Option<Tensor>,
    pub(crate) style: Style,
}

/// What layers show of a tensor, from the tensors themselves: it does not change with channel, colours and range.
#[derive(Clone, Debug)]
pub(crate) struct MarksOrder {
    pub(crate) subject: Option<Tensor>,
    pub(crate) reference: Option<Tensor>,
    /// What the tested cause explains of the tensor, if it was tested.
    pub(crate) mask: Option<Arc<Mask>>,
}

/// The part of a view that changes pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    pub(crate) image: Image,
    pub(crate) reduction: Reduction,
    pub(crate) channel: usize,
    pub(crate) rgb: [usize; 3],
    pub(crate) map: ColourMap,
    pub(crate) range: Range,
    pub(crate) log: bool,
    pub(crate) difference: Difference,
    pub(crate) valid: Size,
    /// Whether the difference is looked at.
    pub(crate) with_difference: bool,
}

/// The pictures of one order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Painted {
    pub(crate) subject: Option<Arc<Picture>>,
    pub(crate) reference: Option<Arc<Picture>>,
    pub(crate) difference: Option<Arc<Picture>>,
    pub(crate) input: Option<Arc<Picture>>,
    pub(crate) output: Option<OutputDifference>,
}

/// A number for every picture made.
pub(super) fn fresh() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Paints everything that the canvas needs.
pub(crate) fn paint(order: &Order) -> Painted {
    let sides = [order.subject.as_ref(), order.reference.as_ref()];
    let [subject, reference] = match order.style.image {
        Image::Output => sides.map(|side| side.and_then(|head| composed(head, order.features.as_ref(), &order.style))),
        Image::Tensor | Image::Head if order.style.reduction == Reduction::Rgb => {
            sides.map(|side| side.map(|tensor| colours(tensor, &order.style)))
        }
        Image::Tensor | Image::Head => scalars(sides, &order.style),
    };
    let both = order.subject.as_ref().zip(order.reference.as_ref()).filter(|(s, r)| s.shape == r.shape);
    let images = subject.as_ref().zip(reference.as_ref()).filter(|_| order.style.image == Image::Output);
    let output = images.map(|(s, r)| output_difference(s, r));
    let difference = match images {
        _ if !order.style.with_difference => None,
        Some((s, r)) => Some(image_difference(s, r)),
        None => both.map(|(s, r)| difference(s, r, &order.style)),
    };
    let features = order.features.as_ref().filter(|_| order.style.image == Image::Output);
    let input = features.map(|features| input(features, &order.style));
    let shared = |picture: Option<Picture>| picture.map(Arc::new);
    Painted {
        subject: shared(subject),
        reference: shared(reference),
        difference: shared(difference),
        input: shared(input),
        output,
    }
}

/// What overlays show.
pub(crate) fn marks(order: &MarksOrder) -> Marks {
    let both = order.subject.as_ref().zip(order.reference.as_ref()).filter(|(s, r)| s.shape == r.shape);
    let size = order.subject.as_ref().or(order.reference.as_ref()).map(|tensor| tensor.shape.size);
    let counts = both.map(|(s, r)| differing(s, r)).unwrap_or_default();
    let mask = order.mask.clone().filter(|mask| Some(mask.size) == size);
    Marks {
        size,
        veil: size.and_then(|size| veil::differing(size, &counts, fresh())),
        explained: mask.and_then(|mask| Some((veil::explained(&mask, fresh())?, mask))),
        differing: counts,
    }
}

/// One value per token.
fn reduce(tensor: &Tensor, style: &Style) -> Vec<f32> {
    let channels = tensor.shape.channels;
    let channel = style.channel.min(channels - 1);
    let table: [f32; 256] = std::array::from_fn(|code| e4m3::decode(code as u8));
    let values = move |token: usize| -> Box<dyn Iterator<Item = f32> + '_> {
        match tensor.shape.element {
            Element::E4m3 => Box::new(tensor.row(token).iter().map(move |&code| table[usize::from(code)])),
            Element::F16 => Box::new(tensor.halves()[token * channels..][..channels].iter().map(|h| h.to_f32())),
            Element::F32 => Box::new(tensor.floats()[token * channels..][..channels].iter().copied()),
        }
    };
    let one = |token: usize| match style.reduction {
        Reduction::Channel | Reduction::Rgb => tensor.value(token, channel),
        Reduction::Mean => values(token).sum::<f32>() / channels as f32,
        Reduction::Max => values(token).fold(0.0, |most, x| x.abs().max(most)),
        Reduction::L2 => values(token).map(|x| x * x).sum::<f32>().sqrt(),
        Reduction::Codes => distinct(tensor, token) as f32,
    };
    (0..tensor.shape.tokens()).into_par_iter().with_min_len(1024).map(one).collect()
}

/// The published code of an element.
pub(crate) fn code(tensor: &Tensor, token: usize, channel: usize) -> u8 {
    match tensor.shape.element {
        Element::E4m3 => tensor.bits(token, channel) as u8,
        Element::F16 | Element::F32 => e4m3::publish(f16::from_f32(tensor.value(token, channel))),
    }
}

fn distinct(tensor: &Tensor, token: usize) -> usize {
    let mut seen = [false; 256];
    (0..tensor.shape.channels).for_each(|channel| seen[usize::from(code(tensor, token, channel))] = true);
    seen.iter().filter(|seen| **seen).count()
}

/// The scale of all values shown together.
fn scale(values: &[&[f32]], style: &Style) -> Scale {
    let finite = || values.iter().flat_map(|v| v.iter().copied()).filter(|x| x.is_finite());
    let widest = |(l, h): (f32, f32), (a, b): (f32, f32)| (l.min(a), h.max(b));
    let nothing = (f32::MAX, f32::MIN);
    let of = |part: &[f32]| part.iter().filter(|x| x.is_finite()).fold(nothing, |so_far, &x| widest(so_far, (x, x)));
    let span = || {
        let parts = values.iter().map(|v| v.par_chunks(1 << 16).map(of).reduce(|| nothing, widest));
        parts.fold(nothing, widest)
    };
    let (low, high) = match style.range {
        Range::Fixed(low, high) => (low, high),
        Range::Auto => span(),
        Range::Percentile(percent) => percentile(finite().collect(), percent),
    };
    spanned(low, high, style)
}

/// The scale from a smallest to a largest value.
pub(super) fn spanned(mut low: f32, mut high: f32, style: &Style) -> Scale {
    if low > high {
        (low, high) = (0.0, 1.0);
    }
    let map = match style.map {
        ColourMap::Auto if low < 0.0 => ColourMap::Diverging,
        ColourMap::Auto => ColourMap::Viridis,
        map => map,
    };
    if map == ColourMap::Diverging {
        let most = high.max(-low);
        (low, high) = (-most, most);
    }
    Scale { map, low, high, log: style.log }
}

fn percentile(mut values: Vec<f32>, percent: f32) -> (f32, f32) {
    if values.is_empty() {
        return (0.0, 1.0);
    }
    values.sort_unstable_by(f32::total_cmp);
    let at = |share: f32| values[((share * (values.len() - 1) as f32).round() as usize).min(values.len() - 1)];
    let high = (percent / 100.0).clamp(0.5, 1.0);
    (at(1.0 - high), at(high))
}

/// Both sides through one scale.
fn scalars(sides: [Option<&Tensor>; 2], style: &Style) -> [Option<Picture>; 2] {
    let reduced = sides.map(|side| side.map(|tensor| reduce(tensor, style)));
    let values: Vec<&[f32]> = reduced.iter().flatten().map(Vec::as_slice).collect();
    let scale = scale(&values, style);
    let unit = if style.reduction == Reduction::Codes { "distinct codes" } else { "value" };
    let mut pictures = sides
        .iter()
        .zip(&reduced)
        .map(|(side, values)| Some(painted((*side)?, values.as_ref()?, &scale, unit, Blend::Mean)));
    std::array::from_fn(|_| pictures.next().flatten())
}

fn painted(tensor: &Tensor, values: &[f32], scale: &Scale, unit: &str, blend: Blend) -> Picture {
    let table: Vec<[u8; 3]> = (0..=1023).map(|i| colour(scale.map, i as f32 / 1023.0)).collect();
    let pixel = |&value: &f32| {
        let [r, g, b] = table[(scale.share(value) * 1023.0 + 0.5) as usize];
        if value.is_nan() { [255, 0, 255, 255] } else { [r, g, b, 255] }
    };
    let legend =
        Legend::Scale { map: scale.map, low: scale.low, high: scale.high, log: scale.log, unit: unit.to_owned() };
    let pixels = values.par_iter().with_min_len(4096).map(pixel).collect();
    Picture::new(&tensor.name, tensor.shape.size, pixels, legend, blend)
}

/// Three channels as colours, each from its smallest to its largest value.
fn colours(tensor: &Tensor, style: &Style) -> Picture {
    let planes = style.rgb.map(|channel| {
        let style = Style { channel, reduction: Reduction::Channel, map: ColourMap::Grey, ..*style };
        let values = reduce(tensor, &style);
        let scale = scale(&[&values], &style);
        values.into_iter().map(|x| (scale.share(x) * 255.0 + 0.5) as u8).collect::<Vec<u8>>()
    });
    let pixels = (0..tensor.shape.tokens()).map(|t| [planes[0][t], planes[1][t], planes[2][t], 255]).collect();
    Picture::new(&tensor.name, tensor.shape.size, pixels, Legend::Plain, Blend::Mean)
}

/// The signed distance or value difference of the selected channel, or of the channel where it is largest.
fn difference(subject: &Tensor, reference: &Tensor, style: &Style) -> Picture {
    let shape = reference.shape;
    let bits = |t: usize, c: usize| (subject.bits(t, c), reference.bits(t, c));
    let only = match style.reduction {
        Reduction::Channel => Some(style.channel.min(shape.channels - 1)),
        Reduction::Rgb | Reduction::Mean | Reduction::Max | Reduction::L2 | Reduction::Codes => None,
    };
    let range = |_: usize| only.map_or(0..shape.channels, |channel| channel..channel + 1);
    if style.difference == Difference::Class {
        let class = |t: usize| {
            let of = |c| compare::class_of(shape.element, bits(t, c).0, bits(t, c).1);
            range(t).filter(|&c| bits(t, c).0 != bits(t, c).1).map(of).max().unwrap_or(Class::Equal)
        };
        let classes: Vec<Class> = (0..shape.tokens()).into_par_iter().with_min_len(1024).map(class).collect();
        let opaque = |class: &Class| {
            let [r, g, b] = class_colour(*class);
            [r, g, b, 255]
        };
        let counted = |class: Class| {
            let count = classes.iter().filter(|other| **other == class).count() as u64;
            LegendClass { colour: class_colour(class), label: class.to_string().replace("+-", "\u{b1}"), count }
        };
        let legend = Legend::Classes(Class::ALL.into_iter().map(counted).filter(|class| class.count > 0).collect());
        let pixels = classes.iter().map(opaque).collect();
        return Picture::new(&reference.name, shape.size, pixels, legend, Blend::Strongest(opaque(&Class::Equal)));
    }
    let coded = style.difference == Difference::Code;
    let one = |t: usize, c: usize| match bits(t, c) {
        (a, b) if a == b => 0.0,
        (a, b) if coded => compare::distance(shape.element, a, b) as f32,
        _ => subject.value(t, c) - reference.value(t, c),
    };
    let most = |t: usize| range(t).map(|c| one(t, c)).fold(0.0_f32, |m, x| if x.abs() > m.abs() { x } else { m });
    let values: Vec<f32> = (0..shape.tokens()).into_par_iter().with_min_len(1024).map(most).collect();
    let style = Style { map: ColourMap::Diverging, ..*style };
    let mut scale = scale(&[&values], &style);
    if scale.high <= 0.0 {
        (scale.low, scale.high) = (-1.0, 1.0);
    }
    let [r, g, b] = colour(scale.map, 0.5);
    let unit = if coded { "codes" } else { "difference of values" };
    painted(reference, &values, &scale, unit, Blend::Strongest([r, g, b, 255]))
}

/// For each token, how many channels differ.
fn differing(subject: &Tensor, reference: &Tensor) -> Vec<u16> {
    let width = reference.shape.element.bytes();
    let one = |t: usize| {
        let (s, r) = (subject.row(t), reference.row(t));
        if s == r { 0 } else { s.chunks(width).zip(r.chunks(width)).filter(|(a, b)| a != b).count() as u16 }
    };
    (0..reference.shape.tokens()).into_par_iter().with_min_len(1024).map(one).collect()
}

/// The valid part of the input image.
fn input(features: &Tensor, style: &Style) -> Picture {
    image(features, style, |token| std::array::from_fn(|c| features.value(token, 4 + c)))
}

/// The composed output of a head, without history.
fn composed(head: &Tensor, features: Option<&Tensor>, style: &Style) -> Option<Picture> {
    let features = features.filter(|features| features.shape.size == head.shape.size)?;
    let geometry = Geometry::new(style.valid).ok().filter(|geometry| geometry.field == head.shape.size)?;
    let composed = frame::compose(&geometry, features, head, None);
    let pixels = bytemuck::pod_collect_to_vec(&composed.to_u8());
    Some(Picture::new(&head.name, composed.size, pixels, Legend::Image, Blend::Mean))
}

/// How two composed images differ, byte by byte.
fn output_difference(subject: &Picture, reference: &Picture) -> OutputDifference {
    let bytes = subject.pixels.iter().zip(&reference.pixels).flat_map(|(a, b)| (0..3).map(|c| a[c].abs_diff(b[c])));
    let (mut found, mut squares) = (OutputDifference::default(), 0_u64);
    for distance in bytes {
        found.total += 1;
        found.differing += u64::from(distance != 0);
        found.largest = found.largest.max(distance);
        squares += u64::from(distance) * u64::from(distance);
    }
    let mean = squares as f64 / found.total.max(1) as f64;
    found.psnr = (squares > 0).then(|| 10.0 * (255.0 * 255.0 / mean).log10());
    found
}

/// The largest difference of a pixel's three bytes.
fn image_difference(subject: &Picture, reference: &Picture) -> Picture {
    let most = |(a, b): (&[u8; 4], &[u8; 4])| (0..3).map(|c| a[c].abs_diff(b[c])).max().unwrap_or(0);
    let values: Vec<u8> = subject.pixels.iter().zip(&reference.pixels).map(most).collect();
    let high = f32::from(values.iter().copied().max().unwrap_or(0).max(1));
    let scale = Scale { map: ColourMap::Magma, low: 0.0, high, log: false };
    let pixel = |&value: &u8| {
        let [r, g, b] = scale.colour(f32::from(value));
        [r, g, b, 255]
    };
    let pixels = values.iter().map(pixel).collect();
    let unit = "steps of a byte".to_owned();
    let legend = Legend::Scale { map: scale.map, low: 0.0, high, log: false, unit };
    Picture::new(&reference.tensor, reference.size, pixels, legend, Blend::Strongest(pixel(&0)))
}

/// A picture of the valid rectangle from centred colours.
fn image(tensor: &Tensor, style: &Style, centred: impl Fn(usize) -> [f32; 3] + Sync) -> Picture {
    let (size, width) = (style.valid, tensor.shape.size.width);
    let byte = |x: f32| ((x * 8.0 + 0.5).clamp(0.0, 1.0) * 255.0 + 0.5).floor() as u8;
    let pixel = |i: usize| {
        let [r, g, b] = centred((i / size.width) * width + i % size.width).map(byte);
        [r, g, b, 255]
    };
    let pixels = (0..size.tokens()).into_par_iter().with_min_len(4096).map(pixel).collect();
    Picture::new(&tensor.name, size, pixels, Legend::Image, Blend::Mean)
}

/// All channels, small.
pub(crate) fn thumbnails(tensor: &Tensor) -> Thumbnails {
    let (size, channels) = (tensor.shape.size, tensor.shape.channels);
    let side = match channels {
        ..=128 => 48,
        129..=512 => 32,
        _ => 16,
    };
    let longest = size.width.max(size.height).max(1);
    let tile = size.map(|s| (s * side / longest).clamp(1, s.max(1)));
    let columns = channels.min(32);
    let atlas = Size::new(columns * tile.width, channels.div_ceil(columns) * tile.height);
    let token = |x: usize, y: usize| (y * size.height / tile.height) * size.width + x * size.width / tile.width;
    let sample = |i: usize| {
        let (x, y) = (i % atlas.width, i / atlas.width);
        let channel = (y / tile.height) * columns + x / tile.width;
        (channel < channels).then(|| tensor.value(token(x % tile.width, y % tile.height), channel))
    };
    let values: Vec<Option<f32>> = (0..atlas.tokens()).into_par_iter().with_min_len(4096).map(sample).collect();
    let most = values.iter().flatten().filter(|x| x.is_finite()).fold(0.0_f32, |m, x| m.max(x.abs()));
    let negative = values.iter().flatten().any(|x| *x < 0.0);
    let map = if negative { ColourMap::Diverging } else { ColourMap::Viridis };
    let scale = Scale { map, low: if negative { -most } else { 0.0 }, high: most, log: false };
    let pixel = |value: &Option<f32>| match value {
        Some(value) => {
            let [r, g, b] = scale.colour(*value);
            [r, g, b, 255]
        }
        None => [0; 4],
    };
    let pixels = values.iter().map(pixel).collect();
    Thumbnails { id: fresh(), tensor: tensor.name.clone(), channels, tile, columns, size: atlas, pixels }
}
