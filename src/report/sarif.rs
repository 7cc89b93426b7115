//! SARIF 2.1.0: a result per divergent kernel (or boundary, where kernels were not stepped), for the tools that
//! collect findings of many kinds.

use super::{Report, Row, percent};
use serde_json::{Value, json};

pub(super) fn export(report: &Report) -> String {
    let results: Vec<Value> = report.divergent().map(|row| result(row, report)).collect();
    let rules: Vec<Value> = report
        .causes
        .iter()
        .filter(|cause| cause.explained > 0.0)
        .map(|cause| {
            json!({ "id": cause.id, "shortDescription": { "text": cause.name }, "help": { "text": cause.advice } })
        })
        .chain(std::iter::once(
            json!({ "id": "divergence", "shortDescription": { "text": "A tensor's bytes differ from the reference's" } }),
        ))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "blockscope", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "results": results,
            "properties": { "subject": report.subject, "reference": report.reference, "conclusion": report.conclusion },
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).expect("plain data");
    text.push('\n');
    text
}

fn result(row: &Row, report: &Report) -> Value {
    let outcome = row.isolated.as_ref().filter(|o| o.is_difference()).or(row.accumulated.as_ref());
    let first = outcome.and_then(|o| o.first.as_ref());
    let isolated = row.isolated.as_ref().is_some_and(super::Outcome::is_difference);
    let is_first = report.first_kernel.as_deref().or(report.first_boundary.as_deref()) == Some(row.name.as_str());
    let confirmed = report.causes.iter().find(|cause| cause.exact).filter(|_| is_first);
    let text = outcome.map_or_else(
        || format!("{} differs", row.name),
        |o| {
            let mode = if isolated { "on the reference's inputs" } else { "accumulated" };
            format!("{}: {} of {} elements differ ({}), {mode}", row.name, o.differing, o.elements, percent(o.share()))
        },
    );
    json!({
        "ruleId": confirmed.map_or("divergence", |cause| cause.id.as_str()),
        "level": if isolated || is_first { "error" } else { "warning" },
        "message": { "text": text },
        "locations": [{
            "logicalLocations": [{ "name": row.name, "fullyQualifiedName": row.name, "kind": "function" }],
        }],
        "properties": {
            "block": row.block, "op": row.op,
            "first": first.map(|p| json!({
                "x": p.x, "y": p.y, "channel": p.channel, "subject": p.subject_bits, "reference": p.reference_bits,
            })),
        },
    })
}
