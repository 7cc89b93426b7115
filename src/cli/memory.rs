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
    #[arg(long, value_name = "BYTES", value_parser = memory::bytes)]
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
