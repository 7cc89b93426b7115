//! A text field with room around its text, an accessible name and a hint.

use egui::{FontId, Key, Margin, Response, TextEdit, Ui, WidgetInfo, WidgetType};

/// Draws it at a width; returns its response, and whether Enter ended it.
pub fn field(ui: &mut Ui, text: &mut String, name: &str, hint: &str, width: f32, font: FontId) -> (Response, bool) {
    let edit = TextEdit::singleline(text)
        .hint_text(hint)
        .desired_width(width - 16.0)
        .font(font)
        .margin(Margin::symmetric(8, 4));
    let response = ui.add(edit);
    response.widget_info(|| WidgetInfo::labeled(WidgetType::TextEdit, true, name));
    let enter = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
    (response, enter)
}
