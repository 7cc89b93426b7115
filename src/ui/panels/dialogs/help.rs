//! Keys and glossary.

use super::super::super::desk::Desk;
use super::super::super::glossary::{TERMS, Term};
use super::super::super::theme::{Theme, text};
use super::super::super::widgets::{field, keys as caps};
use crate::session::{Command, FLICK, Select, ViewChange, bindings};
use egui::{RichText, ScrollArea, Ui, vec2};

/// What a command does, in few words.
fn words(command: &Command) -> String {
    match command {
        Command::View(ViewChange::Overlay(layer, _)) => layer.title().to_owned(),
        Command::View(ViewChange::Mode(mode)) => mode.title().to_owned(),
        Command::View(ViewChange::Tab(tab)) => tab.title().to_owned(),
        Command::View(ViewChange::Zoom(None)) => "Fit the picture".to_owned(),
        Command::View(ViewChange::Zoom(Some(_))) => "One token on one point".to_owned(),
        Command::View(ViewChange::ZoomBy(factor)) => if *factor > 1.0 { "Zoom in" } else { "Zoom out" }.to_owned(),
        Command::Select(Select::StepBy(by)) => if *by > 0 { "Next kernel" } else { "Previous kernel" }.to_owned(),
        Command::Select(Select::BlockBy(by)) => if *by > 0 { "Next block" } else { "Previous block" }.to_owned(),
        Command::Select(Select::ChannelBy(by)) => if *by > 0 { "Next channel" } else { "Previous channel" }.to_owned(),
        Command::Select(Select::TokenBy(x, y)) => match (x, y) {
            (1, _) => "Token to the right",
            (-1, _) => "Token to the left",
            (_, 1) => "Token below",
            _ => "Token above",
        }
        .to_owned(),
        Command::Select(Select::Divergence) => "Go to the first divergence".to_owned(),
        Command::Select(Select::Difference) => "Go to the first differing element".to_owned(),
        Command::Show(Some(dialog)) => dialog.title().to_owned(),
        Command::Show(None) => "Close the dialog".to_owned(),
        Command::Pin(_) => "Pin this place".to_owned(),
        Command::Bookmark(_) => "Bookmark this view".to_owned(),
        Command::Diagnose => "Test known causes".to_owned(),
        Command::Run(transport) => match transport {
            crate::session::Transport::First => "To the start",
            crate::session::Transport::Back => "Step back",
            crate::session::Transport::StepKernel => "Step one kernel",
            crate::session::Transport::StepBlock => "Step one block",
            crate::session::Transport::ToSelection => "Run to the selection",
            crate::session::Transport::ToDivergence => "Run to the first divergence",
            crate::session::Transport::All => "Run all",
            crate::session::Transport::Stop => "Stop",
        }
        .to_owned(),
        other => {
            let line = other.to_string();
            line[..1].to_uppercase() + &line[1..]
        }
    }
}

/// Every key, in columns.
pub(super) fn keys(ui: &mut Ui) {
    let theme = Theme::of(ui);
    let mut rows: Vec<(&str, String)> =
        bindings().into_iter().map(|binding| (binding.key, words(&binding.command))).collect();
    rows.push((FLICK, "Hold: see the other side".to_owned()));
    let half = rows.len().div_ceil(2);
    ScrollArea::vertical().id_salt("keys").show(ui, |ui| {
        ui.columns(2, |columns| {
            for (column, part) in columns.iter_mut().zip(rows.chunks(half)) {
                column.spacing_mut().item_spacing.y = 2.0;
                for (key, words) in part {
                    column.horizontal(|ui| {
                        ui.allocate_ui_with_layout(
                            vec2(112.0, 20.0),
                            egui::Layout::left_to_right(egui::Align::Center),
                            |ui| {
                                ui.set_min_width(112.0);
                                caps(ui, key);
                            },
                        );
                        ui.add(egui::Label::new(RichText::new(words).font(text::small()).color(theme.text)).truncate());
                    });
                }
            }
        });
    });
}

/// All terms; the one that was asked for comes first.
pub(super) fn glossary(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let width = ui.available_width();
    field(ui, &mut desk.memory.glossary, "Search glossary", "Search", width, text::body());
    let typed = desk.memory.glossary.to_lowercase();
    let fits = |term: &&Term| {
        typed.is_empty() || [term.name, term.short, term.long].iter().any(|text| text.to_lowercase().contains(&typed))
    };
    let wanted = desk.session.term();
    let (first, rest): (Vec<&Term>, Vec<&Term>) = TERMS.iter().filter(fits).partition(|term| term.name == wanted);
    ScrollArea::vertical().id_salt("glossary").auto_shrink([false, true]).show(ui, |ui| {
        for term in first.into_iter().chain(rest) {
            ui.add_space(6.0);
            let ink = if term.name == wanted { theme.accent } else { theme.text };
            ui.label(RichText::new(term.name).font(text::heading()).color(ink));
            ui.label(RichText::new(term.short).font(text::body()).color(theme.text));
            ui.label(RichText::new(term.long).font(text::small()).color(theme.weak));
        }
    });
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_binding_has_words() {
        for binding in super::bindings() {
            assert!(super::words(&binding.command).len() > 2, "{}", binding.key);
        }
    }
}
