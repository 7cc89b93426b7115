//! What the differences come to in the end: shares of differing bytes along the network, beside the noise floor.

use super::super::{Report, percent};
use super::strip::{LABEL, LEFT};
use super::{Page, escape, tables};
use crate::diagnosis::{Effect, WhatIf};
use std::fmt::Write as _;

/// Shares from 1e-3 % to 100 % on a log scale.
const DECADES: f64 = 5.0;
const HEIGHT: f64 = 150.0;
const WIDTH: f64 = 1040.0;
const TOP: f64 = 8.0;

pub(super) fn section(page: &mut Page, report: &Report) {
    let sides = [("subject", report.effect.as_ref()), ("floor", report.noise_floor.as_ref())];
    let known: Vec<(&str, &WhatIf)> = sides.iter().filter_map(|(class, ends)| Some((*class, (*ends)?))).collect();
    let sentences = report.in_the_end();
    let differs = known.iter().any(|(_, ends)| ends.boundaries.iter().chain(&ends.image).any(|e| e.differing > 0));
    if sentences.is_empty() || !differs {
        return;
    }
    let items = sentences.iter().map(|text| escape(text)).collect::<Vec<_>>().join("</li><li>");
    let mut body = format!("<ul class=\"apart\"><li>{items}</li></ul>\n{}", chart(&known));
    let longest = known.iter().map(|(_, ends)| ends).max_by_key(|ends| ends.boundaries.len());
    let names: Vec<&str> = longest.map_or_else(Vec::new, |ends| all(ends).map(|e| e.name.as_str()).collect());
    let find = |ends: Option<&WhatIf>, name: &str| ends.and_then(|ends| all(ends).find(|e| e.name == name).cloned());
    let cells = |effect: Option<Effect>| match effect {
        None => "<td class=\"not-compared\">&ndash;</td><td></td>".to_owned(),
        Some(effect) => {
            let psnr = effect.psnr.map_or_else(String::new, |psnr| format!("{psnr:.1} dB"));
            format!("<td class=\"number\">{}</td><td class=\"number\">{psnr}</td>", percent(effect.share()))
        }
    };
    let rows = names.iter().map(|name| {
        let both = sides.iter().map(|(_, ends)| cells(find(*ends, name))).collect::<String>();
        format!("<tr><td>{}</td>{both}</tr>", escape(name))
    });
    let heads = ["boundary", "subject, bytes that differ", "PSNR", "noise floor, bytes that differ", "PSNR"];
    let table = tables::table(&heads, rows);
    body += &format!("\n<details><summary>the numbers of all {}</summary>\n{table}\n</details>", names.len());
    page.section("What it comes to in the end", &body);
}

fn all(ends: &WhatIf) -> impl Iterator<Item = &Effect> {
    ends.boundaries.iter().chain(&ends.image)
}

fn chart(sides: &[(&str, &WhatIf)]) -> String {
    let columns = sides.iter().map(|(_, ends)| ends.boundaries.len()).max().unwrap_or(0);
    let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
    let mut svg = format!(
        "<div class=\"wide\"><svg class=\"strip\" viewBox=\"0 0 {:.0} {:.0}\" role=\"img\" \
         aria-label=\"share of differing bytes at each boundary\">\n",
        right + 8.0,
        bottom + 24.0
    );
    for (decade, label) in [(5, "100 %"), (3, "1 %"), (1, "0.01 %")] {
        let y = bottom - HEIGHT * f64::from(decade) / DECADES;
        write!(svg, "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>").expect("text grows");
        write!(svg, "<text class=\"scale\" x=\"{}\" y=\"{:.1}\">{label}</text>", LEFT - 6.0, y + 3.5)
            .expect("text grows");
    }
    write!(svg, "<path class=\"axis\" d=\"M{LEFT} {bottom}H{right}\"/>").expect("text grows");
    let step = WIDTH / columns.max(1) as f64;
    let x = |i: usize| LEFT + (i as f64 + 0.5) * step;
    for (class, ends) in sides {
        let y = |effect: &Effect| {
            let share = ((effect.share().max(1e-9).log10() + DECADES) / DECADES).clamp(0.0, 1.0);
            bottom - share * HEIGHT
        };
        let points: Vec<String> =
            ends.boundaries.iter().enumerate().map(|(i, e)| format!("{:.1},{:.1}", x(i), y(e))).collect();
        write!(svg, "<polyline class=\"ends {class}\" points=\"{}\"/>", points.join(" ")).expect("text grows");
        for (i, effect) in ends.boundaries.iter().enumerate() {
            let (name, share) = (escape(&effect.name), percent(effect.share()));
            write!(svg, "<circle class=\"ends {class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.4\">", x(i), y(effect))
                .expect("text grows");
            write!(svg, "<title>{name}, {class}: {share}</title></circle>").expect("text grows");
        }
    }
    for (i, effect) in sides.first().iter().flat_map(|(_, ends)| ends.boundaries.iter().enumerate()).step_by(10) {
        if x(i) > right - LABEL {
            break;
        }
        write!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x(i) - 2.0, bottom + 16.0, escape(&effect.name))
            .expect("text grows");
    }
    svg + "\n</svg></div>\n<p class=\"note\">Share of differing bytes at each boundary, each side on its own results, log \
           scale. <span class=\"key accumulated\"></span>the subject; <span class=\"key floor\"></span>the noise floor: \
           the exact network with a sum reordered in every block, which is right in real arithmetic.</p>"
}
