//! `blockscope plan`: the network as data.

use super::{Exit, Failure, output, sources};
use crate::geometry::Size;
use crate::plan::{Detail, Plan};
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Valid size.
    #[arg(long, value_name = "WxH", default_value = "64x64")]
    size: Size,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let plan = Plan::new(sources::geometry(arguments.size)?, Detail::Needed);
    if arguments.json {
        output::json(&plan.json());
        return Ok(Exit::Exact);
    }
    let levels: Vec<String> = plan.geometry.levels.iter().map(ToString::to_string).collect();
    output::line(format_args!(
        "size {} px, field {} px, levels {} tokens",
        plan.geometry.valid,
        plan.geometry.field,
        levels.join(", ")
    ));
    plan.lines().iter().for_each(output::line);
    output::line(format_args!(
        "{} steps, {} boundaries, {:.1} G products",
        plan.steps.len(),
        plan.boundaries.len(),
        plan.products() as f64 / 1e9
    ));
    Ok(Exit::Exact)
}
