//! Messages over the canvas' lower edge: what went wrong and what to do, until dismissed.

use super::super::desk::Desk;
use super::super::icons::Icon;
use super::super::memory::Memory;
use super::super::theme::{Theme, text};
use super::super::widgets::IconButton;
use crate::session::{Command, Message, Severity};
use egui::{Align2, Area, Frame, Id, Margin, Order, RichText, Stroke, Ui, vec2};

/// At most so many are shown at once; all are in Notes.
const SHOWN: usize = 3;
/// What was done as asked need not be dismissed: it is shown for so many seconds.
const INFO: f64 = 6.0;

/// Draws the newest.
pub(in super::super) fn show(ui: &Ui, desk: &mut Desk<'_>) {
    let now = ui.input(|input| input.time);
    let newest = desk.session.messages().iter().rev();
    let messages: Vec<Message> =
        newest.filter(|message| stands(ui, desk.memory, message, now)).take(SHOWN).cloned().collect();
    if messages.is_empty() {
        return;
    }
    let lift = (ui.max_rect().height() * 0.15).clamp(96.0, 150.0) + 100.0;
    Area::new(Id::new("messages")).order(Order::Foreground).anchor(Align2::CENTER_BOTTOM, vec2(-20.0, -lift)).show(
        ui.ctx(),
        |ui| {
            for message in messages.iter().rev() {
                card(ui, desk, message);
            }
        },
    );
}

/// Whether a message is still shown; one that passes wakes the window when its time is over.
fn stands(ui: &Ui, memory: &mut Memory, message: &Message, now: f64) -> bool {
    if message.severity != Severity::Info {
        return true;
    }
    let since = *memory.told.entry(message.id).or_insert(now);
    let left = since + INFO - now;
    if left > 0.0 {
        ui.ctx().request_repaint_after_secs(left as f32);
    }
    left > 0.0
}

fn card(ui: &mut Ui, desk: &mut Desk<'_>, message: &Message) {
    let theme = Theme::of(ui);
    let colour = match message.severity {
        Severity::Info => theme.accent,
        Severity::Warning => theme.zero_sign,
        Severity::Error => theme.differs,
    };
    let frame = Frame::popup(ui.style())
        .fill(theme.panel)
        .stroke(Stroke::new(1.0, colour))
        .inner_margin(Margin::symmetric(12, 8));
    frame.show(ui, |ui| {
        ui.set_max_width(460.0);
        ui.horizontal(|ui| {
            let (dot, _) = ui.allocate_exact_size(vec2(8.0, 8.0), egui::Sense::hover());
            ui.painter().circle_filled(dot.center(), 4.0, colour);
            ui.add(egui::Label::new(RichText::new(&message.text).font(text::body()).color(theme.text)).wrap());
            if IconButton::new(Icon::Close, "Dismiss message").side(20.0).show(ui).clicked() {
                desk.send(Command::Dismiss(message.id));
            }
        });
        for detail in message.details.iter().take(8) {
            ui.label(RichText::new(detail).font(text::small()).color(theme.weak));
        }
        if message.details.len() > 8 {
            ui.label(
                RichText::new(format!("and {} more, in Notes", message.details.len() - 8))
                    .font(text::small())
                    .color(theme.weak),
            );
        }
    });
}
