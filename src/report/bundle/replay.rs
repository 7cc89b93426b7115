//! Checks a bundle alone: its kernels again, on its own inputs, by the reference's scalar rows or by an engine.

use super::{Bundle, rows};
use crate::compare::Difference;
use crate::engine::reference::{self, Sources};
use crate::engine::{Control, Engine, EngineError};
use crate::model::Model;
use crate::plan::{Plan, Step};
use crate::report::Probe;
use crate::tensor::{Bytes, Tensor, TensorName};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How well something recomputed agrees with one of the two results.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// Elements compared.
    pub elements: u64,
    /// Elements that differ.
    pub differing: u64,
    /// The first one: `subject` is what was recomputed, `reference` what the bundle holds.
    pub first: Option<Probe>,
}

impl Agreement {
    /// Whether every byte is reproduced.
    pub fn reproduced(&self) -> bool {
        self.differing == 0
    }
}

/// What one engine made of a bundle.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// The engine, as a command line spells it.
    pub engine: String,
    /// Against what was expected.
    pub expected: Agreement,
    /// Against what the subject gave.
    pub got: Agreement,
}

/// The reference's scalar rows on the tokens of the bundle.
///
/// # Errors
/// When the control cancels.
pub fn by_reference(bundle: &Bundle, model: &Model, control: &Control) -> Result<Replay, EngineError> {
    let plan = &bundle.plan;
    let needed = rows::needed(plan, &bundle.kernels(), &bundle.rows);
    // Clones share their bytes.
    let mut tensors: BTreeMap<TensorName, Tensor> = bundle.inputs.clone();
    for step in bundle.kernels() {
        let own: std::collections::BTreeSet<usize> =
            step.op.outputs().iter().filter_map(|&name| needed.get(name)).flatten().copied().collect();
        let own: Vec<usize> = own.into_iter().collect();
        let sources = Sources { plan, model, tensors: &tensors };
        for (name, bytes) in reference::run_rows(step, sources, &own, control)? {
            tensors.insert(name.clone(), spread(plan, name, &own, &bytes));
        }
    }
    Ok(judge(bundle, "reference", &tensors))
}

/// An engine on the whole tensors, of which only the bundle's tokens are looked at. `plan` is the engine's own: that
/// of the network, or one with causes switched on.
///
/// # Errors
/// Those of the engine.
pub fn by_engine(
    bundle: &Bundle,
    (name, engine): (&str, &mut dyn Engine),
    (plan, model): (&Arc<Plan>, &Arc<Model>),
    control: &Control,
) -> Result<Replay, EngineError> {
    engine.load(plan, model)?;
    bundle.inputs.values().try_for_each(|tensor| engine.write(tensor.clone()))?;
    let steps: Vec<&Step> = bundle.kernels().iter().map(|step| &plan.steps[step.index]).collect();
    for step in steps {
        engine.run(step, control)?;
    }
    let outputs: Result<BTreeMap<_, _>, EngineError> =
        bundle.expected.iter().map(|tensor| Ok((tensor.name.clone(), engine.read(&tensor.name)?))).collect();
    Ok(judge(bundle, name, &outputs?))
}

/// A tensor of which only some tokens are known; the others are zero and never read.
fn spread(plan: &Plan, name: TensorName, rows: &[usize], bytes: &[u8]) -> Tensor {
    let shape = plan.shape(&name);
    let stride = shape.channels * shape.element.bytes();
    let bytes = Bytes::build(shape.bytes(), |out| {
        for (bytes, &row) in bytes.chunks_exact(stride).zip(rows) {
            out[row * stride..][..stride].copy_from_slice(bytes);
        }
    });
    Tensor::new(name, shape, bytes).expect("built to its shape")
}

fn judge(bundle: &Bundle, engine: &str, made: &BTreeMap<TensorName, Tensor>) -> Replay {
    let against = |known: &[Tensor]| {
        let mut agreement = Agreement { elements: 0, differing: 0, first: None };
        for known in known {
            let Some(made) = made.get(&known.name) else { continue };
            let (channels, width) = (known.shape.channels, known.shape.element.bytes());
            for &row in &bundle.rows {
                agreement.elements += channels as u64;
                let pairs = made.row(row).chunks(width).zip(known.row(row).chunks(width)).enumerate();
                for (channel, _) in pairs.filter(|(_, (a, b))| a != b) {
                    agreement.differing += 1;
                    let probe = || {
                        let at = Difference::at(made, known, row * channels + channel);
                        Probe::new(known.name.as_str(), &at)
                    };
                    agreement.first.get_or_insert_with(probe);
                }
            }
        }
        agreement
    };
    Replay { engine: engine.to_owned(), expected: against(&bundle.expected), got: against(&bundle.got) }
}
