//! What `--events` of `blockscope run` writes, and how `blockscope explain` tells the events of its value.

use super::{Failure, output};
use crate::engine::events::{self, Events, Kind, Place};
use crate::engine::{Control, Engine, EngineError, reference, runner};
use crate::model::Model;
use crate::plan::{Plan, Step};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Collects the events of every step of a run.
pub(super) struct Recorder<'a> {
    target: &'a str,
    /// Places written of each kind and step.
    places: usize,
    steps: Vec<Value>,
    totals: BTreeMap<Kind, u64>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(target: &'a str, places: usize) -> Self {
        Self { target, places: places.min(events::PLACES), steps: Vec::new(), totals: BTreeMap::new() }
    }

    /// Takes the events of the step that the engine has just run.
    pub(super) fn step(
        &mut self,
        engine: &mut dyn Engine,
        step: &Step,
        (plan, model): (&Plan, &Model),
    ) -> Result<(), EngineError> {
        let tensors = runner::read_around(engine, step)?;
        let sources = reference::Sources { plan, model, tensors: &tensors };
        let found = events::of_step(step, sources, None, &Control::new())?;
        found.counts.iter().for_each(|(kind, count)| *self.totals.entry(*kind).or_default() += count);
        self.steps.push(self.value(step, &found));
        Ok(())
    }

    fn value(&self, step: &Step, events: &Events) -> Value {
        let mut kept: BTreeMap<Kind, usize> = BTreeMap::new();
        let mut wanted = |place: &&Place| {
            let kept = kept.entry(place.kind).or_default();
            *kept += 1;
            *kept <= self.places
        };
        let width = events.size.width;
        let places: Vec<Value> = events.places.iter().filter(|place| wanted(place)).map(|p| of(p, width)).collect();
        json!({
            "step": step.index, "block": step.block, "kernel": step.kernel, "tensor": events.tensor.as_str(),
            "elements": events.elements, "counts": counts(&events.counts), "notReproduced": events.unlike,
            "places": places,
        })
    }

    /// Writes the file.
    pub(super) fn finish(self, plan: &Plan) -> Result<(), Failure> {
        let size = plan.geometry.valid.to_string();
        let value = json!({ "schema": 1, "size": size, "totals": counts(&self.totals), "steps": self.steps });
        output::text_to(self.target, &format!("{value:#}"))
    }
}

fn counts(counts: &BTreeMap<Kind, u64>) -> Map<String, Value> {
    counts.iter().map(|(kind, count)| (kind.word().to_owned(), Value::from(*count))).collect()
}

/// One place, with its kind.
fn of(place: &Place, width: usize) -> Value {
    json!({
        "kind": place.kind.word(), "token": place.token, "x": place.token % width, "y": place.token / width,
        "channel": place.channel, "head": place.head, "half": format!("{:#06x}", place.half),
        "code": place.code.map(|code| format!("{code:#04x}")),
    })
}

/// The events of one element of a step's output, as JSON and as lines.
pub(super) fn of_value(
    step: &Step,
    sources: reference::Sources<'_>,
    (token, channel): (usize, usize),
) -> Result<(Vec<Value>, Vec<String>), EngineError> {
    let found = events::of_step(step, sources, Some(&[token]), &Control::new())?;
    let at: Vec<&Place> = found.at(token, channel).collect();
    let line = |place: &&Place| {
        let code = place.code.map(|code| format!(", published as {code:#04x}")).unwrap_or_default();
        format!("event: {} (half {:#06x}{code})", place.kind.title(), place.half)
    };
    Ok((at.iter().map(|place| of(place, found.size.width)).collect(), at.iter().map(line).collect()))
}
