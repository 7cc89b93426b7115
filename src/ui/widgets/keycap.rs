//! Keys, drawn as caps.

use super::super::theme::{Theme, text};
use egui::{Color32, CornerRadius, Pos2, Rect, Sense, Stroke, StrokeKind, Ui, Vec2, pos2, vec2};

/// One shortcut, such as `Ctrl+Shift+P`: a cap for each key.
pub fn keys(ui: &mut Ui, shortcut: &str) {
    let caps: Vec<_> = parts(shortcut)
        .map(|cap| ui.painter().layout_no_wrap(cap.to_owned(), text::label(), Color32::PLACEHOLDER))
        .collect();
    let width: f32 = caps.iter().map(|cap| cap_width(cap.size().x) + 2.0).sum();
    let (rect, _) = ui.allocate_exact_size(vec2(width.max(1.0) - 2.0, 18.0), Sense::hover());
    let mut left = rect.left();
    for cap in caps {
        let size = vec2(cap_width(cap.size().x), 17.0);
        draw(ui, Rect::from_min_size(pos2(left, rect.center().y - size.y * 0.5), size), cap);
        left += size.x + 2.0;
    }
}

/// A shortcut drawn right-aligned at a place, without taking room; the place's x is its right edge.
pub fn key_hint(ui: &Ui, right: Pos2, shortcut: &str) -> f32 {
    let mut edge = right.x;
    let caps: Vec<&str> = parts(shortcut).collect();
    for cap in caps.into_iter().rev() {
        let cap = ui.painter().layout_no_wrap(cap.to_owned(), text::label(), Color32::PLACEHOLDER);
        let size = vec2(cap_width(cap.size().x), 17.0);
        draw(ui, Rect::from_min_size(pos2(edge - size.x, right.y - size.y * 0.5), size), cap);
        edge -= size.x + 2.0;
    }
    right.x - edge
}

/// Splits at `+`, keeping a trailing `+` as a key of its own.
fn parts(shortcut: &str) -> impl Iterator<Item = &str> {
    let body = shortcut.strip_suffix("++").map(|body| (body, Some("+")));
    let (body, plus) = body.unwrap_or(if shortcut == "+" { ("", Some("+")) } else { (shortcut, None) });
    body.split('+').filter(|part| !part.is_empty()).chain(plus)
}

fn cap_width(text: f32) -> f32 {
    (text + 9.0).max(17.0)
}

fn draw(ui: &Ui, rect: Rect, cap: std::sync::Arc<egui::Galley>) {
    let theme = Theme::of(ui);
    let painter = ui.painter();
    painter.rect_filled(rect, CornerRadius::same(4), theme.outline.gamma_multiply(0.8));
    let face = Rect::from_min_size(rect.min, rect.size() - vec2(0.0, 1.5));
    painter.rect(face, CornerRadius::same(4), theme.raised, Stroke::new(1.0, theme.outline), StrokeKind::Inside);
    let at = face.center() - cap.size() * 0.5;
    painter.galley(at + Vec2::new(0.0, 0.0), cap, theme.weak);
}

#[cfg(test)]
mod tests {
    #[test]
    fn shortcuts_split_into_caps() {
        let split = |text| super::parts(text).collect::<Vec<_>>();
        assert_eq!(split("Ctrl+Shift+P"), ["Ctrl", "Shift", "P"], "three keys");
        assert_eq!(split("Ctrl++"), ["Ctrl", "+"], "the plus key");
        assert_eq!(split("+"), ["+"], "alone");
    }
}
