//! A grid of values as crisp coloured cells, with numbers written into the cells when they fit.
//!
//! Cells are drawn as quads, not as a texture: every cell has hard edges at any zoom and with any renderer.

use super::super::theme::Theme;
use egui::epaint::{Mesh, Vertex, WHITE_UV};
use egui::{
    Align2, Color32, CornerRadius, FontId, Rect, Response, Sense, Shape, Stroke, StrokeKind, Ui, Vec2, WidgetInfo,
    WidgetType, pos2, vec2,
};

/// How values become colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Dark to bright between two values.
    Sequential(f32, f32),
    /// Blue below zero, orange above, up to a magnitude.
    Diverging(f32),
}

impl Scale {
    /// The colour of a value; a NaN has the event colour.
    pub fn colour(self, value: f32, theme: &Theme) -> Color32 {
        if value.is_nan() {
            return theme.event;
        }
        match self {
            Self::Sequential(low, high) => {
                let t = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
                sequential(t)
            }
            Self::Diverging(top) => {
                let t = if top > 0.0 { (value / top).clamp(-1.0, 1.0) } else { 0.0 };
                let end =
                    if t < 0.0 { Color32::from_rgb(0x39, 0x9c, 0xf0) } else { Color32::from_rgb(0xf5, 0x8a, 0x2c) };
                let middle =
                    if theme.dark { Color32::from_rgb(0x17, 0x1b, 0x21) } else { Color32::from_rgb(0xf2, 0xf3, 0xf5) };
                middle.lerp_to_gamma(end, t.abs().powf(0.8))
            }
        }
    }
}

/// Six stops of a perceptual map (viridis), interpolated.
fn sequential(t: f32) -> Color32 {
    const STOPS: [[u8; 3]; 6] =
        [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];
    let at = t * (STOPS.len() - 1) as f32;
    let index = (at as usize).min(STOPS.len() - 2);
    let [a, b] = [STOPS[index], STOPS[index + 1]].map(|[r, g, b]| Color32::from_rgb(r, g, b));
    a.lerp_to_gamma(b, at - index as f32)
}

/// A grid of values.
pub struct Heatmap<'a> {
    name: &'a str,
    columns: usize,
    values: &'a [f32],
    scale: Scale,
    cell: Vec2,
    numbers: Option<&'a dyn Fn(f32) -> String>,
    hatched: Option<&'a dyn Fn(usize) -> bool>,
    selected: Option<usize>,
    rules: usize,
    place: Option<&'a dyn Fn(usize) -> Vec2>,
}

impl std::fmt::Debug for Heatmap<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heatmap").field("name", &self.name).field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// What the pointer is on, and what was clicked.
#[derive(Debug)]
pub struct HeatmapResponse {
    /// Of the whole grid.
    pub response: Response,
    /// The cell under the pointer.
    pub hovered: Option<usize>,
    /// The cell clicked.
    pub clicked: Option<usize>,
}

impl<'a> Heatmap<'a> {
    /// Values row by row, with an accessible name.
    pub fn new(name: &'a str, columns: usize, values: &'a [f32], scale: Scale) -> Self {
        Self {
            name,
            columns,
            values,
            scale,
            cell: Vec2::splat(16.0),
            numbers: None,
            hatched: None,
            selected: None,
            rules: 0,
            place: None,
        }
    }

    /// A cell's size in points.
    #[must_use]
    pub fn cell(self, cell: impl Into<Vec2>) -> Self {
        Self { cell: cell.into(), ..self }
    }

    /// Writes values into cells that are wide enough.
    #[must_use]
    pub fn numbers(self, format: &'a dyn Fn(f32) -> String) -> Self {
        Self { numbers: Some(format), ..self }
    }

    /// Hatches cells: those outside the field.
    #[must_use]
    pub fn hatched(self, hatched: &'a dyn Fn(usize) -> bool) -> Self {
        Self { hatched: Some(hatched), ..self }
    }

    /// Outlines a cell.
    #[must_use]
    pub fn selected(self, cell: Option<usize>) -> Self {
        Self { selected: cell, ..self }
    }

    /// A rule after every so many cells: the 4x4 tiles.
    #[must_use]
    pub fn rules(self, every: usize) -> Self {
        Self { rules: every, ..self }
    }

    /// Where a cell is drawn, in cells: for permutations on their way.
    #[must_use]
    pub fn place(self, place: &'a dyn Fn(usize) -> Vec2) -> Self {
        Self { place: Some(place), ..self }
    }

    /// Draws it.
    pub fn show(self, ui: &mut Ui) -> HeatmapResponse {
        let rows = self.values.len().div_ceil(self.columns.max(1));
        let size = vec2(self.columns as f32 * self.cell.x, rows as f32 * self.cell.y);
        let (rect, response) = ui.allocate_exact_size(size, Sense::click());
        let theme = Theme::of(ui);
        let min_of = |index: usize| {
            let natural = vec2((index % self.columns) as f32, (index / self.columns) as f32);
            rect.min + self.place.map_or(natural, |place| place(index)) * self.cell
        };
        let gap = if self.cell.x >= 10.0 { 1.0 } else { 0.0 };
        let mut mesh = Mesh::default();
        mesh.reserve_vertices(self.values.len() * 4);
        mesh.reserve_triangles(self.values.len() * 2);
        for (index, &value) in self.values.iter().enumerate() {
            let cell = Rect::from_min_size(min_of(index), self.cell - Vec2::splat(gap));
            quad(&mut mesh, cell, self.scale.colour(value, theme));
        }
        let painter = ui.painter_at(rect.expand(2.0));
        painter.add(Shape::mesh(mesh));
        if let Some(hatched) = self.hatched {
            for index in (0..self.values.len()).filter(|&index| hatched(index)) {
                hatch(
                    &painter,
                    Rect::from_min_size(min_of(index), self.cell - Vec2::splat(gap)),
                    theme.text.gamma_multiply(0.6),
                );
            }
        }
        if let Some(format) = self.numbers.filter(|_| self.cell.x >= 26.0 && self.cell.y >= 12.0) {
            for (index, &value) in self.values.iter().enumerate() {
                let fill = self.scale.colour(value, theme);
                let font = FontId::proportional((self.cell.x * 0.29).min(11.0));
                let centre = min_of(index) + self.cell * 0.5;
                painter.text(centre, Align2::CENTER_CENTER, format(value), font, ink_on(fill));
            }
        }
        if self.rules > 0 {
            let stroke = Stroke::new(1.0, theme.text.gamma_multiply(0.35));
            for column in (self.rules..self.columns).step_by(self.rules) {
                painter.vline(rect.left() + column as f32 * self.cell.x - gap * 0.5, rect.y_range(), stroke);
            }
            for row in (self.rules..rows).step_by(self.rules) {
                painter.hline(rect.x_range(), rect.top() + row as f32 * self.cell.y - gap * 0.5, stroke);
            }
        }
        let hovered = response.hover_pos().and_then(|at| {
            (0..self.values.len()).find(|&index| Rect::from_min_size(min_of(index), self.cell).contains(at))
        });
        for (cell, colour, width) in [(hovered, theme.weak, 1.0), (self.selected, theme.accent, 2.0)] {
            if let Some(cell) = cell {
                let outline = Rect::from_min_size(min_of(cell), self.cell - Vec2::splat(gap));
                painter.rect_stroke(outline, CornerRadius::same(1), Stroke::new(width, colour), StrokeKind::Outside);
            }
        }
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Image, true, self.name));
        let clicked = hovered.filter(|_| response.clicked());
        HeatmapResponse { response, hovered, clicked }
    }
}

/// Adds a filled rectangle to a mesh.
pub(in super::super) fn quad(mesh: &mut Mesh, rect: Rect, color: Color32) {
    let first = mesh.vertices.len() as u32;
    let corners = [rect.left_top(), rect.right_top(), rect.right_bottom(), rect.left_bottom()];
    mesh.vertices.extend(corners.map(|pos| Vertex { pos, uv: WHITE_UV, color }));
    mesh.indices.extend([0, 1, 2, 0, 2, 3].map(|corner| first + corner));
}

/// Black or white, whichever reads better on a fill.
pub(in super::super) fn ink_on(fill: Color32) -> Color32 {
    let luma = 0.299 * f32::from(fill.r()) + 0.587 * f32::from(fill.g()) + 0.114 * f32::from(fill.b());
    if luma > 140.0 { Color32::from_rgb(0x0c, 0x0e, 0x12) } else { Color32::from_rgb(0xf4, 0xf6, 0xf8) }
}

/// Diagonal lines over a rectangle: what lies outside the field.
pub(in super::super) fn hatch(painter: &egui::Painter, rect: Rect, colour: Color32) {
    let step = 5.0;
    let (width, height) = (rect.width(), rect.height());
    let lines = ((width + height) / step) as usize;
    for line in 1..=lines {
        let reach = line as f32 * step;
        let from = pos2(rect.left() + (reach - height).max(0.0), rect.top() + reach.min(height));
        let to = pos2(rect.left() + reach.min(width), rect.top() + (reach - width).max(0.0));
        painter.line_segment([from, to], Stroke::new(0.8, colour));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::theme::DARK;
    use super::*;

    #[test]
    fn scales_end_where_they_say_and_mark_nan() {
        let scale = Scale::Sequential(0.0, 2.0);
        assert_eq!(scale.colour(-1.0, &DARK), scale.colour(0.0, &DARK), "clamped below");
        assert_eq!(scale.colour(9.0, &DARK), scale.colour(2.0, &DARK), "clamped above");
        assert_eq!(scale.colour(f32::NAN, &DARK), DARK.event, "NaN is an event");
        let scale = Scale::Diverging(1.0);
        assert_ne!(scale.colour(0.5, &DARK), scale.colour(-0.5, &DARK), "signs differ");
    }
}
