//! Settings: theme, scale, the tour again, and what this program is.

use super::super::super::desk::Desk;
use super::super::super::theme::{Theme, text};
use super::super::super::widgets::{Segment, TextButton, section, segmented};
use crate::session::{Command, Dialog, Theme as Colours, ViewChange};
use egui::{RichText, Ui};

/// Draws the dialog.
pub(super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let view = desk.session.view();
    let (colours, scale) = (view.theme, view.scale);
    section(ui, "Theme", |_| {});
    let segments =
        [(Colours::Dark, "Dark"), (Colours::Light, "Light")].map(|(value, label)| Segment { value, label, about: "" });
    if let Some(colours) = segmented(ui, "Theme", colours, &segments) {
        desk.view(ViewChange::Theme(colours));
    }
    section(ui, "Size of text and controls", |_| {});
    let percent = (scale * 100.0).round() as i32;
    let sizes = [80, 90, 100, 125, 150, 200].map(|value| (value, format!("{value} %")));
    let segments: Vec<_> =
        sizes.iter().map(|(value, label)| Segment { value: *value, label: label.as_str(), about: "" }).collect();
    if let Some(percent) = segmented(ui, "Scale", percent, &segments) {
        desk.view(ViewChange::Scale(percent as f32 / 100.0));
    }
    section(ui, "Help", |_| {});
    ui.horizontal(|ui| {
        if TextButton::new("Take the tour").show(ui).clicked() {
            desk.send(Command::Show(None));
            desk.send(Command::Tour(1));
        }
        if TextButton::new("Show keys").key("F1").show(ui).clicked() {
            desk.send(Command::Show(Some(Dialog::Keys)));
        }
        if TextButton::new("Show glossary").show(ui).clicked() {
            desk.send(Command::Show(Some(Dialog::Glossary)));
        }
    });
    ui.add_space(12.0);
    let words = format!("Blockscope {}: an interactive debugger for one bit-exact network.", env!("CARGO_PKG_VERSION"));
    ui.label(RichText::new(words).font(text::small()).color(theme.weak));
}
