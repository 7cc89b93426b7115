//! Markdown for an issue thread: the conclusion, what differs, the evidence, how to reproduce it.

use super::{Outcome, Report, percent};
use std::fmt::Write as _;

/// Divergent rows listed at most: a thread wants the beginning.
const ROWS: usize = 24;

pub(super) fn export(report: &Report) -> String {
    let mut text = format!("## `{}` against `{}`\n\n{}\n\n", report.subject, report.reference, report.conclusion);
    let divergent: Vec<_> = report.divergent().collect();
    if !divergent.is_empty() {
        text += "| tensor | op | shape | accumulated | isolated | first difference |\n|---|---|---|---|---|---|\n";
        for row in divergent.iter().take(ROWS) {
            let first = row.isolated.iter().chain(&row.accumulated).find_map(|o| o.first.as_ref());
            let first = first.map_or(String::new(), |p| {
                format!("({}, {}) channel {}: `{}` for `{}`", p.x, p.y, p.channel, p.subject_bits, p.reference_bits)
            });
            let (accumulated, isolated) = (cell(row.accumulated.as_ref()), cell(row.isolated.as_ref()));
            line(
                &mut text,
                &format!("| {} | {} | {} | {accumulated} | {isolated} | {first} |", row.name, row.op, row.shape),
            );
        }
        if divergent.len() > ROWS {
            line(&mut text, &format!("\n{} more tensors differ.", divergent.len() - ROWS));
        }
        text.push('\n');
    }
    if !report.causes.is_empty() {
        text += "### Causes tested\n\n| cause | site | differing bytes explained | newly wrong | exact |\n|---|---|---|---|---|\n";
        for cause in &report.causes {
            let exact = if cause.exact { "yes" } else { "no" };
            let explained = percent(cause.explained);
            let row = format!("| {} | {} | {explained} | {} | {exact} |", cause.name, cause.site, cause.newly_wrong);
            line(&mut text, &row);
        }
        text.push('\n');
    }
    for (title, sentences) in [("Where", &report.pattern), ("Where not", &report.elsewhere)] {
        if !sentences.is_empty() {
            line(&mut text, &format!("### {title}\n"));
            sentences.iter().for_each(|sentence| line(&mut text, &format!("- {sentence}")));
            text.push('\n');
        }
    }
    let ends = report.in_the_end();
    if !ends.is_empty() {
        text += "### In the end\n\n";
        ends.iter().for_each(|sentence| line(&mut text, &format!("- {sentence}")));
        text.push('\n');
    }
    if !report.events.is_empty() {
        text += "### Events of the divergent kernel\n\n| kernel | event | subject | reference |\n|---|---|---|---|\n";
        for event in &report.events {
            let subject = event.counts.0.map_or_else(String::new, |count| count.to_string());
            line(&mut text, &format!("| {} | {} | {subject} | {} |", event.tensor, event.kind, event.counts.1));
        }
        text.push('\n');
    }
    text += "### Environment\n\n";
    for fact in report.environment.iter().chain(&report.origin) {
        line(&mut text, &format!("- {}: {}", fact.name, fact.value));
    }
    write!(text, "\nReproduce with:\n\n```\n{}\n```\n", report.command).expect("text grows");
    text
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn cell(outcome: Option<&Outcome>) -> String {
    match outcome {
        None => String::new(),
        Some(o) if o.is_difference() => format!("{} ({})", o.verdict, percent(o.share())),
        Some(o) => o.verdict.clone(),
    }
}
