//! The probe: everything about one token and channel, on both sides, and the pins.

use super::super::desk::{Desk, extent, phase};
use super::super::format;
use super::super::icons::Icon;
use super::super::theme::{Theme, text};
use super::super::widgets::{Bar, Bars, Bits, Field, IconButton, TextButton, empty, fact, section};
use crate::geometry::{Plane, window};
use crate::session::{Command, CopyWhat, EventKind, Numbers, Pin, Select, Session, Side, Token};
use crate::tensor::{Element, Tensor};
use egui::{Frame, Margin, RichText, Stroke, Ui, vec2};

/// Draws the tab.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let session = desk.session;
    let selection = session.selection();
    match selection.hover.or(selection.token) {
        Some(token) => place(ui, desk, token, selection.hover.is_some()),
        None => empty(ui, "Nothing under the pointer", "Point at the picture, or click a token to keep it here"),
    }
    pins(ui, desk);
}

fn place(ui: &mut Ui, desk: &mut Desk<'_>, token: Token, hovering: bool) {
    let session = desk.session;
    let selection = session.selection();
    let what = if hovering { "Under the pointer" } else { "Selected" };
    section(ui, what, |ui| {
        if IconButton::new(Icon::Pin, "Pin this place").key("P").side(22.0).show(ui).clicked() {
            desk.out.push(Command::Pin(String::new()));
        }
        if IconButton::new(Icon::Copy, "Copy as text").side(22.0).show(ui).clicked() {
            desk.out.push(Command::Copy(CopyWhat::Probe));
        }
    });
    let index = extent(session).map_or(0, |(size, _)| token.index(size.width));
    fact(ui, "token", format!("({}, {}) #{index}", token.x, token.y));
    if let Some((phase, grid)) =
        phase(session, selection.block).filter(|(_, grid)| token.x < grid.size.width && token.y < grid.size.height)
    {
        let ((x, y), natural) = grid.locate(token.index(grid.size.width));
        fact(ui, "window", format!("({x}, {y}) of {}\u{d7}{}", grid.windows.width, grid.windows.height));
        fact(ui, "phase", format!("{} shift ({}, {})", phase.0, grid.shift.0, grid.shift.1));
        fact(ui, "position", format!("natural {natural}, physical {}", window::physical(natural)));
    }
    if let Some(plane) = session.plan().tensors.get(&selection.tensor).map(|info| info.plane) {
        let scale = match plane {
            Plane::Field => 1,
            Plane::Level(level) => 2 << level,
        };
        let (x, y) = (token.x * scale, token.y * scale);
        let valid = session.plan().geometry.valid;
        let inside = if x < valid.width && y < valid.height { "" } else { ", padding" };
        fact(ui, "input pixel", format!("({x}, {y}){inside}"));
    }
    values(ui, session, index);
    events(ui, session, index);
    channels(ui, desk, index);
}

/// What happened to this token inside the kernel, if its events are known and there are any.
fn events(ui: &mut Ui, session: &Session, token: usize) {
    let step = session.selection().step;
    let Some(events) = session.events().shown().filter(|events| events.step == step) else { return };
    let kinds = events.tokens.get(token).copied().unwrap_or_default();
    // Ties and subnormals are everywhere.
    for kind in kinds.iter().filter(|kind| !matches!(kind, EventKind::Tie | EventKind::Subnormal)) {
        let words = format!("{} in this token", kind.title());
        ui.label(RichText::new(words).font(text::small()).color(Theme::of(ui).event));
    }
}

/// A number as text: the value, its code or its bits.
pub(super) fn write(tensor: &Tensor, token: usize, channel: usize, numbers: Numbers) -> String {
    let element = tensor.shape.element;
    match numbers {
        Numbers::Value => format::short(f64::from(tensor.value(token, channel))),
        Numbers::Code => format!("{:0w$x}", tensor.bits(token, channel), w = element.bytes() * 2),
        Numbers::Bits => format!("{:0w$b}", tensor.bits(token, channel), w = element.bytes() * 8),
    }
}

fn field(element: Element) -> Field {
    match element {
        Element::E4m3 => Field::E4M3,
        Element::F16 => Field::F16,
        Element::F32 => Field::F32,
    }
}

/// Value, code and bits of both sides in one card.
fn values(ui: &mut Ui, session: &Session, token: usize) {
    let theme = Theme::of(ui);
    let selection = session.selection();
    let sides = Side::ALL.iter().map(|&side| (side, session.tensor(side, &selection.tensor)));
    let there: Vec<(Side, &Tensor)> = sides
        .filter_map(|(side, tensor)| Some((side, tensor?)))
        .filter(|(_, tensor)| token < tensor.shape.tokens() && selection.channel < tensor.shape.channels)
        .collect();
    section(ui, &format!("Channel {}", selection.channel), |_| {});
    if there.is_empty() {
        ui.label(
            RichText::new("No values yet: neither side has computed this tensor.")
                .font(text::small())
                .color(theme.weak),
        );
        return;
    }
    Frame::new()
        .fill(theme.raised)
        .corner_radius(6)
        .stroke(Stroke::new(1.0, theme.line))
        .inner_margin(Margin::same(10))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            let bits: Vec<u32> = there.iter().map(|(_, tensor)| tensor.bits(token, selection.channel)).collect();
            for (row, (side, tensor)) in there.iter().enumerate() {
                let (name, colour) = match side {
                    Side::Subject => ("subject", theme.subject),
                    Side::Reference => ("reference", theme.reference),
                };
                let element = tensor.shape.element;
                ui.horizontal(|ui| {
                    ui.label(RichText::new(name).font(text::small()).color(colour));
                    let value = tensor.value(token, selection.channel);
                    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                        let code = format!("0x{}", write(tensor, token, selection.channel, Numbers::Code));
                        ui.label(RichText::new(code).font(text::mono()).color(theme.weak));
                        ui.label(
                            RichText::new(value.to_string()).font(egui::FontId::monospace(15.0)).color(theme.text),
                        );
                    });
                });
                let cell = ((ui.available_width() - 8.0) / field(element).width() as f32).min(24.0);
                let shown = Bits::new(bits[row], field(element)).cell(cell);
                match bits.get(1 - row.min(1)).filter(|_| bits.len() == 2) {
                    Some(&other) => shown.against(other).show(ui),
                    None => shown.show(ui),
                };
                ui.add_space(2.0);
            }
            if let [(_, a), (_, b)] = there[..] {
                let words = if bits[0] == bits[1] {
                    "bits are equal".to_owned()
                } else if a.shape.element == Element::E4m3 {
                    format!("code distance {:+}", distance(bits[0] as u8, bits[1] as u8))
                } else {
                    format!(
                        "difference {}",
                        format::short(
                            f64::from(a.value(token, selection.channel)) - f64::from(b.value(token, selection.channel))
                        )
                    )
                };
                let colour = if bits[0] == bits[1] { theme.exact } else { theme.differs };
                ui.label(RichText::new(words).font(text::small()).color(colour));
            }
        });
}

/// Representable values between two codes; both zeros count as one place.
fn distance(subject: u8, reference: u8) -> i32 {
    let rank = |code: u8| {
        let magnitude = i32::from(code & 0x7f);
        if code & 0x80 == 0 { magnitude } else { -magnitude }
    };
    rank(subject) - rank(reference)
}

/// All channels of the token: bars of the subject with ticks of the reference.
fn channels(ui: &mut Ui, desk: &mut Desk<'_>, token: usize) {
    let theme = Theme::of(ui);
    let session = desk.session;
    let selection = session.selection();
    let [subject, reference] = [Side::Subject, Side::Reference]
        .map(|side| session.tensor(side, &selection.tensor).filter(|tensor| token < tensor.shape.tokens()));
    let Some(first) = subject.or(reference) else { return };
    let count = first.shape.channels;
    section(ui, "All channels", |ui| {
        ui.label(RichText::new("bar subject \u{b7} tick reference").font(text::small()).color(theme.faint));
    });
    let bars: Vec<Bar> = (0..count)
        .map(|channel| {
            let differs = match (subject, reference) {
                (Some(a), Some(b)) => a.bits(token, channel) != b.bits(token, channel),
                _ => false,
            };
            let other = subject.and(reference).map(|tensor| tensor.value(token, channel));
            Bar {
                value: first.value(token, channel),
                other,
                colour: if differs { theme.differs } else { theme.subject },
            }
        })
        .collect();
    let last = (count - 1).to_string();
    let shown = Bars::new("all channels of the token", &bars)
        .height(86.0)
        .selected(Some(selection.channel))
        .captions("0", &last);
    let (response, hovered) = shown.show(ui);
    if let Some(channel) = hovered {
        if response.clicked() {
            desk.out.push(Command::Select(Select::Channel(channel)));
        }
        response.on_hover_ui_at_pointer(|ui| {
            ui.label(RichText::new(format!("channel {channel}")).font(text::heading()));
            for (name, tensor) in [("subject", subject), ("reference", reference)] {
                if let Some(tensor) = tensor {
                    let words = format!(
                        "{name} {}  0x{}",
                        tensor.value(token, channel),
                        write(tensor, token, channel, Numbers::Code)
                    );
                    ui.label(RichText::new(words).font(text::mono_small()).color(theme.weak));
                }
            }
        });
    }
}

fn pins(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let pins: Vec<Pin> = desk.session.pins().to_vec();
    section(ui, &format!("Pins ({})", pins.len()), |_| {});
    if pins.is_empty() {
        ui.label(
            RichText::new("Pin a place with P to watch its values while you step.")
                .font(text::small())
                .color(theme.weak),
        );
    }
    for (index, pin) in pins.iter().enumerate() {
        ui.horizontal(|ui| {
            let value = Side::ALL.iter().find_map(|&side| {
                let tensor = desk.session.tensor(side, &pin.tensor)?;
                let token = pin.token.index(tensor.shape.size.width);
                (token < tensor.shape.tokens() && pin.channel < tensor.shape.channels)
                    .then(|| write(tensor, token, pin.channel, Numbers::Value))
            });
            if TextButton::new(&pin.name).icon(Icon::Pin).about("Go there").show(ui).clicked() {
                desk.send(Command::GoPin(index));
            }
            let place = format!("{} {} ch {}", pin.tensor, pin.token, pin.channel);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.spacing_mut().item_spacing = vec2(4.0, 0.0);
                let name = format!("Forget pin {}", pin.name);
                if IconButton::new(Icon::Close, &name).side(20.0).show(ui).clicked() {
                    desk.send(Command::Unpin(index));
                }
                ui.label(
                    RichText::new(value.unwrap_or_else(|| "\u{2013}".to_owned())).font(text::mono()).color(theme.text),
                );
                ui.add(egui::Label::new(RichText::new(place).font(text::small()).color(theme.weak)).truncate());
            });
        });
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn code_distance_counts_representable_values() {
        assert_eq!(super::distance(0x80, 0x00), 0, "both zeros are one place");
        assert_eq!(super::distance(0x01, 0x81), 2, "across zero");
        assert_eq!(super::distance(0x38, 0x3a), -2, "signed");
    }
}
