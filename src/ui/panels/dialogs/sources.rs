//! Subject and reference, side by side: what each is, what it could be, and a line to type anything else.

use super::super::super::desk::Desk;
use super::super::super::icons::Icon;
use super::super::super::theme::{Theme, text};
use super::super::super::widgets::{TextButton, field, one_line, term};
use super::open::loading;
use crate::session::{Browse, Choice, Command, Loading, Side};
use egui::{Align2, CornerRadius, Rect, RichText, Sense, Ui, WidgetInfo, WidgetType, vec2};

/// Draws the dialog.
pub(super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    ui.columns(2, |columns| {
        for (column, &side) in columns.iter_mut().zip(Side::ALL) {
            half(column, desk, side);
        }
    });
    ui.add_space(8.0);
    ui.horizontal(|ui| {
        if TextButton::new("Swap").icon(Icon::Swap).about("Subject and reference change places").show(ui).clicked() {
            desk.send(Command::Swap);
        }
        let watch = TextButton::new("Watch a folder as subject\u{2026}")
            .icon(Icon::Open)
            .about("A folder that a running port writes: its dumps are compared as they come");
        if watch.show(ui).clicked() {
            desk.send(Command::Browse(Browse::Watch));
        }
    });
}

fn half(ui: &mut Ui, desk: &mut Desk<'_>, side: Side) {
    let theme = Theme::of(ui);
    let sources = desk.session.sources();
    let states = desk.session.source_states();
    let (name, current, state, colour, browse) = match side {
        Side::Subject => ("subject", &sources.subject, states.subject.clone(), theme.subject, Browse::Subject),
        Side::Reference => {
            ("reference", &sources.reference, states.reference.clone(), theme.reference, Browse::Reference)
        }
    };
    let make = |spec: String| match side {
        Side::Subject => Command::Subject(spec),
        Side::Reference => Command::Reference(spec),
    };
    ui.horizontal(|ui| {
        let (dot, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        ui.painter().rect_filled(dot, CornerRadius::same(3), colour);
        term(ui, name, name);
    });
    let choices: Vec<Choice> = desk.session.choices().to_vec();
    for choice in &choices {
        let on = choice.spec == *current;
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 38.0), Sense::click());
        if on || response.hovered() || response.has_focus() {
            let fill = if on { theme.accent_soft } else { theme.hover };
            ui.painter().rect_filled(rect, CornerRadius::same(6), fill);
        }
        let inside = ui.painter_at(rect);
        let ink = if choice.refused.is_some() { theme.faint } else { theme.text };
        inside.text(rect.left_top() + vec2(10.0, 12.0), Align2::LEFT_CENTER, &choice.label, text::body(), ink);
        let about = choice.refused.as_deref().unwrap_or(&choice.about);
        let room = Rect::from_min_max(rect.left_top() + vec2(10.0, 19.0), rect.max - vec2(8.0, 3.0));
        let whole = one_line(ui, about, room, text::small(), theme.weak);
        response.widget_info(|| {
            WidgetInfo::selected(
                WidgetType::RadioButton,
                choice.refused.is_none(),
                on,
                format!("{name}: {}", choice.label),
            )
        });
        if response.clicked() && choice.refused.is_none() {
            desk.out.push(make(choice.spec.clone()));
        }
        if !whole {
            response.on_hover_text(about);
        }
    }
    standing(ui, &state);
    let current = current.clone();
    ui.add_space(6.0);
    let typed = desk.memory.specs[side as usize].get_or_insert(current);
    let width = ui.available_width();
    let (_, enter) = field(ui, typed, &format!("Type a {name}"), "cpu+mask-outside@9-14", width, text::mono());
    let typed = typed.trim().to_owned();
    ui.horizontal(|ui| {
        if TextButton::new(&format!("Use as {name}")).show(ui).clicked() || enter {
            desk.out.push(make(typed));
        }
        if TextButton::new(&format!("Browse {name}\u{2026}")).icon(Icon::Open).show(ui).clicked() {
            desk.out.push(Command::Browse(browse));
        }
    });
    ui.label(RichText::new("An engine, an engine with causes, or a capture.").font(text::small()).color(theme.faint));
    // Problems may be many: below, where they push nothing out of line.
    if matches!(state, Loading::Failed(_)) {
        loading(ui, &state);
    }
}

/// What the side is, in one line whatever its length, so that both columns stay in line.
fn standing(ui: &mut Ui, state: &Loading) {
    let theme = Theme::of(ui);
    let (words, ink) = match state {
        Loading::Nothing => ("not chosen", theme.faint),
        Loading::Busy => ("loading\u{2026}", theme.weak),
        Loading::Ready(words) => (words.as_str(), theme.weak),
        Loading::Failed(_) => ("cannot be used, see below", theme.differs),
    };
    let label = egui::Label::new(RichText::new(words).font(text::small()).color(ink)).truncate();
    let response = ui.add(label);
    if matches!(state, Loading::Ready(_)) {
        response.on_hover_text(words);
    }
}
