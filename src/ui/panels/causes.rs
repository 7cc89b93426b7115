//! Causes: which known deviation explains the difference.

use super::super::desk::Desk;
use super::super::icons::Icon;
use super::super::theme::{Theme, text};
use super::super::widgets::{TextButton, section};
use super::strip;
use crate::session::Command;
use egui::{RichText, Ui};

/// Draws the tab.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    section(ui, "First divergence", |_| {});
    ui.label(RichText::new(strip::summary(desk.session)).font(text::body()).color(theme.text));
    section(ui, "Known causes", |_| {});
    ui.label(
        RichText::new("Each cause is switched on in the reference and run on the first divergent step. A cause that reproduces the subject's bytes is confirmed.")
            .font(text::small())
            .color(theme.weak),
    );
    ui.add_space(6.0);
    if TextButton::new("Test known causes").icon(Icon::Search).primary().key("Ctrl+D").show(ui).clicked() {
        desk.send(Command::Diagnose);
    }
    found(ui, desk, theme);
}

/// What was found, best first; one click makes a cause the subject.
fn found(ui: &mut Ui, desk: &mut Desk<'_>, theme: &Theme) {
    let diagnosis = desk.session.diagnosis();
    if diagnosis.is_pending() {
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            ui.spinner();
            ui.label(RichText::new("Testing...").font(text::small()).color(theme.weak));
        });
    }
    if let Some(reason) = diagnosis.reason() {
        ui.label(RichText::new(reason).font(text::body()).color(theme.text));
    }
    let Some(found) = diagnosis.shown().cloned() else { return };
    let step = desk.session.plan().steps[found.step].name().to_string();
    section(ui, &step, |_| {});
    let answer = match (found.explained, found.causes.is_empty()) {
        (true, _) => "Explained: this cause reproduces every byte.".to_owned(),
        (false, true) => format!("None of the known causes explains it ({} tried).", found.tried),
        (false, false) => format!("Not fully explained ({} tried). The nearest:", found.tried),
    };
    ui.label(RichText::new(answer).font(text::body()).color(theme.text));
    for cause in found.causes.iter().take(6) {
        ui.add_space(6.0);
        ui.label(RichText::new(&cause.name).font(text::body()).color(theme.text));
        let share = 100.0 * cause.share();
        let counts = format!(
            "{}: {share:.2} % of {} differing bytes explained, {} newly wrong",
            cause.ids.join(" + "),
            cause.differing,
            cause.newly_wrong
        );
        ui.label(RichText::new(counts).font(text::small()).color(theme.weak));
        if TextButton::new("Use as reference").show(ui).clicked() {
            desk.send(Command::Reference(cause.subject.clone()));
        }
    }
}
