//! A group of a fixed-point dot product as rows of bits: products aligned at the shared exponent, what truncation cut
//! off in grey, the exact sum, and where it was rounded to a half.
//!
//! Columns are powers of two, the largest at the left. The line behind the unit's column is where every term was cut
//! off toward zero; the line in the sum is where the half ends, with the guard bit and the sticky ones behind it.

use super::super::format;
use super::super::theme::{Theme, text};
use crate::engine::trace::{Group, Number, Term, text as words};
use crate::numerics::f16;
use egui::{
    Align2, CornerRadius, FontId, Painter, Rect, Sense, Stroke, StrokeKind, Ui, WidgetInfo, WidgetType, pos2, vec2,
};

/// Columns drawn below the unit: what is cut off further down is told by a mark.
const BELOW: i32 = 8;
/// Columns above the shared exponent: a product may be one higher, and seventeen terms add up to five more.
const ABOVE: i32 = 5;
/// Height of a row.
const ROW: f32 = 12.0;
/// Room for a row's name at the left.
const NAME: f32 = 92.0;

/// A term or sum as bits: `magnitude * 2^-BELOW` units.
#[derive(Clone, Copy)]
struct Fixed {
    negative: bool,
    magnitude: u64,
    /// Whether bits further down were cut off.
    more: bool,
}

impl Fixed {
    /// An exact number of units.
    fn of(units: f64) -> Self {
        let scaled = units.abs() * f64::from(BELOW).exp2();
        Self { negative: units < 0.0, magnitude: scaled as u64, more: scaled.fract() != 0.0 }
    }

    /// The bit at a power of two, in units: 0 is the unit.
    fn bit(self, power: i32) -> bool {
        self.magnitude >> (power + BELOW) & 1 == 1
    }

    fn top(self) -> Option<i32> {
        (self.magnitude != 0).then(|| self.magnitude.ilog2() as i32 - BELOW)
    }
}

/// Where columns are.
#[derive(Clone, Copy)]
struct Columns {
    left: f32,
    width: f32,
    /// Power of the first column, in units.
    first: i32,
}

impl Columns {
    fn x(self, power: i32) -> f32 {
        self.left + (self.first - power) as f32 * self.width
    }

    fn cell(self, power: i32, top: f32) -> Rect {
        Rect::from_min_size(pos2(self.x(power), top), vec2(self.width, ROW)).shrink2(vec2(0.6, 1.4))
    }
}

/// How a sum became a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// The lowest power of the half's grid, in units; what is below 0 needs no rounding.
    pub last: i32,
    /// The bit behind it.
    pub guard: bool,
    /// Whether anything is behind that.
    pub sticky: bool,
    /// Whether the magnitude went up.
    pub up: bool,
}

/// Finds out how a group's sum was rounded; nothing for zero, for sums that fit, and for overflow.
pub fn rounded(group: &Group) -> Option<Rounded> {
    let magnitude = group.units.unsigned_abs();
    let unit = group.shared? - group.fraction;
    let result = f16::from_bits(group.result.bits as u16);
    if magnitude == 0 || !result.is_finite() {
        return None;
    }
    // Eleven significant bits, but never below the subnormals' step.
    let last = (magnitude.ilog2() as i32 - 10).max(-24 - unit);
    if last <= 0 {
        return None;
    }
    let bit = |power: i32| power < 64 && magnitude >> power & 1 == 1;
    let sticky = last > 1 && magnitude & ((1_u64 << (last - 1).min(63)) - 1) != 0;
    let kept = (magnitude >> last.min(63)) << last.min(63);
    let up = result.to_f64().abs() > kept as f64 * f64::from(unit).exp2();
    Some(Rounded { last, guard: bit(last - 1), sticky, up })
}

/// The rounding in words.
pub fn rounding_words(group: &Group) -> String {
    let result = f16::from_bits(group.result.bits as u16);
    match rounded(group) {
        None if group.units == 0 => "the sum is 0: a zero result is +0".to_owned(),
        None if !result.is_finite() => "beyond the largest half: infinity".to_owned(),
        None => "every bit fits into the half".to_owned(),
        Some(Rounded { guard, sticky, up, .. }) => {
            let why = match (guard, sticky) {
                (false, _) => "less than a half step",
                (true, true) => "more than a half step",
                (true, false) => "a tie, to the even one",
            };
            let (g, s, way) = (u8::from(guard), u8::from(sticky), if up { "up" } else { "down" });
            format!("guard {g}, sticky {s}: {why}, rounded {way}")
        }
    }
}

/// Draws a group; terms at these positions of it differ from the other side's and are marked.
pub fn alignment(ui: &mut Ui, group: &Group, differing: &[usize]) {
    let theme = Theme::of(ui);
    let Some(shared) = group.shared else {
        ui.label(
            egui::RichText::new("The accumulator is not finite and passes through unchanged.").font(text::small()),
        );
        return;
    };
    let count = group.fraction + 1 + ABOVE + BELOW;
    let width = ((ui.available_width() - NAME - 14.0) / count as f32).clamp(3.5, 9.5);
    let rows = group.terms.len() + 4;
    let size = vec2(NAME + 14.0 + width * count as f32, rows as f32 * ROW + 30.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let columns = Columns { left: rect.left() + NAME + 12.0, width, first: group.fraction + ABOVE };
    let painter = ui.painter_at(rect.expand(2.0));
    scale(&painter, rect, columns, shared, group.fraction, theme);
    let mut top = rect.top() + 15.0;
    let from = top;
    let seed = Number { ..group.before };
    let before = f64::from(seed.value()) / f64::from(shared - group.fraction).exp2();
    row(
        &painter,
        columns,
        rect.left(),
        top,
        "acc",
        &format::short(f64::from(seed.value())),
        Fixed::of(before),
        false,
        theme,
    );
    for (i, term) in group.terms.iter().enumerate() {
        top += ROW;
        let value = format!("{}\u{b7}{}", short(term.a), short(term.b));
        let marked = differing.contains(&i);
        row(&painter, columns, rect.left(), top, &term.k.to_string(), &value, Fixed::of(term.exact), marked, theme);
    }
    let cut = columns.x(-1);
    painter.vline(cut, from..=top + ROW, Stroke::new(1.0, theme.differs.gamma_multiply(0.7)));
    top += ROW + 3.0;
    painter.hline(rect.left()..=rect.right(), top - 2.0, Stroke::new(1.0, theme.outline));
    sum(&painter, columns, rect.left(), top, group, theme);
    let hovered = response.hover_pos().map(|at| ((at.y - from) / ROW).floor() as isize - 1);
    let label = format!(
        "bits of a group: shared exponent {shared}, {} terms, {} cut short, sum {} units, {}",
        group.terms.len(),
        group.terms.iter().filter(|term| is_cut(term)).count(),
        group.units,
        rounding_words(group)
    );
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Label, true, &label));
    let term = hovered.and_then(|row| group.terms.get(usize::try_from(row).ok()?));
    if let Some(term) = term {
        response.on_hover_ui(|ui| told(ui, term, shared - group.fraction));
    }
}

/// Whether truncation took something from a term.
pub fn is_cut(term: &Term) -> bool {
    term.exact != term.units as f64
}

fn short(number: Number) -> String {
    format::short(f64::from(number.value())).replace("0.", ".")
}

/// A term in words.
fn told(ui: &mut Ui, term: &Term, unit: i32) {
    let theme = Theme::of(ui);
    let line = |ui: &mut Ui, words: String| ui.label(egui::RichText::new(words).font(text::small()).color(theme.text));
    line(ui, format!("k {}: {} \u{d7} {}", term.k, words::number(term.a), words::number(term.b)));
    line(ui, format!("{} units of 2^{unit}", term.units));
    if is_cut(term) {
        line(ui, format!("cut off toward zero from {}", term.exact));
    }
}

/// The powers above the columns.
fn scale(painter: &Painter, rect: Rect, columns: Columns, shared: i32, fraction: i32, theme: &Theme) {
    let font = FontId::monospace(8.5);
    let mark = |power: i32, words: String, align, ink| {
        painter.text(pos2(columns.x(power) + columns.width * 0.5, rect.top() + 9.0), align, words, font.clone(), ink);
    };
    mark(fraction, format!("E=2^{shared}"), Align2::CENTER_BOTTOM, theme.accent);
    mark(0, format!("unit 2^{}", shared - fraction), Align2::CENTER_BOTTOM, theme.differs);
    let x = columns.x(fraction);
    let band = Rect::from_min_max(pos2(x, rect.top() + 12.0), pos2(x + columns.width, rect.bottom() - 14.0));
    painter.rect_filled(band, CornerRadius::ZERO, theme.accent.gamma_multiply(0.10));
}

#[expect(clippy::too_many_arguments, reason = "a row is drawn from plain values, two of them places")]
fn row(
    painter: &Painter,
    columns: Columns,
    left: f32,
    top: f32,
    name: &str,
    value: &str,
    fixed: Fixed,
    marked: bool,
    theme: &Theme,
) {
    let middle = top + ROW * 0.5;
    let font = FontId::monospace(9.0);
    if marked {
        let band = Rect::from_min_max(pos2(left, top), pos2(columns.x(-BELOW - 1), top + ROW));
        painter.rect_filled(band, CornerRadius::same(2), theme.differs.gamma_multiply(0.18));
    }
    let ink = if marked { theme.differs } else { theme.faint };
    painter.text(pos2(left + 22.0, middle), Align2::RIGHT_CENTER, name, font.clone(), ink);
    let room = Rect::from_min_max(pos2(left + 24.0, top), pos2(left + NAME, top + ROW));
    let ink = if fixed.magnitude == 0 { theme.faint } else { theme.weak };
    painter.with_clip_rect(room).text(room.right_center(), Align2::RIGHT_CENTER, value, font.clone(), ink);
    let sign = if fixed.negative { "\u{2212}" } else { "" };
    painter.text(pos2(columns.left - 6.0, middle), Align2::CENTER_CENTER, sign, font, theme.event);
    let fill = if fixed.negative { theme.event } else { theme.subject };
    bits(painter, columns, top, fixed, fill, theme);
}

/// The bits from the highest one down; those below the unit in grey.
fn bits(painter: &Painter, columns: Columns, top: f32, fixed: Fixed, fill: egui::Color32, theme: &Theme) {
    let Some(highest) = fixed.top() else {
        painter.circle_filled(columns.cell(0, top).center(), 1.0, theme.faint);
        return;
    };
    let lowest = fixed.magnitude.trailing_zeros() as i32 - BELOW;
    for power in (lowest.min(0)..=highest.min(columns.first)).rev() {
        let cell = columns.cell(power, top);
        let ink = if power < 0 { theme.not_compared } else { fill };
        if fixed.bit(power) {
            painter.rect_filled(cell, CornerRadius::same(1), ink.gamma_multiply(if power < 0 { 0.75 } else { 0.9 }));
        } else {
            painter.rect_filled(cell, CornerRadius::same(1), ink.gamma_multiply(0.16));
        }
    }
    if fixed.more {
        let at = pos2(columns.x(-BELOW - 1) + 2.0, top + ROW * 0.5);
        painter.circle_filled(at, 1.2, theme.not_compared);
    }
}

/// The exact sum, and the half in it.
fn sum(painter: &Painter, columns: Columns, left: f32, top: f32, group: &Group, theme: &Theme) {
    let fixed = Fixed::of(group.units as f64);
    let value = format!("{} units", group.units);
    row(painter, columns, left, top, "sum", &value, fixed, false, theme);
    let Some(highest) = fixed.top() else { return };
    let y = top + ROW + 1.5;
    let span = |from: i32, to: i32| columns.x(from) + 0.6..=columns.x(to) + columns.width - 0.6;
    let found = rounded(group);
    let last = found.map_or(0, |rounded| rounded.last);
    painter.hline(span(highest.max(last), last), y, Stroke::new(1.6, theme.accent));
    let font = FontId::monospace(8.5);
    let ink = theme.accent;
    painter.text(pos2(left + NAME, y + 5.0), Align2::RIGHT_CENTER, "half", font.clone(), ink);
    let Some(rounded) = found else { return };
    let guard = columns.cell(rounded.last - 1, top).expand(1.0);
    painter.rect_stroke(guard, CornerRadius::same(2), Stroke::new(1.2, theme.zero_sign), StrokeKind::Outside);
    painter.text(pos2(guard.center().x, y + 6.0), Align2::CENTER_CENTER, "G", font.clone(), theme.zero_sign);
    if rounded.last > 1 {
        painter.hline(span(rounded.last - 2, 0), y, Stroke::new(1.6, theme.not_compared));
        let middle = (columns.x(rounded.last - 2) + columns.x(-1)) * 0.5;
        painter.text(pos2(middle, y + 6.0), Align2::CENTER_CENTER, "S", font, theme.weak);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::float16;

    fn group(units: i64, shared: i32) -> Group {
        let result = Number::half(float16::from_units(units, shared - 13));
        let before = Number::half(f16::ZERO);
        Group { before, shared: Some(shared), fraction: 13, accumulator: 0, terms: Vec::new(), units, result }
    }

    #[test]
    fn guard_and_sticky_say_which_way_every_sum_was_rounded() {
        for units in (1..200_000).chain([1 << 20, (1 << 21) - 1]) {
            for shared in [0, -10] {
                let group = group(units, shared);
                let exact = units as f64 * f64::from(shared - 13).exp2();
                let half = f64::from(group.result.value());
                match rounded(&group) {
                    None => assert_eq!(half, exact, "{units} units at {shared} fit"),
                    Some(r) => {
                        assert_eq!(r.up, half > exact, "{units} units at {shared}: {r:?}");
                        let nearest = r.guard && (r.sticky || (units >> r.last) & 1 == 1);
                        assert_eq!(r.up, nearest, "{units} units at {shared}: {r:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn roundings_are_told() {
        assert_eq!(rounding_words(&group(0, 0)), "the sum is 0: a zero result is +0");
        assert_eq!(rounding_words(&group(2047, 0)), "every bit fits into the half");
        assert_eq!(rounding_words(&group(4098, 0)), "guard 1, sticky 0: a tie, to the even one, rounded down");
        assert_eq!(rounding_words(&group(4099, 0)), "guard 1, sticky 1: more than a half step, rounded up");
        assert_eq!(rounding_words(&group(1 << 40, 0)), "beyond the largest half: infinity");
    }
}
