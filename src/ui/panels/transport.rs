//! The top bar: transport, progress, the two sides, and the way to everything else.

use super::super::desk::Desk;
use super::super::format;
use super::super::icons::Icon;
use super::super::theme::{Theme, space, text};
use super::super::widgets::{IconButton, key_hint};
use crate::session::{Choice, Command, Dialog, Loading, Side, Transport, key_of};
use egui::{
    Align, Align2, CornerRadius, Layout, Popup, Rect, RichText, Sense, Stroke, StrokeKind, Ui, WidgetInfo, WidgetType,
    pos2, vec2,
};

/// Draws the bar.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    ui.horizontal_centered(|ui| {
        ui.spacing_mut().item_spacing.x = 1.0;
        let theme = Theme::of(ui);
        ui.add_space(2.0);
        ui.label(RichText::new("Blockscope").font(text::heading()).color(theme.text));
        rule(ui);
        buttons(ui, desk);
        rule(ui);
        progress(ui, desk);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            tools(ui, desk);
            rule(ui);
            let width = ((ui.available_width() - 60.0) * 0.5).clamp(96.0, 190.0);
            picker(ui, desk, Side::Reference, width);
            if IconButton::new(Icon::Swap, "Swap subject and reference").side(22.0).show(ui).clicked() {
                desk.send(Command::Swap);
            }
            picker(ui, desk, Side::Subject, width);
        });
    });
}

fn rule(ui: &mut Ui) {
    let (rect, _) = ui.allocate_exact_size(vec2(13.0, 20.0), Sense::hover());
    ui.painter().vline(rect.center().x, rect.y_range(), Stroke::new(1.0, Theme::of(ui).outline.gamma_multiply(0.7)));
}

fn buttons(ui: &mut Ui, desk: &mut Desk<'_>) {
    let run = desk.session.run();
    let busy = run.activity.is_some();
    // Steps queue behind a step; a run is stopped first.
    let steps = run.activity.as_ref().is_none_or(|activity| activity.stepping);
    let (started, finished) = (run.playhead > 0, run.playhead >= run.steps.len());
    let table = [
        (Icon::First, "First step", "Back to the start.", Transport::First, started),
        (Icon::Back, "Step back", "One kernel back; instant.", Transport::Back, started),
        (
            Icon::StepKernel,
            "Step kernel",
            "Run one kernel on both sides; pressed again meanwhile, one more.",
            Transport::StepKernel,
            !finished && steps,
        ),
        (
            Icon::StepBlock,
            "Step block",
            "Run to the end of the block; pressed again meanwhile, one more.",
            Transport::StepBlock,
            !finished && steps,
        ),
        (Icon::RunTo, "Run to selection", "Run until the selected step has run.", Transport::ToSelection, !busy),
        (
            Icon::RunDivergence,
            "Run to first divergence",
            "Run until a verdict is not exact.",
            Transport::ToDivergence,
            !finished && !busy,
        ),
        (Icon::RunAll, "Run all", "Run to the end.", Transport::All, !finished && !busy),
        (Icon::Stop, "Stop", "Stop after the tile in hand; what is queued is forgotten.", Transport::Stop, busy),
    ];
    for (icon, name, about, transport, enabled) in table {
        let command = Command::Run(transport);
        let key = key_of(&command).unwrap_or("");
        if IconButton::new(icon, name).about(about).key(key).enabled(enabled).show(ui).clicked() {
            desk.send(command);
        }
    }
}

/// Where the run stands: a slim bar with words.
fn progress(ui: &mut Ui, desk: &Desk<'_>) {
    let run = desk.session.run();
    let theme = Theme::of(ui);
    let width = (ui.available_width() - 600.0).clamp(96.0, 260.0);
    let (rect, response) = ui.allocate_exact_size(vec2(width, 30.0), Sense::hover());
    let (words, share, left) = if let Some(activity) = &run.activity {
        let left = activity.left.map_or(String::new(), |left| format!("{} left", format::time(left)));
        let queued = activity.steps.1.saturating_sub(activity.steps.0 + 1);
        let words = match queued {
            1.. if activity.stepping => format!("{} \u{b7} {queued} more", activity.what),
            _ => activity.what.clone(),
        };
        (words, activity.share, left)
    } else {
        let count = run.steps.len();
        let words = match desk.session.plan().steps.get(run.playhead) {
            Some(step) => format!("at block {}, {}", step.block, step.kernel),
            None if count == 0 => "nothing loaded".to_owned(),
            None => "at the end".to_owned(),
        };
        (words, run.playhead as f32 / count.max(1) as f32, String::new())
    };
    let painter = ui.painter_at(rect);
    let right =
        painter.text(pos2(rect.right(), rect.top() + 10.0), Align2::RIGHT_CENTER, &left, text::small(), theme.weak);
    let room = Rect::from_min_max(rect.min, pos2(right.left() - 4.0, rect.bottom()));
    painter.with_clip_rect(room).text(
        pos2(rect.left(), rect.top() + 10.0),
        Align2::LEFT_CENTER,
        &words,
        text::small(),
        theme.text,
    );
    let track = Rect::from_min_max(pos2(rect.left(), rect.bottom() - 8.0), pos2(rect.right(), rect.bottom() - 5.0));
    painter.rect_filled(track, CornerRadius::same(2), theme.pressed);
    let done = Rect::from_min_size(track.min, vec2(track.width() * share.clamp(0.0, 1.0), track.height()));
    painter.rect_filled(done, CornerRadius::same(2), if run.activity.is_some() { theme.accent } else { theme.weak });
    let label = format!("progress: {words} {left}");
    response.widget_info(|| WidgetInfo::labeled(WidgetType::ProgressIndicator, true, &label));
}

fn tools(ui: &mut Ui, desk: &mut Desk<'_>) {
    let (undo, redo) = desk.session.can_undo_redo();
    let table = [
        (Icon::Settings, "Settings", Command::Show(Some(Dialog::About)), true),
        (Icon::Book, "Glossary", Command::Show(Some(Dialog::Glossary)), true),
        (Icon::Open, "Open", Command::Show(Some(Dialog::Open)), true),
        (Icon::Redo, "Redo view change", Command::Redo, redo),
        (Icon::Undo, "Undo view change", Command::Undo, undo),
    ];
    for (icon, name, command, enabled) in table {
        let key = key_of(&command).unwrap_or("");
        if IconButton::new(icon, name).key(key).enabled(enabled).show(ui).clicked() {
            desk.send(command);
        }
    }
    if palette_field(ui) {
        desk.send(Command::Show(Some(Dialog::Palette)));
    }
}

/// Looks like a search field; opens the palette. Only its icon where room is short.
fn palette_field(ui: &mut Ui) -> bool {
    let theme = Theme::of(ui);
    if ui.available_width() < 520.0 {
        return IconButton::new(Icon::Search, "Command palette").key("Ctrl+Shift+P").show(ui).clicked();
    }
    let (rect, response) = ui.allocate_exact_size(vec2(196.0, space::CONTROL), Sense::click());
    let hot = response.hovered() || response.has_focus();
    let outline = Stroke::new(1.0, if hot { theme.outline } else { theme.line });
    ui.painter().rect(rect, CornerRadius::same(space::CORNER), theme.ground, outline, StrokeKind::Inside);
    Icon::Search.paint(
        ui.painter(),
        Rect::from_center_size(rect.left_center() + vec2(14.0, 0.0), vec2(13.0, 13.0)),
        theme.weak,
    );
    ui.painter().text(rect.left_center() + vec2(26.0, 0.0), Align2::LEFT_CENTER, "Commands", text::small(), theme.weak);
    key_hint(ui, rect.right_center() - vec2(4.0, 0.0), "Ctrl+Shift+P");
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, "Command palette"));
    response.clicked()
}

/// One side's picker: what it is, and a menu of what it could be.
fn picker(ui: &mut Ui, desk: &mut Desk<'_>, side: Side, width: f32) {
    let theme = Theme::of(ui);
    let (sources, states) = (desk.session.sources(), desk.session.source_states());
    let (title, spec, state, colour) = match side {
        Side::Subject => ("Subject", &sources.subject, &states.subject, theme.subject),
        Side::Reference => ("Reference", &sources.reference, &states.reference, theme.reference),
    };
    let (rect, response) = ui.allocate_exact_size(vec2(width, 32.0), Sense::click());
    let hot = response.hovered() || response.has_focus();
    let failed = matches!(state, Loading::Failed(_));
    let outline = if failed {
        theme.differs
    } else if hot {
        theme.outline
    } else {
        theme.line
    };
    let fill = if hot { theme.hover } else { theme.raised };
    ui.painter().rect(rect, CornerRadius::same(space::CORNER), fill, Stroke::new(1.0, outline), StrokeKind::Inside);
    let strip = Rect::from_min_size(rect.min + vec2(4.0, 6.0), vec2(3.0, rect.height() - 12.0));
    ui.painter().rect_filled(strip, CornerRadius::same(2), colour);
    let inside = ui.painter_at(Rect::from_min_max(rect.min, rect.max - vec2(20.0, 0.0)));
    inside.text(
        rect.left_top() + vec2(13.0, 9.5),
        Align2::LEFT_CENTER,
        title,
        egui::FontId::proportional(10.0),
        theme.weak,
    );
    inside.text(rect.left_top() + vec2(13.0, 22.0), Align2::LEFT_CENTER, spec, text::body(), theme.text);
    Icon::Down.paint(
        ui.painter(),
        Rect::from_center_size(rect.right_center() - vec2(12.0, 0.0), vec2(12.0, 12.0)),
        theme.weak,
    );
    let name = format!("{title}: {spec}");
    response.widget_info(|| WidgetInfo::labeled(WidgetType::ComboBox, true, &name));
    Popup::menu(&response).id(ui.id().with(title)).width(300.0).show(|ui| menu(ui, desk, side));
    if let Loading::Failed(problems) = state {
        response.on_hover_ui(|ui| {
            for problem in problems {
                ui.label(RichText::new(problem).color(Theme::of(ui).differs));
            }
        });
    }
}

fn menu(ui: &mut Ui, desk: &mut Desk<'_>, side: Side) {
    let theme = Theme::of(ui);
    let sources = desk.session.sources();
    let (current, make): (&str, fn(String) -> Command) = match side {
        Side::Subject => (&sources.subject, Command::Subject),
        Side::Reference => (&sources.reference, Command::Reference),
    };
    ui.set_min_width(280.0);
    let choices: Vec<Choice> = desk.session.choices().to_vec();
    for choice in choices {
        let chosen = choice.spec == current;
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 36.0), Sense::click());
        if chosen || response.hovered() {
            let fill = if chosen { theme.accent_soft } else { theme.hover };
            ui.painter().rect_filled(rect, CornerRadius::same(space::CORNER), fill);
        }
        let ink = if choice.refused.is_some() { theme.faint } else { theme.text };
        let inside = ui.painter_at(rect);
        inside.text(rect.left_top() + vec2(8.0, 11.0), Align2::LEFT_CENTER, &choice.label, text::body(), ink);
        let about = choice.refused.as_deref().unwrap_or(&choice.about);
        inside.text(rect.left_top() + vec2(8.0, 26.0), Align2::LEFT_CENTER, about, text::small(), theme.weak);
        response.widget_info(|| {
            WidgetInfo::selected(WidgetType::RadioButton, choice.refused.is_none(), chosen, &choice.label)
        });
        if response.clicked() && choice.refused.is_none() {
            desk.send(make(choice.spec));
            ui.close();
        }
    }
    ui.separator();
    if super::super::widgets::TextButton::new("More sources and causes...").key("Ctrl+R").show(ui).clicked() {
        desk.send(Command::Show(Some(Dialog::Sources)));
        ui.close();
    }
}
