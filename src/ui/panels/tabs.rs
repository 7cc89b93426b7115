//! The right panel's tabs.

use super::super::desk::Desk;
use super::super::theme::{Theme, text};
use crate::session::{Command, Tab, ViewChange, key_of};
use egui::{Color32, CornerRadius, Rect, Sense, Stroke, Ui, WidgetInfo, WidgetType, pos2, vec2};

/// Draws the row; tabs share the width.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let (row, _) = ui.allocate_exact_size(vec2(ui.available_width(), 30.0), Sense::hover());
    ui.painter().hline(row.x_range(), row.bottom() - 0.5, Stroke::new(1.0, theme.line));
    let names = ["Probe", "Attention", "Trace", "Statistics", "Events", "Causes", "Notes"];
    let galleys: Vec<_> =
        names.map(|name| ui.painter().layout_no_wrap(name.to_owned(), text::small(), Color32::PLACEHOLDER)).into();
    let natural: f32 = galleys.iter().map(|galley| galley.size().x).sum();
    let gap = ((row.width() - natural) / names.len() as f32).max(4.0);
    let current = desk.session.view().tab;
    let mut left = row.left();
    for ((&tab, galley), name) in Tab::ALL.iter().zip(galleys).zip(names) {
        let rect = Rect::from_min_size(pos2(left, row.top()), vec2(galley.size().x + gap, row.height()));
        left = rect.right();
        let on = tab == current;
        let response = ui.interact(rect, ui.id().with(name), Sense::click());
        if response.hovered() || response.has_focus() {
            ui.painter().rect_filled(rect.shrink2(vec2(1.0, 4.0)), CornerRadius::same(4), theme.hover);
        }
        if on {
            let line = Rect::from_min_max(
                pos2(rect.left() + 3.0, rect.bottom() - 2.0),
                pos2(rect.right() - 3.0, rect.bottom()),
            );
            ui.painter().rect_filled(line, CornerRadius::same(1), theme.accent);
        }
        let ink = if on { theme.text } else { theme.weak };
        ui.painter().galley(rect.center() - galley.size() * 0.5, galley, ink);
        response.widget_info(|| WidgetInfo::selected(WidgetType::SelectableLabel, true, on, format!("{name} tab")));
        if response.clicked() {
            desk.view(ViewChange::Tab(tab));
        }
        let key = key_of(&Command::View(ViewChange::Tab(tab))).unwrap_or("");
        response.on_hover_ui(|ui| super::super::widgets::tooltip(ui, name, tab.title(), key));
    }
}
