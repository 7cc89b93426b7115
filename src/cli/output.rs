//! Standard output and files: the only place that writes them.

use super::Failure;
use crate::model;
use serde_json::Value;
use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;

/// Prints one line of results. A reader that went away is nobody's fault.
pub(super) fn line(text: impl Display) {
    drop(writeln!(std::io::stdout().lock(), "{text}"));
}

/// Prints one line for people on standard error.
pub(super) fn complain(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}

/// Prints JSON, and nothing else, on standard output.
pub(super) fn json(value: &Value) {
    line(format_args!("{value:#}"));
}

/// Writes text to a file, or to standard output for `-`.
pub(super) fn text_to(target: &str, text: &str) -> Result<(), Failure> {
    if target == "-" {
        line(text.trim_end());
        return Ok(());
    }
    save(Path::new(target), text.as_bytes())
}

/// Writes a file whole or not at all.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    check_place(path)?;
    model::write_file(path, bytes).map_err(|error| cannot(&error, path))
}

/// Fails early when a file cannot be written later: before a long run, not behind it.
pub(super) fn check_writable(path: &Path) -> Result<(), Failure> {
    check_place(path)?;
    // The draft's own name, which the error would show, is nobody's concern.
    model::draft_file(path).map(drop).map_err(|error| cannot(&error.kind().into(), path))
}

fn check_place(path: &Path) -> Result<(), Failure> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(Failure::ask(format_args!("expected a file to write, found a directory; path {}", path.display())));
    }
    if !parent.is_dir() {
        return Err(Failure::ask(format_args!("cannot write: there is no such folder; path {}", path.display())));
    }
    Ok(())
}

fn cannot(error: &std::io::Error, path: &Path) -> Failure {
    Failure::ask(format_args!("cannot write: {error}; path {}", path.display()))
}
