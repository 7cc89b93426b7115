//! SARIF 2.1.0: a result per divergent kernel, for the tools that collect findings of many kinds.
//!
//! A tensor that differs in isolation is an error; a boundary that only inherits a difference is a note, and a
//! kernel that only inherits is left out. Where no engine stepped kernels, the first divergent boundary is the error.
//! Locations point at the tensor's row in `report.json`, which lies beside.

use super::{Cause, Outcome, Report, Row, percent};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The rule of a difference without a confirmed cause.
const DIVERGENCE: &str = "divergence";

pub(super) fn export(report: &Report) -> String {
    let mut rules = vec![json!({
        "id": DIVERGENCE, "name": "Divergence",
        "shortDescription": { "text": "A kernel's bytes differ from the reference's" },
        "fullDescription": { "text": "The tensor was compared byte by byte with the reference's, and differs." },
        "defaultConfiguration": { "level": "error" },
    })];
    let mut known: Vec<&str> = vec![DIVERGENCE];
    for cause in report.causes.iter().filter(|cause| cause.explained > 0.0) {
        if !known.contains(&cause.id.as_str()) {
            known.push(&cause.id);
            rules.push(rule(cause));
        }
    }
    let lines = lines(report);
    let results: Vec<Value> = report.divergent().filter_map(|row| result(row, report, &known, &lines)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "blockscope", "version": env!("CARGO_PKG_VERSION"), "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "invocations": [{ "executionSuccessful": true, "commandLine": report.command }],
            "artifacts": [{ "location": { "uri": "report.json" }, "mimeType": "application/json" }],
            "results": results,
            "properties": { "subject": report.subject, "reference": report.reference, "conclusion": report.conclusion },
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).expect("plain data");
    text.push('\n');
    text
}

fn rule(cause: &Cause) -> Value {
    let advice = if cause.advice.is_empty() { &cause.name } else { &cause.advice };
    json!({
        "id": cause.id, "shortDescription": { "text": cause.name }, "help": { "text": advice },
        "defaultConfiguration": { "level": "error" },
    })
}

/// The line of every row's name in the JSON form.
fn lines(report: &Report) -> BTreeMap<String, usize> {
    let text = super::json::export(report);
    let rows = text.lines().enumerate().skip_while(|(_, line)| *line != "  \"rows\": [");
    let rows = rows.take_while(|(_, line)| *line != "  ],");
    let name = |line: &str| Some(line.strip_prefix("      \"name\": \"")?.strip_suffix("\",")?.to_owned());
    rows.filter_map(|(number, line)| Some((name(line)?, number + 1))).collect()
}

fn result(row: &Row, report: &Report, known: &[&str], lines: &BTreeMap<String, usize>) -> Option<Value> {
    let isolated = row.isolated.as_ref().is_some_and(Outcome::is_difference);
    let is_first = report.first_kernel.as_ref().or(report.first_boundary.as_ref()) == Some(&row.name);
    if !isolated && !is_first && row.kind != "boundary" {
        return None;
    }
    let outcome = row.isolated.as_ref().filter(|o| o.is_difference()).or(row.accumulated.as_ref())?;
    // A confirmed cause is the rule of every tensor that it was tested on.
    let cause = report.causes.iter().find(|cause| cause.exact && cause.site == row.name);
    let rule = cause.map_or(DIVERGENCE, |cause| cause.id.as_str());
    let mode = if isolated { "on the reference's inputs" } else { "accumulated" };
    let why = cause.map(|cause| format!("; cause: {}", cause.name)).unwrap_or_default();
    let text = match outcome.elements {
        0 => format!("{}: the digests differ, {mode}", row.name),
        n => format!(
            "{}: {} of {n} elements differ ({}), {mode}{why}",
            row.name,
            outcome.differing,
            percent(outcome.share())
        ),
    };
    let level = if isolated || is_first { "error" } else { "note" };
    let first = outcome.first.as_ref().map(|p| {
        json!({ "x": p.x, "y": p.y, "channel": p.channel, "subject": p.subject_bits, "reference": p.reference_bits })
    });
    Some(json!({
        "ruleId": rule,
        "ruleIndex": known.iter().position(|id| *id == rule).unwrap_or(0),
        "kind": "fail",
        "level": level,
        "message": { "text": text },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": "report.json", "index": 0 },
                "region": { "startLine": lines.get(&row.name).copied().unwrap_or(1) },
            },
            "logicalLocations": [{ "name": row.name, "fullyQualifiedName": row.name, "kind": "function" }],
        }],
        "partialFingerprints": { "tensor/v1": row.name },
        "properties": { "block": row.block, "op": row.op, "first": first },
    }))
}
