//! What if: any cause of the catalogue, switched on in chosen blocks of the subject and run like any other engine.

use super::super::desk::Desk;
use super::super::icons::Icon;
use super::super::theme::{Theme, text};
use super::super::widgets::{IconButton, TextButton, field, one_line, section};
use crate::engine::spec::Change;
use crate::session::{CausePlace, Command};
use egui::{Align, CornerRadius, Layout, Rect, RichText, ScrollArea, Sense, Ui, WidgetInfo, WidgetType, vec2};

/// Height of a row of the list.
const ROW: f32 = 36.0;

/// Draws the section.
pub(super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    section(ui, "What if", |ui| {
        ui.label(RichText::new("computed, not guessed").font(text::small()).color(theme.faint));
    });
    ui.label(
        RichText::new("The subject becomes the reference with a cause switched on in these blocks.")
            .font(text::small())
            .color(theme.weak),
    );
    switched_on(ui, desk);
    let block = desk.session.selection().block.to_string();
    let (mut search, blocks) = std::mem::take(&mut desk.memory.what_if);
    // The selected block, until somebody types another.
    let mut typed = blocks.clone().unwrap_or_else(|| block.clone());
    ui.horizontal(|ui| {
        let width = ui.available_width() - 108.0;
        field(ui, &mut search, "Search causes", "Search: round, softmax, mask\u{2026}", width, text::body());
        field(ui, &mut typed, "Blocks", "all", 92.0, text::mono())
            .0
            .on_hover_text("Blocks such as 9-14 or 3,7; empty for all");
    });
    list(ui, desk, &search, typed.trim());
    desk.memory.what_if = (search, Some(typed).filter(|typed| *typed != block));
}

/// The causes that the subject has now, each with a button that takes it away.
fn switched_on(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let sources = desk.session.sources().clone();
    let causes = sources.causes();
    for (index, change) in causes.iter().enumerate() {
        ui.horizontal(|ui| {
            let blocks = change.blocks.as_deref().map_or("all blocks".to_owned(), |blocks| format!("blocks {blocks}"));
            ui.label(RichText::new(&change.cause).font(text::mono()).color(theme.subject));
            ui.label(RichText::new(blocks).font(text::small()).color(theme.weak));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let name = format!("Switch off {}", change.cause);
                if IconButton::new(Icon::Close, &name).side(20.0).show(ui).clicked() {
                    let mut fewer = causes.clone();
                    fewer.remove(index);
                    desk.send(Command::Subject(sources.with_causes(&fewer)));
                }
            });
        });
    }
    if causes.len() > 1 && TextButton::new("Switch all off").small().show(ui).clicked() {
        desk.send(Command::Subject(sources.with_causes(&[])));
    }
}

/// The catalogue: causes that have a place in the blocks chosen, as far as they match the search.
fn list(ui: &mut Ui, desk: &mut Desk<'_>, search: &str, blocks: &str) {
    let theme = Theme::of(ui);
    let Some(chosen) = numbers(blocks) else {
        ui.label(RichText::new("Expected blocks such as 9-14 or 3,7.").font(text::small()).color(theme.differs));
        return;
    };
    let words: Vec<String> = search.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let fits = |cause: &&CausePlace| {
        let text = format!("{} {} {}", cause.id, cause.name, cause.page).to_lowercase();
        let placed = chosen.is_empty() || chosen.iter().any(|&(a, b)| cause.blocks.range(a..=b).next().is_some());
        placed && words.iter().all(|word| text.contains(word.as_str()))
    };
    let causes: Vec<CausePlace> = desk.session.causes().iter().filter(fits).cloned().collect();
    if causes.is_empty() {
        let none = if desk.session.causes().is_empty() { "Looking the causes up\u{2026}" } else { "No cause fits." };
        ui.label(RichText::new(none).font(text::small()).color(theme.weak));
        return;
    }
    let on = desk.session.sources().causes();
    let change = |cause: &CausePlace| Change {
        cause: cause.id.to_owned(),
        blocks: Some(blocks.to_owned()).filter(|blocks| !blocks.is_empty()),
    };
    ScrollArea::vertical().id_salt("causes").max_height(ROW * 7.0).auto_shrink([false, true]).show_rows(
        ui,
        ROW,
        causes.len(),
        |ui, rows| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for cause in &causes[rows] {
                let one = change(cause);
                let sources = desk.session.sources().clone();
                match row(ui, cause, on.iter().any(|other| other.cause == cause.id)) {
                    Some(Asked::Only) => desk.send(Command::Subject(sources.with_causes(&[one]))),
                    Some(Asked::Too) => {
                        let mut more: Vec<Change> = on.clone();
                        more.push(one);
                        desk.send(Command::Subject(sources.with_causes(&more)));
                    }
                    None => {}
                }
            }
        },
    );
}

/// What was asked of a row.
enum Asked {
    /// The reference with this cause and no other.
    Only,
    /// This cause too.
    Too,
}

/// One cause: a click makes the subject the reference with it, the small button adds it to what is on.
fn row(ui: &mut Ui, cause: &CausePlace, on: bool) -> Option<Asked> {
    let theme = Theme::of(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    if on || response.hovered() || response.has_focus() {
        let fill = if on { theme.accent_soft } else { theme.hover };
        ui.painter().rect_filled(rect, CornerRadius::same(6), fill);
    }
    let button = Rect::from_min_max(rect.right_top() + vec2(-52.0, 7.0), rect.right_bottom() - vec2(6.0, 7.0));
    let hot = response.hovered() || ui.rect_contains_pointer(rect);
    // The button stands there only under the pointer.
    let right = if hot && !on { 56.0 } else { 8.0 };
    let line = |top: f32, bottom: f32| {
        Rect::from_min_max(rect.left_top() + vec2(8.0, top), rect.right_top() + vec2(-right, bottom))
    };
    let whole = one_line(ui, cause.name, line(2.0, 20.0), text::body(), theme.text);
    let places = format!("{} \u{b7} {} blocks", cause.id, cause.blocks.len());
    one_line(ui, &places, line(19.0, 33.0), text::small(), theme.faint_on(true));
    let name = format!("what if: {}", cause.id);
    response.widget_info(|| WidgetInfo::selected(WidgetType::SelectableLabel, true, on, &name));
    let mut asked = response.clicked().then_some(Asked::Only);
    if hot && !on {
        let add = ui.scope_builder(egui::UiBuilder::new().max_rect(button), |ui| {
            TextButton::new("Add").small().about("Switch it on beside what is on already").show(ui)
        });
        if add.inner.clicked() {
            asked = Some(Asked::Too);
        }
    }
    let name = if whole { String::new() } else { format!("{}\n", cause.name) };
    response.on_hover_text(format!("{name}{}\nA click makes the subject the reference with this cause.", cause.page));
    asked
}

/// Ranges of blocks; none for all, `None` for what cannot be read.
fn numbers(text: &str) -> Option<Vec<(usize, usize)>> {
    let range = |part: &str| {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        let (a, b) = (a.trim().parse().ok()?, b.trim().parse().ok()?);
        (a <= b && b <= 70).then_some((a, b))
    };
    if text.is_empty() { Some(Vec::new()) } else { text.split(',').map(range).collect() }
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn blocks_are_ranges_or_all() {
        assert_eq!(numbers("9-14,3"), Some(vec![(9, 14), (3, 3)]), "ranges");
        assert_eq!(numbers(""), Some(Vec::new()), "all");
        for wrong in ["x", "5-", "14-9", "3,,4", "71"] {
            assert_eq!(numbers(wrong), None, "{wrong}");
        }
    }
}
