//! The canvas: the selected tensor as a picture, to look at from afar and token by token.
//!
//! A pane is one picture under one camera. Far away a picture is a texture; from some points per token on, its
//! visible tokens are drawn as quads, crisp whatever the renderer's sampler does, with numbers once they fit.

use super::super::desk::{Desk, extent, mark, words};
use super::super::keys;
use super::super::mark::Mark;
use super::super::memory::Memory;
use super::super::theme::{Theme, text};
use super::super::widgets::{chip, divider, ink_on, quad};
use super::texture::{Drawn, forget_unused, texture};
use super::{overlays, toolbar};
use crate::geometry::Size;
use crate::session::{
    Image, Mode, Numbers, OutputDifference, Overlay, Picture, Reduction, Requested, Select, Session, Side, Token,
    ViewChange,
};
use crate::tensor::TensorName;
use egui::epaint::Mesh;
use egui::{
    Align2, Color32, CornerRadius, FontId, Painter, Pos2, Rect, RichText, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo,
    WidgetType, pos2, vec2,
};
use std::sync::Arc;

/// From this many points per token on, tokens are drawn as quads.
const QUADS: f32 = 7.0;
/// At most so many points per token.
const CLOSEST: f32 = 160.0;
/// A cell of this width shows its number.
const NUMBERS: f32 = 30.0;
/// Height of the bar over the picture.
const HEAD: f32 = 30.0;
/// The network's output.
const HEAD_TENSOR: &str = "head";

/// A plane on the screen: where its first token's corner lies, and points per token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projection {
    /// Where token (0, 0) begins.
    pub(super) origin: Pos2,
    /// Points per token.
    pub(super) zoom: f32,
    /// The plane.
    pub(super) size: Size,
}

impl Projection {
    fn new(pane: Rect, size: Size, zoom: f32, centre: (f32, f32)) -> Self {
        let plane = vec2(size.width as f32, size.height as f32) * zoom;
        Self { origin: pane.center() - plane * vec2(centre.0, centre.1), zoom, size }
    }

    /// A point of the plane, in tokens, on the screen.
    pub(super) fn at(&self, x: f32, y: f32) -> Pos2 {
        self.origin + vec2(x, y) * self.zoom
    }

    /// A rectangle of tokens on the screen.
    pub(super) fn rect(&self, x: f32, y: f32, width: f32, height: f32) -> Rect {
        Rect::from_min_size(self.at(x, y), vec2(width, height) * self.zoom)
    }

    /// The whole plane on the screen.
    pub(super) fn plane(&self) -> Rect {
        self.rect(0.0, 0.0, self.size.width as f32, self.size.height as f32)
    }

    /// The token at a point of the screen.
    fn token(&self, at: Pos2) -> Option<Token> {
        let p = (at - self.origin) / self.zoom;
        let inside = p.x >= 0.0 && p.y >= 0.0 && p.x < self.size.width as f32 && p.y < self.size.height as f32;
        inside.then_some(Token { x: p.x as usize, y: p.y as usize })
    }

    /// Columns and rows that a rectangle of the screen shows.
    pub(super) fn visible(&self, pane: Rect) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let range = |low: f32, high: f32, origin: f32, count: usize| {
            let first = ((low - origin) / self.zoom).floor().max(0.0) as usize;
            let last = ((high - origin) / self.zoom).ceil().max(0.0) as usize;
            first.min(count)..last.min(count)
        };
        (
            range(pane.left(), pane.right(), self.origin.x, self.size.width),
            range(pane.top(), pane.bottom(), self.origin.y, self.size.height),
        )
    }

    /// Every token that a rectangle of the screen shows, with its cell.
    pub(super) fn cells(&self, pane: Rect) -> impl Iterator<Item = (usize, Rect)> {
        let (columns, rows) = self.visible(pane);
        let at = |x: usize, y: usize| (y * self.size.width + x, self.rect(x as f32, y as f32, 1.0, 1.0));
        rows.flat_map(move |y| columns.clone().map(move |x| at(x, y)))
    }
}

/// What a pane shows.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Side(Side),
    Difference,
    Input,
}

/// Draws the canvas with its bars.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    desk.memory.frame += 1;
    toolbar::show(ui, desk);
    let whole = ui.available_rect_before_wrap();
    let strip = toolbar::strip_height(desk.session);
    let canvas = Rect::from_min_max(whole.min, whole.max - vec2(0.0, strip));
    let response = ui.interact(canvas, ui.id().with("canvas"), Sense::click_and_drag());
    response.widget_info(|| {
        WidgetInfo::labeled(WidgetType::Image, true, format!("canvas: {}", desk.session.selection().tensor))
    });
    let panes = panes(ui, desk.session, canvas);
    let (mut hover, mut elsewhere) = (None, false);
    for (index, &(pane, what)) in panes.iter().enumerate() {
        let projection = pane_of(ui, desk, pane, what, panes.len() == 1 || index + 1 == panes.len());
        if let Some(projection) = projection.filter(|_| index == 0) {
            // The halves of a split view are one picture.
            follow(desk, if split(desk.session) { canvas } else { pane }, &projection);
        }
        if let (Some(at), Some(projection)) = (response.hover_pos(), projection)
            && pane.contains(at)
        {
            hover = projection.token(at);
            // The head and the image composed of it have places of their own: of the head.
            elsewhere =
                desk.session.view().image != Image::Tensor && desk.session.selection().tensor.as_str() != HEAD_TENSOR;
            navigate(ui, desk, &response, pane, projection, at);
        }
    }
    if split(desk.session)
        && let Some(share) = divider(ui, canvas, desk.session.view().split, "Split divider")
    {
        desk.view(ViewChange::Split(share));
    }
    if response.clicked() && hover.is_some() {
        if elsewhere {
            desk.select(Select::Tensor(TensorName::new(HEAD_TENSOR)));
        }
        desk.select(Select::Token(hover));
    }
    let hover = hover.filter(|_| !elsewhere);
    if desk.session.selection().hover != hover {
        desk.select(Select::Hover(hover));
    }
    head(ui, desk.session, canvas);
    let below = Rect::from_min_max(pos2(whole.left(), canvas.bottom()), whole.max);
    ui.scope_builder(egui::UiBuilder::new().max_rect(below), |ui| toolbar::channels(ui, desk));
    forget_unused(desk.memory);
}

/// Brings the selected token into sight when it has moved out of it: by a key, a list, a command.
fn follow(desk: &mut Desk<'_>, pane: Rect, projection: &Projection) {
    let (view, selection) = (desk.session.view(), desk.session.selection());
    let now = (selection.tensor.clone(), selection.token);
    let before = desk.memory.place.replace(now.clone());
    let moved = before.is_some_and(|(tensor, token)| tensor == now.0 && token != now.1);
    let Some(token) = now.1.filter(|_| moved && view.image == Image::Tensor && view.camera.zoom.is_some()) else {
        return;
    };
    let (x, y) = (token.x as f32 + 0.5, token.y as f32 + 0.5);
    if !below_head(pane).contains(projection.at(x, y)) {
        let size = projection.size;
        desk.view(ViewChange::Centre(x / size.width as f32, y / size.height as f32));
    }
}

/// The panes of a view: one, or two side by side.
fn panes(ui: &Ui, session: &Session, canvas: Rect) -> Vec<(Rect, What)> {
    let view = session.view();
    let held = keys::flicking(ui.ctx());
    let other = |side: Side| match side {
        Side::Subject => Side::Reference,
        Side::Reference => Side::Subject,
    };
    let side = |side: Side| What::Side(if held { other(side) } else { side });
    let halves = || {
        let middle = canvas.center().x;
        let left = Rect::from_min_max(canvas.min, pos2(middle - 1.0, canvas.bottom()));
        (left, Rect::from_min_max(pos2(middle + 1.0, canvas.top()), canvas.max))
    };
    if view.image == Image::Output && view.mode != Mode::SideBySide {
        let shown = match view.mode {
            Mode::Reference => side(Side::Reference),
            Mode::Difference => What::Difference,
            Mode::Flick => side(view.flick),
            Mode::Subject | Mode::Split | Mode::SideBySide => side(Side::Subject),
        };
        let (left, right) = halves();
        return vec![(left, What::Input), (right, shown)];
    }
    match view.mode {
        Mode::Subject => vec![(canvas, side(Side::Subject))],
        Mode::Reference => vec![(canvas, side(Side::Reference))],
        Mode::Difference if held => vec![(canvas, What::Side(Side::Reference))],
        Mode::Difference => vec![(canvas, What::Difference)],
        Mode::Flick => vec![(canvas, side(view.flick))],
        Mode::Split => {
            let x = egui::lerp(canvas.left()..=canvas.right(), view.split);
            let left = Rect::from_min_max(canvas.min, pos2(x, canvas.bottom()));
            vec![
                (left, side(Side::Subject)),
                (Rect::from_min_max(pos2(x, canvas.top()), canvas.max), side(Side::Reference)),
            ]
        }
        Mode::SideBySide => {
            let (left, right) = halves();
            vec![(left, side(Side::Subject)), (right, side(Side::Reference))]
        }
    }
}

/// Draws one pane; returns how its plane lies on the screen.
fn pane_of(ui: &Ui, desk: &mut Desk<'_>, pane: Rect, what: What, minimap: bool) -> Option<Projection> {
    let theme = Theme::of(ui);
    let painter = ui.painter_at(pane);
    let session = desk.session;
    let canvas = session.canvas();
    let (requested, name, colour) = match what {
        What::Side(Side::Subject) => (&canvas.subject, "Subject", theme.subject),
        What::Side(Side::Reference) => (&canvas.reference, "Reference", theme.reference),
        What::Difference => (&canvas.difference, "Difference", theme.differs),
        What::Input => (&canvas.input, "Input image", theme.weak),
    };
    let Some(picture) = requested.shown() else {
        nothing(&painter, pane, requested, theme);
        tag(&painter, pane, name, colour, theme);
        return None;
    };
    // In the split view both halves share the whole canvas' camera.
    let frame = if split(session) {
        ui.max_rect().intersect(ui.available_rect_before_wrap()).with_max_y(pane.bottom()).with_min_y(pane.top())
    } else {
        pane
    };
    let frame = below_head(frame);
    let zoom = session.view().camera.zoom.unwrap_or_else(|| fit(frame, picture.size));
    let projection = Projection::new(frame, picture.size, zoom, session.view().camera.centre);
    draw(&painter, desk.memory, picture, &projection, pane);
    if matches!(what, What::Side(_) | What::Difference) && session.view().image == Image::Tensor {
        numbers(&painter, session, picture, &projection, pane, what);
        overlays::draw(ui, &painter, desk, &projection, pane);
    }
    if requested.is_pending() {
        let at = pane.right_top() + vec2(-12.0, 12.0);
        painter.text(at, Align2::RIGHT_CENTER, "updating\u{2026}", text::small(), theme.weak);
    }
    tag(&painter, pane, name, colour, theme);
    let outside = !frame.expand(2.0).contains_rect(projection.plane());
    if minimap && outside && session.view().overlays.contains(&Overlay::Minimap) {
        map(&painter, desk.memory, picture, &projection, pane, theme);
    }
    Some(projection)
}

/// Whether two halves share one picture's place.
fn split(session: &Session) -> bool {
    session.view().mode == Mode::Split && session.view().image != Image::Output
}

/// The part of a pane that the bar over it leaves free.
fn below_head(pane: Rect) -> Rect {
    pane.with_min_y((pane.top() + HEAD).min(pane.bottom()))
}

/// Points per token at which a plane fits a place.
fn fit(place: Rect, size: Size) -> f32 {
    let room = place.size() - vec2(28.0, 28.0);
    (room.x / size.width as f32).min(room.y / size.height as f32).max(0.05)
}

/// What a pane shows without a picture.
fn nothing(painter: &Painter, pane: Rect, requested: &Requested<Picture>, theme: &Theme) {
    let (headline, advice) = match requested {
        Requested::Pending { .. } => ("Drawing\u{2026}", String::new()),
        Requested::Unavailable { reason, .. } => ("No picture", reason.clone()),
        Requested::Nothing | Requested::Ready(_) => {
            ("Not computed yet", "Step with Space, or run to it with Ctrl+F10".to_owned())
        }
    };
    let at = pane.center();
    painter.text(at - vec2(0.0, 4.0), Align2::CENTER_BOTTOM, headline, text::heading(), theme.text);
    let galley = painter.layout(advice, text::small(), theme.weak, (pane.width() - 40.0).max(80.0));
    painter.galley(at + vec2(-galley.size().x * 0.5, 4.0), galley, theme.weak);
}

/// The pane's name in its corner.
fn tag(painter: &Painter, pane: Rect, name: &str, colour: Color32, theme: &Theme) {
    let galley = painter.layout_no_wrap(name.to_owned(), text::small(), theme.text);
    let body = Rect::from_min_size(pos2(pane.left() + 10.0, pane.top() + 38.0), galley.size() + vec2(20.0, 6.0));
    painter.rect_filled(body, CornerRadius::same(4), theme.panel.gamma_multiply(0.88));
    painter.rect_filled(
        Rect::from_min_size(body.min + vec2(6.0, 5.0), vec2(3.0, body.height() - 10.0)),
        CornerRadius::same(1),
        colour,
    );
    painter.galley(body.min + vec2(14.0, 3.0), galley, theme.text);
}

/// The tensor's name, shape and verdict over the canvas.
fn head(ui: &mut Ui, session: &Session, canvas: Rect) {
    let theme = Theme::of(ui);
    let bar = Rect::from_min_size(canvas.min, vec2(canvas.width(), HEAD));
    ui.painter().rect_filled(bar, CornerRadius::ZERO, theme.ground.gamma_multiply(0.82));
    ui.scope_builder(egui::UiBuilder::new().max_rect(bar.shrink2(vec2(10.0, 3.0))), |ui| {
        ui.horizontal_centered(|ui| {
            let selection = session.selection();
            if session.view().image == Image::Output {
                return output_head(ui, session, theme);
            }
            ui.label(RichText::new(selection.tensor.as_str()).font(FontId::monospace(13.0)).color(theme.text));
            if let Some((size, channels)) = extent(session) {
                let element = session.plan().shape(&selection.tensor).element.name();
                let words = format!("{}\u{d7}{} \u{b7} {channels} ch \u{b7} {element}", size.width, size.height);
                ui.label(RichText::new(words).font(text::small()).color(theme.weak));
            }
            if let Some(state) = session.run().steps.get(selection.step) {
                chip(ui, mark(state.accumulated.verdict), "acc")
                    .on_hover_text(format!("Accumulated: {}", words(&state.accumulated)));
                chip(ui, mark(state.isolated.verdict), "iso")
                    .on_hover_text(format!("Isolated: {}", words(&state.isolated)));
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if let Some(token) = selection.hover.or(selection.token) {
                    let value = Side::ALL.iter().find_map(|&side| {
                        let tensor = session.tensor(side, &selection.tensor)?;
                        let index = token.index(tensor.shape.size.width);
                        (index < tensor.shape.tokens() && selection.channel < tensor.shape.channels)
                            .then(|| super::super::format::short(f64::from(tensor.value(index, selection.channel))))
                    });
                    let value = value.map_or(String::new(), |value| format!("  {value}"));
                    let words = format!("({}, {}){value}", token.x, token.y);
                    ui.label(RichText::new(words).font(text::mono()).color(theme.text));
                }
            });
        });
    });
}

/// What the composed image is, and how the two sides' images differ.
fn output_head(ui: &mut Ui, session: &Session, theme: &Theme) {
    let valid = session.plan().geometry.valid;
    ui.label(RichText::new("output image").font(text::heading()).color(theme.text));
    let size = format!("{}\u{d7}{}", valid.width, valid.height);
    ui.label(RichText::new(size).font(text::small()).color(theme.weak));
    let Some(output) = session.canvas().output else { return };
    let verdict = if output.differing == 0 { Mark::Exact } else { Mark::Differs };
    chip(ui, verdict, "images").on_hover_text("Subject against reference");
    ui.label(RichText::new(output_words(&output)).font(text::small()).color(theme.text));
}

/// How two composed images differ, in one line.
pub(super) fn output_words(output: &OutputDifference) -> String {
    let count = super::super::format::count;
    match output.psnr {
        None => format!("all {} bytes equal", count(output.total)),
        Some(psnr) => format!(
            "{} of {} bytes differ, by {} at most \u{b7} PSNR {psnr:.1} dB",
            count(output.differing),
            count(output.total),
            output.largest
        ),
    }
}

/// Draws a picture: as a texture, or token by token.
fn draw(painter: &Painter, memory: &mut Memory, picture: &Arc<Picture>, projection: &Projection, pane: Rect) {
    if projection.zoom < QUADS {
        let Drawn { texture, uv } = texture(painter, memory, picture, projection.zoom);
        painter.image(texture, projection.plane(), uv, Color32::WHITE);
        return;
    }
    let (columns, rows) = projection.visible(pane);
    let gap = if projection.zoom >= 20.0 { 1.0 } else { 0.0 };
    // The gaps between cells are dark in both themes: they belong to the picture.
    painter.rect_filled(projection.plane().intersect(pane), CornerRadius::ZERO, Color32::from_rgb(0x0c, 0x0e, 0x12));
    let mut mesh = Mesh::default();
    for y in rows {
        for x in columns.clone() {
            let Some(&[r, g, b, _]) = picture.pixels.get(y * picture.size.width + x) else { continue };
            let cell = projection.rect(x as f32, y as f32, 1.0, 1.0);
            quad(&mut mesh, Rect::from_min_max(cell.min, cell.max - Vec2::splat(gap)), Color32::from_rgb(r, g, b));
        }
    }
    painter.add(Shape::mesh(mesh));
}

/// Values in the cells, once they fit.
fn numbers(painter: &Painter, session: &Session, picture: &Picture, projection: &Projection, pane: Rect, what: What) {
    let (view, selection) = (session.view(), session.selection());
    if projection.zoom < NUMBERS || !view.overlays.contains(&Overlay::Numbers) || view.reduction != Reduction::Channel {
        return;
    }
    let sides = [session.tensor(Side::Subject, &selection.tensor), session.tensor(Side::Reference, &selection.tensor)];
    let (columns, rows) = projection.visible(pane);
    for y in rows {
        for x in columns.clone() {
            let token = y * picture.size.width + x;
            let written = |tensor: &crate::tensor::Tensor| {
                let fits = token < tensor.shape.tokens() && selection.channel < tensor.shape.channels;
                fits.then(|| super::probe::write(tensor, token, selection.channel, view.numbers))
            };
            let words = match what {
                What::Side(side) => sides[side as usize].and_then(written),
                What::Difference => match sides {
                    [Some(a), Some(b)] => match (written(a), written(b)) {
                        (Some(a), Some(b)) if a != b => Some(format!("{a}\n{b}")),
                        _ => None,
                    },
                    _ => None,
                },
                What::Input => None,
            };
            let (Some(words), Some(&[r, g, b, _])) = (words, picture.pixels.get(token)) else { continue };
            let widest = words.lines().map(str::len).max().unwrap_or(1) as f32;
            let size = (projection.zoom * 1.45 / widest.max(3.0)).min(projection.zoom * 0.32).clamp(6.0, 15.0);
            if size < 7.0 && view.numbers == Numbers::Bits {
                continue;
            }
            let cell = projection.rect(x as f32, y as f32, 1.0, 1.0);
            painter.text(
                cell.center(),
                Align2::CENTER_CENTER,
                words,
                FontId::monospace(size),
                ink_on(Color32::from_rgb(r, g, b)),
            );
        }
    }
}

/// The whole plane in a corner, with a frame around what is seen.
fn map(painter: &Painter, memory: &mut Memory, picture: &Picture, projection: &Projection, pane: Rect, theme: &Theme) {
    let longest = picture.size.width.max(picture.size.height) as f32;
    let size = vec2(picture.size.width as f32, picture.size.height as f32) * (120.0 / longest);
    let body = Rect::from_min_size(pane.max - size - vec2(12.0, 12.0), size);
    let Drawn { texture, uv } = texture(painter, memory, picture, 120.0 / longest);
    painter.rect_filled(body.expand(3.0), CornerRadius::same(4), theme.panel);
    painter.image(texture, body, uv, Color32::WHITE);
    let scale = size.x / projection.plane().width();
    let seen = Rect::from_min_size(body.min + (pane.min - projection.origin) * scale, pane.size() * scale);
    // A few tokens of a large plane are less than a point here, and still have to be found.
    let seen = Rect::from_center_size(seen.center(), seen.size().max(Vec2::splat(7.0)));
    let frame = |colour, width| {
        let stroke = Stroke::new(width, colour);
        painter.with_clip_rect(body).rect_stroke(seen, CornerRadius::same(1), stroke, egui::StrokeKind::Inside);
    };
    frame(Color32::from_black_alpha(170), 3.0);
    frame(theme.accent, 1.5);
}

/// Wheel zooms around the pointer, dragging pans.
fn navigate(ui: &Ui, desk: &mut Desk<'_>, response: &egui::Response, pane: Rect, projection: Projection, at: Pos2) {
    let plane = projection.plane().size();
    let share = |offset: Vec2, plane: Vec2| (offset.x / plane.x, offset.y / plane.y);
    if response.dragged() {
        let (x, y) = desk.session.view().camera.centre;
        let (dx, dy) = share(response.drag_delta(), plane);
        desk.view(ViewChange::Centre((x - dx).clamp(0.0, 1.0), (y - dy).clamp(0.0, 1.0)));
    }
    let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
    let factor = pinch * (scroll * 0.0072).exp2();
    if (factor - 1.0).abs() < 1e-3 {
        return;
    }
    let zoom = (projection.zoom * factor).clamp(0.05, CLOSEST);
    // The token under the pointer stays where it is.
    let under = (at - projection.origin) / projection.zoom;
    let frame = if split(desk.session) { ui.available_rect_before_wrap().with_max_y(pane.bottom()) } else { pane };
    let frame = below_head(frame);
    let middle = under + (frame.center() - at) / zoom;
    desk.view(ViewChange::Zoom(Some(zoom)));
    let (x, y) = (middle.x / projection.size.width as f32, middle.y / projection.size.height as f32);
    desk.view(ViewChange::Centre(x.clamp(0.0, 1.0), y.clamp(0.0, 1.0)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projection_finds_its_own_tokens() {
        let pane = Rect::from_min_size(pos2(100.0, 50.0), vec2(400.0, 300.0));
        let projection = Projection::new(pane, Size::new(20, 12), 16.0, (0.5, 0.5));
        for (x, y) in [(0, 0), (19, 11), (7, 3)] {
            let centre = projection.rect(x as f32, y as f32, 1.0, 1.0).center();
            assert_eq!(projection.token(centre), Some(Token { x, y }), "({x}, {y})");
        }
        assert_eq!(projection.token(projection.at(-0.5, 3.0)), None, "left of the plane");
        let (columns, rows) = projection.visible(pane);
        assert_eq!((columns, rows), (0..20, 0..12), "all of it is seen");
    }
}
