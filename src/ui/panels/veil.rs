//! Which tokens differ, and which of them the tested cause explains: a veil from afar, marks in the corners from near.

use super::super::mark::Mark;
use super::super::memory::Memory;
use super::super::theme::Theme;
use super::canvas::Projection;
use super::texture::{self, Drawn};
use crate::session::{Fate, Marks, Veil};
use egui::{Color32, Painter, Rect, Shape, Stroke, vec2};

/// From this many points per token on, marks stand in the tokens' corners.
const NEAR: f32 = 10.0;

/// Tokens that differ.
pub(super) fn mismatches(
    painter: &Painter,
    memory: &mut Memory,
    projection: &Projection,
    pane: Rect,
    marks: &Marks,
    theme: &Theme,
) {
    if marks.size != Some(projection.size) {
        return;
    }
    if projection.zoom < NEAR {
        return from_afar(painter, memory, projection, marks.veil.as_ref(), theme.differs);
    }
    let side = (projection.zoom * 0.3).min(10.0);
    for (token, cell) in projection.cells(pane) {
        if marks.differing.get(token).is_none_or(|&count| count == 0) {
            continue;
        }
        let corner = cell.right_top();
        let points = vec![corner, corner + vec2(-side, 0.0), corner + vec2(0.0, side)];
        painter.add(Shape::convex_polygon(points, theme.differs, Stroke::new(0.8, Color32::from_black_alpha(170))));
    }
}

/// What became of each token when the tested cause was switched on.
pub(super) fn explained(
    painter: &Painter,
    memory: &mut Memory,
    projection: &Projection,
    pane: Rect,
    marks: &Marks,
    theme: &Theme,
) {
    let Some((veil, mask)) = marks.explained.as_ref().filter(|(_, mask)| mask.size == projection.size) else { return };
    if projection.zoom < NEAR {
        return from_afar(painter, memory, projection, Some(veil), Color32::WHITE);
    }
    let radius = (projection.zoom * 0.16).clamp(2.5, 5.0);
    for (token, cell) in projection.cells(pane) {
        let mark = match mask.tokens.get(token).copied().unwrap_or_default() {
            Fate::Equal => continue,
            Fate::Explained => Mark::Exact,
            Fate::Unexplained => Mark::Differs,
            Fate::NewlyWrong => Mark::ZeroSign,
        };
        let at = cell.left_bottom() + vec2(radius + 1.5, -radius - 1.5);
        painter.circle_filled(at, radius + 1.2, Color32::from_black_alpha(170));
        mark.paint(painter, at, radius, theme);
    }
}

fn from_afar(painter: &Painter, memory: &mut Memory, projection: &Projection, veil: Option<&Veil>, tint: Color32) {
    let Some(veil) = veil else { return };
    let Drawn { texture, uv } = texture::veil(painter, memory, veil, projection.size, projection.zoom);
    painter.image(texture, projection.plane(), uv, tint);
}
