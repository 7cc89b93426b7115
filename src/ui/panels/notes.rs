//! Notes: bookmarks and everything the program has said.

use super::super::desk::Desk;
use super::super::icons::Icon;
use super::super::theme::{Theme, text};
use super::super::widgets::{IconButton, TextButton, field, section};
use crate::session::{Bookmark, Browse, Command, CopyWhat, Severity};
use egui::{Align, Layout, RichText, Ui};

const BUNDLE: &str = "The first divergent kernel as a folder that `blockscope replay` checks alone: what it reads, \
                      its weights, both results";

/// Draws the tab.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let bookmarks: Vec<Bookmark> = desk.session.bookmarks().to_vec();
    section(ui, &format!("Bookmarks ({})", bookmarks.len()), |_| {});
    ui.horizontal(|ui| {
        let width = ui.available_width() - 110.0;
        let (_, enter) = field(ui, &mut desk.memory.note, "Bookmark note", "Note for this place", width, text::body());
        if TextButton::new("Bookmark").icon(Icon::Bookmark).key("Ctrl+B").show(ui).clicked() || enter {
            let note = std::mem::take(&mut desk.memory.note);
            desk.send(Command::Bookmark(note));
        }
    });
    for (index, bookmark) in bookmarks.iter().enumerate() {
        ui.horizontal(|ui| {
            let note = if bookmark.note.is_empty() { bookmark.selection.tensor.as_str() } else { &bookmark.note };
            if TextButton::new(note).icon(Icon::Bookmark).about("Go there").show(ui).clicked() {
                desk.send(Command::GoBookmark(index));
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if IconButton::new(Icon::Close, &format!("Forget bookmark {note}")).side(20.0).show(ui).clicked() {
                    desk.send(Command::RemoveBookmark(index));
                }
                let place = bookmark.selection.tensor.as_str();
                ui.add(egui::Label::new(RichText::new(place).font(text::mono_small()).color(theme.weak)).truncate());
            });
        });
    }
    section(ui, "Evidence", |_| {});
    ui.horizontal_wrapped(|ui| {
        for (words, what) in [("Copy verdict", CopyWhat::Verdict), ("Copy command line", CopyWhat::CommandLine)] {
            if TextButton::new(words).icon(Icon::Copy).show(ui).clicked() {
                desk.send(Command::Copy(what));
            }
        }
        for (words, what, about) in [
            ("Export tensor", Browse::ExportTensor, "The selected tensor as .npy"),
            ("Write report", Browse::Report, "The comparison as it stands, with pictures and causes"),
            ("Write bundle", Browse::Bundle, BUNDLE),
            ("Bundle without weights", Browse::BundleWithoutWeights, "The same without weights of your model"),
        ] {
            if TextButton::new(words).icon(Icon::Save).about(about).show(ui).clicked() {
                desk.send(Command::Browse(what));
            }
        }
    });
    section(ui, "Messages", |_| {});
    if desk.session.messages().is_empty() {
        ui.label(RichText::new("Nothing to report.").font(text::small()).color(theme.weak));
    }
    for message in desk.session.messages().iter().rev() {
        let colour = match message.severity {
            Severity::Info => theme.weak,
            Severity::Warning => theme.zero_sign,
            Severity::Error => theme.differs,
        };
        ui.label(RichText::new(&message.text).font(text::small()).color(colour));
        for detail in &message.details {
            ui.label(RichText::new(format!("  {detail}")).font(text::small()).color(theme.weak));
        }
    }
}
