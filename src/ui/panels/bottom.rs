//! The bottom panel: the divergence strip with its sentence, and the jobs beside it.

use super::super::desk::Desk;
use super::super::icons::Icon;
use super::super::theme::{Theme, text};
use super::super::widgets::IconButton;
use super::strip;
use crate::session::{Command, JobView};
use egui::{Align, Layout, ProgressBar, RichText, ScrollArea, Ui, UiBuilder, pos2};

const JOBS: f32 = 240.0;

/// Draws both.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let whole = ui.available_rect_before_wrap();
    let jobs = desk.session.jobs().to_vec();
    let edge = if jobs.is_empty() { whole.right() } else { whole.right() - JOBS };
    let left = egui::Rect::from_min_max(whole.min, pos2(edge, whole.bottom()));
    ui.scope_builder(UiBuilder::new().max_rect(left), |ui| {
        let theme = Theme::of(ui);
        ui.horizontal(|ui| {
            ui.label(RichText::new("Divergence").font(text::label()).color(theme.weak));
            ui.label(RichText::new(strip::summary(desk.session)).font(text::small()).color(theme.text));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.label(
                    RichText::new("solid accumulated \u{b7} outlined isolated").font(text::small()).color(theme.faint),
                );
            });
        });
        strip::show(ui, desk);
    });
    if !jobs.is_empty() {
        let right = egui::Rect::from_min_max(pos2(edge + 12.0, whole.top()), whole.max);
        ui.scope_builder(UiBuilder::new().max_rect(right), |ui| list(ui, desk, &jobs));
    }
}

fn list(ui: &mut Ui, desk: &mut Desk<'_>, jobs: &[JobView]) {
    let theme = Theme::of(ui);
    ui.label(RichText::new(format!("Jobs ({})", jobs.len())).font(text::label()).color(theme.weak));
    ScrollArea::vertical().id_salt("jobs").show(ui, |ui| {
        for job in jobs {
            ui.horizontal(|ui| {
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let name = format!("Cancel {}", job.what);
                    if job.cancellable && IconButton::new(Icon::Close, &name).side(18.0).show(ui).clicked() {
                        desk.send(Command::Cancel(job.id));
                    }
                    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                        ui.add(egui::Label::new(RichText::new(&job.what).font(text::small())).truncate());
                    });
                });
            });
            let share = job.share.unwrap_or(0.0);
            ui.add(ProgressBar::new(share).desired_height(4.0).fill(theme.accent));
        }
    });
}
