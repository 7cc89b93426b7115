//! Events: what happened inside the selected kernel, kind by kind and place by place; a click goes to the place.

use super::super::desk::Desk;
use super::super::format;
use super::super::theme::{Theme, text};
use super::super::widgets::{Segment, empty, field, section, segmented};
use super::event_marks::sign;
use crate::engine::events::Place;
use crate::session::{Command, EventKind, Events, Select, Session, Token, ViewChange};
use egui::{
    Align2, CornerRadius, Rect, Response, RichText, ScrollArea, Sense, Stroke, Ui, WidgetInfo, WidgetType, vec2,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const ROW: f32 = 21.0;

/// The filtered list, kept from frame to frame: it may have tens of thousands of rows.
#[derive(Debug, Default)]
pub(in super::super) struct Listed {
    key: (usize, Vec<EventKind>, String),
    rows: Vec<u32>,
}

/// Draws the tab.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let session = desk.session;
    let step = &session.plan().steps[session.selection().step];
    section(ui, "Events", |ui| {
        let (counted, all) = (session.counted(), session.plan().steps.len());
        let words = format!("{counted} of {all} kernels counted");
        ui.label(RichText::new(words).font(text::small()).color(theme.faint));
    });
    let events = session.events().shown().filter(|events| events.step == step.index).cloned();
    let words = match &events {
        Some(events) => format!("{}  {} elements", events.tensor, format::count(events.elements)),
        None => step.name().to_string(),
    };
    ui.label(RichText::new(words).font(text::mono_small()).color(theme.weak));
    kinds(ui, desk, events.as_deref());
    if let Some(unlike) = events.as_ref().map(|events| events.unlike).filter(|unlike| *unlike > 0) {
        let words = format!(
            "{} elements of the stored tensor are not what the network's own arithmetic makes of the same inputs: \
             these are the network's events, not the subject's.",
            format::count(unlike)
        );
        ui.label(RichText::new(words).font(text::small()).color(theme.differs));
    }
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let scopes = [
            Segment { value: false, label: "Places", about: "Where they happened in this kernel" },
            Segment { value: true, label: "Kernels", about: "Which kernels have such events" },
        ];
        if let Some(chosen) = segmented(ui, "events by", desk.memory.event_kernels, &scopes) {
            desk.memory.event_kernels = chosen;
        }
        let width = ui.available_width();
        field(ui, &mut desk.memory.event_filter, "Filter events", "Filter: head 3, nan, (4, 7)", width, text::body());
    });
    ui.add_space(2.0);
    match (desk.memory.event_kernels, events) {
        (true, _) => kernels(ui, desk),
        (false, Some(events)) => places(ui, desk, &events),
        (false, None) => match session.events().reason() {
            Some(reason) => empty(ui, "No events to show", reason),
            None => empty(ui, "Looking", "A worker repeats the kernel with its halves before publication"),
        },
    }
}

/// One row for each kind: its sign, how often here and in the whole run; a switch for the list.
fn kinds(ui: &mut Ui, desk: &mut Desk<'_>, events: Option<&Events>) {
    let theme = Theme::of(ui);
    let mut totals: BTreeMap<EventKind, u64> = BTreeMap::new();
    for (&kind, &count) in desk.session.run().steps.iter().flat_map(|step| &step.events) {
        *totals.entry(kind).or_default() += count;
    }
    let (head, _) = ui.allocate_exact_size(vec2(ui.available_width(), 14.0), Sense::hover());
    for (words, at) in [("here", head.right() - 84.0), ("whole run", head.right() - 6.0)] {
        let at = egui::pos2(at, head.center().y);
        ui.painter().text(at, Align2::RIGHT_CENTER, words, text::small(), theme.faint);
    }
    ui.spacing_mut().item_spacing.y = 1.0;
    for &kind in EventKind::ALL {
        let (here, all) = (events.map_or(0, |events| events.count(kind)), totals.get(&kind).copied().unwrap_or(0));
        let view = &desk.session.view().events;
        let on = view.is_empty() || view.contains(&kind);
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
        let chosen = view.contains(&kind);
        if chosen || response.hovered() || response.has_focus() {
            let fill = if chosen { theme.accent_soft } else { theme.hover };
            ui.painter().rect_filled(rect, CornerRadius::same(4), fill);
        }
        let ink = if on { theme.text } else { theme.faint };
        let painter = ui.painter_at(rect);
        sign(&painter, kind, rect.left_center() + vec2(10.0, 0.0), 4.5, theme);
        painter.text(rect.left_center() + vec2(22.0, 0.0), Align2::LEFT_CENTER, kind.title(), text::small(), ink);
        for (count, right) in [(here, 84.0), (all, 6.0)] {
            let ink = if count == 0 { theme.faint } else { ink };
            let at = rect.right_center() - vec2(right, 0.0);
            painter.text(at, Align2::RIGHT_CENTER, format::count(count), text::mono_small(), ink);
        }
        let label = format!("{}: {here} here, {all} in the whole run", kind.title());
        response.widget_info(|| WidgetInfo::selected(WidgetType::Checkbox, true, chosen, &label));
        if response.clicked() {
            desk.view(ViewChange::Event(kind, Some(!chosen)));
        }
        response.on_hover_ui(|ui| {
            ui.label(RichText::new(kind.title()).font(text::heading()).color(theme.text));
            ui.label(RichText::new(about(kind)).font(text::small()).color(theme.weak));
        });
    }
}

/// What a kind is, in a sentence or two.
pub(super) const fn about(kind: EventKind) -> &'static str {
    match kind {
        EventKind::NanToZero => {
            "The half before publication is NaN; the network publishes +0, where the hardware's conversion gives 0x7f. \
             A zero row's reciprocal length is infinite, and 0 * inf is NaN."
        }
        EventKind::MinusZero => {
            "The code 0x80. Plain publication keeps the sign of a zero; the product's epilogue gives it only to a \
             negative value that rounds to zero."
        }
        EventKind::Saturation => "A magnitude above 464 rounds beyond the largest code and publishes as 448.",
        EventKind::Overflow => {
            "A half that became infinite: the result itself, or a sum on the way to it. An infinite sum of squares \
             makes a vector zero, an infinite score ends in the exponential's clamp."
        }
        EventKind::Subnormal => "The code is below 2^-6, where its steps no longer shrink; of a raw output, the half.",
        EventKind::Tie => "The half lies in the middle between two codes and went to the even one.",
    }
}

fn wanted(session: &Session, kind: EventKind) -> bool {
    session.view().events.is_empty() || session.view().events.contains(&kind)
}

fn places(ui: &mut Ui, desk: &mut Desk<'_>, events: &Arc<Events>) {
    let filter = desk.memory.event_filter.to_lowercase();
    let kinds: Vec<EventKind> = EventKind::ALL.iter().copied().filter(|kind| wanted(desk.session, *kind)).collect();
    let key = (Arc::as_ptr(events) as usize, kinds, filter);
    if desk.memory.events.key != key {
        let fits = |place: &Place| {
            key.1.contains(&place.kind) && (key.2.is_empty() || line(events, place).to_lowercase().contains(&key.2))
        };
        let rows = events.places.iter().enumerate().filter(|(_, place)| fits(place));
        desk.memory.events.rows = rows.map(|(i, _)| i as u32).collect();
        desk.memory.events.key = key;
    }
    let rows = &desk.memory.events.rows;
    if rows.is_empty() {
        let words = if events.places.is_empty() {
            "Every half of this kernel was finite, and none was a tie, subnormal or a -0"
        } else {
            "None of the kinds and words chosen"
        };
        return empty(ui, "No events here", words);
    }
    let mut go = None;
    list(ui, "event places", rows, |ui, &index| {
        let place = &events.places[index as usize];
        if row(ui, desk.session, events, place) {
            go = Some(*place);
        }
    });
    if let Some(place) = go {
        desk.send(Command::Select(Select::Tensor(events.tensor.clone())));
        desk.send(Command::Select(Select::Channel(place.channel)));
        desk.send(Command::Select(Select::Token(Some(token(events, &place)))));
    }
}

fn token(events: &Events, place: &Place) -> Token {
    Token { x: place.token % events.size.width, y: place.token / events.size.width }
}

fn line(events: &Events, place: &Place) -> String {
    let head = place.head.map_or(String::new(), |head| format!(" head {head}"));
    let token = token(events, place);
    format!("{}{head} ({}, {}) ch {}", place.kind.word(), token.x, token.y, place.channel)
}

fn row(ui: &mut Ui, session: &Session, events: &Events, place: &Place) -> bool {
    let theme = Theme::of(ui);
    let token = token(events, place);
    let chosen = session.selection().token == Some(token) && session.selection().channel == place.channel;
    let (rect, response) = entry(ui, chosen);
    let painter = ui.painter_at(rect);
    sign(&painter, place.kind, rect.left_center() + vec2(10.0, 0.0), 4.5, theme);
    let head = place.head.map_or(String::new(), |head| format!("  head {head}"));
    let at = format!("({}, {})  ch {}{head}", token.x, token.y, place.channel);
    painter.text(rect.left_center() + vec2(22.0, 0.0), Align2::LEFT_CENTER, at, text::mono_small(), theme.text);
    let value = format::short(f64::from(crate::numerics::f16::from_bits(place.half).to_f32()));
    let code = place.code.map_or(format!("{:04x}", place.half), |code| format!("{code:02x}"));
    let end = rect.right_center() - vec2(6.0, 0.0);
    painter.text(end, Align2::RIGHT_CENTER, format!("{value} \u{2192} {code}"), text::mono_small(), theme.weak);
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, line(events, place)));
    response.clicked()
}

/// Rows in what is left of the panel, of which only those in sight are made.
fn list<T>(ui: &mut Ui, salt: &str, rows: &[T], mut show: impl FnMut(&mut Ui, &T)) {
    let height = ui.available_height().max(160.0);
    let area = ScrollArea::vertical().id_salt(salt).auto_shrink(false).max_height(height);
    area.show_rows(ui, ROW, rows.len(), |ui, range| {
        ui.spacing_mut().item_spacing.y = 0.0;
        rows[range].iter().for_each(|row| show(ui, row));
    });
}

/// The place of one row, lit where it is chosen, pointed at or in focus.
fn entry(ui: &mut Ui, chosen: bool) -> (Rect, Response) {
    let theme = Theme::of(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    if chosen || response.hovered() || response.has_focus() {
        let fill = if chosen { theme.accent_soft } else { theme.hover };
        ui.painter().rect_filled(rect, CornerRadius::same(4), fill);
    }
    (rect, response)
}

/// Every kernel with events of the chosen kinds; a click selects it.
fn kernels(ui: &mut Ui, desk: &mut Desk<'_>) {
    let session = desk.session;
    let filter = desk.memory.event_filter.to_lowercase();
    let count = |step: usize| {
        let of = &session.run().steps[step].events;
        of.iter().filter(|(kind, _)| wanted(session, **kind)).map(|(_, count)| count).sum::<u64>()
    };
    let name = |step: usize| session.plan().steps[step].name().as_str();
    let rows: Vec<(usize, u64)> = (0..session.plan().steps.len())
        .map(|step| (step, count(step)))
        .filter(|(step, count)| *count > 0 && (filter.is_empty() || name(*step).contains(&filter)))
        .collect();
    if rows.is_empty() {
        return empty(ui, "No kernel has such events", "Kernels are counted in the background once they have run");
    }
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(1) as f32;
    let (mut go, theme) = (None, Theme::of(ui));
    list(ui, "event kernels", &rows, |ui, &(step, count)| {
        let (rect, response) = entry(ui, session.selection().step == step);
        // Counts reach over many powers of ten.
        let share = (count as f32 + 1.0).ln() / (most + 1.0).ln();
        let line = rect.left_bottom() + vec2(6.0, -2.5);
        let end = line + vec2((rect.width() - 12.0) * share, 0.0);
        ui.painter().line_segment([line, end], Stroke::new(1.5, theme.event.gamma_multiply(0.5)));
        let painter = ui.painter_at(rect);
        let at = rect.left_center() + vec2(8.0, 0.0);
        painter.text(at, Align2::LEFT_CENTER, name(step), text::mono_small(), theme.text);
        let (at, words) = (rect.right_center() - vec2(6.0, 0.0), format::count(count));
        painter.text(at, Align2::RIGHT_CENTER, words, text::mono_small(), theme.weak);
        let label = format!("{}: {count} events", name(step));
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, &label));
        if response.clicked() {
            go = Some(step);
        }
    });
    if let Some(step) = go {
        desk.send(Command::Select(Select::Step(step)));
    }
}
