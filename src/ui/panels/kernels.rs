//! The kernels of the selected block: what each writes, how long it took, and both verdicts.

use super::super::desk::{Desk, event_mark, mark, words};
use super::super::format;
use super::super::theme::{Theme, text};
use super::super::widgets::{chip, section};
use crate::plan::Step;
use crate::session::{Select, Session, SideState, StepState};
use egui::{
    Align2, CornerRadius, Rect, RichText, ScrollArea, Sense, Stroke, StrokeKind, Ui, WidgetInfo, WidgetType, pos2, vec2,
};

const ROW: f32 = 23.0;
/// Width of a row below which a shape is told by its channels alone.
const NARROW: f32 = 290.0;

/// Draws the list.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let block = desk.session.selection().block;
    let plan = desk.session.plan().clone();
    let steps: Vec<&Step> = plan.steps.iter().filter(|step| step.block == block).collect();
    section(ui, &format!("Block {block}: {} kernels", steps.len()), |ui| {
        let theme = Theme::of(ui);
        ui.label(RichText::new("iso").font(text::small()).color(theme.weak))
            .on_hover_text("Isolated: on the reference's inputs");
        ui.label(RichText::new("acc").font(text::small()).color(theme.weak))
            .on_hover_text("Accumulated: on its own results");
    });
    ScrollArea::vertical().id_salt("kernels").auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 1.0;
        for step in steps {
            if row(ui, desk.session, step) {
                desk.select(Select::Step(step.index));
            }
        }
    });
}

fn row(ui: &mut Ui, session: &Session, step: &Step) -> bool {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    let theme = Theme::of(ui);
    let nothing = StepState::default();
    let state = session.run().steps.get(step.index).unwrap_or(&nothing);
    let chosen = session.selection().step == step.index;
    let next = session.run().playhead == step.index;
    let painter = ui.painter_at(rect);
    let fill = match (chosen, response.hovered() || response.has_focus()) {
        (true, _) => theme.accent_soft,
        (false, true) => theme.hover,
        _ => theme.panel,
    };
    painter.rect_filled(rect, CornerRadius::same(4), fill);
    if response.has_focus() {
        painter.rect_stroke(rect, CornerRadius::same(4), Stroke::new(1.5, theme.accent), StrokeKind::Inside);
    }
    if next {
        let tip = rect.left_center() + vec2(7.0, 0.0);
        let points = vec![tip, tip + vec2(-5.0, -3.5), tip + vec2(-5.0, 3.5)];
        painter.add(egui::Shape::convex_polygon(points, theme.accent, Stroke::NONE));
    }
    let running = matches!(state.subject, SideState::Running) || matches!(state.reference, SideState::Running);
    let ink = if state.subject.is_done() || running || chosen { theme.text } else { theme.weak };
    let at = rect.left_center() + vec2(11.0, 0.0);
    let name = painter.text(at, Align2::LEFT_CENTER, step.kernel, text::mono(), ink);
    // A long name pushes on what stands behind it.
    let behind = (name.right() - rect.left() + 8.0).max(115.0);
    let marks = rect.right();
    mark(state.isolated.verdict).paint(&painter, pos2(marks - 9.0, rect.center().y), 4.0, theme);
    mark(state.accumulated.verdict).paint(&painter, pos2(marks - 32.0, rect.center().y), 4.0, theme);
    let time = match &state.subject {
        SideState::Done { duration } if !duration.is_zero() => format::time(*duration),
        SideState::Running => "running".to_owned(),
        SideState::Failed(_) => "failed".to_owned(),
        SideState::Absent => "absent".to_owned(),
        SideState::Done { .. } | SideState::Waiting => String::new(),
    };
    let colour = if matches!(state.subject, SideState::Failed(_)) { theme.differs } else { theme.weak };
    let timed = painter.text(pos2(marks - 46.0, rect.center().y), Align2::RIGHT_CENTER, time, text::small(), colour);
    let shape = session.plan().shape(step.name());
    // In a narrow panel all rows tell channels alone, rather than some of them everything.
    let extent = match rect.width() < NARROW {
        true => shape.channels.to_string(),
        false => format!("{} \u{b7} {}", shape.channels, shape.element.name()),
    };
    let room = Rect::from_min_max(
        pos2(rect.left() + behind + 7.0, rect.top()),
        pos2(timed.left().min(marks - 46.0) - 4.0, rect.bottom()),
    );
    let extent = painter.layout_no_wrap(extent, text::small(), theme.faint_on(chosen));
    if extent.size().x <= room.width() {
        painter.galley(room.left_center() - vec2(0.0, extent.size().y * 0.5), extent, theme.faint);
    }
    event_mark(&painter, &state.events, rect.left_center() + vec2(behind, 0.0), theme);
    let name = format!(
        "kernel {}, {} accumulated, {} isolated",
        step.kernel,
        mark(state.accumulated.verdict).words(),
        mark(state.isolated.verdict).words()
    );
    response.widget_info(|| WidgetInfo::selected(WidgetType::SelectableLabel, true, chosen, &name));
    let clicked = response.clicked();
    response.on_hover_ui(|ui| hover(ui, session, step, state));
    clicked
}

fn hover(ui: &mut Ui, session: &Session, step: &Step, state: &StepState) {
    let theme = Theme::of(ui);
    let line = |ui: &mut Ui, words: String| {
        ui.label(RichText::new(words).font(text::small()).color(theme.weak));
    };
    ui.horizontal(|ui| {
        ui.label(RichText::new(step.kernel).font(text::heading()).color(theme.text));
        ui.label(RichText::new(step.op.word()).font(text::mono_small()).color(theme.weak));
    });
    for (arrow, names) in [("reads", step.op.inputs()), ("writes", step.op.outputs())] {
        for name in names {
            line(ui, format!("{arrow} {name} {}", session.plan().shape(name)));
        }
    }
    let products = step.op.products(session.plan());
    if products > 0 {
        line(ui, format!("{} products", format::compact(products)));
    }
    for (name, judgement) in [("accumulated", &state.accumulated), ("isolated", &state.isolated)] {
        ui.horizontal(|ui| {
            chip(ui, mark(judgement.verdict), name);
            ui.label(RichText::new(words(judgement)).font(text::small()).color(theme.text));
        });
    }
    for (&kind, &count) in &state.events {
        ui.label(
            RichText::new(format!("{}: {}", kind.title(), format::count(count))).font(text::small()).color(theme.event),
        );
    }
    if let SideState::Failed(why) = &state.subject {
        ui.label(RichText::new(why).font(text::small()).color(theme.differs));
    }
}
