//! The page's tables: causes, probes and pins, boundaries and kernels, events.

use super::super::{Cause, Outcome, Probe, Report, Row, percent};
use super::{Page, escape, verdict};

/// Causes shown at once; the rest is folded away.
const BEST: usize = 8;

pub(super) fn table(heads: &[&str], rows: impl Iterator<Item = String>) -> String {
    let heads = heads.join("</th><th>");
    format!(
        "<div class=\"scroll\"><table><thead><tr><th>{heads}</th></tr></thead><tbody>\n{}\n</tbody></table></div>",
        rows.collect::<Vec<_>>().join("\n")
    )
}

pub(super) fn causes(page: &mut Page, causes: &[Cause]) {
    if causes.is_empty() {
        return;
    }
    let row = |cause: &Cause| {
        let exact = if cause.exact { "<span class=\"bit-exact\">&#9679; exact</span>" } else { "no" };
        format!(
            "<tr><td class=\"name\"><b>{}</b><br><code>{}</code></td><td><code>{}</code></td><td class=\"share\"><meter min=\"0\" max=\"1\" \
             value=\"{:.4}\"></meter> {}</td><td class=\"number\">{}</td><td>{exact}</td><td class=\"text\">{}</td></tr>",
            escape(&cause.name),
            escape(&cause.id),
            escape(&cause.site),
            cause.explained,
            percent(cause.explained),
            cause.newly_wrong,
            escape(&cause.advice)
        )
    };
    let heads = ["cause", "switched on at", "differing bytes explained", "newly wrong", "exact", "what to change"];
    let (best, rest) = causes.split_at(BEST.min(causes.len()));
    let best = table(&heads, best.iter().map(row));
    let mut body = best.replacen("class=\"scroll\"", "class=\"scroll whole\"", 1);
    if !rest.is_empty() {
        let more = if rest.len() == 1 { "1 more that explains less" } else { "more that explain less" };
        let count = if rest.len() == 1 { String::new() } else { format!("{} ", rest.len()) };
        let rest = table(&heads, rest.iter().map(row));
        body += &format!("\n<details><summary>{count}{more}</summary>\n{rest}\n</details>");
    }
    page.section("Known causes tested", &body);
}

/// An element's cells: both sides with bits.
fn element(p: &Probe) -> String {
    format!(
        "<td>{}, {}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td><code>{}</code></td>\
         <td class=\"number\">{}</td><td><code>{}</code></td><td>{}</td><td class=\"number\">{:+}</td>",
        p.x,
        p.y,
        p.channel,
        escape(&p.subject),
        escape(&p.subject_bits),
        escape(&p.reference),
        escape(&p.reference_bits),
        escape(&p.class),
        p.distance
    )
}

pub(super) fn probes(page: &mut Page, report: &Report) {
    let heads = ["", "x, y", "channel", "subject", "bits", "reference", "bits", "class", "codes apart"];
    if !report.probes.is_empty() {
        let row = |p: &Probe| format!("<tr><td><code>{}</code></td>{}</tr>", escape(&p.tensor), element(p));
        page.section("The first differing elements", &table(&heads, report.probes.iter().map(row)));
    }
    if !report.pins.is_empty() {
        let row = |pin: &super::super::Pin| {
            let cells = pin.probe.as_ref().map_or_else(
                || "<td colspan=\"8\" class=\"not-compared\">its tensor was not compared byte by byte</td>".to_owned(),
                element,
            );
            format!("<tr><td>{}</td>{cells}</tr>", escape(&pin.name))
        };
        page.section("Pins", &table(&heads, report.pins.iter().map(row)));
    }
}

/// Boundaries open, kernels folded away: hundreds of rows are looked up, not read.
pub(super) fn rows(page: &mut Page, report: &Report) {
    if report.rows.is_empty() {
        return;
    }
    let heads = ["tensor", "op", "shape", "accumulated", "isolated", "classes", "first difference"];
    let kind = |kind: &str| report.rows.iter().filter(|row| row.kind == kind).map(row).collect::<Vec<_>>();
    let (boundaries, kernels) = (kind("boundary"), kind("kernel"));
    let mut body = table(&heads, boundaries.into_iter());
    if !kernels.is_empty() {
        let (all, bad) = (kernels.len(), kernels.iter().filter(|row| row.starts_with("<tr class=\"bad\">")).count());
        let words = format!("{all} tensors inside blocks, {bad} differ when their kernel runs alone");
        body += &format!("\n<details><summary>{words}</summary>\n{}\n</details>", table(&heads, kernels.into_iter()));
    }
    page.section("Boundaries and kernels", &body);
}

fn row(row: &Row) -> String {
    let outcome =
        row.isolated.as_ref().filter(|o| o.is_difference()).or(row.accumulated.as_ref()).or(row.isolated.as_ref());
    let classes: Vec<String> =
        outcome.iter().flat_map(|o| &o.classes).map(|(class, count)| format!("{class} {count}")).collect();
    let first = outcome.and_then(|o| o.first.as_ref()).map(|p| {
        format!(
            "({}, {}) channel {}: <code>{}</code> for <code>{}</code>",
            p.x, p.y, p.channel, p.subject_bits, p.reference_bits
        )
    });
    let reason = || outcome.and_then(|o| o.reason.as_deref()).map(escape);
    let alone = row.isolated.as_ref().is_some_and(Outcome::is_difference);
    format!(
        "<tr class=\"{}\"><td>{}</td><td>{}</td><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        if alone { "bad" } else { "" },
        escape(&row.name),
        escape(&row.op),
        escape(&row.shape),
        verdict(row.accumulated.as_ref()),
        verdict(row.isolated.as_ref()),
        escape(&classes.join(", ")),
        first.or_else(reason).unwrap_or_default()
    )
}

pub(super) fn events(page: &mut Page, report: &Report) {
    if report.events.is_empty() {
        return;
    }
    let row = |event: &super::super::Event| {
        format!(
            "<tr><td><code>{}</code></td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            escape(&event.tensor),
            escape(&event.kind),
            event.counts.0.map_or_else(|| "&ndash;".to_owned(), |count| count.to_string()),
            event.counts.1
        )
    };
    page.section(
        "Events of the divergent kernel",
        &table(&["kernel", "event", "subject", "reference"], report.events.iter().map(row)),
    );
}
