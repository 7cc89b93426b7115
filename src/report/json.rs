//! The report for programs: its serde form, indented.

use super::Report;

pub(super) fn export(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report is plain data");
    text.push('\n');
    text
}
