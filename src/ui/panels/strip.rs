//! The divergence strip: every boundary in order, the share of it that differs on a log scale, and the playhead.
//!
//! Each boundary has two columns, accumulated (solid) and isolated (outlined); one that is exact is a disc on the
//! base line, one that is not compared a ring.

use super::super::desk::{Desk, mark, words};
use super::super::mark::Mark;
use super::super::theme::{Theme, text};
use super::super::widgets::chip;
use crate::plan::Plan;
use crate::session::{Judgement, Select, Session, StepState};
use egui::{
    Align2, CornerRadius, FontId, Painter, Rect, RichText, Sense, Stroke, StrokeKind, Ui, WidgetInfo, WidgetType, pos2,
    vec2,
};

/// Shares below this are drawn at the base line's first tick.
const FLOOR: f64 = 1e-7;
/// Room for the axis' words.
const AXIS: f32 = 40.0;

/// Draws the strip.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let (rect, response) = ui.allocate_exact_size(ui.available_size(), Sense::click());
    let theme = Theme::of(ui);
    let painter = ui.painter_at(rect);
    let plan = desk.session.plan().clone();
    let plot = Rect::from_min_max(rect.min + vec2(AXIS, 4.0), rect.max - vec2(6.0, 22.0));
    let pitch = plot.width() / plan.boundaries.len() as f32;
    axis(&painter, plot, theme);
    groups(&painter, plot, pitch, &plan, theme);
    let hovered =
        response.hover_pos().filter(|at| at.x >= plot.left()).map(|at| ((at.x - plot.left()) / pitch) as usize);
    let hovered = hovered.filter(|&index| index < plan.boundaries.len());
    let selected = plan.tensors.get(&desk.session.selection().tensor).and_then(|info| info.step);
    for (index, name) in plan.boundaries.iter().enumerate() {
        let left = plot.left() + index as f32 * pitch;
        let column = Rect::from_min_max(pos2(left, plot.top()), pos2(left + pitch, plot.bottom()));
        let step = plan.tensor(name).step;
        let state = step.and_then(|step| desk.session.run().steps.get(step));
        let chosen = step.is_some() && step == selected;
        if chosen || hovered == Some(index) {
            let fill = if chosen { theme.accent.gamma_multiply(0.22) } else { theme.hover };
            painter.rect_filled(column.expand2(vec2(0.0, 3.0)), CornerRadius::same(2), fill);
        }
        if let Some(state) = state {
            bars(&painter, column, state, theme);
        }
    }
    playhead(&painter, plot, pitch, desk.session, theme);
    let summary = summary(desk.session);
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Image, true, format!("divergence strip: {summary}")));
    if let Some(index) = hovered {
        let name = &plan.boundaries[index];
        if response.clicked() {
            desk.select(Select::Tensor(name.clone()));
        }
        let step = plan.tensor(name).step;
        let state = step.and_then(|step| desk.session.run().steps.get(step)).cloned().unwrap_or_default();
        response.on_hover_ui_at_pointer(|ui| {
            ui.label(RichText::new(name.as_str()).font(text::heading()).color(theme.text));
            for (title, judgement) in [("accumulated", &state.accumulated), ("isolated", &state.isolated)] {
                ui.horizontal(|ui| {
                    chip(ui, mark(judgement.verdict), title);
                    ui.label(RichText::new(words(judgement)).font(text::small()).color(theme.text));
                });
            }
        });
    }
}

/// A share's height, 0..=1: logarithmic from [`FLOOR`] to all.
fn height(share: f64) -> f32 {
    if share <= 0.0 { 0.0 } else { (1.0 - share.max(FLOOR).log10() / FLOOR.log10()).max(0.04) as f32 }
}

fn axis(painter: &Painter, plot: Rect, theme: &Theme) {
    for (share, words) in [(1.0, "100 %"), (1e-2, "1 %"), (1e-4, "10\u{207b}\u{2074}"), (1e-6, "10\u{207b}\u{2076}")] {
        let y = egui::lerp(plot.bottom()..=plot.top(), height(share));
        painter.hline(plot.x_range(), y, Stroke::new(1.0, theme.line.gamma_multiply(0.8)));
        painter.text(
            pos2(plot.left() - 6.0, y.max(plot.top() + 4.0)),
            Align2::RIGHT_CENTER,
            words,
            FontId::proportional(9.5),
            theme.faint,
        );
    }
    painter.hline(plot.x_range(), plot.bottom(), Stroke::new(1.0, theme.outline));
}

/// Names of the levels under the columns, with a hairline where one ends.
fn groups(painter: &Painter, plot: Rect, pitch: f32, plan: &Plan, theme: &Theme) {
    let mut start = 0;
    for index in 1..=plan.boundaries.len() {
        let plane = plan.tensor(&plan.boundaries[start]).plane;
        if plan.boundaries.get(index).is_some_and(|name| plan.tensor(name).plane == plane) {
            continue;
        }
        let (left, right) = (plot.left() + start as f32 * pitch, plot.left() + index as f32 * pitch);
        let words = match plane {
            crate::geometry::Plane::Field => "field".to_owned(),
            crate::geometry::Plane::Level(5) => "L5 ViT".to_owned(),
            crate::geometry::Plane::Level(level) => format!("L{level}"),
        };
        if right - left > 24.0 {
            let at = pos2((left + right) * 0.5, plot.bottom() + 14.0);
            painter.text(at, Align2::CENTER_CENTER, words, FontId::proportional(10.0), theme.weak);
        }
        if index < plan.boundaries.len() {
            painter.vline(right, plot.top()..=plot.bottom() + 18.0, Stroke::new(1.0, theme.line));
        }
        start = index;
    }
}

fn bars(painter: &Painter, column: Rect, state: &StepState, theme: &Theme) {
    let apart = matches!(mark(state.isolated.verdict), Mark::ZeroSign | Mark::Differs);
    let half = (column.width() - 2.0) * if apart { 0.5 } else { 1.0 };
    let both = [(&state.accumulated, 0.0, true), (&state.isolated, half, false)];
    for (judgement, offset, solid) in both {
        let mark = mark(judgement.verdict);
        let colour = mark.colour(theme);
        let left = column.left() + 1.0 + offset;
        match mark {
            Mark::Exact | Mark::NotCompared if !solid => {}
            Mark::Exact => mark.paint(painter, pos2(column.center().x, column.bottom() - 3.0), 2.6, theme),
            Mark::NotCompared => {
                painter.circle_stroke(
                    pos2(column.center().x, column.bottom() - 3.0),
                    1.8,
                    Stroke::new(1.0, theme.faint),
                );
            }
            Mark::ZeroSign | Mark::Differs => bar(painter, column, left, half, judgement, solid, colour, mark, theme),
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "a drawing routine of one caller")]
fn bar(
    painter: &Painter,
    column: Rect,
    left: f32,
    width: f32,
    judgement: &Judgement,
    solid: bool,
    colour: egui::Color32,
    mark: Mark,
    theme: &Theme,
) {
    let top = egui::lerp(column.bottom()..=column.top(), height(judgement.share()));
    let body = Rect::from_min_max(pos2(left, top), pos2(left + width.max(1.5) - 0.5, column.bottom()));
    if solid {
        painter.rect_filled(body, CornerRadius::ZERO, colour.gamma_multiply(0.75));
        mark.paint(painter, pos2(body.center().x, top - 3.0), 2.6, theme);
    } else {
        painter.rect(
            body,
            CornerRadius::ZERO,
            colour.gamma_multiply(0.25),
            Stroke::new(1.0, colour),
            StrokeKind::Inside,
        );
    }
}

fn playhead(painter: &Painter, plot: Rect, pitch: f32, session: &Session, theme: &Theme) {
    let plan = session.plan();
    let passed = plan
        .boundaries
        .iter()
        .filter(|name| plan.tensor(name).step.is_some_and(|s| s < session.run().playhead))
        .count();
    let x = plot.left() + passed as f32 * pitch;
    painter.vline(x, plot.top() - 2.0..=plot.bottom() + 3.0, Stroke::new(1.5, theme.accent));
    let tip = pos2(x, plot.bottom() + 1.0);
    let points = vec![tip, tip + vec2(4.5, 6.0), tip + vec2(-4.5, 6.0)];
    painter.add(egui::Shape::convex_polygon(points, theme.accent, Stroke::NONE));
}

/// The strip in one sentence: for its name, and for the panel's head.
pub(in super::super) fn summary(session: &Session) -> String {
    let name = |step: Option<usize>| step.and_then(|s| session.plan().steps.get(s)).map(|step| step.name().to_string());
    let run = session.run();
    match (name(run.first_isolated), name(run.first_accumulated)) {
        (Some(isolated), Some(accumulated)) if isolated == accumulated => format!("first divergence at {isolated}"),
        (Some(isolated), Some(accumulated)) => {
            format!("first divergence isolated at {isolated}, accumulated at {accumulated}")
        }
        (Some(isolated), None) => format!("first divergence isolated at {isolated}"),
        (None, Some(accumulated)) => format!("first divergence accumulated at {accumulated}"),
        (None, None) if run.playhead == 0 => "nothing has run yet".to_owned(),
        (None, None) => "no divergence so far".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_logarithmic_and_no_difference_is_invisible() {
        assert_eq!(height(0.0), 0.0, "exact lies on the base line");
        assert!(height(1e-12) > 0.0, "one byte of many is seen");
        assert!((height(1.0) - 1.0).abs() < 1e-6, "all is the top");
        let (a, b) = (height(1e-2) - height(1e-4), height(1e-4) - height(1e-6));
        assert!((a - b).abs() < 1e-6, "equal factors are equal steps");
    }
}
