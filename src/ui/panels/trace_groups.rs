//! The groups of a chain of products, in the trace: one line each, and the open ones as bits, both sides where they
//! differ.

use super::super::desk::Desk;
use super::super::format;
use super::super::theme::{Theme, text};
use super::super::widgets::{Bits, Field, TextButton, alignment, is_cut, rounding_words, section};
use super::trace::{Story, bits_of};
use crate::engine::trace::{Chain, Group};
use egui::{Align2, Color32, CornerRadius, Frame, Margin, RichText, Sense, Stroke, Ui, WidgetInfo, WidgetType, vec2};

/// From this width on, both sides' bits stand beside each other.
const WIDE: f32 = 760.0;

/// A chain of groups: one line each, and the open ones as bits.
pub(super) fn show(
    ui: &mut Ui,
    desk: &mut Desk<'_>,
    story: &Story,
    (index, chain, other): (usize, &Chain, Option<&Chain>),
) {
    let theme = Theme::of(ui);
    let every: Vec<(usize, usize)> = (0..chain.groups.len()).map(|group| (index, group)).collect();
    section(ui, &format!("{}, {} groups", chain.name, chain.groups.len()), |ui| {
        let all = every.iter().all(|group| desk.memory.trace_open.contains(group));
        let words = if all { "Close all" } else { "Open all" };
        if every.len() <= 64 && TextButton::new(words).show(ui).clicked() {
            for group in every {
                if all {
                    desk.memory.trace_open.remove(&group)
                } else {
                    desk.memory.trace_open.insert(group)
                };
            }
        }
    });
    ui.spacing_mut().item_spacing.y = 1.0;
    for (g, group) in chain.groups.iter().enumerate() {
        let against = other.and_then(|other| other.groups.get(g));
        let differs = against.is_some_and(|other| other != group);
        let open = desk.memory.trace_open.contains(&(index, g));
        let first = story.parts == Some((index, Some(g)));
        let line = Line { g, group, other: against.filter(|_| differs), open, first };
        if group_line(ui, &line) {
            if open {
                desk.memory.trace_open.remove(&(index, g))
            } else {
                desk.memory.trace_open.insert((index, g))
            };
        }
        if open {
            Frame::new()
                .fill(theme.raised)
                .corner_radius(6)
                .stroke(Stroke::new(1.0, if first { theme.differs } else { theme.line }))
                .inner_margin(Margin::same(6))
                .show(ui, |ui| {
                    ui.set_width(ui.available_width());
                    open_group(ui, story, group, against.filter(|_| differs));
                });
        }
    }
}

/// A group as its line shows it.
struct Line<'a> {
    g: usize,
    group: &'a Group,
    /// The other side's group where it differs.
    other: Option<&'a Group>,
    open: bool,
    /// Whether the sides part here first.
    first: bool,
}

/// A group in one line; returns whether it was clicked.
fn group_line(ui: &mut Ui, line: &Line<'_>) -> bool {
    let &Line { g, group, other, open, first } = line;
    let theme = Theme::of(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 19.0), Sense::click());
    let fill = match () {
        () if first => Some(theme.differs.gamma_multiply(0.22)),
        () if response.hovered() || response.has_focus() => Some(theme.hover),
        () if other.is_some() => Some(theme.differs.gamma_multiply(0.09)),
        () => None,
    };
    if let Some(fill) = fill {
        ui.painter().rect_filled(rect, CornerRadius::same(3), fill);
    }
    let painter = ui.painter_at(rect);
    let (middle, size) = (rect.left_center() + vec2(8.0, 0.0), 3.2);
    let points = if open {
        vec![middle + vec2(-size, -size * 0.6), middle + vec2(size, -size * 0.6), middle + vec2(0.0, size * 0.8)]
    } else {
        vec![middle + vec2(-size * 0.6, -size), middle + vec2(size * 0.8, 0.0), middle + vec2(-size * 0.6, size)]
    };
    painter.add(egui::Shape::convex_polygon(points, theme.weak, Stroke::NONE));
    let cut = group.terms.iter().filter(|term| is_cut(term)).count();
    let shared = group.shared.map_or("passes".to_owned(), |shared| format!("E {shared}"));
    let range =
        group.terms.first().zip(group.terms.last()).map_or(String::new(), |(a, b)| format!("k {}\u{2013}{}", a.k, b.k));
    let mut x = rect.left() + 18.0;
    for (words, width, ink) in [
        (format!("{g}"), 24.0, theme.text),
        (range, 76.0, theme.weak),
        (shared, 44.0, theme.weak),
        (if cut > 0 { format!("{cut} cut") } else { String::new() }, 44.0, theme.not_compared),
    ] {
        painter.text(egui::pos2(x, rect.center().y), Align2::LEFT_CENTER, words, text::mono_small(), ink);
        x += width;
    }
    let value =
        |group: &Group| format!("{}  {}", format::short(f64::from(group.result.value())), bits_of(group.result));
    let words = other.map_or(value(group), |other| format!("{} / {}", value(group), bits_of(other.result)));
    let end = rect.right_center() - vec2(5.0, 0.0);
    painter.text(end, Align2::RIGHT_CENTER, words, text::mono_small(), theme.text);
    let state = if open { "open" } else { "closed" };
    let apart = if first {
        ", here the sides part"
    } else if other.is_some() {
        ", differs"
    } else {
        ""
    };
    let label = format!("group {g}, {cut} terms cut, result {}{apart}, {state}", value(group));
    response.widget_info(|| WidgetInfo::selected(WidgetType::CollapsingHeader, true, open, &label));
    response.clicked()
}

/// The bits of a group, of both sides where they differ.
fn open_group(ui: &mut Ui, story: &Story, group: &Group, other: Option<&Group>) {
    let theme = Theme::of(ui);
    let Some(other) = other else {
        return one_group(ui, group, &[]);
    };
    let pairs = group.terms.iter().zip(&other.terms).enumerate();
    let differing: Vec<usize> = pairs.filter(|(_, (a, b))| (a.a, a.b) != (b.a, b.b)).map(|(i, _)| i).collect();
    let side = |ui: &mut Ui, name: &str, colour: Color32, group: &Group| {
        ui.vertical(|ui| {
            ui.label(RichText::new(name).font(text::label()).color(colour));
            one_group(ui, group, &differing);
        });
    };
    let (subject, reference) = story.names;
    if ui.available_width() >= WIDE {
        ui.columns(2, |columns| {
            side(&mut columns[0], subject, theme.subject, group);
            side(&mut columns[1], reference, theme.reference, other);
        });
    } else {
        side(ui, subject, theme.subject, group);
        ui.add_space(6.0);
        side(ui, reference, theme.reference, other);
    }
}

fn one_group(ui: &mut Ui, group: &Group, differing: &[usize]) {
    let theme = Theme::of(ui);
    alignment(ui, group, differing);
    ui.label(RichText::new(rounding_words(group)).font(text::small()).color(theme.weak));
    ui.horizontal(|ui| {
        Bits::new(group.result.bits, Field::F16).cell(9.0).show(ui);
        let words = format::short(f64::from(group.result.value()));
        ui.label(RichText::new(words).font(text::mono_small()).color(theme.text));
    });
}
