//! `--memory` and `--spill`: how much memory a command may take, and where what does not fit goes.

use super::Failure;
use crate::engine::memory::{self, Habit};
use crate::model::Model;
use crate::plan::Plan;
use crate::tensor::Keeper;
use clap::Args;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct Memory {
    /// Memory the program may take, such as 4GiB or 800MiB; boundaries beyond it lie in temporary files.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    memory: Option<u64>,
    /// The folder of these files; the system's temporary one without. It should be on a disk.
    #[arg(long, value_name = "DIR", requires = "memory")]
    spill: Option<PathBuf>,
}

impl Memory {
    /// What engines keep their boundaries with while they run a range of a plan.
    pub(super) fn keeper(
        &self,
        plan: &Plan,
        range: &Range<usize>,
        model: &Model,
        habit: Habit,
    ) -> Result<Arc<Keeper>, Failure> {
        let Some(budget) = self.memory else { return Ok(Arc::new(Keeper::unlimited())) };
        let least = memory::least(plan, range, model.bytes(), habit);
        let Some(kept) = budget.checked_sub(least) else {
            let (size, mib) = (plan.geometry.valid, least.div_ceil(1 << 20));
            return Err(Failure::ask(format_args!(
                "--memory: this needs at least {mib}MiB at {size}, whatever lies on disk; found {budget} bytes"
            )));
        };
        let folder = self.spill.clone().unwrap_or_else(tempfile::env::temp_dir);
        Keeper::check(&folder).map_err(|error| {
            let path = folder.display();
            Failure::ask(format_args!("--spill: temporary files cannot be written: {error}; path {path}"))
        })?;
        Ok(Arc::new(Keeper::new(kept, folder)))
    }
}

/// A number of bytes with an optional K, M or G, KiB, MiB or GiB (powers of 1024).
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.trim_end_matches(['b', 'B']).trim_end_matches('i') {
        t if t.ends_with(['k', 'K']) => (&t[..t.len() - 1], 10),
        t if t.ends_with(['m', 'M']) => (&t[..t.len() - 1], 20),
        t if t.ends_with(['g', 'G']) => (&t[..t.len() - 1], 30),
        t => (t, 0),
    };
    let number: Option<u64> = digits.trim().parse().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("expected bytes such as 4GiB, 512M or 1000000, found \"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_units_of_1024() {
        for (text, expected) in
            [("7", 7), ("2k", 2048), ("512M", 512 << 20), ("4G", 4 << 30), ("4GiB", 4 << 30), ("800MiB", 800 << 20)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        assert!(bytes("much").unwrap_err().contains("much"), "words are refused");
        assert!(bytes("-1").is_err() && bytes("1.5G").is_err() && bytes("").is_err(), "no such number");
        assert!(bytes("99999999999G").is_err(), "too much");
    }
}
