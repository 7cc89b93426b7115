//! The trace: how the selected value came to be, side by side where subject and reference part.

use super::super::desk::Desk;
use super::super::icons::Icon;
use super::super::theme::{Theme, text};
use super::super::widgets::{IconButton, empty, section};
use crate::session::{Command, CopyWhat};
use egui::{Color32, CornerRadius, Frame, Margin, RichText, Stroke, Ui};

/// Draws the tab.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let selection = desk.session.selection();
    section(ui, "How this value came to be", |ui| {
        if IconButton::new(Icon::Copy, "Copy trace").side(22.0).show(ui).clicked() {
            desk.out.push(Command::Copy(CopyWhat::Trace));
        }
    });
    if let Some(token) = selection.token {
        let words = format!("{}  token {token}  channel {}", selection.tensor, selection.channel);
        ui.label(RichText::new(words).font(text::mono_small()).color(theme.weak));
    }
    let requested = desk.session.trace();
    let Some(trace) = requested.shown() else {
        match requested.reason() {
            Some(reason) => empty(ui, "No trace", reason),
            None if requested.is_pending() => empty(ui, "Tracing", "A worker repeats the value's arithmetic"),
            None => empty(ui, "Choose a value", "Click a token on the picture; the trace follows the selected channel"),
        }
        return;
    };
    let lines = |text: &Option<std::sync::Arc<str>>| {
        text.as_deref().map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    match (lines(&trace.subject), lines(&trace.reference)) {
        (Some(subject), Some(reference)) if subject == reference => {
            ui.label(
                RichText::new("Both sides compute the same, step by step.").font(text::small()).color(theme.exact),
            );
            story(ui, "Both sides", theme.exact, &subject, &[]);
        }
        (Some(subject), Some(reference)) => {
            let parts =
                subject.iter().zip(&reference).position(|(a, b)| a != b).unwrap_or(subject.len().min(reference.len()));
            let words = format!("The sides part at line {}.", parts + 1);
            ui.label(RichText::new(words).font(text::small()).color(theme.differs));
            story(ui, "Subject", theme.subject, &subject, &reference);
            story(ui, "Reference", theme.reference, &reference, &subject);
        }
        (Some(one), None) => story(ui, "Subject", theme.subject, &one, &[]),
        (None, Some(one)) => story(ui, "Reference", theme.reference, &one, &[]),
        (None, None) => empty(ui, "No trace", "Neither side has computed what this value is made of"),
    }
}

/// One side's lines; those that differ from the other side's are marked.
fn story(ui: &mut Ui, name: &str, colour: Color32, lines: &[String], other: &[String]) {
    let theme = Theme::of(ui);
    ui.add_space(6.0);
    ui.label(RichText::new(name).font(text::label()).color(colour));
    Frame::new()
        .fill(theme.raised)
        .corner_radius(6)
        .stroke(Stroke::new(1.0, theme.line))
        .inner_margin(Margin::same(8))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 1.0;
            egui::ScrollArea::horizontal().id_salt(("story", name)).show(ui, |ui| {
                ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
                for (index, line) in lines.iter().enumerate() {
                    let differs = !other.is_empty() && other.get(index) != Some(line);
                    let head = !line.starts_with(' ');
                    let ink = if differs || head { theme.text } else { theme.weak };
                    let response = ui.label(RichText::new(line).font(text::mono_small()).color(ink));
                    if differs {
                        let mut band = response.rect.expand2(egui::vec2(4.0, 0.0));
                        band.max.x = band.max.x.max(ui.clip_rect().right());
                        ui.painter().rect_filled(band, CornerRadius::same(2), theme.differs.gamma_multiply(0.16));
                    }
                }
            });
        });
}
