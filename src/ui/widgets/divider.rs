//! A divider that is dragged across a picture.

use super::super::theme::Theme;
use egui::{CursorIcon, Key, Rect, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

/// A vertical divider at `share` of `rect`; returns the new share while it is dragged or moved by arrow keys.
pub fn divider(ui: &Ui, rect: Rect, share: f32, name: &str) -> Option<f32> {
    let theme = Theme::of(ui);
    let x = egui::lerp(rect.left()..=rect.right(), share.clamp(0.0, 1.0));
    let grip = Rect::from_center_size(pos2(x, rect.center().y), vec2(14.0, rect.height()));
    let response = ui.interact(grip, ui.id().with(name), Sense::click_and_drag());
    let hot = response.hovered() || response.dragged() || response.has_focus();
    let colour = if hot { theme.accent } else { theme.text };
    ui.painter().vline(x, rect.y_range(), Stroke::new(3.0, theme.ground.gamma_multiply(0.7)));
    ui.painter().vline(x, rect.y_range(), Stroke::new(1.5, colour));
    let knob = pos2(x, rect.center().y);
    ui.painter().circle(knob, 9.0, if hot { theme.accent } else { theme.raised }, Stroke::new(1.5, colour));
    let ink = Stroke::new(1.5, if hot { theme.on_accent } else { theme.text });
    for side in [-1.0, 1.0] {
        let tip = knob + vec2(5.5 * side, 0.0);
        ui.painter().line_segment([tip, tip + vec2(-2.5 * side, -3.0)], ink);
        ui.painter().line_segment([tip, tip + vec2(-2.5 * side, 3.0)], ink);
    }
    response.widget_info(|| WidgetInfo::slider(true, f64::from(share), name));
    let response = response.on_hover_and_drag_cursor(CursorIcon::ResizeHorizontal);
    if response.double_clicked() {
        return Some(0.5);
    }
    if response.dragged() {
        let at = response.interact_pointer_pos()?.x;
        return Some(((at - rect.left()) / rect.width()).clamp(0.0, 1.0));
    }
    let step = ui.input(|i| i32::from(i.key_pressed(Key::ArrowRight)) - i32::from(i.key_pressed(Key::ArrowLeft)));
    (response.has_focus() && step != 0).then(|| (share + 0.02 * step as f32).clamp(0.0, 1.0))
}
