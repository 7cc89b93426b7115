//! Open: a path of any kind, by typing, by dialog, by dropping, or from the recent list; the size; what is loaded.

use super::super::super::desk::Desk;
use super::super::super::icons::Icon;
use super::super::super::theme::{Theme, text};
use super::super::super::widgets::{TextButton, field, section};
use crate::session::{Browse, Command, Loading, Recent};
use egui::{Align, Layout, RichText, Ui};

/// Draws the dialog.
pub(super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    ui.label(
        RichText::new("A model directory, a capture, an image or features. Files can also be dropped on the window.")
            .font(text::small())
            .color(theme.weak),
    );
    ui.add_space(6.0);
    ui.horizontal(|ui| {
        let width = ui.available_width() - 76.0;
        let (response, enter) = field(ui, &mut desk.memory.path, "Path", "/path/to/anything", width, text::body());
        if ui.memory(|memory| memory.focused().is_none()) {
            response.request_focus();
        }
        let ready = !desk.memory.path.trim().is_empty();
        if (TextButton::new("Open").primary().enabled(ready).show(ui).clicked() || enter) && ready {
            let path = std::mem::take(&mut desk.memory.path);
            desk.send(Command::Open(path.trim().to_owned()));
        }
    });
    let sources = desk.session.sources().clone();
    let states = desk.session.source_states().clone();
    let rows = [
        ("Model", sources.model, states.model, Browse::Model, Command::Model("synthetic:1".to_owned())),
        ("Input", sources.input, states.input, Browse::Input, Command::Input("synthetic:1".to_owned())),
    ];
    for (name, spec, state, browse, synthetic) in rows {
        section(ui, name, |ui| {
            if TextButton::new(&format!("Browse {}\u{2026}", name.to_lowercase())).icon(Icon::Open).show(ui).clicked() {
                desk.out.push(Command::Browse(browse));
            }
            if TextButton::new(&format!("Synthetic {}", name.to_lowercase())).show(ui).clicked() {
                desk.out.push(synthetic.clone());
            }
        });
        ui.label(RichText::new(&spec).font(text::mono()).color(theme.text));
        loading(ui, &state);
    }
    section(ui, "Size", |_| {});
    ui.horizontal(|ui| {
        let typed = desk.memory.size.get_or_insert_with(|| sources.size.to_string());
        field(ui, typed, "Size", "512x512", 120.0, text::mono());
        let parsed = typed.parse();
        let ready = parsed.is_ok();
        if TextButton::new("Use this size").enabled(ready).show(ui).clicked()
            && let Ok(size) = parsed
        {
            desk.out.push(Command::Size(size));
        }
        let geometry = desk.session.plan().geometry;
        let words = format!("runs at {}, ViT {}", geometry.field, geometry.levels[5]);
        ui.label(RichText::new(words).font(text::small()).color(theme.weak));
    });
    recent(ui, desk);
}

/// How far a source is, with every problem listed beside it.
pub(super) fn loading(ui: &mut Ui, state: &Loading) {
    let theme = Theme::of(ui);
    match state {
        Loading::Nothing => {}
        Loading::Busy => {
            ui.label(RichText::new("loading\u{2026}").font(text::small()).color(theme.weak));
        }
        Loading::Ready(words) => {
            ui.label(RichText::new(words).font(text::small()).color(theme.weak));
        }
        Loading::Failed(problems) => {
            for problem in problems {
                ui.label(RichText::new(problem).font(text::small()).color(theme.differs));
            }
        }
    }
}

fn recent(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let recent: Vec<Recent> = desk.session.recent().to_vec();
    if recent.is_empty() {
        return;
    }
    section(ui, "Recent", |_| {});
    for entry in recent.iter().take(6) {
        ui.horizontal(|ui| {
            let path = entry.path.display().to_string();
            let name = entry.path.file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
            if TextButton::new(&name).icon(Icon::Open).show(ui).clicked()
                && let Ok(command) = entry.command.parse()
            {
                desk.send(command);
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.add(egui::Label::new(RichText::new(path).font(text::mono_small()).color(theme.weak)).truncate());
            });
        });
    }
}
