//! `f16(features)`.

use super::{Kernel, Sources};
use crate::frame::mirror;
use crate::numerics::rules::FrameRule;
use crate::numerics::{Rules, f16};
use crate::plan::ops::Convert;

pub(super) fn kernel<'a>(op: &'a Convert, rules: &'a Rules, sources: Sources<'a>) -> Kernel<'a> {
    let input = sources.tensor(&op.input);
    let channels = input.shape.channels;
    let valid = sources.plan.geometry.valid;
    let width = input.shape.size.width;
    let lanes = move |row: usize| &input.floats()[row * channels..][..channels];
    // The pixel that a mirrored one is a copy of, and the one at the edge that a careless port repeats.
    let mirrored = move |row: usize| mirror(row / width, valid.height) * width + mirror(row % width, valid.width);
    let edge = move |row: usize| (row / width).min(valid.height - 1) * width + (row % width).min(valid.width - 1);
    let lane = move |row: usize, lane: usize| {
        let x = lanes(row)[lane];
        match (rules.frame, lane) {
            (FrameRule::NoiseMissing, 0..=2) | (FrameRule::HistoryMissing, 7..=9) | (FrameRule::ToneZero, 11..=14) => {
                0.0
            }
            (FrameRule::NoiseMirrored, 0..=2) => lanes(mirrored(row))[lane],
            (FrameRule::HistoryCopied, 7..=9) => lanes(row)[lane - 3],
            (FrameRule::StyleUnscaled, 10) => x * 128.0,
            (FrameRule::EdgeRepeated, 4..=9) => lanes(edge(row))[lane],
            _ => x,
        }
    };
    let half = move |x: f32| match f16::from_f32(x) {
        up if rules.frame == FrameRule::TowardZero && up.to_f32().abs() > x.abs() => f16::from_bits(up.to_bits() - 1),
        nearest => nearest,
    };
    Box::new(move |rows| {
        let places = rows.iter().flat_map(|&row| (0..channels).map(move |i| (row, i)));
        vec![places.flat_map(|(row, i)| half(lane(row, i)).to_le_bytes()).collect()]
    })
}
