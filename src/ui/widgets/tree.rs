//! A tree of half adds, leaves at the top, each node with its value and whether it was rounded.

use super::super::theme::{Theme, text};
use egui::{
    Align2, CornerRadius, Rect, Response, Sense, Shape, Stroke, StrokeKind, Ui, WidgetInfo, WidgetType, pos2, vec2,
};

/// One half add.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeNode {
    /// Its name in the text: `b[3][0]`, `t5`, `even`.
    pub name: String,
    /// The half result.
    pub value: f32,
    /// What rounding took away: exact sum minus half result.
    pub lost: f64,
    /// Indices of its operands in the row above (of the leaves for the first row).
    pub from: Vec<usize>,
}

/// Rows of adds; a node's operands lie in the row above it.
#[derive(Debug)]
pub struct Tree<'a> {
    name: &'a str,
    rows: &'a [Vec<TreeNode>],
    leaves: &'a [f32],
}

impl<'a> Tree<'a> {
    /// A tree with an accessible name.
    pub fn new(name: &'a str, leaves: &'a [f32], rows: &'a [Vec<TreeNode>]) -> Self {
        Self { name, rows, leaves }
    }

    /// Draws it over the available width; returns the node under the pointer as (row, index).
    pub fn show(self, ui: &mut Ui) -> (Response, Option<(usize, usize)>) {
        let row_height = 26.0;
        let height = 14.0 + row_height * self.rows.len() as f32 + 4.0;
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
        let theme = Theme::of(ui);
        let painter = ui.painter_at(rect);
        let x_of = |count: usize, index: usize| rect.left() + rect.width() * (index as f32 + 0.5) / count.max(1) as f32;
        let top = self.leaves.iter().copied().fold(0.0_f32, f32::max).max(f32::MIN_POSITIVE);
        for (index, &leaf) in self.leaves.iter().enumerate() {
            let x = x_of(self.leaves.len(), index);
            let tall = (leaf / top * 12.0).clamp(1.0, 12.0);
            let bar = Rect::from_min_max(pos2(x - 1.5, rect.top() + 12.0 - tall), pos2(x + 1.5, rect.top() + 12.0));
            painter.rect_filled(bar, CornerRadius::ZERO, theme.subject);
        }
        // Children are placed over their parents: a node stands at the mean of its operands.
        let mut above: Vec<egui::Pos2> =
            (0..self.leaves.len()).map(|i| pos2(x_of(self.leaves.len(), i), rect.top() + 12.0)).collect();
        let mut hovered = None;
        for (row, nodes) in self.rows.iter().enumerate() {
            let y = rect.top() + 14.0 + row_height * (row as f32 + 0.6);
            let places: Vec<egui::Pos2> = (0..nodes.len()).map(|i| pos2(x_of(nodes.len(), i), y)).collect();
            for (node, &place) in nodes.iter().zip(&places) {
                let rounded = node.lost != 0.0;
                let colour = if rounded { theme.differs } else { theme.outline };
                for from in node.from.iter().filter_map(|&from| above.get(from)) {
                    painter.line_segment([*from, place], Stroke::new(1.0, theme.outline.gamma_multiply(0.7)));
                }
                let room = rect.width() / nodes.len() as f32;
                if room >= 40.0 {
                    let label = super::super::format::short(f64::from(node.value));
                    let galley = painter.layout_no_wrap(label, text::mono_small(), theme.text);
                    let body = Rect::from_center_size(place, galley.size() + vec2(8.0, 3.0));
                    painter.rect(
                        body,
                        CornerRadius::same(4),
                        theme.raised,
                        Stroke::new(1.0, colour),
                        StrokeKind::Inside,
                    );
                    painter.galley(body.center() - galley.size() * 0.5, galley, theme.text);
                    if rounded {
                        triangle(&painter, body.right_top() + vec2(-1.0, 1.0), theme);
                    }
                } else {
                    painter.circle(place, 3.0, if rounded { colour } else { theme.raised }, Stroke::new(1.0, colour));
                }
                let reach = Rect::from_center_size(place, vec2(room.max(6.0), row_height));
                if response.hover_pos().is_some_and(|at| reach.contains(at)) {
                    hovered = Some((row, nodes.iter().position(|n| std::ptr::eq(n, node)).unwrap_or(0)));
                }
            }
            above = places;
        }
        let roundings = self.rows.iter().flatten().filter(|node| node.lost != 0.0).count();
        let words = format!("{}: {roundings} of the half adds rounded", self.name);
        painter.text(
            rect.right_bottom(),
            Align2::RIGHT_BOTTOM,
            format!("{roundings} rounded"),
            text::small(),
            theme.weak,
        );
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Image, true, &words));
        (response, hovered)
    }
}

fn triangle(painter: &egui::Painter, at: egui::Pos2, theme: &Theme) {
    let points = vec![at + vec2(0.0, -3.0), at + vec2(3.0, 2.0), at + vec2(-3.0, 2.0)];
    painter.add(Shape::convex_polygon(points, theme.differs, Stroke::NONE));
}
