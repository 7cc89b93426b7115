//! The window's memory budget: what does not fit lies in temporary files, as for the commands.

use crate::engine::memory::{self, Habit};
use crate::model::Model;
use crate::plan::Plan;
use crate::session::Sources;
use crate::tensor::Keeper;
use std::path::PathBuf;
use std::sync::Arc;

/// What the window itself takes for a token of the field: pictures of both sides, their difference, marks, and the
/// numbers that they are made of.
const PICTURES: u64 = 48;

/// What both sides keep their tensors with.
pub(crate) fn keeper(sources: &Sources, plan: &Plan, model: &Model, engines: u64) -> Result<Arc<Keeper>, String> {
    let Some(budget) = sources.memory else { return Ok(Arc::new(Keeper::unlimited())) };
    let pictures = plan.geometry.field.tokens() as u64 * PICTURES;
    let least = pictures + memory::least(plan, &(0..plan.steps.len()), model.bytes(), Habit::Steps { engines });
    let kept = budget.checked_sub(least).ok_or_else(|| {
        let (size, mib) = (plan.geometry.valid, least.div_ceil(1 << 20));
        let found = memory::words(budget);
        format!("the window needs at least {mib}MiB at {size}, whatever lies on disk; the memory budget is {found}")
    })?;
    let folder = sources.spill.as_ref().map_or_else(tempfile::env::temp_dir, PathBuf::from);
    Keeper::check(&folder).map_err(|error| {
        format!(
            "temporary files cannot be written: {error}; choose another folder to spill to; path {}",
            folder.display()
        )
    })?;
    Ok(Arc::new(Keeper::new(kept, folder)))
}
