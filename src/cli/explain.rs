//! `blockscope explain`: how one value came to be.

use super::sources::{self, Look, Opened};
use super::{Exit, Failure, events, interrupt, output};
use crate::engine::runner::{self, Keep};
use crate::engine::trace::{self, Trace};
use crate::engine::{Engine, EngineError, reference};
use crate::model::Model;
use crate::plan::{Detail, Plan, Step};
use crate::tensor::{Shape, Tensor, TensorName};
use clap::Args;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The tensor, boundary or intermediate: block-12, block-12/qkv, head.
    #[arg(long, value_name = "NAME")]
    tensor: String,
    /// The token, as an index or as X:Y, and the channel.
    #[arg(long, value_name = "TOKEN,CHANNEL")]
    at: String,
    #[command(flatten)]
    look: Look,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let Opened { loaded, mut engine, plan } = arguments.look.open(Detail::Raw)?;
    let name = sources::tensor(&plan, &arguments.tensor)?;
    let Some(step) = plan.tensor(&name).step else {
        return Err(Failure::ask(format_args!("\"{name}\" is the input: nothing computed it")));
    };
    let at = place(&arguments.at, plan.shape(&name))?;
    let features = loaded.input.features.clone();
    let found = around(&mut *engine, &plan, &loaded.model, features, step)?;
    let sources = reference::Sources { plan: &plan, model: &loaded.model, tensors: &found };
    let trace = trace::trace(&plan.steps[step], sources, &found[&name], at)?;
    let events = events::of_value(&plan.steps[step], sources, at)?;
    tell(&trace, events, arguments.look.json)?;
    Ok(if trace.reproduces { Exit::Exact } else { Exit::Differs })
}

fn tell(trace: &Trace, (events, lines): (Vec<Value>, Vec<String>), json: bool) -> Result<(), Failure> {
    if json {
        let mut value: Value = serde_json::to_value(trace).map_err(|e| Failure::Fault(e.to_string()))?;
        value["events"] = Value::Array(events);
        output::json(&value);
    } else {
        trace::text::lines(trace).iter().chain(&lines).for_each(output::line);
    }
    Ok(())
}

/// Runs the network until a step; its inputs and outputs.
pub(super) fn around(
    engine: &mut dyn Engine,
    plan: &Arc<Plan>,
    model: &Arc<Model>,
    features: Tensor,
    step: usize,
) -> Result<BTreeMap<TensorName, Tensor>, EngineError> {
    let mut found = BTreeMap::new();
    let mut watch = |engine: &mut dyn Engine, done: &Step, _| {
        if done.index == step {
            found = runner::read_around(engine, done)?;
        }
        Ok(())
    };
    runner::run_from_features(
        engine,
        (plan, model),
        features,
        Some(step),
        &Keep::Nothing,
        &interrupt::job(),
        &mut watch,
    )?;
    Ok(found)
}

/// `TOKEN,CHANNEL` with the token as an index or as `X:Y`.
fn place(text: &str, shape: Shape) -> Result<(usize, usize), Failure> {
    let wrong = || {
        let (size, last) = (shape.size, shape.channels - 1);
        Failure::ask(format_args!(
            "--at expects TOKEN,CHANNEL with a token of 0 to {} (or X:Y inside {size}) and a channel of 0 to {last}; \
             found \"{text}\"",
            shape.tokens() - 1
        ))
    };
    let (token, channel) = text.split_once(',').ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let token = match token.split_once(':') {
        None => number(token),
        Some((x, y)) => number(x)
            .zip(number(y))
            .filter(|&(x, _)| x < shape.size.width)
            .and_then(|(x, y)| y.checked_mul(shape.size.width)?.checked_add(x)),
    };
    let inside = |(t, c): &(usize, usize)| *t < shape.tokens() && *c < shape.channels;
    token.zip(number(channel)).filter(inside).ok_or_else(wrong)
}
