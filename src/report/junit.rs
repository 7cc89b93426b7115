//! JUnit XML: a test case for every boundary and kernel and mode, so that a CI shows which one broke.

use super::{Outcome, Report, Row, percent};
use std::fmt::Write as _;

pub(super) fn export(report: &Report) -> String {
    let mut suites = String::new();
    let (mut all, mut failed, mut skipped) = (0, 0, 0);
    for (mode, outcome) in [
        ("accumulated", (|row: &Row| row.accumulated.clone()) as fn(&Row) -> Option<Outcome>),
        ("isolated", |row| row.isolated.clone()),
    ] {
        let cases: Vec<(&Row, Outcome)> = report.rows.iter().filter_map(|row| Some((row, outcome(row)?))).collect();
        if cases.is_empty() {
            continue;
        }
        let fails = cases.iter().filter(|(_, outcome)| outcome.is_difference()).count();
        let skips = cases.iter().filter(|(_, outcome)| outcome.verdict == "not-compared").count();
        (all, failed, skipped) = (all + cases.len(), failed + fails, skipped + skips);
        writeln!(
            suites,
            "  <testsuite name=\"{mode}\" tests=\"{}\" failures=\"{fails}\" skipped=\"{skips}\" errors=\"0\">",
            cases.len()
        )
        .expect("text grows");
        for (row, outcome) in &cases {
            suites += &case(row, outcome, mode);
        }
        suites += "  </testsuite>\n";
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{all}\" failures=\"{failed}\" \
         skipped=\"{skipped}\" errors=\"0\">\n{suites}</testsuites>\n",
        escape(&format!("{} against {}", report.subject, report.reference)),
    )
}

fn case(row: &Row, outcome: &Outcome, mode: &str) -> String {
    let name = escape(&row.name);
    let head = format!("    <testcase classname=\"blockscope.{mode}.{}\" name=\"{name}\" time=\"0\"", row.kind);
    match outcome.verdict.as_str() {
        "bit-exact" => format!("{head}/>\n"),
        "not-compared" => {
            let reason = escape(outcome.reason.as_deref().unwrap_or("not compared"));
            format!("{head}><skipped message=\"{reason}\"/></testcase>\n")
        }
        verdict => {
            let message = format!(
                "{verdict}: {} of {} elements ({})",
                outcome.differing,
                outcome.elements,
                percent(outcome.share())
            );
            let detail = outcome.first.as_ref().map_or(String::new(), |p| {
                format!(
                    "first at x {} y {} channel {}: subject {} ({}), reference {} ({})",
                    p.x, p.y, p.channel, p.subject_bits, p.subject, p.reference_bits, p.reference
                )
            });
            let (message, detail) = (escape(&message), escape(&detail));
            format!("{head}><failure type=\"{verdict}\" message=\"{message}\">{detail}</failure></testcase>\n")
        }
    }
}

/// Text inside XML or HTML, attribute or content; characters that XML 1.0 forbids become a question mark.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\t' | '\n' | '\r' | ' '.. => out.push(c),
            _ => out.push('?'),
        }
    }
    out
}
