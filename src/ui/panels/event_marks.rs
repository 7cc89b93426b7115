//! Events over the picture: a veil from afar, signs in the tokens' corners from near.

use super::super::theme::Theme;
use super::super::widgets::quad;
use super::canvas::Projection;
use crate::engine::events::Kinds;
use crate::session::{EventKind, Overlay, Session};
use egui::epaint::Mesh;
use egui::{Painter, Pos2, Rect, Shape, Stroke, vec2};

/// From this many points per token on, signs stand in the tokens' corners.
const NEAR: f32 = 10.0;
/// Points of the smallest cell of a veil.
const GRAIN: f32 = 3.0;

/// The layers that show events, and what they show.
const LAYERS: [(Overlay, &[EventKind]); 3] = [
    (Overlay::Nan, &[EventKind::NanToZero]),
    (Overlay::MinusZero, &[EventKind::MinusZero]),
    (Overlay::Saturation, &[EventKind::Saturation, EventKind::Overflow]),
];

/// Draws the layers that are on, if the events are those of the tensor on the canvas.
pub(super) fn draw(
    painter: &Painter,
    session: &Session,
    projection: &Projection,
    pane: Rect,
    shown: &dyn Fn(Overlay) -> bool,
    theme: &Theme,
) {
    let on = LAYERS.iter().filter(|(layer, _)| shown(*layer)).flat_map(|(_, kinds)| kinds.iter().copied());
    let on: Kinds = on.collect();
    let step = session.selection().step;
    let events = session.events().shown().filter(|events| events.step == step && events.size == projection.size);
    let Some(events) = events.filter(|_| !on.is_empty()) else { return };
    if projection.zoom < NEAR {
        veil(painter, projection, pane, &events.tokens, on, theme);
        return;
    }
    let radius = (projection.zoom * 0.14).clamp(2.2, 4.5);
    for (token, cell) in projection.cells(pane) {
        for (i, kind) in events.tokens[token].only(on).iter().enumerate() {
            let at = cell.left_top() + vec2((radius + 2.0) * (1.0 + 2.2 * i as f32), radius + 2.0);
            painter.circle_filled(at, radius + 1.5, theme.panel.gamma_multiply(0.85));
            sign(painter, kind, at, radius, theme);
        }
    }
}

/// Cells of some tokens each, runs of them as one quad.
fn veil(painter: &Painter, projection: &Projection, pane: Rect, tokens: &[Kinds], on: Kinds, theme: &Theme) {
    let (columns, rows) = projection.visible(pane);
    let side = (GRAIN / projection.zoom).ceil().max(1.0) as usize;
    let width = projection.size.width;
    let mut mesh = Mesh::default();
    let mut top = rows.start / side * side;
    while top < rows.end {
        let lines = top..(top + side).min(projection.size.height);
        let hit = |left: usize| {
            let right = (left + side).min(width);
            lines.clone().any(|y| tokens[y * width + left..y * width + right].iter().any(|k| !k.only(on).is_empty()))
        };
        let mut left = columns.start / side * side;
        while left < columns.end {
            let start = left;
            while left < columns.end && hit(left) {
                left += side;
            }
            if left > start {
                let cell = projection.rect(start as f32, top as f32, (left - start) as f32, side as f32);
                quad(&mut mesh, cell.intersect(projection.plane()), theme.event.gamma_multiply(0.62));
            }
            left += side;
        }
        top += side;
    }
    painter.add(Shape::mesh(mesh));
}

/// An event's sign: a cross for NaN, a bar for -0, chevrons for what is too large, rings for the small.
pub(super) fn sign(painter: &Painter, kind: EventKind, at: Pos2, radius: f32, theme: &Theme) {
    let stroke = Stroke::new((radius * 0.45).clamp(1.2, 2.0), theme.event);
    let line = |a: (f32, f32), b: (f32, f32)| {
        painter.line_segment([at + radius * vec2(a.0, a.1), at + radius * vec2(b.0, b.1)], stroke);
    };
    let chevron = |y: f32| {
        line((-0.8, y + 0.55), (0.0, y - 0.35));
        line((0.0, y - 0.35), (0.8, y + 0.55));
    };
    match kind {
        EventKind::NanToZero => {
            line((-0.8, -0.8), (0.8, 0.8));
            line((0.8, -0.8), (-0.8, 0.8));
        }
        EventKind::MinusZero => line((-0.9, 0.0), (0.9, 0.0)),
        EventKind::Saturation => chevron(0.0),
        EventKind::Overflow => {
            chevron(-0.45);
            chevron(0.35);
        }
        EventKind::Subnormal => {
            painter.circle_stroke(at, radius * 0.6, stroke);
        }
        EventKind::Tie => {
            line((-0.8, 0.0), (-0.25, 0.0));
            line((0.25, 0.0), (0.8, 0.0));
            line((0.0, -0.8), (0.0, 0.8));
        }
    }
}
