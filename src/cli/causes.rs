//! `blockscope causes`: the catalogue of known causes, as a list or page by page.

use super::{Exit, Failure, output};
use crate::diagnosis::{self, Cause, Test, Variant};
use crate::geometry::{Geometry, Size};
use crate::plan::{Detail, Plan};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    page: Option<Page>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Page {
    /// Print the page of a cause: what it is, how it looks, why it happens, how to confirm it, what to change.
    Show {
        /// Its id, or a page's.
        id: String,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let geometry = Geometry::new(Size::new(64, 64)).map_err(Failure::ask)?;
    let plan = Plan::new(geometry, Detail::Raw);
    let shown: Vec<(&Cause, &Variant)> = match &arguments.page {
        None => diagnosis::variants().map(|(c, v)| (c as &Cause, v as &Variant)).collect(),
        Some(Page::Show { id }) => diagnosis::variants()
            .filter(|(c, v)| v.id == id || c.page == id)
            .map(|(c, v)| (c as &Cause, v as &Variant))
            .collect(),
    };
    if shown.is_empty() {
        return Err(Failure::ask("no cause has this id; `blockscope causes` lists them"));
    }
    match (arguments.json, &arguments.page) {
        (true, _) => output::json(&Value::Array(shown.iter().map(|(c, v)| facts(c, v, &plan)).collect())),
        (false, Some(_)) => output::line(page(&shown, &plan).trim_end()),
        (false, None) => shown.iter().for_each(|(c, v)| {
            let kernels: Vec<&str> = v.sites(&plan).into_iter().map(|(kernel, _)| kernel).collect();
            output::line(format_args!("{:26} {:4} {} ({})", v.id, c.case, v.name, sites_text(v, &kernels)));
        }),
    }
    Ok(Exit::Exact)
}

fn sites_text(variant: &Variant, kernels: &[&str]) -> String {
    match variant.test {
        Test::Step(_) => kernels.join(", "),
        Test::Evidence(_) => "whole runs".to_owned(),
    }
}

fn facts(cause: &Cause, variant: &Variant, plan: &Plan) -> Value {
    let sites: Vec<Value> =
        variant.sites(plan).into_iter().map(|(kernel, blocks)| json!({ "kernel": kernel, "blocks": blocks })).collect();
    json!({
        "id": variant.id, "name": variant.name, "page": cause.page, "case": cause.case, "cause": cause.name,
        "what": cause.what, "looks": cause.looks, "why": cause.why, "confirm": cause.confirm, "change": cause.change,
        "test": match variant.test { Test::Step(_) => "step", Test::Evidence(_) => "evidence" }, "sites": sites,
    })
}

fn page(shown: &[(&Cause, &Variant)], plan: &Plan) -> String {
    let cause = shown[0].0;
    let mut text = format!("{} ({}, case {})\n\n", cause.name, cause.page, cause.case);
    for (heading, body) in [
        ("What it is", cause.what),
        ("How it looks", cause.looks),
        ("Why it happens", cause.why),
        ("How to confirm", cause.confirm),
        ("What to change", cause.change),
    ] {
        text += &format!("{heading}: {body}\n");
    }
    for (_, variant) in shown {
        text += &format!("\n{}: {}\n", variant.id, variant.name);
        for (kernel, blocks) in variant.sites(plan) {
            text += &format!("  {kernel:14} blocks {blocks}\n");
        }
    }
    text
}
