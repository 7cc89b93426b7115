//! A line per tensor and mode, for spreadsheets.

use super::Report;
use std::fmt::Write as _;

pub(super) fn export(report: &Report) -> String {
    let mut text = "tensor,kind,block,op,shape,mode,verdict,elements,differing,differing_bytes,share,first_token,\
                    first_channel,subject_bits,reference_bits,reason\n"
        .to_owned();
    for row in &report.rows {
        for (mode, outcome) in [("accumulated", &row.accumulated), ("isolated", &row.isolated)] {
            let Some(outcome) = outcome else { continue };
            let first = outcome.first.as_ref();
            let at = |f: fn(&super::Probe) -> String| first.map(f).unwrap_or_default();
            let fields = [
                row.name.clone(),
                row.kind.clone(),
                row.block.to_string(),
                row.op.clone(),
                row.shape.clone(),
                mode.to_owned(),
                outcome.verdict.clone(),
                outcome.elements.to_string(),
                outcome.differing.to_string(),
                outcome.differing_bytes.to_string(),
                outcome.share().to_string(),
                at(|p| p.token.to_string()),
                at(|p| p.channel.to_string()),
                at(|p| p.subject_bits.clone()),
                at(|p| p.reference_bits.clone()),
                outcome.reason.clone().unwrap_or_default(),
            ];
            writeln!(text, "{}", fields.map(|field| quote(&field)).join(",")).expect("text grows");
        }
    }
    text
}

/// A field as RFC 4180 wants it.
fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
