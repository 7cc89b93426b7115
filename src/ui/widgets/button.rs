//! Buttons: an icon with a name and a key, and text with an emphasis.

use super::super::icons::Icon;
use super::super::theme::{Theme, space, text};
use super::keycap::keys;
use egui::{Color32, CornerRadius, Response, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, WidgetType, vec2};

/// A square button with an icon. Its name is its accessible label and the head of its tooltip.
#[derive(Clone, Copy, Debug)]
pub struct IconButton<'a> {
    icon: Icon,
    name: &'a str,
    about: &'a str,
    key: &'a str,
    enabled: bool,
    chosen: bool,
    side: f32,
}

impl<'a> IconButton<'a> {
    /// A button.
    pub fn new(icon: Icon, name: &'a str) -> Self {
        Self { icon, name, about: "", key: "", enabled: true, chosen: false, side: space::CONTROL }
    }

    /// A sentence for the tooltip.
    #[must_use]
    pub fn about(self, about: &'a str) -> Self {
        Self { about, ..self }
    }

    /// The key that does the same.
    #[must_use]
    pub fn key(self, key: &'a str) -> Self {
        Self { key, ..self }
    }

    /// Whether it can be pressed.
    #[must_use]
    pub fn enabled(self, enabled: bool) -> Self {
        Self { enabled, ..self }
    }

    /// Whether what it names is on.
    #[must_use]
    pub fn chosen(self, chosen: bool) -> Self {
        Self { chosen, ..self }
    }

    /// Another size than a control's height.
    #[must_use]
    pub fn side(self, side: f32) -> Self {
        Self { side, ..self }
    }

    /// Draws it.
    pub fn show(self, ui: &mut Ui) -> Response {
        let sense = if self.enabled { Sense::click() } else { Sense::hover() };
        let (rect, response) = ui.allocate_exact_size(vec2(self.side + 4.0, self.side), sense);
        let theme = Theme::of(ui);
        let hovered = self.enabled && (response.hovered() || response.has_focus());
        let fill = match (self.chosen, response.is_pointer_button_down_on(), hovered) {
            (_, true, _) => theme.pressed,
            (true, ..) => theme.accent_soft,
            (_, _, true) => theme.hover,
            _ => Color32::TRANSPARENT,
        };
        let ink = match (self.enabled, self.chosen) {
            (false, _) => theme.faint.gamma_multiply(0.7),
            (_, true) => theme.accent,
            _ if hovered => theme.text,
            _ => theme.weak,
        };
        ui.painter().rect_filled(rect, CornerRadius::same(space::CORNER), fill);
        focus_ring(ui, &response);
        self.icon.paint(ui.painter(), rect.shrink(4.0), ink);
        let kind = if self.chosen { WidgetType::SelectableLabel } else { WidgetType::Button };
        response.widget_info(|| match kind {
            WidgetType::SelectableLabel => WidgetInfo::selected(kind, self.enabled, true, self.name),
            _ => WidgetInfo::labeled(kind, self.enabled, self.name),
        });
        response.on_hover_ui(|ui| tooltip(ui, self.name, self.about, self.key))
    }
}

/// A button with words.
#[derive(Clone, Copy, Debug)]
pub struct TextButton<'a> {
    words: &'a str,
    icon: Option<Icon>,
    primary: bool,
    small: bool,
    enabled: bool,
    about: &'a str,
    key: &'a str,
}

impl<'a> TextButton<'a> {
    /// A button.
    pub fn new(words: &'a str) -> Self {
        Self { words, icon: None, primary: false, small: false, enabled: true, about: "", key: "" }
    }

    /// The one button that leads on.
    #[must_use]
    pub fn primary(self) -> Self {
        Self { primary: true, ..self }
    }

    /// As low and quiet as a row of segments.
    #[must_use]
    pub fn small(self) -> Self {
        Self { small: true, ..self }
    }

    /// An icon in front.
    #[must_use]
    pub fn icon(self, icon: Icon) -> Self {
        Self { icon: Some(icon), ..self }
    }

    /// Whether it can be pressed.
    #[must_use]
    pub fn enabled(self, enabled: bool) -> Self {
        Self { enabled, ..self }
    }

    /// A sentence for the tooltip.
    #[must_use]
    pub fn about(self, about: &'a str) -> Self {
        Self { about, ..self }
    }

    /// The key that does the same.
    #[must_use]
    pub fn key(self, key: &'a str) -> Self {
        Self { key, ..self }
    }

    /// Draws it.
    pub fn show(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui);
        let font = match (self.primary, self.small) {
            (true, _) => text::heading(),
            (_, true) => text::small(),
            _ => text::body(),
        };
        let galley = ui.painter().layout_no_wrap(self.words.to_owned(), font, Color32::PLACEHOLDER);
        let lead = if self.icon.is_some() { 18.0 } else { 0.0 };
        let size = vec2(
            galley.size().x + lead + 2.0 * space::SMALL + 4.0,
            if self.small { space::CONTROL - 2.0 } else { space::CONTROL.max(galley.size().y + 6.0) },
        );
        let sense = if self.enabled { Sense::click() } else { Sense::hover() };
        let (rect, response) = ui.allocate_exact_size(size, sense);
        let hovered = self.enabled && (response.hovered() || response.has_focus());
        let down = response.is_pointer_button_down_on();
        let (fill, outline, ink) = if !self.enabled {
            (theme.panel, theme.line, theme.faint)
        } else if self.primary {
            (if hovered { theme.accent.gamma_multiply(0.88) } else { theme.accent }, theme.accent, theme.on_accent)
        } else {
            let fill = if down {
                theme.pressed
            } else if hovered {
                theme.hover
            } else {
                theme.raised
            };
            (fill, if hovered { theme.outline } else { theme.line }, theme.text)
        };
        ui.painter().rect(rect, CornerRadius::same(space::CORNER), fill, Stroke::new(1.0, outline), StrokeKind::Inside);
        focus_ring(ui, &response);
        let mut at = rect.left_center() + vec2(space::SMALL + 2.0, 0.0);
        if let Some(icon) = self.icon {
            icon.paint(ui.painter(), egui::Rect::from_center_size(at + vec2(6.0, 0.0), Vec2::splat(14.0)), ink);
            at.x += lead;
        }
        ui.painter().galley(at - vec2(0.0, galley.size().y * 0.5), galley, ink);
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Button, self.enabled, self.words));
        if self.about.is_empty() && self.key.is_empty() {
            return response;
        }
        response.on_hover_ui(|ui| tooltip(ui, self.words, self.about, self.key))
    }
}

/// The ring around what has the keyboard.
pub(in super::super) fn focus_ring(ui: &Ui, response: &Response) {
    if response.has_focus() {
        let stroke = Stroke::new(1.5, Theme::of(ui).accent);
        ui.painter().rect_stroke(response.rect, CornerRadius::same(space::CORNER), stroke, StrokeKind::Inside);
    }
}

/// A tooltip: name and key in one line, a sentence below.
pub(in super::super) fn tooltip(ui: &mut Ui, name: &str, about: &str, key: &str) {
    let theme = Theme::of(ui);
    ui.horizontal(|ui| {
        ui.label(egui::RichText::new(name).font(text::heading()).color(theme.text));
        if !key.is_empty() {
            keys(ui, key);
        }
    });
    if !about.is_empty() {
        ui.label(egui::RichText::new(about).font(text::small()).color(theme.weak));
    }
}
