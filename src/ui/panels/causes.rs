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
}
