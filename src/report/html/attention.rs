//! The attention of a differing window: scores and weights of one query over its 64 keys, on both sides.

use super::super::{Attention, AttentionSide};
use super::escape;
use crate::geometry::window::SIDE;
use crate::numerics::{e4m3, f16};
use std::fmt::Write as _;

/// Points of a key's cell and of the gap behind it.
const CELL: (usize, usize) = (26, 2);

pub(super) fn section(attention: &Attention) -> String {
    let (x, y) = attention.window;
    let outside = attention.inside.iter().filter(|inside| !**inside).count();
    let mut out = format!(
        "<p class=\"note\"><code>{}</code>, window {x}, {y}, head {}, query {} (row {}, column {} of the window). \
         {outside} of 64 keys lie outside the field (crossed out). Cells are the window's tokens; the ring is the query{}</p>\n",
        escape(&attention.tensor),
        attention.head,
        attention.query,
        attention.query / SIDE,
        attention.query % SIDE,
        if attention.subject.is_some() {
            ", and outlined cells differ."
        } else {
            ". The subject is a recording: what it computed inside is not known, so only the reference is shown."
        }
    );
    out += "<div class=\"maps\">\n";
    let sides = [("subject", attention.subject.as_ref()), ("reference", Some(&attention.reference))];
    let known = || sides.iter().filter_map(|(name, side)| Some((*name, (*side)?)));
    let scores =
        |side: &AttentionSide| -> Vec<f32> { side.scores.iter().map(|&bits| f16::from_bits(bits).to_f32()).collect() };
    let weights = |side: &AttentionSide| -> Vec<f32> { side.weights.iter().map(|&code| e4m3::decode(code)).collect() };
    for (what, values) in [("scores", &scores as &dyn Fn(&AttentionSide) -> Vec<f32>), ("weights", &weights)] {
        let all: Vec<f32> = known().flat_map(|(_, side)| values(side)).filter(|x| x.is_finite()).collect();
        let most = all.iter().map(|x| x.abs()).fold(f32::MIN_POSITIVE, f32::max);
        for (name, side) in known() {
            let differs = |n: usize| match (&attention.subject, what) {
                (Some(own), "scores") => own.scores[n] != attention.reference.scores[n],
                (Some(own), _) => own.weights[n] != attention.reference.weights[n],
                (None, _) => false,
            };
            out += &map(&format!("{what}, {name}"), &values(side), most, attention, &differs);
        }
    }
    out + "</div>\n<p class=\"note\">Scores: red above zero, blue below, both sides on one scale. Weights: the stronger the more.</p>"
}

fn map(title: &str, values: &[f32], most: f32, attention: &Attention, differs: &dyn Fn(usize) -> bool) -> String {
    let pitch = CELL.0 + CELL.1;
    let side = SIDE * pitch;
    let mut svg = format!(
        "<figure><figcaption>{title}</figcaption><svg viewBox=\"0 0 {side} {side}\" role=\"img\" aria-label=\"{title}\">"
    );
    for (n, &value) in values.iter().enumerate() {
        let (x, y) = (n % SIDE * pitch + 1, n / SIDE * pitch + 1);
        let opacity = if value.is_finite() { (value.abs() / most).clamp(0.03, 1.0) } else { 1.0 };
        let class = if value < 0.0 { "low" } else { "high" };
        let ring = if differs(n) { " differs" } else { "" };
        write!(svg, "<g class=\"key{ring}\"><title>key {n} (row {}, column {}): {value}</title>", n / SIDE, n % SIDE)
            .expect("text grows");
        write!(svg, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{0}\" height=\"{0}\" rx=\"3\" fill-opacity=\"{opacity:.3}\"/>", CELL.0).expect("text grows");
        if !attention.inside[n] {
            write!(svg, "<path class=\"out\" d=\"M{} {}l14 14m0 -14l-14 14\"/>", x + 6, y + 6).expect("text grows");
        }
        if n == attention.query {
            write!(svg, "<circle class=\"query\" cx=\"{}\" cy=\"{}\" r=\"7\"/>", x + CELL.0 / 2, y + CELL.0 / 2)
                .expect("text grows");
        }
        svg += "</g>";
    }
    svg + "</svg></figure>\n"
}
