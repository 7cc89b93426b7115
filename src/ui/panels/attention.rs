//! Attention of one window, head and query: scores, exponentials, weights, the denominator's tree; or of the ViT.

use super::super::desk::{Desk, extent};
use super::super::format;
use super::super::theme::{Theme, text};
use super::super::widgets::{Heatmap, Scale, Segment, Tree, TreeNode, empty, fact, section, segmented, toggle};
use crate::geometry::window;
use crate::numerics::{e4m3, f16, softmax};
use crate::session::{Attention, AttentionPart, AttentionSide, KeyOrder, Select, Side, ViewChange, WhatIf};
use egui::{DragValue, RichText, Ui, vec2};

/// Draws the tab.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    choose(ui, desk);
    let requested = desk.session.attention();
    let Some(attention) = requested.shown().cloned() else {
        let (headline, advice) = match requested.reason() {
            Some(reason) => ("No attention here", reason),
            None if requested.is_pending() => ("Computing attention", "A worker reads the window's queries and keys"),
            None => ("Choose a window", "Click a token of a block that has run; its window, head and query show here"),
        };
        empty(ui, headline, advice);
        return;
    };
    // What is changed on purpose comes first: it is what the person asked to see.
    let sides = [
        ("With the changes", attention.changed.as_ref()),
        ("Subject", attention.subject.as_ref()),
        ("Reference", attention.reference.as_ref()),
    ];
    let Some((_, main)) = sides.into_iter().find_map(|(name, side)| Some((name, side?))) else {
        return empty(ui, "No attention here", "Neither side has computed this block's normalized queries and keys");
    };
    let maps = maps(&attention, main, desk.session.view().attention);
    match attention.window {
        Some(_) => window_query(ui, desk, &attention, &maps),
        None => vit_query(ui, desk, &maps),
    }
    what_if(ui, desk, attention.window.is_none());
    numbers(ui, &attention, main);
    if let Some(tree) = &main.tree {
        softmax_tree(ui, main, tree);
    }
    if attention.window.is_some() && !main.matrix.is_empty() {
        matrix(ui, desk, &attention, main);
    }
}

/// Head, query, the quantity shown, and the changes.
fn choose(ui: &mut Ui, desk: &mut Desk<'_>) {
    let theme = Theme::of(ui);
    let selection = desk.session.selection();
    let heads = desk.session.attention().shown().map_or(1, |attention| attention.head.1).max(1);
    let (mut head, mut query) = (selection.head, selection.query);
    let vit = desk.session.attention().shown().is_some_and(|attention| attention.window.is_none());
    let place = match (vit, extent(desk.session)) {
        (true, Some((size, _))) => format!("token ({}, {})", query % size.width, query / size.width),
        _ => format!("window ({}, {})", selection.window.0, selection.window.1),
    };
    section(ui, if vit { "Head, query" } else { "Window, head, query" }, |ui| {
        ui.label(RichText::new(place).font(text::small()).color(theme.text));
    });
    ui.horizontal(|ui| {
        ui.label(RichText::new("head").font(text::small()).color(theme.weak));
        if ui.add(DragValue::new(&mut head).range(0..=heads - 1)).changed() {
            desk.select(Select::Head(head));
        }
        ui.label(RichText::new("query").font(text::small()).color(theme.weak));
        let last = if vit { extent(desk.session).map_or(63, |(size, _)| size.tokens().saturating_sub(1)) } else { 63 };
        if ui.add(DragValue::new(&mut query).range(0..=last)).changed() {
            desk.select(Select::Query(query));
        }
        if vit {
            // The ViT reads its tokens row by row: there is one order.
            return;
        }
        let orders = [(KeyOrder::Natural, "Natural"), (KeyOrder::Physical, "Physical")];
        let segments = orders.map(|(value, label)| Segment { value, label, about: value.title() });
        if let Some(order) = segmented(ui, "Key order", desk.session.view().keys, &segments) {
            desk.view(ViewChange::Keys(order));
        }
    });
    let parts = [
        (AttentionPart::Weight, "Weight"),
        (AttentionPart::Score, "Score"),
        (AttentionPart::Exponential, "Exp"),
        (AttentionPart::Prior, "Prior"),
    ];
    // The ViT has no prior.
    let parts = parts.iter().filter(|(part, _)| !vit || *part != AttentionPart::Prior);
    let segments: Vec<_> = parts.map(|&(value, label)| Segment { value, label, about: value.title() }).collect();
    ui.horizontal(|ui| {
        if let Some(part) = segmented(ui, "Quantity", desk.session.view().attention, &segments) {
            desk.view(ViewChange::Attention(part));
        }
    });
}

/// Changes whose effect is computed at once.
fn what_if(ui: &mut Ui, desk: &mut Desk<'_>, vit: bool) {
    section(ui, "What if", |ui| {
        let faint = Theme::of(ui).faint;
        ui.label(RichText::new("computed, not guessed").font(text::small()).color(faint));
    });
    let on = desk.session.view().what_if.clone();
    for (what, words) in [
        (WhatIf::MaskOutside, if vit { "Mask the padding keys" } else { "Mask tokens outside the field" }),
        (WhatIf::TrueExponential, "True exponential"),
        (WhatIf::SequentialSum, "Sum in key order"),
    ] {
        if toggle(ui, on.contains(&what), words, what.title(), "").clicked() {
            desk.view(ViewChange::WhatIf(what, None));
        }
    }
}

/// One heatmap: what it shows, its values by key, its colours, and the side that it tells of.
struct Map<'a> {
    caption: String,
    values: Vec<f32>,
    scale: Scale,
    side: &'a AttentionSide,
}

/// A quantity of one side, one value per key.
fn part(side: &AttentionSide, part: AttentionPart) -> Vec<f32> {
    let halves = |values: &[f16]| values.iter().map(|h| h.to_f32()).collect::<Vec<f32>>();
    match part {
        AttentionPart::Weight => side.weights.iter().map(|&code| e4m3::decode(code)).collect(),
        AttentionPart::Exponential => halves(&side.exponentials),
        AttentionPart::Score => halves(&side.scores),
        AttentionPart::Prior => halves(&side.prior),
    }
}

/// The largest finite magnitude.
fn top(values: &[f32]) -> f32 {
    values.iter().copied().filter(|v| v.is_finite()).fold(0.0_f32, |top, v| top.max(v.abs()))
}

/// What is drawn: both sides (or the changes and what they change) through one scale, and their difference.
fn maps<'a>(attention: &'a Attention, main: &'a AttentionSide, shown: AttentionPart) -> Vec<Map<'a>> {
    let (subject, reference) = (attention.subject.as_ref(), attention.reference.as_ref());
    let sides = match &attention.changed {
        Some(changed) => {
            [Some(("changed", changed)), subject.map(|s| ("subject", s)).or(reference.map(|r| ("reference", r)))]
        }
        None => [subject.map(|s| ("subject", s)), reference.map(|r| ("reference", r))],
    };
    let sides: Vec<(&str, &AttentionSide)> = sides.into_iter().flatten().collect();
    let values: Vec<Vec<f32>> = sides.iter().map(|(_, side)| part(side, shown)).collect();
    let most = values.iter().map(|values| top(values)).fold(0.0, f32::max);
    let scale = match shown {
        AttentionPart::Weight | AttentionPart::Exponential => Scale::Sequential(0.0, most),
        AttentionPart::Score | AttentionPart::Prior => Scale::Diverging(most),
    };
    let difference = match values.as_slice() {
        [a, b] if a != b => Some(a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f32>>()),
        _ => None,
    };
    let word = shown.word();
    let map = |((name, side), values): ((&'a str, &'a AttentionSide), Vec<f32>)| Map {
        caption: format!("{name}: {word}"),
        values,
        scale,
        side,
    };
    let mut maps: Vec<Map<'a>> = sides.into_iter().zip(values).map(map).collect();
    if let Some(values) = difference {
        let scale = Scale::Diverging(top(&values));
        maps.push(Map { caption: "difference".to_owned(), values, scale, side: main });
    }
    maps
}

/// The 8x8 keys of a window's query, drawn where they lie; in physical order, where they are read.
fn window_query(ui: &mut Ui, desk: &mut Desk<'_>, attention: &Attention, maps: &[Map<'_>]) {
    let physical = desk.session.view().keys == KeyOrder::Physical;
    let order = ui.ctx().animate_bool_with_time(ui.id().with("key order"), physical, 0.6);
    let gap = 12.0;
    let room = (ui.available_width() - gap * (maps.len() - 1) as f32) / maps.len() as f32;
    let cell = (room / 8.0).min(40.0);
    let mut clicked = None;
    ui.add_space(6.0);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = gap;
        for map in maps {
            ui.vertical(|ui| {
                let theme = Theme::of(ui);
                ui.label(RichText::new(&map.caption).font(text::small()).color(theme.weak));
                if map.values.len() != window::TOKENS {
                    ui.label(RichText::new("not there").font(text::small()).color(theme.faint));
                    return;
                }
                // Keys come in physical order; a key is drawn at its natural place, or at its rank.
                let place = |key: usize| {
                    let n = window::natural(key);
                    let natural = vec2((n % 8) as f32, (n / 8) as f32);
                    natural + (vec2((key % 8) as f32, (key / 8) as f32) - natural) * order
                };
                let outside = |key: usize| attention.inside.get(key) == Some(&false);
                let format = |value: f32| format::short(f64::from(value));
                let name = format!("{} of 64 keys", map.caption);
                let drawn = Heatmap::new(&name, 8, &map.values, map.scale)
                    .cell(vec2(cell, cell))
                    .numbers(&format)
                    .hatched(&outside)
                    .selected(Some(window::physical(attention.query.min(63))))
                    .rules(4)
                    .place(&place)
                    .show(ui);
                if let Some(key) = drawn.hovered {
                    let natural = window::natural(key);
                    drawn.response.on_hover_ui_at_pointer(|ui| key_facts(ui, attention, map.side, key, natural));
                }
                clicked = clicked.or(drawn.clicked);
            });
        }
    });
    if let Some(key) = clicked {
        desk.select(Select::Query(window::natural(key)));
    }
}

fn key_facts(ui: &mut Ui, attention: &Attention, side: &AttentionSide, key: usize, natural: usize) {
    let theme = Theme::of(ui);
    let place = if attention.inside.get(key) == Some(&false) { "outside the field" } else { "in the field" };
    ui.label(RichText::new(format!("key {key} physical, {natural} natural")).font(text::heading()).color(theme.text));
    ui.label(RichText::new(place).font(text::small()).color(theme.weak));
    for (name, value) in
        [("prior", side.prior.get(key)), ("score", side.scores.get(key)), ("exponential", side.exponentials.get(key))]
    {
        if let Some(value) = value {
            fact(ui, name, format!("{value}  0x{:04x}", value.to_bits()));
        }
    }
    if let Some(&code) = side.weights.get(key) {
        fact(ui, "weight", format!("{}  0x{code:02x}", e4m3::decode(code)));
    }
}

/// The ViT: a query's attention over all tokens of level 5 as images.
fn vit_query(ui: &mut Ui, desk: &mut Desk<'_>, maps: &[Map<'_>]) {
    let size = desk.session.plan().geometry.levels[5];
    let theme = Theme::of(ui);
    ui.add_space(6.0);
    ui.label(RichText::new(format!("attention over level 5, {size}")).font(text::small()).color(theme.weak));
    let query = desk.session.selection().query;
    let format = |value: f32| format::short(f64::from(value));
    // Wide planes one below the other, narrow ones side by side.
    let across = if size.width > 20 { 1 } else { maps.len() };
    let gap = 12.0;
    let room = (ui.available_width() - gap * (across - 1) as f32) / across as f32;
    let cell = (room / size.width as f32).min(34.0);
    let mut clicked = None;
    for row in maps.chunks(across) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = gap;
            for map in row {
                let Some(values) = map.values.get(..size.tokens()) else { continue };
                ui.vertical(|ui| {
                    ui.label(RichText::new(&map.caption).font(text::small()).color(theme.weak));
                    let name = format!("{} of the query over all tokens", map.caption);
                    let drawn = Heatmap::new(&name, size.width, values, map.scale)
                        .cell(vec2(cell, cell))
                        .numbers(&format)
                        .selected(Some(query))
                        .show(ui);
                    if let Some(token) = drawn.hovered {
                        let (x, y) = (token % size.width, token / size.width);
                        let words = format!("token ({x}, {y}): {}", values.get(token).copied().unwrap_or_default());
                        drawn.response.on_hover_text_at_pointer(words);
                    }
                    clicked = clicked.or(drawn.clicked);
                });
            }
        });
    }
    if let Some(token) = clicked {
        desk.select(Select::Query(token));
    }
}

fn numbers(ui: &mut Ui, attention: &Attention, main: &AttentionSide) {
    section(ui, "Denominator", |_| {});
    fact(ui, "total", format!("{}  0x{:04x}", main.total, main.total.to_bits()));
    fact(ui, "sum of published weights", format::short(f64::from(main.weight_sum)));
    let outside = attention.inside.iter().filter(|inside| !**inside).count();
    if attention.window.is_some() {
        let takes = format::share(f64::from(attention.outside_share));
        let takes = if outside == 0 { "no keys".to_owned() } else { format!("{outside} keys take {takes}") };
        fact(ui, "out of field", takes);
    } else {
        let padding = if outside == 0 { "no keys".to_owned() } else { format!("{outside} keys, subtracted") };
        fact(ui, "padding", padding);
    }
    if let (Some(a), Some(b)) = (&attention.subject, &attention.reference) {
        let differing = a.weights.iter().zip(&b.weights).filter(|(a, b)| a != b).count();
        fact(ui, "weights that differ", differing.to_string());
    }
    if let (Some(changed), Some(subject)) = (&attention.changed, attention.side(Side::Subject)) {
        let differing = changed.weights.iter().zip(&subject.weights).filter(|(a, b)| a != b).count();
        fact(ui, "weights that the changes alter", differing.to_string());
        let attended = changed.attended.iter().zip(&subject.attended).filter(|(a, b)| a != b).count();
        fact(ui, "published results altered", format!("{attended} of {}", subject.attended.len()));
    }
}

/// The 63 half adds, in the order of the text: pairs, then lanes of four, then even and odd, then the total.
fn softmax_tree(ui: &mut Ui, side: &AttentionSide, tree: &softmax::Tree) {
    section(ui, "Softmax tree", |_| {});
    let leaves: Vec<f32> = side.exponentials.iter().map(|h| h.to_f32()).collect();
    let rows = rows(&side.exponentials, tree);
    // Leaves stand over their pairs: lane by lane, pair by pair.
    let order: Vec<f32> = (0..64).filter_map(|i| leaves.get(leaf(i)).copied()).collect();
    let (response, hovered) = Tree::new("softmax tree", &order, &rows).show(ui);
    if let Some(node) = hovered.and_then(|(row, index)| rows.get(row)?.get(index)) {
        response.on_hover_ui_at_pointer(|ui| {
            fact(ui, &node.name, format::short(f64::from(node.value)));
            let lost = if node.lost == 0.0 { "exact".to_owned() } else { format!("lost {:e}", node.lost) };
            ui.label(RichText::new(lost).font(text::mono_small()));
        });
    }
}

/// The key of the i-th leaf from the left: lane g, pair j, first or second operand.
fn leaf(i: usize) -> usize {
    let (g, j, second) = (i / 8, i / 2 % 4, i % 2);
    g + 16 * j + 8 * second
}

fn rows(exponentials: &[f16], tree: &softmax::Tree) -> Vec<Vec<TreeNode>> {
    let value = |h: f16| f64::from(h.to_f32());
    let node = |name: String, result: f16, exact: f64, from: Vec<usize>| TreeNode {
        name,
        value: result.to_f32(),
        lost: exact - value(result),
        from,
    };
    let e = |key: usize| exponentials.get(key).copied().map_or(0.0, value);
    let pairs = (0..32)
        .map(|i| {
            let (g, j) = (i / 4, i % 4);
            let exact = e(g + 16 * j) + e(g + 16 * j + 8);
            node(format!("b[{g}][{j}]"), tree.pairs[g][j], exact, vec![2 * i, 2 * i + 1])
        })
        .collect();
    // A lane and a half are chains of adds: their lost part is that of the whole chain.
    let lanes = (0..8)
        .map(|g| {
            let exact = tree.pairs[g].iter().map(|&h| value(h)).sum();
            node(format!("t{g}"), tree.lanes[g], exact, (4 * g..4 * g + 4).collect())
        })
        .collect();
    let half = |first: usize| (0..4).map(|i| value(tree.lanes[first + 2 * i])).sum::<f64>();
    let from = |first: usize| (0..4).map(|i| first + 2 * i).collect();
    let halves =
        vec![node("even".to_owned(), tree.even, half(0), from(0)), node("odd".to_owned(), tree.odd, half(1), from(1))];
    let total = vec![node("total".to_owned(), tree.total, value(tree.even) + value(tree.odd), vec![0, 1])];
    vec![pairs, lanes, halves, total]
}

/// All queries against all keys; the toggle moves the keys from one order to the other.
fn matrix(ui: &mut Ui, desk: &mut Desk<'_>, attention: &Attention, main: &AttentionSide) {
    let theme = Theme::of(ui);
    section(ui, "All 64 queries", |ui| {
        ui.label(RichText::new("rows queries \u{b7} columns keys").font(text::small()).color(theme.faint));
    });
    let view = desk.session.view();
    let (values, scale) = if view.attention == AttentionPart::Score && main.matrix_scores.len() == 4096 {
        let values: Vec<f32> = main.matrix_scores.iter().map(|h| h.to_f32()).collect();
        let top = values.iter().fold(0.0_f32, |top, v| top.max(v.abs()));
        (values, Scale::Diverging(top))
    } else {
        let values: Vec<f32> = main.matrix.iter().map(|&code| e4m3::decode(code)).collect();
        let top = values.iter().copied().fold(0.0_f32, f32::max);
        (values, Scale::Sequential(0.0, top))
    };
    let order = ui.ctx().animate_bool_with_time(ui.id().with("matrix order"), view.keys == KeyOrder::Physical, 0.6);
    let place = |index: usize| {
        let (query, key) = (index / 64, index % 64);
        let column = egui::lerp(window::natural(key) as f32..=key as f32, order);
        vec2(column, query as f32)
    };
    let cell = (ui.available_width() / 64.0).min(8.0);
    let map = Heatmap::new("matrix of 64 queries and 64 keys", 64, &values, scale)
        .cell(vec2(cell, cell))
        .rules(16)
        .place(&place)
        .show(ui);
    let row = map.response.rect.top() + attention.query as f32 * cell;
    let band = egui::Rect::from_min_size(egui::pos2(map.response.rect.left(), row), vec2(64.0 * cell, cell));
    ui.painter().rect_stroke(band, 0.0, egui::Stroke::new(1.0, theme.accent), egui::StrokeKind::Outside);
    if let Some(index) = map.clicked {
        desk.select(Select::Query(index / 64));
    }
    if let Some(index) = map.hovered {
        let value = values.get(index).copied().unwrap_or_default();
        let words =
            format!("query {} key {} (natural {}): {value}", index / 64, index % 64, window::natural(index % 64));
        map.response.on_hover_text_at_pointer(words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawn_tree_is_the_softmax_of_the_text() {
        let e: [f16; 64] = std::array::from_fn(|i| f16::from_f32(0.125 + (i as f32) * 0.037));
        let tree = softmax::tree(&e);
        let rows = rows(&e, &tree);
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [32, 8, 2, 1], "nodes of each row");
        assert_eq!(rows[3][0].value, tree.total.to_f32(), "the root is the total");
        let mut leaves: Vec<usize> = (0..64).map(leaf).collect();
        let node = &rows[0][5];
        assert_eq!((leaf(node.from[0]), leaf(node.from[1])), (1 + 16, 1 + 16 + 8), "{} adds its two keys", node.name);
        leaves.sort_unstable();
        assert_eq!(leaves, (0..64).collect::<Vec<_>>(), "every key is a leaf once");
    }
}
