//! Events: a filterable list; a click jumps to the place.

use super::super::desk::Desk;
use super::super::format;
use super::super::theme::{Theme, text};
use super::super::widgets::{empty, field, section, toggle};
use super::overlays;
use crate::session::{Command, EventKind, EventPlace, Select, Session, ViewChange};
use egui::{Align2, CornerRadius, RichText, ScrollArea, Sense, Ui, WidgetInfo, WidgetType, vec2};
use std::collections::BTreeMap;

const ROW: f32 = 22.0;

/// Draws the tab.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let session = desk.session;
    let mut totals: BTreeMap<EventKind, u64> = BTreeMap::new();
    for (&kind, &count) in session.run().steps.iter().flat_map(|step| &step.events) {
        *totals.entry(kind).or_default() += count;
    }
    section(ui, "Kinds", |ui| {
        let all: u64 = totals.values().sum();
        ui.label(RichText::new(format!("{} in all", format::count(all))).font(text::small()).color(theme.weak));
    });
    for &kind in EventKind::ALL {
        let count = totals.get(&kind).copied().unwrap_or(0);
        let on = session.view().events.is_empty() || session.view().events.contains(&kind);
        let words = format!("{}  {}", kind.title(), format::count(count));
        if toggle(ui, on, &words, "", "").clicked() {
            desk.view(ViewChange::Event(kind, Some(!on)));
        }
    }
    section(ui, "Places", |_| {});
    let width = ui.available_width();
    field(ui, &mut desk.memory.event_filter, "Filter events", "Filter: block-12, nan, (4, 7)", width, text::body());
    let filter = desk.memory.event_filter.to_lowercase();
    let kinds = &session.view().events;
    let shown: Vec<&EventPlace> = session
        .events()
        .iter()
        .filter(|event| kinds.is_empty() || kinds.contains(&event.kind))
        .filter(|event| filter.is_empty() || line(session, event).to_lowercase().contains(&filter))
        .collect();
    if shown.is_empty() {
        return empty(ui, "No events here", "Places are listed for kernels that have run");
    }
    let mut go = None;
    ScrollArea::vertical()
        .id_salt("event places")
        .auto_shrink(false)
        .max_height(ui.available_height().max(160.0))
        .show_rows(ui, ROW, shown.len(), |ui, range| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for event in &shown[range] {
                if row(ui, session, event) {
                    go = Some((*event).clone());
                }
            }
        });
    if let Some(event) = go {
        desk.send(Command::Select(Select::Step(event.step)));
        desk.send(Command::Select(Select::Channel(event.channel)));
        desk.send(Command::Select(Select::Token(Some(event.token))));
    }
}

fn line(session: &Session, event: &EventPlace) -> String {
    let name = session.plan().steps.get(event.step).map_or(String::new(), |step| step.name().to_string());
    format!("{} {name} {} ch {}", event.kind.word(), event.token, event.channel)
}

fn row(ui: &mut Ui, session: &Session, event: &EventPlace) -> bool {
    let theme = Theme::of(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    let chosen = session.selection().step == event.step && session.selection().token == Some(event.token);
    if chosen || response.hovered() {
        let fill = if chosen { theme.accent_soft } else { theme.hover };
        ui.painter().rect_filled(rect, CornerRadius::same(4), fill);
    }
    let painter = ui.painter_at(rect);
    overlays::sign(&painter, event.kind, rect.left_center() + vec2(9.0, 0.0), 4.5, theme);
    let name = session.plan().steps.get(event.step).map_or(String::new(), |step| step.name().to_string());
    painter.text(rect.left_center() + vec2(20.0, 0.0), Align2::LEFT_CENTER, name, text::mono_small(), theme.text);
    let head = event.head.map_or(String::new(), |head| format!("head {head}  "));
    let place = format!("{head}{}  ch {}", event.token, event.channel);
    painter.text(rect.right_center() - vec2(6.0, 0.0), Align2::RIGHT_CENTER, place, text::mono_small(), theme.weak);
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, line(session, event)));
    response.clicked()
}
