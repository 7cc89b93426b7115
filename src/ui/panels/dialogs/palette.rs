//! The command palette: every command, found by a few letters of its words.
//!
//! What is typed is matched as a subsequence; letters at the start of words and in a row count more. A line that is
//! itself a command (`select block-12`) can be run as it stands.

use super::super::super::desk::Desk;
use super::super::super::theme::{Theme, text};
use super::super::super::widgets::key_hint;
use crate::session::{Command, Select, key_of};
use egui::{Align2, CornerRadius, Key, RichText, ScrollArea, Sense, TextEdit, Ui, WidgetInfo, WidgetType, vec2};

const ROW: f32 = 28.0;

/// Draws the field and the rows that match.
pub(super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let (mut typed, mut at) = std::mem::take(&mut desk.memory.palette);
    let field = TextEdit::singleline(&mut typed)
        .hint_text("Type a command, a block, a tensor\u{2026}")
        .desired_width(f32::INFINITY)
        .font(egui::FontId::proportional(16.0))
        .margin(vec2(10.0, 8.0));
    let response = ui.add(field);
    response.widget_info(|| WidgetInfo::labeled(WidgetType::TextEdit, true, "Command"));
    response.request_focus();
    if response.changed() {
        at = 0;
    }
    let rows = matches(desk, &typed);
    let (up, down, enter) = ui.input_mut(|input| {
        let mut press = |key| input.consume_key(egui::Modifiers::NONE, key);
        (press(Key::ArrowUp), press(Key::ArrowDown), press(Key::Enter))
    });
    let last = rows.len().saturating_sub(1);
    at = if down {
        (at + 1).min(last)
    } else if up {
        at.saturating_sub(1)
    } else {
        at.min(last)
    };
    let mut chosen = enter.then(|| rows.get(at).map(|(_, command)| command.clone())).flatten();
    ui.add_space(6.0);
    if rows.is_empty() {
        ui.label(
            RichText::new("No command matches. A command line such as \"select block-12\" works too.")
                .color(Theme::of(ui).weak),
        );
    }
    ScrollArea::vertical().id_salt("palette").max_height(380.0).auto_shrink([false, true]).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        for (index, (name, command)) in rows.iter().enumerate() {
            let on = index == at;
            let (clicked, response) = row(ui, name, command, on);
            if on && (up || down) {
                response.scroll_to_me(None);
            }
            if clicked {
                chosen = Some(command.clone());
            }
        }
    });
    desk.memory.palette = (typed, at);
    if let Some(command) = chosen {
        if !matches!(command, Command::Show(Some(_))) {
            desk.send(Command::Show(None));
        }
        desk.send(command);
        desk.memory.palette = Default::default();
    }
}

fn row(ui: &mut Ui, name: &str, command: &Command, on: bool) -> (bool, egui::Response) {
    let theme = Theme::of(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::CLICK);
    if on || response.hovered() {
        let fill = if on { theme.accent_soft } else { theme.hover };
        ui.painter().rect_filled(rect, CornerRadius::same(5), fill);
    }
    ui.painter().text(rect.left_center() + vec2(10.0, 0.0), Align2::LEFT_CENTER, name, text::body(), theme.text);
    if let Some(key) = key_of(command) {
        key_hint(ui, rect.right_center() - vec2(8.0, 0.0), key);
    }
    response.widget_info(|| WidgetInfo::selected(WidgetType::SelectableLabel, true, on, name));
    (response.clicked(), response)
}

/// The rows for what was typed, best first.
fn matches(desk: &Desk<'_>, typed: &str) -> Vec<(String, Command)> {
    let mut rows: Vec<(i32, String, Command)> = all(desk)
        .into_iter()
        .filter_map(|(name, command)| score(&name, typed).map(|score| (score, name, command)))
        .collect();
    if !typed.trim().is_empty() {
        rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.len().cmp(&b.1.len())));
    }
    rows.truncate(60);
    let mut rows: Vec<(String, Command)> = rows.into_iter().map(|(_, name, command)| (name, command)).collect();
    if let Ok(command) = typed.trim().parse::<Command>() {
        rows.insert(0, (format!("Run line: {}", typed.trim()), command));
    }
    rows
}

/// How well a name fits: `None` when a letter is missing.
fn score(name: &str, typed: &str) -> Option<i32> {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let (mut total, mut at, mut before) = (0, 0, None);
    for letter in typed.to_lowercase().chars().filter(|c| !c.is_whitespace()) {
        let starts = |&i: &usize| name[i] == letter && (i == 0 || !name[i - 1].is_alphanumeric());
        let next = before.filter(|&i: &usize| name.get(i + 1) == Some(&letter)).map(|i| i + 1);
        let word = (at..name.len()).find(starts);
        let any = (at..name.len()).find(|&i| name[i] == letter);
        let found = next.or(word).or(any)?;
        total += if next.is_some() {
            5
        } else if Some(found) == word {
            4
        } else {
            1
        } - (found as i32 / 16);
        before = Some(found);
        at = found + 1;
    }
    Some(total)
}

/// Every command that makes sense without more words, blocks and boundaries, with their names.
fn all(desk: &Desk<'_>) -> Vec<(String, Command)> {
    let mut all = Command::palette();
    all.extend((0..71).map(|block| Command::Select(Select::Block(block))));
    let boundaries = desk.session.plan().boundaries.iter();
    all.extend(boundaries.map(|name| Command::Select(Select::Tensor(name.clone()))));
    all.into_iter().map(|command| (command.title(), command)).collect()
}

#[cfg(test)]
mod tests {
    use super::score;

    #[test]
    fn words_are_found_by_their_first_letters_and_missing_letters_refuse() {
        assert!(score("Run to first divergence", "rfd").is_some(), "initials");
        assert_eq!(score("Run all", "xyz"), None, "missing letters");
        assert!(score("Step block", "sb") > score("Test subjects abroad", "sb"), "initials count more");
        assert!(score("Go to block 12", "block 12") > score("Go to block 21", "12"), "in a row counts more");
    }
}
