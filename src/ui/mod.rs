//! egui only: draws a session, sends commands.
//!
//! Panels read a [`crate::session`] and push commands; nothing here opens a file, computes a tensor, or knows a
//! device. What a panel must remember by itself (a search text, an animation) lives in [`Memory`].

mod desk;
pub mod format;
pub mod glossary;
pub mod icons;
mod keys;
pub mod mark;
mod memory;
mod panels;
pub mod style;
pub mod theme;
pub mod widgets;

pub use memory::Memory;
pub use style::install;

use crate::session::{Command, Session, Tab};
use desk::Desk;
use egui::{Frame, Margin, Panel, Ui};
use theme::{Theme, space};

/// Widths that the canvas with its bars, and the right panel, should have at least.
const CANVAS: f32 = 640.0;
const DETAIL: f32 = 350.0;

/// Draws the whole window and collects what the person asked for.
pub fn ui(ui: &mut Ui, session: &Session, memory: &mut Memory, out: &mut Vec<Command>) {
    let ctx = ui.ctx().clone();
    if !style::is_installed(&ctx) {
        // The fonts arrive with the next frame.
        install(&ctx);
        ctx.request_repaint();
        return;
    }
    appearance(&ctx, session);
    out.extend(keys::pressed(&ctx));
    for file in ctx.input(|input| input.raw.dropped_files.clone()) {
        out.push(Command::Open(file.path().display().to_string()));
    }
    let theme = Theme::dark(session.view().theme == crate::session::Theme::Dark);
    let mut desk = Desk { session, memory, out };
    let screen = ui.max_rect();
    // One area under all panels: what a panel of fractional width does not cover looks like it, and a shell can clear
    // it instead of drawing.
    ui.painter().rect_filled(screen, 0.0, theme.panel);
    let bare = |margin| Frame::new().inner_margin(margin);
    Panel::top("transport")
        .exact_size(44.0)
        .resizable(false)
        .frame(bare(Margin::symmetric(10, 0)))
        .show(ui, |ui| panels::transport::show(ui, &mut desk));
    let strip = (screen.height() * 0.15).clamp(96.0, 150.0);
    Panel::bottom("strip")
        .default_size(strip)
        .size_range(72.0..=260.0)
        .resizable(true)
        .frame(bare(Margin { left: 10, right: 10, top: 4, bottom: 2 }))
        .show(ui, |ui| panels::bottom::show(ui, &mut desk));
    let side = |share: f32, low: f32, high: f32| (screen.width() * share).clamp(low, high);
    // Sides give way when the window shrinks, so that the canvas keeps room for its bars.
    Panel::left("network")
        .default_size(side(0.21, 290.0, 400.0))
        .size_range(250.0..=(screen.width() - DETAIL - CANVAS).clamp(290.0, 460.0))
        .frame(bare(Margin { left: 12, right: 10, top: 0, bottom: 6 }))
        .show(ui, |ui| {
            panels::network::show(ui, &mut desk);
            panels::kernels::show(ui, &mut desk);
        });
    Panel::right("detail")
        .default_size(side(0.27, DETAIL, 560.0))
        .size_range(300.0..=(ui.available_width() - CANVAS).clamp(300.0, 760.0))
        .frame(bare(Margin { left: 10, right: 12, top: 6, bottom: 6 }))
        .show(ui, |ui| detail(ui, &mut desk));
    egui::CentralPanel::default()
        .frame(Frame::new().fill(theme.ground))
        .show(ui, |ui| panels::canvas::show(ui, &mut desk));
    panels::dialogs::show(ui, &mut desk);
    panels::tour::show(ui, &mut desk);
    panels::messages::show(ui, &mut desk);
}

/// Theme and scale, as the session says.
fn appearance(ctx: &egui::Context, session: &Session) {
    let view = session.view();
    let theme = match view.theme {
        crate::session::Theme::Dark => egui::Theme::Dark,
        crate::session::Theme::Light => egui::Theme::Light,
    };
    if ctx.theme() != theme {
        ctx.set_theme(theme);
    }
    if (ctx.zoom_factor() - view.scale).abs() > 1e-3 {
        ctx.set_zoom_factor(view.scale);
    }
}

/// The right panel: tabs, and the chosen one's content.
fn detail(ui: &mut Ui, desk: &mut Desk<'_>) {
    panels::tabs::show(ui, desk);
    ui.add_space(space::HAIR);
    let tab = desk.session.view().tab;
    egui::ScrollArea::vertical().id_salt(("tab", tab.word())).auto_shrink(false).show(ui, |ui| match tab {
        Tab::Probe => panels::probe::show(ui, desk),
        Tab::Attention => panels::attention::show(ui, desk),
        Tab::Trace => panels::trace::show(ui, desk),
        Tab::Statistics => panels::statistics::show(ui, desk),
        Tab::Events => panels::events::show(ui, desk),
        Tab::Causes => panels::causes::show(ui, desk),
        Tab::Notes => panels::notes::show(ui, desk),
    });
}
