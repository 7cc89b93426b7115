//! Settings: theme, scale, the tour again, and what this program is.

use super::super::super::desk::Desk;
use super::super::super::format;
use super::super::super::theme::{Theme, text};
use super::super::super::widgets::{Segment, TextButton, field, section, segmented};
use crate::engine::memory::{bytes, words};
use crate::session::{Browse, Command, Dialog, Theme as Colours, ViewChange};
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
    memory(ui, desk);
    section(ui, "Help", |_| {});
    ui.horizontal(|ui| {
        if TextButton::new("Take the tour").show(ui).clicked() {
            desk.send(Command::Show(None));
            desk.send(Command::Tour(1));
        }
        if TextButton::new("Show keys").key("F1").show(ui).clicked() {
            desk.send(Command::Show(Some(Dialog::Keys)));
        }
        if TextButton::new("Check this machine").show(ui).clicked() {
            desk.send(Command::Show(Some(Dialog::Doctor)));
        }
        if TextButton::new("Show glossary").show(ui).clicked() {
            desk.send(Command::Show(Some(Dialog::Glossary)));
        }
    });
    ui.add_space(12.0);
    let words = format!("Blockscope {}: an interactive debugger for one bit-exact network.", env!("CARGO_PKG_VERSION"));
    ui.label(RichText::new(words).font(text::small()).color(theme.weak));
}

/// How much memory the window may take, and where the rest goes.
fn memory(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    section(ui, "Memory", |_| {});
    let sources = desk.session.sources();
    let (budget, spill) = (sources.memory, sources.spill.clone());
    ui.horizontal(|ui| {
        let typed = desk.memory.budget.get_or_insert_with(|| budget.map_or_else(String::new, words));
        let (_, enter) = field(ui, typed, "Memory budget", "no limit, or 4GiB", 130.0, text::mono());
        let typed = typed.trim().to_owned();
        let wanted = if typed.is_empty() || typed == "no limit" { Ok(None) } else { bytes(&typed).map(Some) };
        let ready = wanted.as_ref().is_ok_and(|wanted| *wanted != budget);
        let clicked = TextButton::new("Use this budget").enabled(ready).show(ui).clicked();
        if let Ok(wanted) = wanted
            && ready
            && (clicked || enter)
        {
            desk.out.push(Command::Memory(wanted));
        }
        if TextButton::new("Spill to\u{2026}")
            .about("The folder for what exceeds the budget; it should be on a disk")
            .show(ui)
            .clicked()
        {
            desk.out.push(Command::Browse(Browse::Spill));
        }
    });
    let folder = spill.as_deref().unwrap_or("the system's temporary folder");
    let words = match (budget, desk.session.spilled()) {
        (None, _) => "Everything is kept in memory.".to_owned(),
        (Some(_), 0) => format!("What exceeds the budget goes to {folder}."),
        (Some(_), spilled) => format!("{} so far went to {folder}.", format::bytes(spilled)),
    };
    ui.label(RichText::new(words).font(text::small()).color(theme.weak));
}
