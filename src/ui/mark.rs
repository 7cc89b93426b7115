//! Verdicts as marks: a colour *and* a shape, so that either alone is enough.
//!
//! Disc: exact. Diamond: equal up to the sign of zero. Triangle: differs. Ring with a bar: not compared.

use super::theme::Theme;
use egui::{Color32, Painter, Pos2, Response, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo, WidgetType, pos2, vec2};

/// What a tensor's comparison came to, as drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Never compared, or cannot be: no pass.
    #[default]
    NotCompared,
    /// Every byte equal.
    Exact,
    /// Every difference is the sign of a zero.
    ZeroSign,
    /// Values differ.
    Differs,
}

impl Mark {
    /// All marks, in the order of a legend.
    pub const ALL: [Self; 4] = [Self::Exact, Self::ZeroSign, Self::Differs, Self::NotCompared];

    /// The words for it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotCompared => "not compared",
            Self::Exact => "exact",
            Self::ZeroSign => "only \u{b1}0",
            Self::Differs => "differs",
        }
    }

    /// Its colour.
    pub const fn colour(self, theme: &Theme) -> Color32 {
        match self {
            Self::NotCompared => theme.not_compared,
            Self::Exact => theme.exact,
            Self::ZeroSign => theme.zero_sign,
            Self::Differs => theme.differs,
        }
    }

    /// Its glossary term.
    pub const fn term(self) -> &'static str {
        match self {
            Self::NotCompared => "not compared",
            Self::Exact => "bit-exact",
            Self::ZeroSign => "sign of zero",
            Self::Differs => "differs",
        }
    }

    /// Draws it; `radius` is half its height.
    pub fn paint(self, painter: &Painter, centre: Pos2, radius: f32, theme: &Theme) {
        let colour = self.colour(theme);
        let polygon = |points: Vec<Pos2>| Shape::convex_polygon(points, colour, Stroke::NONE);
        match self {
            Self::Exact => {
                painter.circle_filled(centre, radius * 0.92, colour);
            }
            Self::ZeroSign => {
                let r = radius * 1.1;
                let corner = |x: f32, y: f32| centre + r * vec2(x, y);
                painter.add(polygon(vec![corner(0.0, -1.0), corner(1.0, 0.0), corner(0.0, 1.0), corner(-1.0, 0.0)]));
            }
            Self::Differs => {
                let corner = |x: f32, y: f32| centre + radius * vec2(x, y);
                painter.add(polygon(vec![corner(0.0, -1.05), corner(1.1, 0.9), corner(-1.1, 0.9)]));
            }
            Self::NotCompared => {
                let stroke = Stroke::new((radius * 0.3).max(1.0), colour);
                painter.circle_stroke(centre, radius * 0.8, stroke);
                painter.line_segment(
                    [pos2(centre.x - radius * 0.35, centre.y), pos2(centre.x + radius * 0.35, centre.y)],
                    stroke,
                );
            }
        }
    }

    /// The mark as a widget with an accessible name.
    pub fn show(self, ui: &mut Ui, radius: f32) -> Response {
        let (rect, response) = ui.allocate_exact_size(Vec2::splat(radius * 2.0 + 4.0), Sense::hover());
        self.paint(ui.painter(), rect.center(), radius, Theme::of(ui));
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Image, true, self.words()));
        response.on_hover_text(self.words())
    }
}
