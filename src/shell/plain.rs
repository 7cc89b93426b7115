//! Plain areas: large rectangles of one colour under everything else, as panels are. A device clears them in no
//! time, where a software rasteriser would run a shader and a blend for every pixel of the window.

use egui::epaint::{ClippedShape, RectShape};
use egui::{Color32, Pos2, Rect, Shape};

/// Smaller areas are drawn: a clear costs something too.
const SMALLEST: f32 = 100.0 * 100.0;
/// How far from a pixel's edge an area may end, in pixels, and still be said to end there.
const NEAR: f32 = 1e-2;

/// An area of one opaque colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    /// Where, in whole pixels.
    pub(super) pixels: Rect,
    /// Its colour.
    pub(super) colour: Color32,
}

/// Takes the plain areas out of a frame, in the order in which they were painted: what lies on anything else that
/// was painted before stays.
pub(super) fn take(shapes: &mut Vec<ClippedShape>, pixels_per_point: f32) -> Vec<Area> {
    let mut areas: Vec<Area> = Vec::new();
    let mut painted: Vec<Rect> = Vec::new();
    shapes.retain(|clipped| {
        let found = match &clipped.shape {
            Shape::Rect(rect) => plain(rect, clipped.clip_rect, pixels_per_point),
            _ => None,
        };
        let hides = |area: &Area| {
            let place = (area.pixels / pixels_per_point).shrink(NEAR);
            painted.iter().any(|before| before.intersect(place).is_positive())
        };
        if let Some(area) = found.filter(|area| !hides(area)) {
            areas.retain(|below| !area.pixels.contains_rect(below.pixels));
            areas.push(area);
            return false;
        }
        painted.push(clipped.shape.visual_bounding_rect().intersect(clipped.clip_rect));
        true
    });
    areas
}

/// What a rectangle covers, if that is whole pixels of one colour.
fn plain(shape: &RectShape, clip: Rect, pixels_per_point: f32) -> Option<Area> {
    let RectShape { rect, corner_radius, fill, stroke, blur_width, brush, angle, round_to_pixels, .. } = shape;
    let sharp = *corner_radius == egui::CornerRadius::ZERO && *blur_width == 0.0 && *angle == 0.0;
    let one_colour = fill.is_opaque() && stroke.is_empty() && brush.is_none();
    if !sharp || !one_colour || *round_to_pixels == Some(false) {
        return None;
    }
    let whole = |rect: Rect| Rect::from_min_max(rect.min.round(), rect.max.round());
    let near = |a: Pos2, b: Pos2| (a - b).abs().max_elem() < NEAR;
    // As the tessellator rounds rectangles; a clip is not rounded.
    let exact = whole(*rect * pixels_per_point).intersect(clip * pixels_per_point);
    let pixels = whole(exact);
    let fits = near(exact.min, pixels.min) && near(exact.max, pixels.max) && pixels.min.to_vec2().min_elem() >= 0.0;
    (fits && pixels.is_positive() && pixels.area() >= SMALLEST).then_some(Area { pixels, colour: *fill })
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{CornerRadius, pos2, vec2};

    const SCREEN: Rect = Rect { min: Pos2::ZERO, max: pos2(800.0, 600.0) };

    fn filled(rect: Rect, corner: u8, colour: Color32) -> ClippedShape {
        ClippedShape { clip_rect: SCREEN, shape: Shape::rect_filled(rect, CornerRadius::same(corner), colour) }
    }

    fn at(x: f32, y: f32, width: f32, height: f32) -> Rect {
        Rect::from_min_size(pos2(x, y), vec2(width, height))
    }

    #[test]
    fn panels_are_taken_and_what_lies_on_them_is_drawn() {
        let (left, right) = (at(0.0, 0.0, 400.0, 600.0), at(400.0, 0.0, 900.0, 600.0));
        let mut shapes = vec![
            filled(left, 0, Color32::BLUE),
            filled(at(10.0, 10.0, 200.0, 200.0), 4, Color32::WHITE),
            filled(right, 0, Color32::RED),
            // On the white card: not under everything.
            filled(at(50.0, 50.0, 300.0, 300.0), 0, Color32::GREEN),
            filled(at(500.0, 50.0, 20.0, 20.0), 0, Color32::GREEN),
        ];
        let areas = take(&mut shapes, 1.0);
        let cut = right.intersect(SCREEN);
        let expected = [Area { pixels: left, colour: Color32::BLUE }, Area { pixels: cut, colour: Color32::RED }];
        assert_eq!(areas, expected, "both panels, the second as far as it is seen");
        assert_eq!(shapes.len(), 3, "the card, what lies on it, and what is small");
    }

    #[test]
    fn what_does_not_fill_whole_pixels_or_shines_through_is_drawn() {
        let all = at(0.0, 0.0, 800.0, 600.0);
        let half = Color32::from_black_alpha(128);
        let cut = ClippedShape { clip_rect: all.with_max_x(300.5), ..filled(all, 0, Color32::BLUE) };
        for shape in [filled(all, 0, half), filled(all, 3, Color32::BLUE), cut] {
            let mut shapes = vec![shape];
            assert!(take(&mut shapes, 1.0).is_empty(), "{shapes:?}");
            assert_eq!(shapes.len(), 1, "still there");
        }
    }

    #[test]
    fn an_area_under_another_is_forgotten() {
        let (inner, outer) = (at(100.0, 100.0, 300.0, 300.0), at(0.0, 0.0, 800.0, 600.0));
        let mut shapes = vec![filled(inner, 0, Color32::BLUE), filled(outer, 0, Color32::RED)];
        assert_eq!(take(&mut shapes, 2.0), [Area { pixels: outer * 2.0, colour: Color32::RED }], "in pixels");
        assert!(shapes.is_empty(), "nothing is left to draw");
    }
}
