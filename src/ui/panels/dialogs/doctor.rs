//! Whether this machine's engines can be trusted: checks as they end, and what to do about those that failed.

use super::super::super::desk::Desk;
use super::super::super::icons::Icon;
use super::super::super::mark::Mark;
use super::super::super::theme::{Theme, text};
use super::super::super::widgets::TextButton;
use crate::diagnosis::trust::{Check, Depth, Outcome};
use crate::session::{Command, CopyWhat};
use egui::{CornerRadius, Rect, RichText, ScrollArea, Sense, Ui, WidgetInfo, WidgetType, vec2};

/// Where the columns of a check begin.
const WHAT: f32 = 22.0;
const FOUND: f32 = 150.0;
/// Room for the seconds.
const TIME: f32 = 52.0;

/// Draws the dialog.
pub(super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let words = "Every engine and device against known answers, repeated, with and without somebody reading on the way; \
                 memory and disk. Quick takes seconds; whole runs the network at 64\u{d7}64 on everything.";
    ui.label(RichText::new(words).font(text::small()).color(theme.weak));
    ui.add_space(6.0);
    let found = desk.session.examination();
    let running = found.is_running();
    ui.horizontal(|ui| {
        let quick = TextButton::new("Quick check").icon(Icon::Check).primary().enabled(!running);
        if quick.show(ui).clicked() {
            desk.out.push(Command::Doctor(Depth::Quick));
        }
        if TextButton::new("Whole check").enabled(!running).show(ui).clicked() {
            desk.out.push(Command::Doctor(Depth::Whole));
        }
        if running && TextButton::new("Cancel check").icon(Icon::Stop).show(ui).clicked() {
            desk.out.push(Command::Cancel(crate::session::DOCTOR));
        }
        if !found.checks.is_empty() && TextButton::new("Copy checks").icon(Icon::Copy).show(ui).clicked() {
            desk.out.push(Command::Copy(CopyWhat::Doctor));
        }
    });
    ui.add_space(2.0);
    ui.horizontal(|ui| {
        ui.set_min_height(22.0);
        match &found.now {
            Some(now) => {
                ui.add(egui::Spinner::new().size(14.0));
                ui.label(RichText::new(format!("now {now}")).font(text::small()).color(theme.weak));
            }
            None if found.depth.is_some() => {
                let failed = found.count(Outcome::Failed) > 0 || found.ended.is_some();
                let mark = if failed { Mark::Differs } else { Mark::Exact };
                let (rect, _) = ui.allocate_exact_size(vec2(14.0, 14.0), Sense::hover());
                mark.paint(ui.painter(), rect.center(), 4.5, theme);
                ui.label(RichText::new(found.conclusion()).font(text::body()).color(theme.text));
            }
            None => {
                ui.label(RichText::new("Nothing checked yet in this window.").font(text::small()).color(theme.faint));
            }
        }
    });
    ScrollArea::vertical().id_salt("doctor").auto_shrink([false, true]).stick_to_bottom(running).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 1.0;
        let mut subject = "";
        for check in &found.checks {
            if check.subject != subject {
                ui.add_space(6.0);
                ui.label(RichText::new(&check.subject).font(text::label()).color(theme.text));
                subject = &check.subject;
            }
            row(ui, check, theme);
        }
    });
}

/// One check: its mark, what it is, what was found, how long it took; below, what to do.
fn row(ui: &mut Ui, check: &Check, theme: &Theme) {
    let width = ui.available_width();
    let room = width - FOUND - TIME - 8.0;
    let ink = if check.outcome == Outcome::Failed { theme.differs } else { theme.text };
    let found = ui.painter().layout(check.text.clone(), text::small(), ink, room);
    let remedy = check
        .remedy
        .as_ref()
        .map(|remedy| ui.painter().layout(format!("What to do: {remedy}"), text::small(), theme.text, room));
    let below = remedy.as_ref().map_or(0.0, |galley| galley.size().y + 2.0);
    let (rect, response) = ui.allocate_exact_size(vec2(width, found.size().y + below + 6.0), Sense::hover());
    if check.outcome == Outcome::Failed {
        ui.painter().rect_filled(rect, CornerRadius::same(4), theme.differs.gamma_multiply(0.12));
    }
    let (painter, top) = (ui.painter(), rect.min + vec2(0.0, 3.0));
    let middle = top + vec2(10.0, 8.0);
    match check.outcome {
        Outcome::Fine => Mark::Exact.paint(painter, middle, 4.0, theme),
        Outcome::Failed => Mark::Differs.paint(painter, middle, 4.5, theme),
        Outcome::Skipped => Mark::NotCompared.paint(painter, middle, 4.0, theme),
        Outcome::Note => {
            painter.rect_filled(Rect::from_center_size(middle, vec2(6.0, 2.0)), CornerRadius::same(1), theme.weak);
        }
    }
    painter.text(top + vec2(WHAT, 0.0), egui::Align2::LEFT_TOP, check.what, text::small(), theme.weak);
    let height = found.size().y;
    painter.galley(top + vec2(FOUND, 0.0), found, ink);
    if let Some(remedy) = remedy {
        painter.galley(top + vec2(FOUND, height + 2.0), remedy, theme.text);
    }
    if check.seconds >= 0.05 {
        let time = format!("{:.1} s", check.seconds);
        let at = egui::pos2(rect.right() - 10.0, top.y);
        painter.text(at, egui::Align2::RIGHT_TOP, time, text::mono_small(), theme.faint);
    }
    let label = format!("{} {}: {}, {}", check.subject, check.what, check.outcome.word(), check.text);
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Label, true, &label));
}
