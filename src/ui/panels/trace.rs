//! The trace: how the selected value came to be, stage by stage; groups of products open into their bits.
//!
//! Where subject and reference part, the first difference is told in a sentence and its group is open, both sides
//! under each other, or beside each other where there is room.

use super::super::desk::Desk;
use super::super::format;
use super::super::icons::Icon;
use super::super::theme::{Theme, text};
use super::super::widgets::{Bits, Field, IconButton, TextButton, empty, section};
use super::event_marks::sign;
use super::trace_groups;
use crate::engine::events;
use crate::engine::trace::{Number, Stage, Trace};
use crate::numerics::f16;
use crate::session::{Command, CopyWhat, Tab, ViewChange};
use crate::tensor::Element;
use egui::{Align, Align2, Color32, CornerRadius, Layout, RichText, Sense, Ui, WidgetInfo, WidgetType, vec2};
use std::sync::Arc;

/// What is drawn: one story, or two with the place where they part.
pub(super) struct Story {
    first: Arc<Trace>,
    other: Option<Arc<Trace>>,
    pub(super) names: (&'static str, &'static str),
    /// The stage, and the group of a chain, where the two begin to differ.
    pub(super) parts: Option<(usize, Option<usize>)>,
}

/// Draws the tab.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let selection = desk.session.selection();
    section(ui, "How this value came to be", |ui| {
        if IconButton::new(Icon::Copy, "Copy trace").side(22.0).show(ui).clicked() {
            desk.out.push(Command::Copy(CopyWhat::Trace));
        }
    });
    if let Some(token) = selection.token {
        let words = format!("{}  token {token}  channel {}", selection.tensor, selection.channel);
        ui.label(RichText::new(words).font(text::mono_small()).color(theme.weak));
    }
    let requested = desk.session.trace();
    let Some(trace) = requested.shown() else {
        match requested.reason() {
            Some(reason) => empty(ui, "No trace", reason),
            None if requested.is_pending() => empty(ui, "Tracing", "A worker repeats the value's arithmetic"),
            None => empty(ui, "Choose a value", "Click a token on the picture; the trace follows the selected channel"),
        }
        return;
    };
    let story = match (trace.subject.clone(), trace.reference.clone()) {
        (Some(subject), Some(reference)) => {
            let parts = parts(&subject, &reference);
            let same = parts.is_none() && subject.stored == reference.stored;
            let words = if same { ("Both sides", "") } else { ("Subject", "Reference") };
            Story { first: subject, other: (!same).then_some(reference), names: words, parts }
        }
        (Some(one), None) => Story { first: one, other: None, names: ("Subject", ""), parts: None },
        (None, Some(one)) => Story { first: one, other: None, names: ("Reference", ""), parts: None },
        (None, None) => return empty(ui, "No trace", "Neither side has computed what this value is made of"),
    };
    summary(ui, &story);
    let of = format!("{} {} {}", story.first.tensor, story.first.token, story.first.channel);
    if desk.memory.trace_of != of {
        desk.memory.trace_open = first_open(&story).into_iter().collect();
        desk.memory.trace_of = of;
    }
    for index in 0..story.first.stages.len() {
        stage(ui, desk, &story, index);
    }
    ending(ui, &story);
}

/// The first stage, and group, where two stories differ.
fn parts(a: &Trace, b: &Trace) -> Option<(usize, Option<usize>)> {
    let stage = a.stages.iter().zip(&b.stages).position(|(a, b)| a != b)?;
    let group = match (&a.stages[stage], &b.stages[stage]) {
        (Stage::Chain(a), Stage::Chain(b)) => a.groups.iter().zip(&b.groups).position(|(a, b)| a != b),
        _ => None,
    };
    Some((stage, group))
}

/// The group that is open at first: where the sides part, or the first of the first chain.
fn first_open(story: &Story) -> Option<(usize, usize)> {
    if let Some((stage, Some(group))) = story.parts {
        return Some((stage, group));
    }
    let chain = story.first.stages.iter().position(|stage| matches!(stage, Stage::Chain(_)));
    chain.filter(|_| story.other.is_none()).map(|stage| (stage, 0))
}

fn summary(ui: &mut Ui, story: &Story) {
    let theme = Theme::of(ui);
    let line = |ui: &mut Ui, words: String, ink: Color32| {
        ui.label(RichText::new(words).font(text::small()).color(ink));
    };
    match (&story.other, story.parts) {
        (None, _) if story.names.0 == "Both sides" => {
            line(ui, "Both sides compute the same, step by step.".to_owned(), theme.exact);
        }
        (None, _) => {}
        (Some(other), Some((stage, group))) => {
            line(ui, parting(&story.first, other, stage, group), theme.differs);
        }
        (Some(_), None) => {
            let words = "The same inputs on both sides, and another result: the subject's kernel differs.";
            line(ui, words.to_owned(), theme.differs);
        }
    }
    for (trace, name) in
        std::iter::once((&story.first, story.names.0)).chain(story.other.iter().map(|t| (t, story.names.1)))
    {
        if !trace.reproduces {
            let (made, stored) =
                (format::short(f64::from(trace.result.value())), format::short(f64::from(trace.stored.value())));
            let words = format!("{name}: the network makes {made} of these inputs, the tensor holds {stored}.");
            line(ui, words, theme.differs);
        }
    }
}

/// Where two stories part, in a sentence.
fn parting(a: &Trace, b: &Trace, stage: usize, group: Option<usize>) -> String {
    let (Stage::Chain(x), Stage::Chain(y), Some(g)) = (&a.stages[stage], &b.stages[stage], group) else {
        return match &a.stages[stage] {
            Stage::Operation { name, .. } => format!("The sides part at \u{201c}{name}\u{201d}."),
            Stage::Attention(_) => "The sides part in the attention of this query.".to_owned(),
            Stage::Chain(chain) => format!("The sides part in \u{201c}{}\u{201d}.", chain.name),
            Stage::Note { .. } => "The sides part in what they read.".to_owned(),
        };
    };
    let (p, q) = (&x.groups[g], &y.groups[g]);
    let differ = p.terms.iter().zip(&q.terms).filter(|(a, b)| (a.a, a.b) != (b.a, b.b)).collect::<Vec<_>>();
    match differ.first() {
        Some((a, b)) => {
            let what = if a.a == b.a { "weight" } else { "operand" };
            let more = if differ.len() > 1 { format!(", and {} more", differ.len() - 1) } else { String::new() };
            format!("The sides part in group {g} of {}: the {what} at k {} differs{more}.", x.name, a.k)
        }
        None => format!("The sides part in group {g} of {}: the accumulator that it starts from differs.", x.name),
    }
}

fn stage(ui: &mut Ui, desk: &mut Desk<'_>, story: &Story, index: usize) {
    let theme = Theme::of(ui);
    let other = story.other.as_ref().and_then(|other| other.stages.get(index));
    let differs = other.is_some_and(|other| *other != story.first.stages[index]);
    match &story.first.stages[index] {
        Stage::Note { text: words } => {
            ui.add_space(2.0);
            ui.label(RichText::new(words).font(text::small()).color(theme.weak));
        }
        Stage::Operation { name, formula, operands, result } => {
            let against = match other {
                Some(Stage::Operation { result, .. }) if differs => Some(*result),
                _ => None,
            };
            operation(ui, (name, formula), operands, *result, against);
        }
        Stage::Attention(attention) => {
            ui.add_space(4.0);
            let rounded = attention.adds.iter().filter(|add| add.rounded).count();
            let words = format!(
                "Softmax over {} keys: total {}, {} adds, {rounded} of them rounded; head {}",
                attention.keys.len(),
                format::short(f64::from(attention.total.value())),
                attention.adds.len(),
                attention.head,
            );
            let ink = if differs { theme.differs } else { theme.text };
            ui.label(RichText::new(words).font(text::small()).color(ink));
            if TextButton::new("Show the attention").show(ui).clicked() {
                desk.view(ViewChange::Tab(Tab::Attention));
            }
        }
        Stage::Chain(chain) => {
            let against = match other {
                Some(Stage::Chain(other)) => Some(other),
                _ => None,
            };
            trace_groups::show(ui, desk, story, (index, chain, against));
        }
    }
}

/// One rounded operation: formula at the left, result at the right, operands below. Where formula and result have no
/// room beside each other, the formula has a line of its own.
fn operation(ui: &mut Ui, (name, formula): (&str, &str), operands: &[Number], result: Number, other: Option<Number>) {
    const LINE: f32 = 14.0;
    let theme = Theme::of(ui);
    let value = format!("{}  {}", format::short(f64::from(result.value())), bits_of(result));
    let value = other.map_or(value.clone(), |other| format!("{value} / {}", bits_of(other)));
    let head = format!("{name} = {formula}");
    let line = |words: String, ink: Color32| ui.painter().layout_no_wrap(words, text::mono_small(), ink);
    let (whole, value) = (line(head.clone(), theme.text), line(value, theme.text));
    let room = ui.available_width() - 8.0;
    let mut lines = if whole.size().x + value.size().x + 14.0 > room {
        vec![line(name.to_owned(), theme.text), line(format!("= {formula}"), theme.text)]
    } else {
        vec![whole]
    };
    let publication = result.element == Element::E4m3;
    if publication || operands.len() > 1 || formula.contains("1 /") {
        let of: Vec<String> =
            operands.iter().map(|n| format!("{} {}", format::short(f64::from(n.value())), bits_of(*n))).collect();
        lines.push(line(format!("of {}", of.join(", ")), theme.weak));
    }
    let height = 3.0 + LINE * lines.len() as f32;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    if other.is_some() {
        ui.painter().rect_filled(rect, CornerRadius::same(3), theme.differs.gamma_multiply(0.14));
    }
    let painter = ui.painter_at(rect);
    painter.galley(rect.right_top() + vec2(-4.0 - value.size().x, 1.5), value, theme.text);
    for (index, line) in lines.into_iter().enumerate() {
        let indent = if index == 0 { 4.0 } else { 12.0 };
        painter.galley(rect.left_top() + vec2(indent, 1.5 + LINE * index as f32), line, theme.text);
    }
    let label = format!("{head} = {} {}", result.value(), bits_of(result));
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Label, true, &label));
}

/// A number's bits in hexadecimal digits.
pub(super) fn bits_of(number: Number) -> String {
    format!("{:0width$x}", number.bits, width = 2 * number.element.bytes())
}

/// The last half and the code that it was published as, bit by bit, with what happened there.
fn ending(ui: &mut Ui, story: &Story) {
    let theme = Theme::of(ui);
    section(ui, "Result", |_| {});
    let sides = std::iter::once((&story.first, story.names.0)).chain(story.other.iter().map(|t| (t, story.names.1)));
    for (i, (trace, name)) in sides.enumerate() {
        let other = if i == 0 { story.other.as_ref() } else { Some(&story.first) };
        let colour = [theme.subject, theme.reference][usize::from(name == "Reference")];
        ui.horizontal(|ui| {
            ui.label(RichText::new(name).font(text::label()).color(colour));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let words = format!("{}  {}", format::short(f64::from(trace.stored.value())), bits_of(trace.stored));
                ui.label(RichText::new(words).font(text::mono()).color(theme.text));
            });
        });
        let half = last_half(trace);
        if let Some(half) = half {
            let against = other.and_then(|other| last_half(other)).filter(|other| *other != half);
            labelled(ui, "half", half, Field::F16, against);
        }
        let field = match trace.stored.element {
            Element::E4m3 => Field::E4M3,
            Element::F16 => Field::F16,
            Element::F32 => Field::F32,
        };
        if trace.stored.element != Element::F16 {
            let against = other.map(|other| other.stored).filter(|other| *other != trace.stored);
            labelled(ui, "stored", trace.stored, field, against);
        }
        if let (Some(half), Element::E4m3) = (half, trace.stored.element) {
            for kind in events::of_published(f16::from_bits(half.bits as u16), trace.stored.bits as u8).iter() {
                ui.horizontal(|ui| {
                    let (rect, _) = ui.allocate_exact_size(vec2(14.0, 14.0), Sense::hover());
                    sign(ui.painter(), kind, rect.center(), 4.5, theme);
                    ui.label(RichText::new(kind.title()).font(text::small()).color(theme.event));
                });
            }
        }
        ui.add_space(4.0);
    }
}

fn labelled(ui: &mut Ui, name: &str, number: Number, field: Field, against: Option<Number>) {
    let theme = Theme::of(ui);
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(40.0, 15.0), Sense::hover());
        ui.painter().text(rect.left_center(), Align2::LEFT_CENTER, name, text::small(), theme.weak);
        let cell = ((ui.available_width() - 8.0) / field.width() as f32).clamp(5.0, 13.0);
        let bits = Bits::new(number.bits, field).cell(cell);
        against.map_or(bits, |other| bits.against(other.bits)).show(ui);
    });
}

/// The half that the last publication took.
fn last_half(trace: &Trace) -> Option<Number> {
    trace.stages.iter().rev().find_map(|stage| match stage {
        Stage::Operation { operands, result, .. } if result.element == Element::E4m3 => operands.first().copied(),
        Stage::Operation { result, .. } => Some(*result),
        Stage::Chain(chain) => Some(chain.result),
        Stage::Attention(_) | Stage::Note { .. } => None,
    })
}
