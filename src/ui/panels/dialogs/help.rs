//! Keys and glossary.

use super::super::super::desk::Desk;
use super::super::super::glossary::{TERMS, Term};
use super::super::super::theme::{Theme, text};
use super::super::super::widgets::{field, keys as caps};
use crate::session::{Binding, FLICK, bindings};
use egui::{RichText, ScrollArea, Ui, vec2};

/// Every key, in columns.
pub(super) fn keys(ui: &mut Ui) {
    let theme = Theme::of(ui);
    let row = |binding: Binding| {
        let Binding { key, command } = binding;
        (key, command.short_title(), command.title())
    };
    let mut rows: Vec<(&str, String, String)> = bindings().into_iter().map(row).collect();
    rows.push((FLICK, "Hold: see the other side".to_owned(), "Shows the other side while it is held".to_owned()));
    let half = rows.len().div_ceil(2);
    ScrollArea::vertical().id_salt("keys").show(ui, |ui| {
        ui.columns(2, |columns| {
            for (column, part) in columns.iter_mut().zip(rows.chunks(half)) {
                column.spacing_mut().item_spacing.y = 2.0;
                for (key, words, about) in part {
                    column.horizontal(|ui| {
                        ui.allocate_ui_with_layout(
                            vec2(112.0, 20.0),
                            egui::Layout::left_to_right(egui::Align::Center),
                            |ui| {
                                ui.set_min_width(112.0);
                                caps(ui, key);
                            },
                        );
                        let words = RichText::new(words).font(text::small()).color(theme.text);
                        ui.add(egui::Label::new(words).truncate()).on_hover_text(about);
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
