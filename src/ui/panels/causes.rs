//! Causes: which known deviation explains the difference, and what any of them would do.

use super::super::desk::Desk;
use super::super::format;
use super::super::icons::Icon;
use super::super::mark::Mark;
use super::super::theme::{Theme, text};
use super::super::widgets::{TextButton, section, toggle};
use super::{canvas, strip, what_if};
use crate::session::{CauseFound, Command, Diagnosis, Image, Mode, Overlay, Select, ViewChange};
use egui::{CornerRadius, RichText, Sense, Ui, vec2};

/// Causes listed at first; the rest explains next to nothing.
const LISTED: usize = 4;

/// Draws the tab.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    section(ui, "Known causes", |ui| {
        ui.label(RichText::new(strip::summary(desk.session)).font(text::small()).color(theme.weak));
    });
    ui.label(
        RichText::new("Each is switched on in the reference and run on the first divergent step, or on the selected one if it diverges.")
            .font(text::small())
            .color(theme.weak),
    );
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let pending = desk.session.diagnosis().is_pending();
        let test = TextButton::new("Test known causes").icon(Icon::Search).primary().key("Ctrl+D").enabled(!pending);
        if test.show(ui).clicked() {
            desk.send(Command::Diagnose);
        }
        if pending {
            ui.spinner();
            ui.label(RichText::new("testing\u{2026}").font(text::small()).color(theme.weak));
        }
    });
    if let Some(reason) = desk.session.diagnosis().reason() {
        ui.label(RichText::new(reason).font(text::body()).color(theme.text));
    }
    if let Some(found) = desk.session.diagnosis().shown().cloned() {
        answer(ui, desk, &found, theme);
    }
    output(ui, desk, theme);
    what_if::show(ui, desk);
}

/// What was found, best first.
fn answer(ui: &mut Ui, desk: &mut Desk<'_>, found: &Diagnosis, theme: &Theme) {
    let step = desk.session.plan().steps[found.step].name().clone();
    section(ui, step.as_str(), |ui| {
        let tried = format!("{} candidates tried", format::count(found.tried as u64));
        ui.label(RichText::new(tried).font(text::small()).color(theme.faint));
    });
    let (mark, words) = match (found.explained, found.causes.is_empty()) {
        (true, _) => (Mark::Exact, "Explained: this cause reproduces every byte."),
        (false, true) => (Mark::Differs, "None of the known causes explains it."),
        (false, false) => (Mark::Differs, "Not fully explained. The nearest:"),
    };
    ui.horizontal(|ui| {
        mark.show(ui, 4.5);
        ui.label(RichText::new(words).font(text::body()).color(theme.text));
    });
    for (index, cause) in found.causes.iter().take(LISTED).enumerate() {
        entry(ui, desk, cause, index == 0, theme);
    }
    if !found.masks.is_empty() {
        ui.add_space(2.0);
        let on = desk.session.view().overlays.contains(&Overlay::Explained);
        let about = "Green: reproduced by the first cause. Orange: not. Yellow: newly wrong.";
        if toggle(ui, on, "Show on the picture what the first explains", about, "E").clicked() {
            desk.select(Select::Tensor(step));
            desk.view(ViewChange::Overlay(Overlay::Explained, Some(!on)));
        }
    }
}

/// One cause: its share as a bar, its counts, and for the best what one can do with it.
fn entry(ui: &mut Ui, desk: &mut Desk<'_>, cause: &CauseFound, best: bool, theme: &Theme) {
    ui.add_space(5.0);
    let ink = if best { theme.text } else { theme.weak };
    ui.label(RichText::new(&cause.name).font(text::body()).color(ink));
    let (bar, _) = ui.allocate_exact_size(vec2(ui.available_width(), 3.0), Sense::hover());
    ui.painter().rect_filled(bar, CornerRadius::same(2), theme.pressed);
    let done = egui::Rect::from_min_size(bar.min, vec2(bar.width() * cause.share() as f32, bar.height()));
    let colour = if cause.exact { theme.exact } else { theme.differs };
    ui.painter().rect_filled(done, CornerRadius::same(2), colour);
    let counts = format!(
        "{} \u{b7} {:.2} % of {} bytes explained, {} newly wrong",
        cause.ids.join(" + "),
        100.0 * cause.share(),
        format::count(cause.differing),
        format::count(cause.newly_wrong)
    );
    ui.label(RichText::new(counts).font(text::small()).color(theme.weak));
    if best {
        ui.horizontal(|ui| {
            let subject = TextButton::new("Use as subject").about("The reference with this cause, and nothing else");
            if subject.show(ui).clicked() {
                desk.send(Command::Subject(cause.subject.clone()));
            }
            let about = "Then what is left is what this cause does not explain";
            if TextButton::new("Use as reference").about(about).show(ui).clicked() {
                desk.send(Command::Reference(cause.subject.clone()));
            }
        });
    }
}

/// What the difference comes to in the image that people see.
fn output(ui: &mut Ui, desk: &mut Desk<'_>, theme: &Theme) {
    section(ui, "Output image", |_| {});
    if let Some(output) = desk.session.canvas().output {
        ui.label(RichText::new(canvas::output_words(&output)).font(text::small()).color(theme.text));
    }
    let shown = desk.session.view().image == Image::Output;
    let words = if shown { "Back to the tensor" } else { "Compare the output images" };
    if TextButton::new(words).show(ui).clicked() {
        desk.view(ViewChange::Image(if shown { Image::Tensor } else { Image::Output }));
        if !shown {
            desk.view(ViewChange::Mode(Mode::Difference));
        }
    }
}
