//! One self-contained page: the conclusion first, then the evidence in the order in which a reader doubts it.

use super::junit::escape;
use super::{Attention, Cause, Outcome, Report, Row, percent, style};
use std::fmt::Write as _;

pub(super) fn export(report: &Report) -> String {
    let mut page = String::new();
    let title = escape(&format!("{} against {}", report.subject, report.reference));
    page += "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n";
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    add(&mut page, &format!("<title>{title} - Blockscope</title><style>{}</style></head><body>", style::SHEET));
    add(&mut page, "<h1>Divergence report</h1>");
    add(
        &mut page,
        &format!(
            "<p class=\"sides\">subject <code>{}</code>, reference <code>{}</code></p>",
            escape(&report.subject),
            escape(&report.reference)
        ),
    );
    let mood = if report.divergent().next().is_some() { "bad" } else { "exact" };
    add(&mut page, &format!("<p class=\"conclusion {mood}\">{}</p>", escape(&report.conclusion)));
    add(&mut page, &strip(report));
    pictures(&mut page, report);
    causes(&mut page, &report.causes);
    list(&mut page, "Where the differences are, and where not", &report.pattern);
    probes(&mut page, report);
    if let Some(attention) = &report.attention {
        add(&mut page, &attention_section(attention));
    }
    rows(&mut page, report);
    events(&mut page, report);
    environment(&mut page, report);
    page += "</body></html>\n";
    page
}

fn add(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

fn verdict(outcome: Option<&Outcome>) -> String {
    let Some(outcome) = outcome else { return "<span class=\"not-compared\">&ndash;</span>".to_owned() };
    let (shape, text) = match outcome.verdict.as_str() {
        "bit-exact" => ("&#9679;", "exact".to_owned()),
        "sign-of-zero" => ("&#9670;", format!("only +-0, {}", percent(outcome.share()))),
        "differs" => ("&#9650;", percent(outcome.share())),
        _ => ("&#9675;", "not compared".to_owned()),
    };
    let reason = outcome.reason.as_deref().map(|r| format!(" title=\"{}\"", escape(r))).unwrap_or_default();
    format!("<span class=\"{}\"{reason}>{shape} {text}</span>", outcome.verdict)
}

/// The divergence strip: a column per boundary, the share of differing elements on a log scale.
fn strip(report: &Report) -> String {
    const DECADES: f64 = 7.0;
    const HEIGHT: f64 = 120.0;
    const LEFT: f64 = 46.0;
    let rows: Vec<&Row> = report.boundaries().collect();
    let step = 1100.0 / rows.len().max(1) as f64;
    let height =
        |share: f64| if share <= 0.0 { 0.0 } else { ((share.log10() + DECADES) / DECADES).clamp(0.04, 1.0) * HEIGHT };
    let mut svg = format!(
        "<h2>Divergence strip</h2><svg class=\"strip\" viewBox=\"0 0 {} 164\" role=\"img\" \
        aria-label=\"share of differing elements by boundary\">",
        LEFT + 1104.0
    );
    for (decade, label) in [(0, "100 %"), (2, "1 %"), (4, "0.01 %"), (6, "1e-4 %")] {
        let y = 8.0 + HEIGHT * f64::from(decade) / DECADES;
        let line = format!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"0\" y=\"{:.1}\">{label}</text>",
            LEFT + 1100.0,
            y + 4.0
        );
        svg += &line;
    }
    for (i, row) in rows.iter().enumerate() {
        let x = LEFT + i as f64 * step;
        let half = step * 0.42;
        for (offset, class, outcome) in [(0.0, "bar-a", &row.accumulated), (half, "bar-i", &row.isolated)] {
            let Some(outcome) = outcome else { continue };
            let (class, h) = match outcome.verdict.as_str() {
                "bit-exact" => ("bar-ok", 3.0),
                "not-compared" => ("bar-none", 3.0),
                _ => (class, height(outcome.share())),
            };
            let bar = format!(
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{half:.1}\" height=\"{h:.1}\"><title>{}: {}</title></rect>",
                x + offset,
                8.0 + HEIGHT - h,
                escape(&row.name),
                percent(outcome.share())
            );
            svg += &bar;
        }
        if i % 10 == 0 {
            write!(svg, "<text x=\"{x:.1}\" y=\"146\">{}</text>", escape(&row.name)).expect("text grows");
        }
    }
    svg += "</svg><p class=\"sides\">Blue: accumulated. Red: isolated. Green: exact. Share of differing elements, log scale.</p>";
    svg
}

fn pictures(page: &mut String, report: &Report) {
    if report.pictures.is_empty() {
        return;
    }
    let name = report.first_kernel.as_deref().or(report.first_boundary.as_deref()).unwrap_or_default();
    add(page, &format!("<h2>The first divergent tensor: <code>{}</code></h2><div class=\"pictures\">", escape(name)));
    for picture in &report.pictures {
        add(
            page,
            &format!(
                "<figure><img alt=\"{0}\" width=\"{1}\" height=\"{2}\" src=\"data:image/png;base64,{3}\">\
            <figcaption><b>{0}</b><br>{4}</figcaption></figure>",
                escape(&picture.title),
                picture.width,
                picture.height,
                base64(&picture.png),
                escape(&picture.caption)
            ),
        );
    }
    add(page, "</div>");
}

fn causes(page: &mut String, causes: &[Cause]) {
    if causes.is_empty() {
        return;
    }
    add(
        page,
        "<h2>Known causes tested</h2><div class=\"scroll\"><table><tr><th>cause</th><th>site</th>\
        <th>differing bytes explained</th><th>newly wrong</th><th>exact</th><th>what to change</th></tr>",
    );
    for cause in causes {
        let exact = if cause.exact { "<span class=\"bit-exact\">&#9679; yes</span>" } else { "no" };
        add(
            page,
            &format!(
                "<tr><td>{}<br><code>{}</code></td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{exact}</td><td class=\"wide\">{}</td></tr>",
                escape(&cause.name),
                escape(&cause.id),
                escape(&cause.site),
                percent(cause.explained),
                cause.newly_wrong,
                escape(&cause.advice)
            ),
        );
    }
    add(page, "</table></div>");
}

fn list(page: &mut String, title: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    add(page, &format!("<h2>{title}</h2><ul>"));
    sentences.iter().for_each(|sentence| add(page, &format!("<li>{}</li>", escape(sentence))));
    add(page, "</ul>");
}

fn probes(page: &mut String, report: &Report) {
    if report.probes.is_empty() {
        return;
    }
    add(
        page,
        "<h2>Probes</h2><div class=\"scroll\"><table><tr><th>tensor</th><th>x, y</th><th>channel</th><th>subject</th>\
        <th>bits</th><th>reference</th><th>bits</th><th>class</th><th>codes apart</th></tr>",
    );
    for p in &report.probes {
        add(
            page,
            &format!(
                "<tr><td>{}</td><td>{}, {}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"mono\">{}</td>\
            <td class=\"number\">{}</td><td class=\"mono\">{}</td><td>{}</td><td class=\"number\">{:+}</td></tr>",
                escape(&p.tensor),
                p.x,
                p.y,
                p.channel,
                p.subject,
                p.subject_bits,
                p.reference,
                p.reference_bits,
                p.class,
                p.distance
            ),
        );
    }
    add(page, "</table></div>");
}

/// Two 8x8 maps of a query's weights; keys outside the field are crossed out.
fn attention_section(attention: &Attention) -> String {
    let most = attention.weights.0.iter().chain(&attention.weights.1).copied().fold(f32::MIN_POSITIVE, f32::max);
    let mut section = format!(
        "<h2>Attention of a differing window</h2><p class=\"sides\"><code>{}</code>, window {}, {}, head {}, query {}</p><div class=\"heads\">",
        escape(&attention.tensor),
        attention.window.0,
        attention.window.1,
        attention.head,
        attention.query
    );
    for (title, weights) in [("subject", &attention.weights.0), ("reference", &attention.weights.1)] {
        write!(section, "<svg viewBox=\"0 0 220 240\" role=\"img\" aria-label=\"{title} weights\"><text x=\"0\" y=\"14\">{title}</text>").expect("text grows");
        for (p, weight) in weights.iter().enumerate() {
            let n = crate::geometry::window::natural(p);
            let (x, y) = (n % 8 * 27, 22 + n / 8 * 27);
            let opacity = (weight / most).clamp(0.04, 1.0);
            write!(section, "<rect class=\"bar-a\" x=\"{x}\" y=\"{y}\" width=\"25\" height=\"25\" opacity=\"{opacity:.3}\"><title>key {n}: {weight}</title></rect>").expect("text grows");
            if !attention.inside[p] {
                write!(section, "<path class=\"grid\" d=\"M{x} {y}l25 25m0 -25l-25 25\"/>").expect("text grows");
            }
        }
        section += "</svg>";
    }
    section + "</div>"
}

fn rows(page: &mut String, report: &Report) {
    if report.rows.is_empty() {
        return;
    }
    add(
        page,
        "<h2>Boundaries and kernels</h2><div class=\"scroll\"><table><tr><th>tensor</th><th>op</th><th>shape</th>\
        <th>accumulated</th><th>isolated</th><th>differing bytes</th><th>classes</th><th>first difference</th></tr>",
    );
    for row in &report.rows {
        let outcome =
            row.isolated.as_ref().filter(|o| o.is_difference()).or(row.accumulated.as_ref()).or(row.isolated.as_ref());
        let bytes = outcome.map_or(0, |o| o.differing_bytes);
        let classes: Vec<String> =
            outcome.iter().flat_map(|o| &o.classes).map(|(class, count)| format!("{class} {count}")).collect();
        let first = outcome.and_then(|o| o.first.as_ref()).map_or(String::new(), |p| {
            format!(
                "({}, {}) channel {}: <code>{}</code> for <code>{}</code>",
                p.x, p.y, p.channel, p.subject_bits, p.reference_bits
            )
        });
        add(
            page,
            &format!(
                "<tr class=\"{}\"><td>{}</td><td>{}</td><td class=\"mono\">{}</td><td>{}</td><td>{}</td><td class=\"number\">{bytes}</td><td>{}</td><td>{first}</td></tr>",
                row.kind,
                escape(&row.name),
                row.op,
                row.shape,
                verdict(row.accumulated.as_ref()),
                verdict(row.isolated.as_ref()),
                escape(&classes.join(", "))
            ),
        );
    }
    add(page, "</table></div>");
}

fn events(page: &mut String, report: &Report) {
    if report.events.is_empty() {
        return;
    }
    add(
        page,
        "<h2>Events</h2><div class=\"scroll\"><table><tr><th>kernel</th><th>event</th><th>subject</th><th>reference</th></tr>",
    );
    for event in &report.events {
        add(
            page,
            &format!(
                "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
                escape(&event.tensor),
                escape(&event.kind),
                event.counts.0,
                event.counts.1
            ),
        );
    }
    add(page, "</table></div>");
}

fn environment(page: &mut String, report: &Report) {
    add(page, "<h2>Environment</h2><dl>");
    for fact in report.environment.iter().chain(&report.origin) {
        add(page, &format!("<dt>{}</dt><dd>{}</dd>", escape(&fact.name), escape(&fact.value)));
    }
    add(page, &format!("</dl><h2>Reproduce</h2><pre>{}</pre>", escape(&report.command)));
}

/// Base 64 with padding (RFC 4648), for pictures inside the page.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().enumerate().fold(0_u32, |word, (i, &byte)| word | u32::from(byte) << (16 - 8 * i));
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_pads_as_the_standard_says() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in cases {
            assert_eq!(base64(plain.as_bytes()), coded, "{plain}");
        }
    }
}
