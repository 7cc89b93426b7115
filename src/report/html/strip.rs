//! The divergence strip: boundary after boundary, the accumulated share above the line, the isolated one below.

use super::super::{Outcome, Report, Row, percent};
use super::escape;
use std::fmt::Write as _;

/// Shares from 1e-5 % to 100 % on a log scale.
const DECADES: f64 = 7.0;
/// Height of either half.
const HEIGHT: f64 = 92.0;
/// Room for the scale's labels.
pub(super) const LEFT: f64 = 52.0;
/// Width of all columns.
const WIDTH: f64 = 1048.0;
/// Room that a column's label takes.
pub(super) const LABEL: f64 = 90.0;
/// The line in the middle.
const AXIS: f64 = HEIGHT + 10.0;

/// A column: a boundary, and the worst isolated verdict of the kernels that lead to it.
struct Column<'a> {
    boundary: &'a Row,
    isolated: Option<(&'a Row, &'a Outcome)>,
}

fn columns(report: &Report) -> Vec<Column<'_>> {
    let mut columns = Vec::new();
    let mut worst: Option<(&Row, &Outcome)> = None;
    for row in &report.rows {
        if let Some(outcome) = &row.isolated {
            let more =
                |other: &Outcome| (outcome.is_difference(), outcome.share()) > (other.is_difference(), other.share());
            let known = outcome.verdict != "not-compared";
            if worst.is_none_or(|(_, other)| more(other) || (known && other.verdict == "not-compared")) {
                worst = Some((row, outcome));
            }
        }
        if row.kind == "boundary" {
            columns.push(Column { boundary: row, isolated: worst.take() });
        }
    }
    columns
}

pub(super) fn strip(report: &Report) -> String {
    let columns = columns(report);
    let step = WIDTH / columns.len().max(1) as f64;
    let mut svg = format!(
        "<div class=\"wide\"><svg class=\"strip\" viewBox=\"0 0 {} {}\" role=\"img\" \
         aria-label=\"share of differing elements by boundary\">\n",
        LEFT + WIDTH,
        2.0 * AXIS + 22.0
    );
    for (decade, label) in [(7, "100 %"), (5, "1 %"), (3, "0.01 %")] {
        let reach = HEIGHT * f64::from(decade) / DECADES;
        for y in [AXIS - reach, AXIS + reach] {
            line(&mut svg, "grid", y);
            write!(svg, "<text class=\"scale\" x=\"{}\" y=\"{:.1}\">{label}</text>", LEFT - 6.0, y + 3.5)
                .expect("text grows");
        }
    }
    line(&mut svg, "axis", AXIS);
    let first = report.first_kernel.as_ref().or(report.first_boundary.as_ref());
    for (i, column) in columns.iter().enumerate() {
        let x = LEFT + i as f64 * step;
        bar(&mut svg, x, step, column.boundary, column.boundary.accumulated.as_ref(), true);
        let (row, outcome) = column.isolated.map_or((column.boundary, None), |(row, outcome)| (row, Some(outcome)));
        bar(&mut svg, x, step, row, outcome, false);
        if i % 10 == 0 && x < LEFT + WIDTH - LABEL {
            let name = escape(&column.boundary.name);
            write!(svg, "<text x=\"{x:.1}\" y=\"{:.1}\">{name}</text>", 2.0 * AXIS + 16.0).expect("text grows");
        }
        if first.is_some_and(|name| *name == row.name || *name == column.boundary.name) {
            let x = x + step / 2.0;
            write!(svg, "<path class=\"here\" d=\"M{x:.1} {:.1}v{:.1}\"/>", AXIS - HEIGHT - 4.0, 2.0 * HEIGHT + 8.0)
                .expect("text grows");
        }
    }
    svg += "\n</svg></div>\n<p class=\"note\">Share of differing elements at each boundary, log scale. \
            <span class=\"key accumulated\"></span>above the line: accumulated, each side on its own results. \
            <span class=\"key isolated\"></span>below: isolated, the worst kernel on the way to it on the reference's \
            inputs. <span class=\"key ok\"></span>on the line: exact. The dashed line marks the first divergence.</p>";
    svg
}

fn line(svg: &mut String, class: &str, y: f64) {
    let right = LEFT + WIDTH;
    write!(svg, "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{right}\"/>").expect("text grows");
}

fn bar(svg: &mut String, x: f64, step: f64, row: &Row, outcome: Option<&Outcome>, up: bool) {
    let Some(outcome) = outcome else { return };
    let share = outcome.share();
    let (class, height) = match outcome.verdict.as_str() {
        "bit-exact" => ("ok", 2.0),
        "not-compared" => return,
        // Digests that differ have no share: shown whole.
        _ if outcome.elements == 0 => ("unknown", HEIGHT),
        _ => (
            if up { "accumulated" } else { "isolated" },
            ((share.log10() + DECADES) / DECADES).clamp(0.05, 1.0) * HEIGHT,
        ),
    };
    let y = if up { AXIS - height } else { AXIS };
    let (x, width) = (x + step * 0.12, step * 0.76);
    let words = if outcome.is_difference() { percent(share) } else { "exact".to_owned() };
    write!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>{}: {words}</title></rect>",
        escape(&row.name)
    )
    .expect("text grows");
}
