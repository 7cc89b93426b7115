//! The network as a map: levels going down on the left and up on the right, the ViT at the bottom.
//!
//! A cell is a block: its number, two marks (accumulated over isolated), a dot for events, a bar for its time. The
//! chosen cell is the only tab stop; with it focused, arrow keys walk over the map.

use super::super::desk::{BlockSummary, Desk, blocks, event_mark, phase, words};
use super::super::format;
use super::super::mark::Mark;
use super::super::theme::{Theme, text};
use super::super::widgets::{chip, section};
use crate::model::layout::{BlockKind, block_kind};
use crate::session::{Select, Session};
use egui::{
    Align2, CornerRadius, FontId, Key, Rect, RichText, Sense, Stroke, StrokeKind, Ui, WidgetInfo, WidgetType, pos2,
    vec2,
};

/// Rows of the map: the blocks on the way down, and those on the way up (which read upwards).
const ROWS: [(&[usize], &[usize], &str); 10] = [
    (&[0], &[70], "Field"),
    (&[1, 2, 3, 4], &[66, 67, 68, 69], "L0"),
    (&[5, 6, 7, 8], &[62, 63, 64, 65], "L1"),
    (&[9, 10, 11, 12], &[60, 61], "L2"),
    (&[13, 14], &[56, 57, 58, 59], ""),
    (&[15, 16, 17, 18], &[52, 53, 54, 55], "L3"),
    (&[19, 20, 21, 22], &[48, 49, 50, 51], ""),
    (&[23, 24, 25, 26], &[44, 45, 46, 47], "L4"),
    (&[27, 28, 29, 30], &[40, 41, 42, 43], ""),
    (&[], &[39], ""),
];
const VIT: [usize; 8] = [31, 32, 33, 34, 35, 36, 37, 38];
/// Room in the middle for a level's name.
const MIDDLE: f32 = 72.0;

/// Draws the map.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    section(ui, "Network", |ui| {
        let weak = Theme::of(ui).weak;
        ui.label(
            RichText::new(desk.session.plan().geometry.valid.to_string().replace('x', " \u{d7} "))
                .font(text::small())
                .color(weak),
        );
    });
    let summaries = blocks(desk.session);
    let height = ((ui.available_height() - 300.0) / 11.0 - 2.0).clamp(17.0, 26.0);
    let gap = 2.0;
    let (map, _) = ui.allocate_exact_size(vec2(ui.available_width(), 11.0 * (height + gap) + 22.0), Sense::hover());
    let theme = Theme::of(ui);
    let cell = vec2((map.width() - MIDDLE) / 8.0 - gap, height);
    let places = places(map, cell, gap);
    wires(ui, &places, theme);
    level_names(ui, desk.session, map, cell.y + gap, theme);
    let longest = summaries.iter().map(|s| s.time).max().unwrap_or_default().as_secs_f32();
    let playhead = desk.session.plan().steps.get(desk.session.run().playhead).map(|step| step.block);
    let selected = desk.session.selection().block;
    for (block, &rect) in places.iter().enumerate() {
        let Some(summary) = summaries.get(block) else { continue };
        let look = Look { theme, chosen: block == selected, next: playhead == Some(block), longest };
        if block_cell(ui, desk.session, rect, block, summary, &look) {
            desk.select(Select::Block(block));
        }
    }
    if let Some(to) = walk(ui, &places, selected) {
        desk.select(Select::Block(to));
        ui.memory_mut(|memory| memory.request_focus(cell_id(to)));
    }
    legend(ui);
}

/// Where each block is drawn.
fn places(map: Rect, cell: egui::Vec2, gap: f32) -> Vec<Rect> {
    let mut places = vec![Rect::NOTHING; 71];
    let pitch = cell + vec2(gap, gap);
    for (row, (down, up, _)) in ROWS.iter().enumerate() {
        let y = map.top() + row as f32 * pitch.y;
        for (column, &block) in down.iter().enumerate() {
            places[block] = Rect::from_min_size(pos2(map.left() + column as f32 * pitch.x, y), cell);
        }
        for (column, &block) in up.iter().enumerate() {
            let left = map.right() - 4.0 * pitch.x + gap;
            places[block] = Rect::from_min_size(pos2(left + column as f32 * pitch.x, y), cell);
        }
    }
    let y = map.top() + 10.0 * pitch.y;
    let left = map.center().x - 4.0 * pitch.x + gap * 0.5;
    for (column, &block) in VIT.iter().enumerate() {
        places[block] = Rect::from_min_size(pos2(left + column as f32 * pitch.x, y), cell);
    }
    places
}

/// Skip connections across, the way down and the way up.
fn wires(ui: &Ui, places: &[Rect], theme: &Theme) {
    let painter = ui.painter();
    let faint = Stroke::new(1.0, theme.line);
    for (from, to) in [(0, 70), (4, 66), (8, 62), (14, 56), (22, 48), (30, 40)] {
        let (a, b) = (places[from].right_center(), places[to].left_center());
        painter.extend(egui::Shape::dashed_line(
            &[a, b],
            Stroke::new(1.0, theme.outline.gamma_multiply(0.8)),
            3.0,
            3.0,
        ));
    }
    let down = [places[30].center_bottom(), pos2(places[30].center().x, places[33].top())];
    painter.line_segment(down, faint);
    painter.line_segment([places[36].center_top(), pos2(places[36].center().x, places[39].bottom())], faint);
}

fn level_names(ui: &Ui, session: &Session, map: Rect, pitch: f32, theme: &Theme) {
    let geometry = &session.plan().geometry;
    for (row, (_, _, name)) in ROWS.iter().enumerate().filter(|(_, row)| !row.2.is_empty()) {
        let size = if row == 0 { geometry.field } else { geometry.levels[usize::from(name.as_bytes()[1] - b'0')] };
        let y = map.top() + (row as f32 + 0.5) * pitch;
        let words = format!("{}\u{d7}{}", size.width, size.height);
        let name = ui.painter().layout_no_wrap((*name).to_owned(), text::label(), theme.weak);
        let extent = ui.painter().layout_no_wrap(words, FontId::proportional(9.0), theme.faint);
        let width = name.size().x + 4.0 + extent.size().x;
        // Large fields have long extents: then the name alone, the extent is in the canvas' head.
        let both = width <= MIDDLE - 2.0;
        let width = if both { width } else { name.size().x };
        let back = Rect::from_center_size(pos2(map.center().x, y), vec2(width + 4.0, pitch - 2.0));
        ui.painter().rect_filled(back, 0.0, theme.panel);
        let left = map.center().x - width * 0.5;
        let end = left + name.size().x + 4.0;
        ui.painter().galley(pos2(left, y - name.size().y * 0.5), name, theme.weak);
        if both {
            ui.painter().galley(pos2(end, y - extent.size().y * 0.5 + 0.5), extent, theme.faint);
        }
    }
    let size = geometry.levels[5];
    let words = format!("L5  {}\u{d7}{}  ViT", size.width, size.height);
    ui.painter().text(
        pos2(map.center().x, map.bottom() - 4.0),
        Align2::CENTER_BOTTOM,
        words,
        text::small(),
        theme.weak,
    );
}

struct Look<'a> {
    theme: &'a Theme,
    chosen: bool,
    next: bool,
    longest: f32,
}

fn cell_id(block: usize) -> egui::Id {
    egui::Id::new(("network block", block))
}

/// One block; true when it was chosen.
fn block_cell(ui: &Ui, session: &Session, rect: Rect, block: usize, summary: &BlockSummary, look: &Look<'_>) -> bool {
    // Only the chosen block is a tab stop; arrow keys go on from there.
    let sense = if look.chosen { Sense::click() } else { Sense::CLICK };
    let response = ui.interact(rect, cell_id(block), sense);
    let (theme, painter) = (look.theme, ui.painter());
    let compared = summary.accumulated.max(summary.isolated) != Mark::NotCompared;
    let tint = summary.accumulated.max(summary.isolated).colour(theme);
    let fill =
        if compared { theme.raised.lerp_to_gamma(tint, if theme.dark { 0.22 } else { 0.16 }) } else { theme.raised };
    let fill = if response.hovered() { fill.lerp_to_gamma(theme.text, 0.10) } else { fill };
    let outline = match (look.chosen, compared) {
        (true, _) => Stroke::new(2.0, theme.accent),
        (false, true) => Stroke::new(1.0, tint.gamma_multiply(0.55)),
        _ => Stroke::new(1.0, theme.line),
    };
    painter.rect(rect, CornerRadius::same(4), fill, outline, StrokeKind::Inside);
    let ink = if compared || look.chosen { theme.text } else { theme.weak };
    let size = (rect.height() * 0.5).clamp(9.0, if rect.width() < 25.0 { 9.0 } else { 12.0 });
    // A block that nothing is known about is a number only: marks stand for verdicts.
    let (number, align) = if compared {
        (pos2(rect.left() + 3.5, rect.center().y), Align2::LEFT_CENTER)
    } else {
        (rect.center(), Align2::CENTER_CENTER)
    };
    painter.text(number, align, block, FontId::proportional(size), ink);
    if compared {
        let x = rect.right() - 5.5;
        summary.accumulated.paint(painter, pos2(x, rect.top() + rect.height() * 0.29), 2.7, theme);
        summary.isolated.paint(painter, pos2(x, rect.top() + rect.height() * 0.71), 2.7, theme);
    }
    event_mark(painter, &summary.events, rect.left_top() + vec2(3.5, 3.5), theme);
    if look.longest > 0.0 {
        let share = summary.time.as_secs_f32() / look.longest;
        let bar = Rect::from_min_size(rect.left_bottom() + vec2(3.0, -2.5), vec2((rect.width() - 6.0) * share, 1.5));
        painter.rect_filled(bar, 0.0, theme.weak.gamma_multiply(0.7));
    }
    if summary.running || look.next {
        let colour = if summary.running { theme.accent } else { theme.accent.gamma_multiply(0.8) };
        let tip = rect.center_bottom() + vec2(0.0, -1.0);
        let points = vec![tip, tip + vec2(3.5, 4.0), tip + vec2(-3.5, 4.0)];
        painter.add(egui::Shape::convex_polygon(points, colour, Stroke::NONE));
    }
    let (a, i) = (summary.accumulated.words(), summary.isolated.words());
    let name = format!("block {block}, {a} accumulated, {i} isolated");
    response.widget_info(|| WidgetInfo::selected(WidgetType::SelectableLabel, true, look.chosen, &name));
    let clicked = response.clicked();
    response.on_hover_ui(|ui| hover(ui, session, block, summary));
    clicked
}

fn hover(ui: &mut Ui, session: &Session, block: usize, summary: &BlockSummary) {
    let theme = Theme::of(ui);
    let (kind, channels) = block_kind(block);
    let kind = match kind {
        BlockKind::Dense => "window block, dense FFN",
        BlockKind::Expert => "window block, expert FFN",
        BlockKind::Split => "window block, split FFN",
        BlockKind::Vit => "ViT block, global attention",
        BlockKind::Bridge => "bridge out of the ViT",
    };
    ui.label(RichText::new(format!("Block {block}")).font(text::heading()).color(theme.text));
    let phase = phase(session, block).map_or(String::new(), |(phase, _)| format!(" \u{b7} phase {}", phase.0));
    ui.label(RichText::new(format!("{kind} \u{b7} {channels} channels{phase}")).font(text::small()).color(theme.weak));
    ui.add_space(4.0);
    if let Some(last) = summary.steps.clone().last().and_then(|step| session.run().steps.get(step)) {
        for (name, mark, judgement) in
            [("accumulated", summary.accumulated, &last.accumulated), ("isolated", summary.isolated, &last.isolated)]
        {
            ui.horizontal(|ui| {
                chip(ui, mark, name);
                ui.label(RichText::new(words(judgement)).font(text::small()).color(theme.text));
            });
        }
    }
    for (kind, &count) in &summary.events {
        let line = format!("{}: {}", kind.title(), format::count(count));
        ui.label(RichText::new(line).font(text::small()).color(theme.event));
    }
    let time = if summary.time.is_zero() { String::new() } else { format!(", {}", format::time(summary.time)) };
    ui.label(RichText::new(format!("{} kernels{time}", summary.steps.len())).font(text::small()).color(theme.weak));
}

/// Arrow keys from the chosen cell: along the network, or to the nearest cell above and below.
fn walk(ui: &Ui, places: &[Rect], selected: usize) -> Option<usize> {
    if !ui.memory(|memory| memory.has_focus(cell_id(selected))) {
        return None;
    }
    ui.memory_mut(|memory| {
        let filter =
            egui::EventFilter { horizontal_arrows: true, vertical_arrows: true, ..egui::EventFilter::default() };
        memory.set_focus_lock_filter(cell_id(selected), filter);
    });
    let pressed = |key| ui.input(|input| input.key_pressed(key));
    let from = places[selected].center();
    let nearest = |toward: f32| {
        let ahead = |rect: &Rect| (rect.center().y - from.y) * toward > 1.0;
        let score = |rect: &Rect| (rect.center().y - from.y).abs() * 4.0 + (rect.center().x - from.x).abs();
        let cells = places.iter().enumerate().filter(|(_, rect)| ahead(rect));
        cells.min_by(|a, b| score(a.1).total_cmp(&score(b.1))).map(|(block, _)| block)
    };
    if pressed(Key::ArrowRight) {
        return (selected + 1 < places.len()).then_some(selected + 1);
    }
    if pressed(Key::ArrowLeft) {
        return selected.checked_sub(1);
    }
    if pressed(Key::ArrowDown) {
        return nearest(1.0);
    }
    if pressed(Key::ArrowUp) { nearest(-1.0) } else { None }
}

fn legend(ui: &mut Ui) {
    let theme = Theme::of(ui);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(3.0, 0.0);
        for mark in Mark::ALL {
            mark.show(ui, 3.5);
            ui.label(RichText::new(mark.words()).font(FontId::proportional(10.5)).color(theme.weak));
            ui.add_space(3.0);
        }
    })
    .response
    .on_hover_text("Upper mark: accumulated. Lower mark: isolated. Dot: events. Bar: time.");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_a_place_of_its_own_and_levels_go_down_and_up() {
        let map = Rect::from_min_size(pos2(0.0, 0.0), vec2(276.0, 280.0));
        let places = places(map, vec2(23.0, 20.0), 2.0);
        for (a, first) in places.iter().enumerate() {
            assert!(map.contains_rect(*first), "block {a} lies on the map");
            for (b, second) in places.iter().enumerate().skip(a + 1) {
                assert!(!first.shrink(0.5).intersects(second.shrink(0.5)), "blocks {a} and {b}");
            }
        }
        assert!(places[4].top() < places[8].top() && places[8].top() < places[33].top(), "down");
        assert!(places[39].top() > places[47].top() && places[47].top() > places[70].top(), "and up again");
    }
}
