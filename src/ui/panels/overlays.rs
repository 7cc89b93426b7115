//! Layers over the picture: windows and their shift, what lies outside the field, events, differences, selection.

use super::super::desk::{Desk, phase};
use super::super::memory::Glide;
use super::super::theme::Theme;
use super::super::widgets::hatch;
use super::canvas::Projection;
use super::{event_marks, veil};
use crate::geometry::WindowGrid;
use crate::session::Overlay;
use egui::{Color32, CornerRadius, Painter, Rect, Shape, Stroke, StrokeKind, Ui, pos2, vec2};

/// How long the grid glides from one phase to the next, in seconds.
const GLIDE: f64 = 0.7;

/// Draws the layers that the view shows.
pub(super) fn draw(ui: &Ui, painter: &Painter, desk: &mut Desk<'_>, projection: &Projection, pane: Rect) {
    let theme = Theme::of(ui);
    let session = desk.session;
    let shown = |layer: Overlay| session.view().overlays.contains(&layer);
    if shown(Overlay::Tiles) && projection.zoom * 4.0 >= 7.0 {
        lines(painter, projection, pane, 4.0, (0.0, 0.0), Stroke::new(0.8, theme.text.gamma_multiply(0.22)));
    }
    if let Some((_, grid)) = phase(session, session.selection().block).filter(|(_, grid)| grid.size == projection.size)
    {
        let shift = glide(ui, desk, (grid.shift.0 as f32, grid.shift.1 as f32));
        if shown(Overlay::Outside) {
            outside(painter, projection, pane, &grid, shift, theme);
        }
        if shown(Overlay::Windows) && projection.zoom * 8.0 >= 7.0 {
            // A dark halo under a light line reads on every colour of every map.
            let width = if projection.zoom > 6.0 { 1.4 } else { 0.9 };
            // Lines close together would hide the picture between them.
            let strength = ((projection.zoom * 8.0 - 4.0) / 30.0).clamp(0.22, 1.0);
            let halo = Color32::from_black_alpha((150.0 * strength) as u8);
            let light = Color32::from_rgb(0xe4, 0xea, 0xff).gamma_multiply(strength);
            windows(painter, projection, pane, &grid, shift, Stroke::new(width + 1.8 * strength, halo));
            windows(painter, projection, pane, &grid, shift, Stroke::new(width, light));
        }
        if shown(Overlay::Selection) && session.selection().token.is_some() {
            let (x, y) = session.selection().window;
            let rect = projection.rect(x as f32 * 8.0 - shift.0, y as f32 * 8.0 - shift.1, 8.0, 8.0);
            // From afar the token's own mark is as large as its window.
            if rect.width() >= 12.0 {
                painter.rect_stroke(rect, CornerRadius::same(2), Stroke::new(2.0, theme.accent), StrokeKind::Outside);
            }
        }
    }
    event_marks::draw(painter, session, projection, pane, &shown, theme);
    if let Some(marks) = session.canvas().marks.shown() {
        if shown(Overlay::Mismatches) {
            veil::mismatches(painter, desk.memory, projection, pane, marks, theme);
        }
        if shown(Overlay::Explained) {
            veil::explained(painter, desk.memory, projection, pane, marks, theme);
        }
    }
    if shown(Overlay::Valid) {
        let plane = session.plan().tensors.get(&session.selection().tensor).map(|info| info.plane);
        if let Some(valid) = plane.map(|plane| session.plan().geometry.valid_on(plane)) {
            let rect = projection.rect(0.0, 0.0, valid.width as f32, valid.height as f32);
            let corners = [rect.left_top(), rect.right_top(), rect.right_bottom(), rect.left_bottom(), rect.left_top()];
            painter.extend(Shape::dashed_line(&corners, Stroke::new(1.6, theme.zero_sign), 6.0, 4.0));
        }
    }
    if shown(Overlay::Selection) {
        cell(painter, projection, session.selection().hover, Stroke::new(1.0, theme.text), theme);
        cell(painter, projection, session.selection().token, Stroke::new(2.0, theme.accent), theme);
        for (pin, at) in
            session.pins().iter().filter(|pin| pin.tensor == session.selection().tensor).map(|pin| (pin, pin.token))
        {
            let at = projection.rect(at.x as f32, at.y as f32, 1.0, 1.0).center();
            painter.circle(at, 4.0, theme.accent, Stroke::new(1.5, theme.on_accent));
            let galley = painter.layout_no_wrap(pin.name.clone(), super::super::theme::text::small(), theme.text);
            let body =
                Rect::from_min_size(at + vec2(8.0, -galley.size().y * 0.5 - 2.0), galley.size() + vec2(10.0, 4.0));
            // Inside the pane, whatever the pin's place.
            let body = body.translate(vec2((pane.right() - 4.0 - body.right()).min(0.0), 0.0));
            painter.rect_filled(body, CornerRadius::same(4), theme.panel.gamma_multiply(0.88));
            painter.galley(body.min + vec2(5.0, 2.0), galley, theme.text);
        }
    }
}

/// The shift to draw now: on its way from the block shown before, or at rest.
fn glide(ui: &Ui, desk: &mut Desk<'_>, to: (f32, f32)) -> (f32, f32) {
    let now = ui.input(|input| input.time);
    let glide = desk.memory.shift.get_or_insert(Glide { from: to, to, start: now - GLIDE });
    let ease = |glide: &Glide| {
        let t = ((now - glide.start) / GLIDE).clamp(0.0, 1.0) as f32;
        let t = t * t * (3.0 - 2.0 * t);
        (egui::lerp(glide.from.0..=glide.to.0, t), egui::lerp(glide.from.1..=glide.to.1, t))
    };
    if glide.to != to {
        *glide = Glide { from: ease(glide), to, start: now };
    }
    if now - glide.start < GLIDE {
        ui.ctx().request_repaint();
    }
    ease(glide)
}

/// Lines every so many tokens from a shifted start, inside the plane.
fn lines(painter: &Painter, projection: &Projection, pane: Rect, every: f32, shift: (f32, f32), stroke: Stroke) {
    let plane = projection.plane();
    let seen = plane.intersect(pane);
    let run = |shift: f32, count: usize| {
        let lines = ((count as f32 + shift) / every).ceil() as usize;
        (0..=lines).map(move |line| line as f32 * every - shift)
    };
    for x in
        run(shift.0, projection.size.width).map(|x| projection.at(x, 0.0).x).filter(|x| seen.x_range().contains(*x))
    {
        painter.vline(x, seen.y_range(), stroke);
    }
    for y in
        run(shift.1, projection.size.height).map(|y| projection.at(0.0, y).y).filter(|y| seen.y_range().contains(*y))
    {
        painter.hline(seen.x_range(), y, stroke);
    }
}

/// The area that the grid covers, beyond the plane too.
fn covered(projection: &Projection, grid: &WindowGrid, shift: (f32, f32)) -> Rect {
    let size = vec2(grid.windows.width as f32, grid.windows.height as f32) * 8.0;
    projection.rect(-shift.0, -shift.1, size.x, size.y)
}

/// Window borders, reaching outside the plane where the grid does.
fn windows(
    painter: &Painter,
    projection: &Projection,
    pane: Rect,
    grid: &WindowGrid,
    shift: (f32, f32),
    stroke: Stroke,
) {
    let area = covered(projection, grid, shift);
    for column in 0..=grid.windows.width {
        let x = projection.at(column as f32 * 8.0 - shift.0, 0.0).x;
        if pane.x_range().contains(x) {
            painter.vline(x, area.y_range(), stroke);
        }
    }
    for row in 0..=grid.windows.height {
        let y = projection.at(0.0, row as f32 * 8.0 - shift.1).y;
        if pane.y_range().contains(y) {
            painter.hline(area.x_range(), y, stroke);
        }
    }
}

/// Hatches the parts of windows outside the plane: zero vectors that still enter the softmax.
fn outside(
    painter: &Painter,
    projection: &Projection,
    pane: Rect,
    grid: &WindowGrid,
    shift: (f32, f32),
    theme: &Theme,
) {
    let (plane, area) = (projection.plane(), covered(projection, grid, shift));
    let sides = [
        Rect::from_min_max(area.min, pos2(area.right(), plane.top())),
        Rect::from_min_max(pos2(area.left(), plane.bottom()), area.max),
        Rect::from_min_max(pos2(area.left(), plane.top()), pos2(plane.left(), plane.bottom())),
        Rect::from_min_max(pos2(plane.right(), plane.top()), pos2(area.right(), plane.bottom())),
    ];
    for side in sides.map(|side| side.intersect(pane)).into_iter().filter(Rect::is_positive) {
        painter.rect_filled(side, CornerRadius::ZERO, theme.event.gamma_multiply(0.07));
        hatch(painter, side, theme.event.gamma_multiply(0.45));
    }
}

fn cell(
    painter: &Painter,
    projection: &Projection,
    token: Option<crate::session::Token>,
    stroke: Stroke,
    theme: &Theme,
) {
    let Some(token) = token else { return };
    let rect = projection.rect(token.x as f32, token.y as f32, 1.0, 1.0);
    let rect = if rect.width() < 5.0 { Rect::from_center_size(rect.center(), vec2(7.0, 7.0)) } else { rect };
    let halo = Color32::from_black_alpha(if theme.dark { 160 } else { 90 });
    painter.rect_stroke(
        rect.expand(1.0),
        CornerRadius::same(1),
        Stroke::new(stroke.width + 1.5, halo),
        StrokeKind::Outside,
    );
    painter.rect_stroke(rect, CornerRadius::same(1), stroke, StrokeKind::Outside);
}
