//! `blockscope doctor`: whether this machine's engines can be trusted.

use super::{Exit, Failure, interrupt, output};
use crate::diagnosis::trust::{self, Check, Depth, Outcome};
use clap::Args;
use serde_json::json;

#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Arguments {
    /// Only the first blocks, and remembered self-tests of devices: a few seconds.
    #[arg(long)]
    quick: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit, Failure> {
    let depth = if arguments.quick { Depth::Quick } else { Depth::Whole };
    let quiet = arguments.json;
    let mut begin = |what: &str| {
        if !quiet {
            output::complain(&format!("... {what}"));
        }
    };
    let mut done = |check: &Check| {
        if !quiet {
            text(check).iter().for_each(output::line);
        }
    };
    let checks = trust::examine(depth, &interrupt::job(), &mut begin, &mut done)?;
    let fine = trust::is_fine(&checks);
    let failed = checks.iter().filter(|check| check.outcome == Outcome::Failed).count();
    if quiet {
        output::json(&json!({ "version": 1, "fine": fine, "quick": arguments.quick, "checks": checks }));
    } else {
        let skipped = checks.iter().filter(|check| check.outcome == Outcome::Skipped).count();
        output::line(match failed {
            0 => format!("fine: nothing failed, {skipped} of {} checks skipped", checks.len()),
            _ => format!("{failed} of {} checks failed", checks.len()),
        });
    }
    Ok(if fine { Exit::Exact } else { Exit::Differs })
}

fn text(check: &Check) -> Vec<String> {
    let word = match check.outcome {
        Outcome::Failed => Outcome::Failed.word().to_uppercase(),
        outcome => outcome.word().to_owned(),
    };
    let time = if check.seconds < 0.05 { String::new() } else { format!("  ({:.1} s)", check.seconds) };
    let first = format!("{word:8} {:26} {:18} {}{time}", check.subject, check.what, check.text);
    let remedy = check.remedy.as_ref().map(|remedy| format!("         what to do: {remedy}"));
    std::iter::once(first).chain(remedy).collect()
}
