//! Words in their places: section heads, facts, chips, terms with their explanation, empty states.

use super::super::glossary;
use super::super::mark::Mark;
use super::super::theme::{Theme, space, text};
use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align, Color32, CornerRadius, FontId, Frame, Layout, Margin, Rect, Response, RichText, Sense, Stroke, Ui, vec2,
};

/// A section's head: small semibold words, room above, something optional at the right.
pub fn section(ui: &mut Ui, words: &str, right: impl FnOnce(&mut Ui)) {
    ui.add_space(space::SMALL);
    ui.horizontal(|ui| {
        let weak = Theme::of(ui).weak;
        let response = ui.label(RichText::new(words).font(text::label()).color(weak));
        if let Some(term) = glossary::find(&words.to_lowercase()) {
            term_tooltip(response, term);
        }
        ui.with_layout(Layout::right_to_left(Align::Center), right);
    });
}

/// A fact: what at the left, its value at the right in monospace. Hovering explains the word, if it is a term.
pub fn fact(ui: &mut Ui, what: &str, value: impl Into<String>) -> Response {
    let value: String = value.into();
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 17.0), Sense::hover());
    let theme = Theme::of(ui);
    let painter = ui.painter_at(rect);
    let name = painter.text(rect.left_center(), egui::Align2::LEFT_CENTER, what, text::small(), theme.weak);
    let room = Rect::from_min_max(egui::pos2(name.right() + 6.0, rect.top()), rect.max);
    painter.with_clip_rect(room).text(
        rect.right_center(),
        egui::Align2::RIGHT_CENTER,
        &value,
        text::mono(),
        theme.text,
    );
    let label = format!("{what}: {value}");
    response.widget_info(|| egui::WidgetInfo::labeled(egui::WidgetType::Label, true, &label));
    match glossary::find(what) {
        Some(term) => term_tooltip(response, term),
        None => response,
    }
}

/// A mark with words, in a rounded box of the mark's tint.
pub fn chip(ui: &mut Ui, mark: Mark, words: &str) -> Response {
    let theme = Theme::of(ui);
    let colour = mark.colour(theme);
    let galley = ui.painter().layout_no_wrap(words.to_owned(), text::small(), theme.text);
    let size = vec2(galley.size().x + 26.0, 20.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let corner = CornerRadius::same(10);
    ui.painter().rect(
        rect,
        corner,
        colour.gamma_multiply(0.14),
        Stroke::new(1.0, colour.gamma_multiply(0.5)),
        egui::StrokeKind::Inside,
    );
    mark.paint(ui.painter(), rect.left_center() + vec2(11.0, 0.0), 4.0, theme);
    ui.painter().galley(rect.left_center() + vec2(19.0, -galley.size().y * 0.5), galley, theme.text);
    let label = format!("{}: {words}", mark.words());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::WidgetType::Label, true, &label));
    response
}

/// A word with a dotted underline that explains itself.
pub fn term(ui: &mut Ui, words: &str, name: &str) -> Response {
    let theme = Theme::of(ui);
    let response = ui.label(RichText::new(words).font(text::small()).color(theme.weak));
    let Some(term) = glossary::find(name) else { return response };
    let y = response.rect.bottom() - 1.0;
    let mut x = response.rect.left();
    while x < response.rect.right() {
        ui.painter().line_segment([egui::pos2(x, y), egui::pos2(x + 1.5, y)], Stroke::new(1.0, theme.faint));
        x += 3.5;
    }
    term_tooltip(response, term)
}

/// Gives a control its term's explanation.
pub fn term_tooltip(response: Response, term: &glossary::Term) -> Response {
    response.on_hover_ui(|ui| {
        let theme = Theme::of(ui);
        ui.label(RichText::new(term.name).font(text::heading()).color(theme.text));
        ui.label(RichText::new(term.short).font(text::small()).color(theme.text));
        ui.label(RichText::new(term.long).font(text::small()).color(theme.weak));
    })
}

/// Words in one line, centred in a place's height, with an ellipsis where they do not fit; says whether they do.
pub fn one_line(ui: &Ui, words: &str, place: Rect, font: FontId, ink: Color32) -> bool {
    let mut job = LayoutJob::simple_singleline(words.to_owned(), font, ink);
    job.wrap = TextWrapping::truncate_at_width(place.width());
    let galley = ui.painter().layout_job(job);
    let whole = !galley.elided;
    ui.painter().galley(place.left_center() - vec2(0.0, galley.size().y * 0.5), galley, ink);
    whole
}

/// What stands where nothing is: a headline and what to do.
pub fn empty(ui: &mut Ui, headline: &str, advice: &str) {
    let theme = Theme::of(ui);
    ui.add_space(space::MEDIUM);
    Frame::new().inner_margin(Margin::symmetric(12, 14)).corner_radius(8).stroke(Stroke::new(1.0, theme.line)).show(
        ui,
        |ui| {
            ui.set_width(ui.available_width());
            ui.vertical_centered(|ui| {
                ui.label(RichText::new(headline).font(text::body()).color(theme.text));
                ui.label(RichText::new(advice).font(text::small()).color(theme.weak));
            });
        },
    );
}
