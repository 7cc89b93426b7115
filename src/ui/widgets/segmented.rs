//! A row of choices of which one holds, and a switch.

use super::super::theme::{Theme, space, text};
use super::button::{focus_ring, tooltip};
use egui::{
    Color32, CornerRadius, Key, Rect, Response, Sense, Stroke, StrokeKind, Ui, WidgetInfo, WidgetType, pos2, vec2,
};

/// One choice of a row.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a, T> {
    /// What choosing it means.
    pub value: T,
    /// Its words.
    pub label: &'a str,
    /// Tooltip, and the rest of its accessible name.
    pub about: &'a str,
}

/// Draws the row and returns what was chosen, if it is another than `current`. Arrow keys move inside the row.
pub fn segmented<T: Copy + PartialEq>(ui: &mut Ui, name: &str, current: T, segments: &[Segment<'_, T>]) -> Option<T> {
    let theme = Theme::of(ui);
    let galleys: Vec<_> = segments
        .iter()
        .map(|s| ui.painter().layout_no_wrap(s.label.to_owned(), text::small(), Color32::PLACEHOLDER))
        .collect();
    let padding = 7.0;
    let widths: Vec<f32> = galleys.iter().map(|g| (g.size().x + 2.0 * padding).ceil()).collect();
    let size = vec2(widths.iter().sum(), space::CONTROL - 2.0);
    let (row, _) = ui.allocate_exact_size(size, Sense::hover());
    let corner = CornerRadius::same(space::CORNER);
    ui.painter().rect(row, corner, theme.ground, Stroke::new(1.0, theme.line), StrokeKind::Inside);
    let mut chosen = None;
    let mut left = row.left();
    for (index, ((segment, galley), width)) in segments.iter().zip(galleys).zip(widths).enumerate() {
        let rect = Rect::from_min_size(pos2(left, row.top()), vec2(width, row.height()));
        left += width;
        let response = ui.interact(rect, ui.id().with((name, index)), Sense::click());
        let on = segment.value == current;
        if on {
            let pill = rect.shrink(1.5);
            ui.painter().rect(
                pill,
                corner,
                theme.accent_soft,
                Stroke::new(1.0, theme.accent.gamma_multiply(0.6)),
                StrokeKind::Inside,
            );
        } else if response.hovered() {
            ui.painter().rect_filled(rect.shrink(1.5), corner, theme.hover);
        }
        focus_ring(ui, &response);
        let ink = if on { theme.text } else { theme.weak };
        ui.painter().galley(rect.center() - galley.size() * 0.5, galley, ink);
        if response.clicked() && !on {
            chosen = Some(segment.value);
        }
        if response.has_focus() {
            let step =
                ui.input(|i| i32::from(i.key_pressed(Key::ArrowRight)) - i32::from(i.key_pressed(Key::ArrowLeft)));
            let next = index.saturating_add_signed(step as isize);
            if step != 0
                && let Some(next) = segments.get(next)
            {
                chosen = Some(next.value);
            }
        }
        let label = format!("{name}: {}", segment.label);
        response.widget_info(|| WidgetInfo::selected(WidgetType::RadioButton, true, on, &label));
        if !segment.about.is_empty() {
            response.on_hover_ui(|ui| tooltip(ui, segment.label, segment.about, ""));
        }
    }
    chosen
}

/// A switch with words, and an optional key. Its response is clicked when it should flip.
pub fn toggle(ui: &mut Ui, on: bool, words: &str, about: &str, key: &str) -> Response {
    let theme = Theme::of(ui);
    let galley = ui.painter().layout_no_wrap(words.to_owned(), text::body(), Color32::PLACEHOLDER);
    let size = vec2(30.0 + galley.size().x, (space::CONTROL - 2.0).max(galley.size().y));
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let track = Rect::from_center_size(pos2(rect.left() + 12.0, rect.center().y), vec2(22.0, 12.0));
    let how = ui.ctx().animate_bool(response.id, on);
    let fill = theme.pressed.lerp_to_gamma(theme.accent, how);
    ui.painter().rect(track, CornerRadius::same(6), fill, Stroke::new(1.0, theme.outline), StrokeKind::Inside);
    let knob = pos2(egui::lerp(track.left() + 6.0..=track.right() - 6.0, how), track.center().y);
    ui.painter().circle_filled(knob, 4.0, if on { theme.on_accent } else { theme.text });
    focus_ring(ui, &response);
    let ink = if on || response.hovered() { theme.text } else { theme.weak };
    ui.painter().galley(pos2(rect.left() + 30.0, rect.center().y - galley.size().y * 0.5), galley, ink);
    response.widget_info(|| WidgetInfo::selected(WidgetType::Checkbox, true, on, words));
    if about.is_empty() && key.is_empty() {
        return response;
    }
    response.on_hover_ui(|ui| tooltip(ui, words, about, key))
}
