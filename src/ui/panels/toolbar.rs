//! The canvas' controls: view and reduction above, the channel strip and the colour legend below.

use super::super::desk::{Desk, extent};
use super::super::format;
use super::super::icons::Icon;
use super::super::theme::{Theme, text};
use super::super::widgets::{IconButton, Segment, TextButton, segmented, toggle};
use super::texture::upload;
use crate::session::{
    Browse, ColourMap, Command, Difference, Image, Legend, Mode, Numbers, Overlay, Range, Reduction, Select, Session,
    Side, Thumbnails, ViewChange, key_of,
};
use egui::{
    Align2, Color32, ComboBox, CornerRadius, FontId, Frame, Margin, Popup, PopupCloseBehavior, Rect, ScrollArea, Sense,
    Stroke, StrokeKind, Ui, WidgetInfo, WidgetType, pos2, vec2,
};

/// Draws both rows above the picture.
pub(super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    Frame::new().fill(theme.panel).inner_margin(Margin::symmetric(10, 5)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing = vec2(6.0, 5.0);
        ui.horizontal(|ui| views(ui, desk));
        ui.horizontal(|ui| colours(ui, desk));
    });
    let line = ui.min_rect().bottom();
    ui.painter().hline(ui.max_rect().x_range(), line, Stroke::new(1.0, theme.line));
    ui.add_space(1.0 - ui.spacing().item_spacing.y);
}

fn views(ui: &mut Ui, desk: &mut Desk<'_>) {
    let view = desk.session.view();
    let (mode, image) = (view.mode, view.image);
    let short = |mode: Mode| match mode {
        Mode::Subject => "Subject",
        Mode::Reference => "Reference",
        Mode::Difference => "Difference",
        Mode::Split => "Split",
        Mode::SideBySide => "Pair",
        Mode::Flick => "Flick",
    };
    let segments: Vec<_> =
        Mode::ALL.iter().map(|&value| Segment { value, label: short(value), about: value.title() }).collect();
    if let Some(mode) = segmented(ui, "View", mode, &segments) {
        desk.view(ViewChange::Mode(mode));
    }
    let images = [(Image::Tensor, "Tensor"), (Image::Head, "Head"), (Image::Output, "Output")];
    let segments = images.map(|(value, label)| Segment { value, label, about: value.title() });
    if let Some(image) = segmented(ui, "Image", image, &segments) {
        desk.view(ViewChange::Image(image));
    }
    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 1.0;
        let buttons = [
            (Icon::Save, "Export canvas as PNG", Command::Browse(Browse::ExportCanvas)),
            (Icon::OneToOne, "One token on one point", Command::View(ViewChange::Zoom(Some(1.0)))),
            (Icon::Fit, "Fit", Command::View(ViewChange::Zoom(None))),
        ];
        for (icon, name, command) in buttons {
            let key = key_of(&command).unwrap_or("");
            if ui.available_width() > 26.0 && IconButton::new(icon, name).key(key).side(22.0).show(ui).clicked() {
                desk.send(command);
            }
        }
    });
}

fn colours(ui: &mut Ui, desk: &mut Desk<'_>) {
    let view = desk.session.view().clone();
    if view.image == Image::Output {
        // An image for eyes: channels and colour maps have no say in it.
        return layers(ui, desk);
    }
    if view.mode == Mode::Difference {
        let kinds = [(Difference::Code, "Codes"), (Difference::Value, "Value"), (Difference::Class, "Class")];
        let segments = kinds.map(|(value, label)| Segment { value, label, about: value.title() });
        if let Some(difference) = segmented(ui, "Difference", view.difference, &segments) {
            desk.view(ViewChange::Difference(difference));
        }
    }
    let reductions = [
        (Reduction::Channel, "Ch"),
        (Reduction::Rgb, "RGB"),
        (Reduction::Mean, "Mean"),
        (Reduction::Max, "Max"),
        (Reduction::L2, "L2"),
        (Reduction::Codes, "Codes"),
    ];
    let channel = format!("Ch {}", desk.session.selection().channel);
    let segments = reductions.map(|(value, label)| {
        let label = if value == Reduction::Channel { channel.as_str() } else { label };
        Segment { value, label, about: value.title() }
    });
    if let Some(reduction) = segmented(ui, "Reduction", view.reduction, &segments) {
        desk.view(ViewChange::Reduction(reduction));
    }
    layers(ui, desk);
    scale(ui, desk, &view);
}

/// Colour map, range, log and number format, behind one button.
fn scale(ui: &mut Ui, desk: &mut Desk<'_>, view: &crate::session::View) {
    let response =
        TextButton::new("Colours").small().about("Colour map, range, logarithm and how numbers are written.").show(ui);
    Popup::menu(&response).close_behavior(PopupCloseBehavior::CloseOnClickOutside).width(270.0).show(|ui| {
        ui.spacing_mut().item_spacing.y = 7.0;
        ui.horizontal(|ui| {
            ui.label("Map");
            let mut map = view.map;
            ComboBox::from_id_salt("colour map").selected_text(view.map.word()).show_ui(ui, |ui| {
                for &value in ColourMap::ALL {
                    ui.selectable_value(&mut map, value, value.word()).on_hover_text(value.title());
                }
            });
            if map != view.map {
                desk.view(ViewChange::Map(map));
            }
        });
        let current = match view.range {
            Range::Auto => 0,
            Range::Percentile(_) => 1,
            Range::Fixed(..) => 2,
        };
        let kinds = [
            (0, "Auto", "From the data of both sides"),
            (1, "99 %", "Cuts the outer percent"),
            (2, "Fixed", "Between two numbers"),
        ];
        let segments = kinds.map(|(value, label, about)| Segment { value, label, about });
        ui.horizontal(|ui| {
            ui.label("Range");
            match segmented(ui, "Range", current, &segments) {
                Some(0) => desk.view(ViewChange::Range(Range::Auto)),
                Some(1) => desk.view(ViewChange::Range(Range::Percentile(99.0))),
                Some(_) => desk.view(ViewChange::Range(Range::Fixed(-4.0, 4.0))),
                None => {}
            }
        });
        if let Range::Fixed(mut low, mut high) = view.range {
            ui.horizontal(|ui| {
                let changed = ui.add(egui::DragValue::new(&mut low).speed(0.05)).changed()
                    | ui.add(egui::DragValue::new(&mut high).speed(0.05)).changed();
                if changed {
                    desk.view(ViewChange::Range(Range::Fixed(low, high)));
                }
            });
        }
        if toggle(ui, view.log, "Logarithmic", "Spread magnitudes by their logarithm.", "").clicked() {
            desk.view(ViewChange::Log(!view.log));
        }
        ui.horizontal(|ui| {
            ui.label("Numbers");
            let kinds = [(Numbers::Value, "Value"), (Numbers::Code, "Hex"), (Numbers::Bits, "Bits")];
            let segments = kinds.map(|(value, label)| Segment { value, label, about: value.title() });
            if let Some(numbers) = segmented(ui, "Numbers", view.numbers, &segments) {
                desk.view(ViewChange::Numbers(numbers));
            }
        });
    });
}

/// All overlays, behind one button that tells how many are on.
fn layers(ui: &mut Ui, desk: &mut Desk<'_>) {
    let on = desk.session.view().overlays.clone();
    let words = format!("Layers {}", on.len());
    let response = TextButton::new(&words).small().about("What is drawn over the picture.").show(ui);
    Popup::menu(&response).close_behavior(PopupCloseBehavior::CloseOnClickOutside).width(330.0).show(|ui| {
        ui.set_min_width(320.0);
        for &layer in Overlay::ALL {
            let command = Command::View(ViewChange::Overlay(layer, None));
            let key = key_of(&command).unwrap_or("");
            let clicked = ui
                .horizontal(|ui| {
                    let clicked = toggle(ui, on.contains(&layer), layer.title(), "", "").clicked();
                    let at = pos2(ui.max_rect().right(), ui.min_rect().center().y);
                    if !key.is_empty() {
                        super::super::widgets::key_hint(ui, at, key);
                    }
                    clicked
                })
                .inner;
            if clicked {
                desk.send(command);
            }
        }
    });
}

/// Room for what stands below the picture.
pub(super) fn strip_height(session: &Session) -> f32 {
    if extent(session).is_some() { 84.0 } else { 26.0 }
}

/// The channel strip and the legend.
pub(super) fn channels(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let whole = ui.max_rect();
    ui.painter().rect_filled(whole, CornerRadius::ZERO, theme.panel);
    ui.painter().hline(whole.x_range(), whole.top(), Stroke::new(1.0, theme.line));
    let session = desk.session;
    let canvas = session.canvas();
    let shown = match session.view().mode {
        Mode::Difference => &canvas.difference,
        Mode::Reference => &canvas.reference,
        Mode::Subject | Mode::Split | Mode::SideBySide | Mode::Flick => &canvas.subject,
    };
    let bar = Rect::from_min_size(whole.min + vec2(10.0, 3.0), vec2(whole.width() - 20.0, 22.0));
    if let Some(picture) = shown.shown() {
        legend(ui, bar, &picture.legend);
    }
    let name = &session.selection().tensor;
    let computed = Side::ALL.iter().any(|&side| session.tensor(side, name).is_some());
    // Those of the tensor before stay while these are made, but not while there is nothing to make them of.
    let thumbnails = session.thumbnails().shown().filter(|small| computed || small.tensor == *name).cloned();
    let strip = Rect::from_min_max(pos2(whole.left() + 10.0, bar.bottom() + 2.0), whole.max - vec2(10.0, 3.0));
    ui.scope_builder(egui::UiBuilder::new().max_rect(strip), |ui| {
        ScrollArea::horizontal().id_salt("channels").show(ui, |ui| thumbs(ui, desk, thumbnails.as_deref()));
    });
}

/// A channel's place in the atlas, in shares.
fn tile_of(small: &Thumbnails, channel: usize) -> Rect {
    let (x, y) = (channel % small.columns * small.tile.width, channel / small.columns * small.tile.height);
    let place = |x: usize, y: usize| pos2(x as f32 / small.size.width as f32, y as f32 / small.size.height as f32);
    Rect::from_min_max(place(x, y), place(x + small.tile.width, y + small.tile.height))
}

/// One small picture per channel; a click chooses it, and with RGB, Shift, Ctrl and Alt set red, green and blue.
/// Without pictures the places of the channels are empty, and can be chosen as well.
fn thumbs(ui: &mut Ui, desk: &mut Desk<'_>, thumbnails: Option<&Thumbnails>) {
    let theme = Theme::of(ui);
    let place = thumbnails.map(|small| (small.tile, small.channels)).or_else(|| extent(desk.session));
    let Some((plane, channels)) = place else { return };
    let aspect = plane.width as f32 / plane.height.max(1) as f32;
    let height = (ui.available_height() - 12.0).max(20.0);
    let tile = vec2((height * aspect).clamp(18.0, 90.0), height);
    let pitch = tile.x + 4.0;
    let (row, _) = ui.allocate_exact_size(vec2(pitch * channels as f32, height), Sense::hover());
    let picture =
        thumbnails.map(|small| (small, upload(ui.painter(), desk.memory, (small.id, 0), small.size, &small.pixels)));
    let clip = ui.clip_rect();
    let selection = desk.session.selection();
    let rgb = desk.session.view().reduction == Reduction::Rgb;
    let (chosen, colours) = (selection.channel, selection.rgb);
    for channel in 0..channels {
        let rect = Rect::from_min_size(pos2(row.left() + channel as f32 * pitch, row.top()), tile);
        if !clip.intersects(rect) {
            continue;
        }
        match picture {
            Some((small, texture)) => drop(ui.painter().image(texture, rect, tile_of(small, channel), Color32::WHITE)),
            None => drop(ui.painter().rect_filled(rect, CornerRadius::same(2), theme.ground)),
        }
        let response = ui.interact(rect, ui.id().with(("channel", channel)), Sense::CLICK);
        let primary = [
            Color32::from_rgb(0xff, 0x6b, 0x6b),
            Color32::from_rgb(0x63, 0xd4, 0x6e),
            Color32::from_rgb(0x6b, 0x9b, 0xff),
        ];
        let frame = match colours.iter().position(|&c| c == channel).filter(|_| rgb) {
            Some(which) => Stroke::new(2.0, primary[which]),
            None if channel == chosen && !rgb => Stroke::new(2.0, theme.accent),
            None => Stroke::new(1.0, if response.hovered() { theme.outline } else { theme.line }),
        };
        ui.painter().rect_stroke(rect, CornerRadius::same(2), frame, StrokeKind::Outside);
        let number = Rect::from_min_size(rect.left_bottom() - vec2(0.0, 11.0), vec2(17.0, 11.0));
        ui.painter().rect_filled(number, CornerRadius::same(2), theme.panel.gamma_multiply(0.8));
        ui.painter().text(number.center(), Align2::CENTER_CENTER, channel, FontId::proportional(9.0), theme.text);
        response.widget_info(|| {
            WidgetInfo::selected(WidgetType::SelectableLabel, true, channel == chosen, format!("channel {channel}"))
        });
        if response.clicked() {
            let held = ui.input(|input| input.modifiers);
            let slot = if held.command {
                1
            } else if held.alt {
                2
            } else {
                0
            };
            if rgb {
                let mut next = colours;
                next[slot] = channel;
                desk.select(Select::Rgb(next));
            } else {
                desk.select(Select::Channel(channel));
            }
        }
    }
}

/// How to read the colours.
fn legend(ui: &mut Ui, bar: Rect, legend: &Legend) {
    let theme = Theme::of(ui);
    let painter = ui.painter();
    match legend {
        Legend::Scale { map, low, high, log, unit } => {
            let words = |v: f32| format::short(f64::from(v));
            let left =
                painter.text(bar.left_center(), Align2::LEFT_CENTER, words(*low), text::mono_small(), theme.weak);
            let ramp = Rect::from_min_size(pos2(left.right() + 6.0, bar.center().y - 4.0), vec2(150.0, 8.0));
            let mut mesh = egui::epaint::Mesh::default();
            for step in 0..50 {
                let t = step as f32 / 49.0;
                let slice = Rect::from_min_size(
                    pos2(ramp.left() + ramp.width() * step as f32 / 50.0, ramp.top()),
                    vec2(ramp.width() / 50.0 + 0.3, ramp.height()),
                );
                let [r, g, b] = crate::session::colour(*map, t);
                super::super::widgets::quad(&mut mesh, slice, Color32::from_rgb(r, g, b));
            }
            painter.add(egui::Shape::mesh(mesh));
            // The ends of some maps are as light as the light theme's panels.
            painter.rect_stroke(ramp, CornerRadius::ZERO, Stroke::new(1.0, theme.line), StrokeKind::Outside);
            let right = painter.text(
                pos2(ramp.right() + 6.0, bar.center().y),
                Align2::LEFT_CENTER,
                words(*high),
                text::mono_small(),
                theme.weak,
            );
            let words = if *log { format!("{unit}, log") } else { unit.clone() };
            painter.text(
                pos2(right.right() + 10.0, bar.center().y),
                Align2::LEFT_CENTER,
                words,
                text::small(),
                theme.weak,
            );
        }
        Legend::Classes(classes) => {
            let mut left = bar.left();
            for class in classes {
                let [r, g, b] = class.colour;
                let dot = Rect::from_center_size(pos2(left + 5.0, bar.center().y), vec2(9.0, 9.0));
                painter.rect_filled(dot, CornerRadius::same(2), Color32::from_rgb(r, g, b));
                let words = format!("{} {}", class.label, format::compact(class.count));
                let end = painter.text(
                    pos2(left + 14.0, bar.center().y),
                    Align2::LEFT_CENTER,
                    words,
                    text::small(),
                    theme.text,
                );
                left = end.right() + 12.0;
            }
        }
        Legend::Plain | Legend::Image => {
            let words =
                if *legend == Legend::Image { "composed image, as a display shows it" } else { "colours are channels" };
            painter.text(bar.left_center(), Align2::LEFT_CENTER, words, text::small(), theme.weak);
        }
    }
}
