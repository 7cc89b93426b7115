//! Dialogs over the window: palette, open, sources, keys, glossary, doctor, settings.

mod doctor;
mod help;
mod open;
mod palette;
mod settings;
mod sources;

use super::super::desk::Desk;
use super::super::icons::Icon;
use super::super::theme::{Theme, text};
use super::super::widgets::IconButton;
use crate::session::{Command, Dialog};
use egui::{Align, Align2, Area, Frame, Id, Layout, Margin, Modal, Order, RichText, Stroke, Ui, vec2};

/// Draws the dialog that the session shows.
pub(in super::super) fn show(ui: &Ui, desk: &mut Desk<'_>) {
    let Some(dialog) = desk.session.dialog() else {
        desk.memory.forget_typed();
        return;
    };
    let theme = Theme::of(ui);
    let (title, width): (&str, f32) = match dialog {
        Dialog::Palette => ("", 560.0),
        Dialog::Open => ("Open", 560.0),
        Dialog::Sources => ("Subject and reference", 600.0),
        Dialog::Keys => ("Keys", 720.0),
        Dialog::Glossary => ("Glossary", 620.0),
        Dialog::Doctor => ("Can this machine be trusted?", 760.0),
        Dialog::About => ("Settings", 560.0),
    };
    let frame = Frame::popup(ui.style())
        .fill(theme.panel)
        .inner_margin(Margin::same(16))
        .corner_radius(12)
        .stroke(Stroke::new(1.0, theme.outline));
    let area = Area::new(Id::new("dialog")).order(Order::Foreground).kind(egui::UiKind::Modal);
    let area = if dialog == Dialog::Palette {
        area.anchor(Align2::CENTER_TOP, vec2(0.0, 72.0))
    } else {
        area.anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
    };
    let backdrop = egui::Color32::from_black_alpha(if theme.dark { 130 } else { 70 });
    let response =
        Modal::new(Id::new("dialog")).area(area).frame(frame).backdrop_color(backdrop).show(ui.ctx(), |ui| {
            let room = ui.ctx().content_rect().size();
            ui.set_width(width.min(room.x - 80.0));
            ui.set_max_height(room.y - 160.0);
            if !title.is_empty() {
                ui.horizontal(|ui| {
                    ui.label(RichText::new(title).font(text::title()).color(theme.text));
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                        if IconButton::new(Icon::Close, "Close dialog").key("Escape").show(ui).clicked() {
                            desk.out.push(Command::Show(None));
                        }
                    });
                });
                ui.add_space(4.0);
            }
            match dialog {
                Dialog::Palette => palette::show(ui, desk),
                Dialog::Open => open::show(ui, desk),
                Dialog::Sources => sources::show(ui, desk),
                Dialog::Keys => help::keys(ui),
                Dialog::Glossary => help::glossary(ui, desk),
                Dialog::Doctor => doctor::show(ui, desk),
                Dialog::About => settings::show(ui, desk),
            }
        });
    if response.should_close() && !desk.out.contains(&Command::Show(None)) {
        desk.send(Command::Show(None));
    }
}
