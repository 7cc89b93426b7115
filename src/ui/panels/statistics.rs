//! Statistics: what the tensor holds and how the two sides differ, class by class.

use super::super::desk::{Desk, mark};
use super::super::format;
use super::super::theme::{Theme, text};
use super::super::widgets::{Bar, Bars, Heatmap, Scale, chip, empty, fact, section};
use crate::session::{Command, Histogram, Select, Statistics};
use egui::{Align, Color32, CornerRadius, Layout, Rect, RichText, Sense, Ui, vec2};

/// Draws the tab.
pub(in super::super) fn show(ui: &mut Ui, desk: &mut Desk<'_>) {
    let requested = desk.session.statistics();
    let Some(statistics) = requested.shown().cloned() else {
        match requested.reason() {
            Some(reason) => empty(ui, "No statistics", reason),
            None if requested.is_pending() => empty(ui, "Counting", "A worker compares both tensors"),
            None => empty(ui, "Nothing to count yet", "Step until the selected tensor is computed"),
        }
        return;
    };
    let theme = Theme::of(ui);
    section(ui, "Verdict", |ui| {
        ui.label(
            RichText::new(format!("{} elements", format::count(statistics.elements)))
                .font(text::small())
                .color(theme.weak),
        );
    });
    let verdict = mark(statistics.verdict);
    chip(ui, verdict, verdict.words());
    classes(ui, &statistics, theme);
    moments(ui, &statistics, theme);
    section(ui, "Codes", |ui| {
        ui.label(RichText::new("bar subject \u{b7} tick reference, log").font(text::small()).color(theme.faint));
    });
    histogram(ui, "histogram of codes", &statistics.subject_codes, Some(&statistics.reference_codes), theme.subject);
    if statistics.distances.counts.iter().any(|&count| count > 0) {
        section(ui, "Code distance", |ui| {
            ui.label(RichText::new("subject minus reference, log").font(text::small()).color(theme.faint));
        });
        histogram(ui, "histogram of code distance", &trimmed(&statistics.distances), None, theme.differs);
    }
    by_channel(ui, desk, &statistics, theme);
    if statistics.positions.len() == 64 {
        section(ui, "Differing by window position", |_| {});
        let values: Vec<f32> = statistics.positions.iter().map(|&count| count as f32).collect();
        let top = values.iter().copied().fold(1.0_f32, f32::max);
        let words = |value: f32| format::compact(value as u64);
        let cell = (ui.available_width() / 8.0).min(34.0);
        Heatmap::new("differing elements by window position", 8, &values, Scale::Sequential(0.0, top))
            .cell(vec2(cell, cell * 0.7))
            .numbers(&words)
            .rules(4)
            .show(ui);
    }
    if statistics.heads.len() > 1 {
        section(ui, "Differing by head", |_| {});
        let bars: Vec<Bar> = counts(&statistics.heads, theme.differs);
        Bars::new("differing elements by head", &bars)
            .height(48.0)
            .captions("0", &(bars.len() - 1).to_string())
            .show(ui);
    }
}

fn classes(ui: &mut Ui, statistics: &Statistics, theme: &Theme) {
    let total = statistics.elements.max(1) as f64;
    for (name, count) in statistics.classes.iter().filter(|(_, count)| *count > 0) {
        let equal = name == "equal";
        ui.horizontal(|ui| {
            ui.label(RichText::new(name.replace("+-", "\u{b1}")).font(text::small()).color(theme.text));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.allocate_ui_with_layout(vec2(58.0, 16.0), Layout::right_to_left(Align::Center), |ui| {
                    ui.label(RichText::new(format::share(*count as f64 / total)).font(text::small()).color(theme.weak));
                });
                ui.label(RichText::new(format::count(*count)).font(text::mono_small()).color(theme.text));
            });
        });
        let (track, _) = ui.allocate_exact_size(vec2(ui.available_width(), 3.0), Sense::hover());
        ui.painter().rect_filled(track, CornerRadius::same(1), theme.ground);
        let share = (*count as f64 / total).max(0.004) as f32;
        let bar = Rect::from_min_size(track.min, vec2(track.width() * share, 3.0));
        ui.painter().rect_filled(bar, CornerRadius::same(1), if equal { theme.exact } else { theme.differs });
    }
}

fn moments(ui: &mut Ui, statistics: &Statistics, theme: &Theme) {
    section(ui, "Values", |_| {});
    egui::Grid::new("moments").num_columns(5).spacing(vec2(12.0, 3.0)).show(ui, |ui| {
        ui.label("");
        for head in ["smallest", "mean", "largest", "rms"] {
            ui.label(RichText::new(head).font(text::small()).color(theme.weak));
        }
        ui.end_row();
        for (name, colour, moments) in
            [("subject", theme.subject, statistics.moments[0]), ("reference", theme.reference, statistics.moments[1])]
        {
            let Some(moments) = moments else { continue };
            ui.label(RichText::new(name).font(text::small()).color(colour));
            for value in moments {
                ui.label(RichText::new(format::short(value)).font(text::mono_small()).color(theme.text));
            }
            ui.end_row();
        }
    });
    if statistics.moments.iter().all(Option::is_some) {
        fact(ui, "largest difference", format::short(statistics.max_abs));
        fact(ui, "rmse", format::short(statistics.rmse));
    }
}

fn counts(counts: &[u64], colour: Color32) -> Vec<Bar> {
    counts.iter().map(|&count| Bar { value: count as f32, other: None, colour }).collect()
}

fn histogram(ui: &mut Ui, name: &str, histogram: &Histogram, other: Option<&Histogram>, colour: Color32) {
    let tick = |index: usize| other.and_then(|other| other.counts.get(index)).map(|&count| count as f32);
    let bars: Vec<Bar> = histogram
        .counts
        .iter()
        .enumerate()
        .map(|(index, &count)| Bar { value: count as f32, other: tick(index), colour })
        .collect();
    let last = histogram.first + bars.len() as i32 - 1;
    let (first, end) = if other.is_some() {
        (format!("0x{:02x}", histogram.first), format!("0x{last:02x}"))
    } else {
        (format!("{:+}", histogram.first), format!("{last:+}"))
    };
    let (response, hovered) = Bars::new(name, &bars).log().height(64.0).captions(&first, &end).show(ui);
    if let Some(index) = hovered {
        let number = histogram.first + index as i32;
        let number = if other.is_some() {
            format!("code 0x{number:02x} = {}", crate::numerics::e4m3::decode(number as u8))
        } else {
            format!("{number:+} codes")
        };
        let mut words = format!("{number}: {}", format::count(histogram.counts[index]));
        if let Some(tick) = other.and_then(|other| other.counts.get(index)) {
            words = format!("{words}, reference {}", format::count(*tick));
        }
        response.on_hover_text_at_pointer(words);
    }
}

/// Without the empty bins at both ends; zero stays in view.
fn trimmed(histogram: &Histogram) -> Histogram {
    let zero = (-histogram.first).max(0) as usize;
    let filled = |&(_, &count): &(usize, &u64)| count > 0;
    let mut ends = histogram.counts.iter().enumerate().filter(filled).map(|(index, _)| index);
    let first = ends.next().unwrap_or(zero);
    let low = first.min(zero);
    let high = ends.next_back().unwrap_or(first).max(zero).min(histogram.counts.len().saturating_sub(1));
    Histogram {
        counts: histogram.counts.get(low..=high).unwrap_or_default().to_vec(),
        first: histogram.first + low as i32,
    }
}

fn by_channel(ui: &mut Ui, desk: &mut Desk<'_>, statistics: &Statistics, theme: &Theme) {
    if statistics.channels.iter().all(|&count| count == 0) {
        return;
    }
    section(ui, "Differing by channel", |_| {});
    let bars = counts(&statistics.channels, theme.differs);
    let last = (bars.len() - 1).to_string();
    let selected = Some(desk.session.selection().channel);
    let (response, hovered) =
        Bars::new("differing elements by channel", &bars).height(56.0).selected(selected).captions("0", &last).show(ui);
    if let Some(channel) = hovered {
        if response.clicked() {
            desk.send(Command::Select(Select::Channel(channel)));
        }
        response
            .on_hover_text_at_pointer(format!("channel {channel}: {}", format::count(statistics.channels[channel])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimming_keeps_zero_and_every_count() {
        let mut counts = vec![0; 513];
        counts[256 + 3] = 5;
        let trimmed = trimmed(&Histogram { counts, first: -256 });
        assert_eq!((trimmed.first, trimmed.counts), (0, vec![0, 0, 0, 5]), "from zero to the last");
    }
}
