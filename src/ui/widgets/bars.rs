//! Bars: a histogram, or a row of channels.

use super::super::theme::{Theme, text};
use egui::{Align2, Color32, CornerRadius, Rect, Response, Sense, Stroke, Ui, WidgetInfo, WidgetType, pos2, vec2};

/// One bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Its height; negative hangs down.
    pub value: f32,
    /// A second value, drawn as a tick across.
    pub other: Option<f32>,
    /// Its colour.
    pub colour: Color32,
}

/// A row of bars over a common base line.
#[derive(Debug)]
pub struct Bars<'a> {
    name: &'a str,
    row: &'a [Bar],
    height: f32,
    log: bool,
    selected: Option<usize>,
    captions: Option<(&'a str, &'a str)>,
}

impl<'a> Bars<'a> {
    /// Bars with an accessible name.
    pub fn new(name: &'a str, bars: &'a [Bar]) -> Self {
        Self { name, row: bars, height: 72.0, log: false, selected: None, captions: None }
    }

    /// Height in points.
    #[must_use]
    pub fn height(self, height: f32) -> Self {
        Self { height, ..self }
    }

    /// Counts on a log scale, so that one stands out beside a million.
    #[must_use]
    pub fn log(self) -> Self {
        Self { log: true, ..self }
    }

    /// Marks a bar.
    #[must_use]
    pub fn selected(self, bar: Option<usize>) -> Self {
        Self { selected: bar, ..self }
    }

    /// Words under the first and the last bar.
    #[must_use]
    pub fn captions(self, first: &'a str, last: &'a str) -> Self {
        Self { captions: Some((first, last)), ..self }
    }

    /// Draws them over the available width; returns the bar under the pointer.
    pub fn show(self, ui: &mut Ui) -> (Response, Option<usize>) {
        let caption = if self.captions.is_some() { 14.0 } else { 0.0 };
        let (whole, response) =
            ui.allocate_exact_size(vec2(ui.available_width(), self.height + caption), Sense::click());
        let rect = Rect::from_min_size(whole.min, vec2(whole.width(), self.height));
        let theme = Theme::of(ui);
        let painter = ui.painter_at(whole);
        let shaped = |v: f32| if self.log { v.signum() * (v.abs() + 1.0).log10() } else { v };
        let values = self.row.iter().flat_map(|bar| [Some(bar.value), bar.other]).flatten().map(shaped);
        let (low, high) = values.filter(|v| v.is_finite()).fold((0.0_f32, 0.0_f32), |(l, h), v| (l.min(v), h.max(v)));
        let span = (high - low).max(f32::MIN_POSITIVE);
        let y =
            |v: f32| egui::remap_clamp(shaped(v), low..=high.max(low + span), rect.bottom() - 1.0..=rect.top() + 2.0);
        let step = rect.width() / self.row.len().max(1) as f32;
        let gap = if step > 3.0 { 1.0 } else { 0.0 };
        painter.rect_filled(rect, CornerRadius::same(3), theme.ground);
        for (index, bar) in self.row.iter().enumerate() {
            let left = rect.left() + step * index as f32;
            let (top, bottom) = (y(bar.value).min(y(0.0)), y(bar.value).max(y(0.0)));
            let grown = if bar.value != 0.0 && bottom - top < 1.0 { 1.0 } else { 0.0 };
            let body = Rect::from_min_max(pos2(left, top - grown), pos2(left + step - gap, bottom));
            let chosen = self.selected == Some(index);
            painter.rect_filled(body, CornerRadius::ZERO, if chosen { theme.accent } else { bar.colour });
            if let Some(other) = bar.other {
                painter.hline(left..=left + step - gap, y(other), Stroke::new(1.5, theme.reference));
            }
        }
        painter.hline(rect.x_range(), y(0.0), Stroke::new(1.0, theme.outline));
        if let Some((first, last)) = self.captions {
            let line = whole.bottom();
            painter.text(pos2(whole.left(), line), Align2::LEFT_BOTTOM, first, text::small(), theme.weak);
            painter.text(pos2(whole.right(), line), Align2::RIGHT_BOTTOM, last, text::small(), theme.weak);
        }
        let hovered = response
            .hover_pos()
            .filter(|_| !self.row.is_empty())
            .map(|at| (((at.x - rect.left()) / step) as usize).min(self.row.len() - 1));
        if let Some(index) = hovered {
            let left = rect.left() + step * index as f32;
            let column = Rect::from_min_max(pos2(left, rect.top()), pos2(left + step.max(2.0), rect.bottom()));
            painter.rect_filled(column, CornerRadius::ZERO, theme.text.gamma_multiply(0.12));
        }
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Image, true, self.name));
        (response, hovered)
    }
}
