//! `blockscope replay`: a repro bundle again, alone.

use super::{Exit, Failure, interrupt, output, sources};
use crate::engine::EngineSpec;
use crate::model::{self, Model};
use crate::report::bundle::Bundle;
use crate::report::bundle::replay::{self, Agreement, Replay};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The bundle's folder.
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// Also run the kernels on this engine, with causes switched on or without. Can be repeated.
    #[arg(long, value_name = "E")]
    engine: Vec<EngineSpec>,
    /// The model, for a bundle whose weights were left out.
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let bundle = Bundle::open(&arguments.bundle).map_err(Failure::ask)?;
    let model = weights(arguments, &bundle)?;
    let control = interrupt::job();
    let mut all = vec![replay::by_reference(&bundle, &model, &control)?];
    for spec in &arguments.engine {
        let (mut engine, plan) = sources::open_engine(spec, &bundle.plan)?;
        let name = spec.to_string();
        all.push(replay::by_engine(&bundle, (&name, &mut *engine), (&plan, &model), &control)?);
    }
    if arguments.json {
        output::json(&json!({
            "version": 1, "subject": bundle.subject, "reference": bundle.reference,
            "kernels": bundle.kernels().iter().map(|step| step.name().as_str()).collect::<Vec<_>>(),
            "tokens": bundle.rows.len(), "model": bundle.model_source, "replays": all.iter().map(value).collect::<Vec<_>>(),
        }));
    } else {
        let kernels: Vec<&str> = bundle.kernels().iter().map(|step| step.name().as_str()).collect();
        output::line(format_args!(
            "{}: {}, {} tokens, subject {}, reference {}",
            arguments.bundle.display(),
            kernels.join(", "),
            bundle.rows.len(),
            bundle.subject,
            bundle.reference
        ));
        all.iter().flat_map(text).for_each(output::line);
    }
    Ok(if all.iter().all(|replay| replay.expected.reproduced()) { Exit::Exact } else { Exit::Differs })
}

/// The bundle's own parameters, or those of the model that it was made from.
fn weights(arguments: &Arguments, bundle: &Bundle) -> Result<Arc<Model>, Failure> {
    match (&bundle.model, &arguments.model) {
        (Some(own), None) => Ok(Arc::clone(own)),
        (_, Some(spec)) => {
            let model = model::open(spec).map_err(Failure::ask)?;
            let found = model.digest().to_string();
            if found != bundle.model_digest {
                return Err(Failure::ask(format_args!(
                    "the bundle was made with the model {} of digest {}; {spec} has {found}",
                    bundle.model_source, bundle.model_digest
                )));
            }
            Ok(Arc::new(model))
        }
        (None, None) => {
            let reads = bundle.kernels().iter().any(|step| !step.op.parameters().is_empty());
            if reads {
                return Err(Failure::ask(format_args!(
                    "the bundle's weights were left out; name the model {} (digest {}) with --model",
                    bundle.model_source, bundle.model_digest
                )));
            }
            // Kernels without parameters run with any model.
            model::open("synthetic").map(Arc::new).map_err(Failure::ask)
        }
    }
}

fn value(replay: &Replay) -> serde_json::Value {
    let agreement = |a: &Agreement| {
        json!({
            "reproduced": a.reproduced(), "elements": a.elements, "differing": a.differing, "first": a.first,
        })
    };
    json!({ "engine": replay.engine, "expected": agreement(&replay.expected), "got": agreement(&replay.got) })
}

fn text(replay: &Replay) -> Vec<String> {
    let line = |what: &str, agreement: &Agreement| {
        let Agreement { elements, differing, first } = agreement;
        let Some(p) = first else {
            return format!("{:24} {what:8} reproduced, {elements} elements", replay.engine);
        };
        format!(
            "{:24} {what:8} NOT reproduced: {differing} of {elements} elements differ, first {} x {} y {} channel {}: made {} ({}), the \
             bundle has {} ({})",
            replay.engine, p.tensor, p.x, p.y, p.channel, p.subject_bits, p.subject, p.reference_bits, p.reference
        )
    };
    vec![line("expected", &replay.expected), line("got", &replay.got)]
}
