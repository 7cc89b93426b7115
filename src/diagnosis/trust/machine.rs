//! The machine under the engines: versions, processor, memory, disk, display.

use super::{Check, Outcome};
use crate::engine::cpu::Level;
use crate::engine::measure::proc_bytes;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Less free memory than this does not hold a model and a run at 64x64 with its boundaries.
const MEMORY: u64 = 512 << 20;
/// Less free disk than this does not hold a few captures at 64x64.
const DISK: u64 = 256 << 20;

pub(super) fn checks() -> Vec<Check> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let levels: Vec<&str> = Level::available().map(Level::name).collect();
    let mut all = vec![
        check("blockscope", "version", Outcome::Note, concat!("version ", env!("CARGO_PKG_VERSION")).to_owned(), ""),
        check(
            "processor",
            "version",
            Outcome::Note,
            format!(
                "{} {}, {threads} threads, SIMD levels {}",
                std::env::consts::OS,
                std::env::consts::ARCH,
                levels.join(", ")
            ),
            "",
        ),
        room(
            "memory",
            proc_bytes("/proc/meminfo", "MemAvailable"),
            MEMORY,
            "close something, or run with --memory so that boundaries go to disk",
        ),
    ];
    let folders =
        [("disk for captures (here)", PathBuf::from(".")), ("disk for spilled tensors", tempfile::env::temp_dir())];
    for (name, folder) in folders {
        all.push(room(name, disk(&folder), DISK, "free some space, or choose another folder with --spill or --out"));
    }
    all.push(display());
    all
}

fn check(subject: &str, what: &'static str, outcome: Outcome, text: String, remedy: &str) -> Check {
    let remedy = (outcome == Outcome::Failed).then(|| remedy.to_owned());
    Check { subject: subject.to_owned(), what, outcome, text, remedy, seconds: 0.0 }
}

fn room(subject: &str, free: Option<u64>, wanted: u64, remedy: &str) -> Check {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    match free {
        None => check(subject, "free", Outcome::Skipped, "this system does not say how much is free".to_owned(), ""),
        Some(free) if free < wanted => {
            let text = format!("{:.2} GiB free, {:.2} GiB wanted", gib(free), gib(wanted));
            check(subject, "free", Outcome::Failed, text, remedy)
        }
        Some(free) => check(subject, "free", Outcome::Fine, format!("{:.1} GiB free", gib(free)), ""),
    }
}

/// Free space of the file system that a folder lies on, as `df` says: the standard library cannot ask.
fn disk(folder: &Path) -> Option<u64> {
    if !cfg!(unix) {
        return None;
    }
    let output = Command::new("df").arg("-Pk").arg(folder).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().nth(1)?.split_whitespace().nth(3)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn display() -> Check {
    let there = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let built = cfg!(feature = "app");
    let (outcome, text) = match (built, cfg!(target_os = "linux"), there("WAYLAND_DISPLAY"), there("DISPLAY")) {
        (false, ..) => (Outcome::Skipped, "this build has no window (feature \"app\")".to_owned()),
        (_, false, ..) => (Outcome::Note, "the system's own".to_owned()),
        (_, _, true, _) => (Outcome::Note, "Wayland".to_owned()),
        (_, _, _, true) => (Outcome::Note, "X11".to_owned()),
        _ => (
            Outcome::Skipped,
            "neither DISPLAY nor WAYLAND_DISPLAY is set: the window cannot open, the rest works".to_owned(),
        ),
    };
    check("display", "window", outcome, text, "")
}
