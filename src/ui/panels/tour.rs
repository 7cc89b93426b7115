//! The tour of a first start: five cards, each beside what it is about.

use super::super::desk::Desk;
use super::super::theme::{Theme, text};
use super::super::widgets::TextButton;
use crate::session::Command;
use egui::{Align, Align2, Area, Frame, Id, Layout, Margin, Order, RichText, Stroke, Ui, Vec2, vec2};

/// Title, text, and where the card stands: an anchor with an offset.
const STEPS: [(&str, &str, Align2, Vec2); 5] = [
    (
        "The network is already there",
        "The map shows all 71 blocks, down on the left and up on the right. A synthetic model and frame are loaded; open your own with Ctrl+O.",
        Align2::LEFT_TOP,
        vec2(300.0, 110.0),
    ),
    (
        "Step it",
        "Space runs one kernel, F10 a block, F5 everything, F9 up to the first divergence. Shift+Space goes back at once.",
        Align2::LEFT_TOP,
        vec2(150.0, 56.0),
    ),
    (
        "Look at it",
        "The canvas shows the selected tensor. 1 to 6 choose the view, the wheel zooms until numbers appear, W shows the window grid: watch it move from block to block.",
        Align2::CENTER_CENTER,
        vec2(-40.0, 0.0),
    ),
    (
        "Compare two sides",
        "Pick a subject and a reference. Every kernel gets two verdicts, accumulated and isolated, and the strip below shows where they part.",
        Align2::RIGHT_TOP,
        vec2(-180.0, 56.0),
    ),
    (
        "Ask why",
        "Click a token. Probe, Attention and Trace explain its value; Causes tests what is known to go wrong. Every command is in Ctrl+Shift+P, every word in the glossary.",
        Align2::RIGHT_TOP,
        vec2(-380.0, 110.0),
    ),
];

/// Draws the card of the tour's step.
pub(in super::super) fn show(ui: &Ui, desk: &mut Desk<'_>) {
    let step = desk.session.tour();
    let Some(&(title, words, anchor, offset)) = step.checked_sub(1).and_then(|index| STEPS.get(index)) else { return };
    if desk.session.dialog().is_some() {
        return;
    }
    Area::new(Id::new("tour")).order(Order::Foreground).anchor(anchor, offset).show(ui.ctx(), |ui| {
        let theme = Theme::of(ui);
        let frame = Frame::popup(ui.style())
            .fill(theme.panel)
            .stroke(Stroke::new(1.5, theme.accent))
            .inner_margin(Margin::same(16))
            .corner_radius(10);
        frame.show(ui, |ui| {
            ui.set_width(300.0);
            ui.label(RichText::new(format!("Tour, {step} of {}", STEPS.len())).font(text::label()).color(theme.accent));
            ui.label(RichText::new(title).font(text::title()).color(theme.text));
            ui.add_space(4.0);
            ui.label(RichText::new(words).font(text::body()).color(theme.weak));
            ui.add_space(10.0);
            ui.horizontal(|ui| {
                if TextButton::new("End tour").show(ui).clicked() {
                    desk.send(Command::Tour(0));
                }
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let last = step == STEPS.len();
                    if TextButton::new(if last { "Start" } else { "Next" }).primary().show(ui).clicked() {
                        desk.send(Command::Tour(if last { 0 } else { step + 1 }));
                    }
                    if step > 1 && TextButton::new("Back").show(ui).clicked() {
                        desk.send(Command::Tour(step - 1));
                    }
                });
            });
        });
    });
}
