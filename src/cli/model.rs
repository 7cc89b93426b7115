//! `blockscope model`: make, check and describe model directories.

use super::{Exit, Failure, output};
use crate::model::{directory, synthetic};
use clap::Subcommand;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum Arguments {
    /// Write the synthetic model of a seed as a directory.
    Synth {
        /// The directory; it must not exist, or be empty.
        directory: PathBuf,
        /// The generator's seed.
        #[arg(long, default_value_t = 1)]
        seed: u32,
    },
    /// Read a whole directory, verify every hash, and list everything that is wrong or odd.
    Check {
        /// The directory.
        directory: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say what a directory's manifest says.
    Info {
        /// The directory.
        directory: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match arguments {
        Arguments::Synth { directory, seed } => {
            let model = synthetic::model(*seed);
            directory::write(directory, &model, Some(*seed)).map_err(Failure::ask)?;
            output::line(format_args!("wrote synthetic:{seed} (digest {}) to {}", model.digest(), directory.display()));
            Ok(Exit::Exact)
        }
        Arguments::Check { directory, json } => check(directory, *json),
        Arguments::Info { directory, json } => info(directory, *json),
    }
}

fn check(path: &std::path::Path, json: bool) -> Result<Exit, Failure> {
    let check = directory::check(path, &|_, _| {});
    let exit = if check.problems.is_empty() { Exit::Exact } else { Exit::Unasked };
    if json {
        let findings: Vec<String> = check.findings.iter().map(ToString::to_string).collect();
        output::json(&json!({
            "path": path.display().to_string(), "usable": check.problems.is_empty(),
            "problems": check.problems.iter().collect::<Vec<_>>(), "findings": findings,
        }));
        return Ok(exit);
    }
    if !check.problems.is_empty() {
        return Err(Failure::ask(format_args!(
            "the model cannot be used: {}\n  path {}",
            check.problems,
            path.display()
        )));
    }
    check.findings.iter().for_each(output::line);
    output::line(format_args!("{} is a whole model; {} odd parameters", path.display(), check.findings.len()));
    Ok(exit)
}

fn info(path: &std::path::Path, json: bool) -> Result<Exit, Failure> {
    let info = directory::info(path).map_err(Failure::ask)?;
    if json {
        let stages: Vec<_> = info
            .stages
            .iter()
            .map(|s| json!({ "id": s.id, "file": s.file, "bytes": s.bytes, "sha256": s.sha256 }))
            .collect();
        let (format, records, bytes) = (&info.format, info.records.len(), info.bytes());
        output::json(&json!({ "format": format, "records": records, "bytes": bytes, "stages": stages }));
        return Ok(Exit::Exact);
    }
    output::line(format_args!("format   {}", info.format.as_deref().unwrap_or("not named")));
    output::line(format_args!(
        "records  {} in {:.1} MiB",
        info.records.len(),
        info.bytes() as f64 / f64::from(1 << 20)
    ));
    for stage in &info.stages {
        let (id, file, bytes) = (&stage.id, &stage.file, stage.bytes);
        output::line(format_args!("stage    {id}  {file}  {bytes} bytes  sha256 {}", stage.sha256));
    }
    Ok(Exit::Exact)
}
