//! One self-contained page: the conclusion first, then the evidence in the order in which a reader doubts it.
//!
//! No script, no font, no address: the page looks the same in ten years. It follows the reader's light or dark
//! setting, fits a phone (wide parts scroll on their own), and prints.

mod attention;
mod base64;
mod ends;
mod strip;
mod style;
mod tables;

use super::junit::escape;
use super::{Outcome, Report, percent};
use base64::base64;

pub(super) fn export(report: &Report) -> String {
    let mut page = Page::default();
    let title = escape(&format!("{} against {}", report.subject, report.reference));
    page.add("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
    page.add("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    page.add("<meta name=\"color-scheme\" content=\"light dark\">");
    page.add(format!("<title>{title} - Blockscope</title>\n<style>{}</style>\n</head>\n<body>", style::SHEET));
    head(&mut page, report);
    if report.boundaries().next().is_some() {
        page.section("Where it starts", &strip::strip(report));
    }
    pictures(&mut page, report);
    tables::causes(&mut page, &report.causes);
    places(&mut page, report);
    ends::section(&mut page, report);
    tables::probes(&mut page, report);
    if let Some(attention) = &report.attention {
        page.section("Attention of a differing window", &attention::section(attention));
    }
    tables::rows(&mut page, report);
    tables::events(&mut page, report);
    environment(&mut page, report);
    page.add("</body>\n</html>");
    page.0
}

/// Text that grows by lines.
#[derive(Default)]
struct Page(String);

impl Page {
    fn add(&mut self, text: impl AsRef<str>) {
        self.0.push_str(text.as_ref());
        self.0.push('\n');
    }

    fn section(&mut self, title: &str, body: &str) {
        self.add(format!("<section>\n<h2>{title}</h2>\n{body}\n</section>"));
    }
}

/// The two sides, the verdict in large, the conclusion, and its numbers.
fn head(page: &mut Page, report: &Report) {
    let differs = report.divergent().next().is_some();
    let compared = report.rows.iter().flat_map(|row| row.accumulated.iter().chain(&row.isolated));
    let compared = compared.filter(|o| o.verdict != "not-compared").count();
    let (mood, sign, headline) = match (differs, compared) {
        (true, _) => {
            let first = report.first_kernel.as_ref().or(report.first_boundary.as_ref());
            ("bad", "&#9650;", format!("Diverges at {}", first.map_or("", String::as_str)))
        }
        (false, 0) => ("none", "&#9675;", "Nothing was compared".to_owned()),
        (false, _) => ("exact", "&#9679;", "Bit-exact".to_owned()),
    };
    page.add("<header>\n<p class=\"mark\">Blockscope divergence report</p>");
    page.add(format!("<h1 class=\"{mood}\"><span aria-hidden=\"true\">{sign}</span> {}</h1>", escape(&headline)));
    page.add(format!(
        "<p class=\"sides\"><span>subject <code>{}</code></span> <span>reference <code>{}</code></span></p>",
        escape(&report.subject),
        escape(&report.reference)
    ));
    page.add(format!("<p class=\"conclusion {mood}\">{}</p>", escape(&capital(&report.conclusion))));
    let count = |outcome: fn(&super::Row) -> Option<&Outcome>| {
        let all: Vec<&Outcome> =
            report.rows.iter().filter_map(outcome).filter(|o| o.verdict != "not-compared").collect();
        let bad = all.iter().filter(|o| o.is_difference()).count();
        if all.is_empty() { "&ndash;".to_owned() } else { format!("{bad} <small>of {}</small>", all.len()) }
    };
    let (accumulated, isolated) = (count(|row| row.accumulated.as_ref()), count(|row| row.isolated.as_ref()));
    let mut tiles = vec![
        ("tensors differ, accumulated", accumulated),
        ("tensors differ, each on the reference's inputs", isolated),
    ];
    let first = report.first_kernel.as_ref().and_then(|name| report.rows.iter().find(|row| row.name == *name));
    if let Some(outcome) = first.and_then(|row| row.isolated.as_ref()) {
        let few = format!("{} <small>{} elements</small>", percent(outcome.share()), outcome.differing);
        tiles.push(("of the first one differs", few));
    }
    if let Some(best) = report.causes.first() {
        let (share, wrong) = (percent(best.explained), best.newly_wrong);
        tiles.push(("of its differing bytes explained", format!("{share} <small>{wrong} newly wrong</small>")));
    }
    let tile = |(what, value): &(&str, String)| format!("<div><b>{value}</b><span>{what}</span></div>");
    page.add(format!("<div class=\"tiles\">{}</div>\n</header>", tiles.iter().map(tile).collect::<String>()));
}

/// The first letter in upper case: a conclusion reads as a sentence here.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A verdict with its shape, so that colour is never alone.
fn verdict(outcome: Option<&Outcome>) -> String {
    let Some(outcome) = outcome else { return "<span class=\"not-compared\">&ndash;</span>".to_owned() };
    let (shape, text) = match outcome.verdict.as_str() {
        "bit-exact" => ("&#9679;", "exact".to_owned()),
        "sign-of-zero" => ("&#9670;", format!("only &plusmn;0, {}", percent(outcome.share()))),
        "differs" if outcome.elements == 0 => ("&#9650;", "digests differ".to_owned()),
        "differs" => ("&#9650;", percent(outcome.share())),
        _ => ("&#9675;", "not compared".to_owned()),
    };
    let reason = outcome.reason.as_deref().map(|r| format!(" title=\"{}\"", escape(r))).unwrap_or_default();
    format!("<span class=\"{}\"{reason}>{shape} {text}</span>", outcome.verdict)
}

fn pictures(page: &mut Page, report: &Report) {
    if report.pictures.is_empty() {
        return;
    }
    let name = report.first_kernel.as_deref().or(report.first_boundary.as_deref()).unwrap_or_default();
    let figure = |picture: &super::Picture| {
        format!(
            "<figure><figcaption>{0}</figcaption><img alt=\"{0} of {5}\" width=\"{1}\" height=\"{2}\" \
             src=\"data:image/png;base64,{3}\"><p>{4}</p></figure>",
            escape(&picture.title),
            picture.width,
            picture.height,
            base64(&picture.png),
            escape(&picture.caption),
            escape(name)
        )
    };
    let figures: Vec<String> = report.pictures.iter().map(figure).collect();
    let title = format!("The first divergent tensor: <code>{}</code>", escape(name));
    page.section(&title, &format!("<div class=\"pictures\">\n{}\n</div>", figures.join("\n")));
}

/// Where the differences are, and where they are not, side by side.
fn places(page: &mut Page, report: &Report) {
    if report.pattern.is_empty() && report.elsewhere.is_empty() {
        return;
    }
    let list = |title: &str, sentences: &[String]| {
        if sentences.is_empty() {
            return String::new();
        }
        let items = sentences.iter().map(|sentence| escape(sentence)).collect::<Vec<_>>().join("</li><li>");
        format!("<div><h3>{title}</h3><ul><li>{items}</li></ul></div>")
    };
    let (here, there) = (list("Here", &report.pattern), list("Not here", &report.elsewhere));
    page.section(
        "Where the differences are, and where they are not",
        &format!("<div class=\"two\">{here}{there}</div>"),
    );
}

fn environment(page: &mut Page, report: &Report) {
    let facts = report.environment.iter().chain(&report.origin);
    let fact = |fact: &super::Fact| format!("<dt>{}</dt><dd>{}</dd>", escape(&fact.name), escape(&fact.value));
    page.section("Environment", &format!("<dl>{}</dl>", facts.map(fact).collect::<String>()));
    if !report.command.is_empty() {
        page.section("Reproduce", &format!("<pre>{}</pre>", escape(&report.command)));
    }
}
