//! The window's icons, drawn with strokes: no icon font, crisp at every scale.

use egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, pos2, vec2};

/// An icon on a 16 x 16 grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    /// To the first step.
    First,
    /// One step back.
    Back,
    /// One kernel on.
    StepKernel,
    /// One block on.
    StepBlock,
    /// To the selection.
    RunTo,
    /// To the first divergence.
    RunDivergence,
    /// To the end.
    RunAll,
    /// Stop what runs.
    Stop,
    /// Search, the palette.
    Search,
    /// Settings.
    Settings,
    /// The glossary.
    Book,
    /// A pin.
    Pin,
    /// Copy as text.
    Copy,
    /// Close.
    Close,
    /// Exchange two sides.
    Swap,
    /// Undo a view change.
    Undo,
    /// Redo a view change.
    Redo,
    /// Fit into view.
    Fit,
    /// One texel on one pixel.
    OneToOne,
    /// Open something.
    Open,
    /// A bookmark.
    Bookmark,
    /// Two linked views.
    Link,
    /// A tick.
    Check,
    /// Points down.
    Down,
    /// Save a picture.
    Save,
}

impl Icon {
    /// Draws it centred in `rect`.
    #[expect(clippy::too_many_lines, reason = "a table of drawings, one arm an icon")]
    pub fn paint(self, painter: &Painter, rect: Rect, colour: Color32) {
        let unit = rect.width().min(rect.height()) / 16.0;
        let origin = rect.center() - vec2(8.0, 8.0) * unit;
        let pen = Pen { painter, origin, unit, colour };
        match self {
            Self::First => {
                pen.line(&[(3.0, 3.0), (3.0, 13.0)]);
                pen.fill(&[(13.0, 3.0), (13.0, 13.0), (5.5, 8.0)]);
            }
            Self::Back => {
                pen.fill(&[(9.5, 3.0), (9.5, 13.0), (2.0, 8.0)]);
                pen.line(&[(13.0, 3.5), (13.0, 12.5)]);
            }
            Self::StepKernel => {
                pen.line(&[(2.5, 8.0), (10.5, 8.0)]);
                pen.line(&[(7.5, 4.5), (11.0, 8.0), (7.5, 11.5)]);
                pen.dot((13.6, 8.0), 1.4);
            }
            Self::StepBlock => {
                pen.line(&[(2.0, 8.0), (8.0, 8.0)]);
                pen.line(&[(5.0, 4.5), (8.5, 8.0), (5.0, 11.5)]);
                pen.block((10.5, 3.5), (14.0, 12.5));
            }
            Self::RunTo => {
                pen.line(&[(2.0, 8.0), (9.0, 8.0)]);
                pen.line(&[(6.0, 4.5), (9.5, 8.0), (6.0, 11.5)]);
                pen.line(&[(13.0, 2.5), (13.0, 13.5)]);
            }
            Self::RunDivergence => {
                pen.fill(&[(2.5, 3.0), (2.5, 13.0), (8.5, 8.0)]);
                pen.fill(&[(12.0, 4.0), (15.0, 11.0), (9.0, 11.0)]);
            }
            Self::RunAll => {
                pen.fill(&[(2.0, 3.5), (2.0, 12.5), (8.0, 8.0)]);
                pen.fill(&[(8.0, 3.5), (8.0, 12.5), (14.0, 8.0)]);
            }
            Self::Stop => pen.block((3.5, 3.5), (12.5, 12.5)),
            Self::Search => {
                pen.circle((6.8, 6.8), 4.3);
                pen.line(&[(10.0, 10.0), (14.0, 14.0)]);
            }
            Self::Settings => {
                for (y, x) in [(4.0, 10.5), (8.0, 5.5), (12.0, 9.0)] {
                    pen.line(&[(2.0, y), (14.0, y)]);
                    pen.dot((x, y), 2.2);
                }
            }
            Self::Book => {
                pen.line(&[
                    (8.0, 4.0),
                    (8.0, 13.5),
                    (2.0, 12.5),
                    (2.0, 3.0),
                    (8.0, 4.0),
                    (14.0, 3.0),
                    (14.0, 12.5),
                    (8.0, 13.5),
                ]);
            }
            Self::Pin => {
                pen.line(&[(5.0, 2.5), (11.0, 2.5)]);
                pen.line(&[(6.0, 2.5), (6.0, 7.0), (3.5, 10.0), (12.5, 10.0), (10.0, 7.0), (10.0, 2.5)]);
                pen.line(&[(8.0, 10.0), (8.0, 14.5)]);
            }
            Self::Copy => {
                pen.outline((5.5, 5.5), (13.5, 13.5));
                pen.line(&[(3.0, 10.5), (2.5, 10.5), (2.5, 2.5), (10.5, 2.5), (10.5, 3.0)]);
            }
            Self::Close => {
                pen.line(&[(4.0, 4.0), (12.0, 12.0)]);
                pen.line(&[(12.0, 4.0), (4.0, 12.0)]);
            }
            Self::Swap => {
                pen.line(&[(2.5, 5.5), (13.0, 5.5)]);
                pen.line(&[(10.5, 3.0), (13.0, 5.5), (10.5, 8.0)]);
                pen.line(&[(13.5, 10.5), (3.0, 10.5)]);
                pen.line(&[(5.5, 8.0), (3.0, 10.5), (5.5, 13.0)]);
            }
            Self::Undo => {
                pen.line(&[(6.0, 3.0), (2.5, 6.5), (6.0, 10.0)]);
                pen.line(&[(2.5, 6.5), (9.5, 6.5), (12.5, 8.0), (13.0, 10.0), (12.0, 12.5), (9.0, 13.0)]);
            }
            Self::Redo => {
                pen.line(&[(10.0, 3.0), (13.5, 6.5), (10.0, 10.0)]);
                pen.line(&[(13.5, 6.5), (6.5, 6.5), (3.5, 8.0), (3.0, 10.0), (4.0, 12.5), (7.0, 13.0)]);
            }
            Self::Fit => {
                for (x, y) in [(2.5, 2.5), (13.5, 2.5), (2.5, 13.5), (13.5, 13.5)] {
                    let inward = |v: f32| if v < 8.0 { v + 3.5 } else { v - 3.5 };
                    pen.line(&[(inward(x), y), (x, y), (x, inward(y))]);
                }
                pen.block((6.0, 6.0), (10.0, 10.0));
            }
            Self::OneToOne => {
                pen.line(&[(2.5, 5.5), (4.5, 4.0), (4.5, 12.0)]);
                pen.line(&[(10.5, 5.5), (12.5, 4.0), (12.5, 12.0)]);
                pen.dot((8.0, 6.5), 0.9);
                pen.dot((8.0, 10.5), 0.9);
            }
            Self::Open => {
                pen.line(&[(2.0, 13.0), (2.0, 3.5), (6.5, 3.5), (8.0, 5.5), (13.0, 5.5), (13.0, 7.5)]);
                pen.line(&[(2.0, 13.0), (4.5, 7.5), (15.0, 7.5), (12.5, 13.0), (2.0, 13.0)]);
            }
            Self::Bookmark => pen.line(&[(4.0, 2.5), (12.0, 2.5), (12.0, 13.5), (8.0, 10.0), (4.0, 13.5), (4.0, 2.5)]),
            Self::Link => {
                pen.circle((5.0, 8.0), 3.2);
                pen.circle((11.0, 8.0), 3.2);
            }
            Self::Check => pen.line(&[(3.0, 8.5), (6.5, 12.0), (13.0, 4.5)]),
            Self::Down => pen.line(&[(4.0, 6.0), (8.0, 10.0), (12.0, 6.0)]),
            Self::Save => {
                pen.line(&[(8.0, 2.0), (8.0, 10.0)]);
                pen.line(&[(4.5, 7.0), (8.0, 10.5), (11.5, 7.0)]);
                pen.line(&[(2.5, 10.5), (2.5, 13.5), (13.5, 13.5), (13.5, 10.5)]);
            }
        }
    }
}

struct Pen<'a> {
    painter: &'a Painter,
    origin: Pos2,
    unit: f32,
    colour: Color32,
}

impl Pen<'_> {
    fn at(&self, (x, y): (f32, f32)) -> Pos2 {
        self.origin + vec2(x, y) * self.unit
    }

    fn stroke(&self) -> Stroke {
        Stroke::new((1.5 * self.unit).max(1.0), self.colour)
    }

    fn line(&self, points: &[(f32, f32)]) {
        self.painter.add(Shape::line(points.iter().map(|&p| self.at(p)).collect(), self.stroke()));
    }

    fn fill(&self, points: &[(f32, f32)]) {
        let points = points.iter().map(|&p| self.at(p)).collect();
        self.painter.add(Shape::convex_polygon(points, self.colour, Stroke::NONE));
    }

    fn block(&self, min: (f32, f32), max: (f32, f32)) {
        self.painter.rect_filled(Rect::from_min_max(self.at(min), self.at(max)), self.unit, self.colour);
    }

    fn outline(&self, min: (f32, f32), max: (f32, f32)) {
        let rect = Rect::from_min_max(self.at(min), self.at(max));
        self.painter.rect_stroke(rect, self.unit, self.stroke(), egui::StrokeKind::Middle);
    }

    fn circle(&self, centre: (f32, f32), radius: f32) {
        self.painter.circle_stroke(self.at(centre), radius * self.unit, self.stroke());
    }

    fn dot(&self, centre: (f32, f32), radius: f32) {
        self.painter.circle_filled(self.at(centre), radius * self.unit, self.colour);
    }
}

/// A small square around a point, for icons beside text.
pub fn square(centre: Pos2, side: f32) -> Rect {
    Rect::from_center_size(pos2(centre.x, centre.y), egui::Vec2::splat(side))
}
