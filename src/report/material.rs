//! The first divergence taken out of its run: what a kernel read, what should have come out, and what did.
//!
//! A comparison keeps only verdicts. Where it found something, the way there is run once more with the tensors around
//! the divergent kernel kept: a fraction of the comparison's own time, and no memory for what nobody asks about.
//!
//! **Invariants**
//! * Inputs and expectation come from the reference's side, or from the recording itself; nothing is made up.
//! * Where only boundaries are known, the material is the chain of kernels between two of them.

use crate::compare::parity::{Parity, Question, Recorded, Side, segment};
use crate::engine::runner::{self, Keep};
use crate::engine::{Control, Engine, EngineError};
use crate::plan::{Op, Plan, Step, names};
use crate::tensor::{Tensor, TensorName};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A divergent kernel, or the kernels between two known boundaries.
#[derive(Clone, Debug)]
pub struct Material {
    /// The plan of the exact network.
    pub plan: Arc<Plan>,
    /// The plan that the subject ran, if it was an engine of this program.
    pub own: Option<Arc<Plan>>,
    /// The steps, in order.
    pub steps: Vec<usize>,
    /// Everything that they read from outside.
    pub inputs: BTreeMap<TensorName, Tensor>,
    /// What the subject gave, and what was expected: every output of the last step.
    pub observed: Vec<(Tensor, Tensor)>,
}

impl Material {
    /// The last step: the one that writes what was observed.
    pub fn last(&self) -> &Step {
        &self.plan.steps[*self.steps.last().expect("a divergence has a step")]
    }

    /// The first observed pair that differs.
    pub fn differing(&self) -> Option<&(Tensor, Tensor)> {
        let differs = |(s, r): &&(Tensor, Tensor)| s.shape == r.shape && s.bytes() != r.bytes();
        self.observed.iter().find(differs)
    }

    /// Every tensor that the steps read or write under the exact plan, computed by an engine.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn inside(
        &self,
        engine: &mut dyn Engine,
        model: &Arc<crate::model::Model>,
        control: &Control,
    ) -> Result<BTreeMap<TensorName, Tensor>, EngineError> {
        let mut all = self.inputs.clone();
        engine.load(&self.plan, model)?;
        self.inputs.values().try_for_each(|tensor| engine.write(tensor.clone()))?;
        for &step in &self.steps {
            let step = &self.plan.steps[step];
            engine.run(step, control)?;
            for name in step.op.outputs() {
                all.insert(name.clone(), engine.read(name)?);
            }
        }
        Ok(all)
    }

    /// The step among these that is an attention of windows.
    pub fn window_attention(&self) -> Option<&Step> {
        self.steps.iter().map(|&i| &self.plan.steps[i]).find(|step| matches!(step.op, Op::WindowAttention(_)))
    }
}

/// Takes out the first divergence of an answer; `Err` inside says why there is nothing to take out.
///
/// # Errors
/// Those of the engines.
pub fn collect(
    subject: &mut Side,
    reference: &mut Side,
    question: &Question<'_>,
    answer: &Parity,
) -> Result<Result<Material, String>, EngineError> {
    let Some(row) = answer.first_kernel() else {
        return Ok(Err("no kernel differs on the reference's inputs".to_owned()));
    };
    let step = row.step;
    match (subject, reference) {
        (Side::Live(s, own), Side::Live(r, plan)) => live((&mut **s, own), (&mut **r, plan), question, step).map(Ok),
        (Side::Live(engine, plan), Side::Recorded(record)) => {
            recorded((&mut **engine, plan), &**record, true, question, &row.name)
        }
        (Side::Recorded(record), Side::Live(engine, plan)) => {
            recorded((&mut **engine, plan), &**record, false, question, &row.name)
        }
        (Side::Recorded(_), Side::Recorded(_)) => {
            Ok(Err("both sides are recordings, and no engine ran a kernel alone".to_owned()))
        }
    }
}

/// The reference runs to the step; both sides then have its inputs.
fn live(
    (subject, own): (&mut dyn Engine, &Arc<Plan>),
    (reference, plan): (&mut dyn Engine, &Arc<Plan>),
    question: &Question<'_>,
    step: usize,
) -> Result<Material, EngineError> {
    let (model, control) = (question.model, question.control);
    let reads = own.steps[step].op.inputs().into_iter().chain(plan.steps[step].op.inputs());
    let wanted: BTreeSet<TensorName> = reads.cloned().collect();
    let writes = plan.steps[step].op.outputs().into_iter().cloned();
    let keep = Keep::Named(wanted.iter().cloned().chain(writes).collect());
    let features = question.features.clone();
    reference.load(plan, model)?;
    features.iter().try_for_each(|features| reference.write(features.clone()))?;
    let run = runner::run(reference, plan, 0..step + 1, &keep, control, &mut |_, _, _| Ok(()))?;
    let mut inputs: BTreeMap<TensorName, Tensor> =
        run.tensors.iter().filter(|(name, _)| wanted.contains(*name)).map(|(n, t)| (n.clone(), t.clone())).collect();
    inputs.extend(features.filter(|features| wanted.contains(&features.name)).map(|f| (f.name.clone(), f)));
    subject.load(own, model)?;
    inputs.values().try_for_each(|tensor| subject.write(tensor.clone()))?;
    subject.run(&own.steps[step], control)?;
    let mut observed = Vec::new();
    for name in plan.steps[step].op.outputs() {
        observed.push((subject.read(name)?, run.tensors[name].clone()));
    }
    Ok(Material { plan: Arc::clone(question.plan), own: Some(Arc::clone(own)), steps: vec![step], inputs, observed })
}

/// An engine runs the kernels between the nearest recorded tensors and the divergent one.
fn recorded(
    (engine, plan): (&mut dyn Engine, &Arc<Plan>),
    record: &dyn Recorded,
    engine_is_subject: bool,
    question: &Question<'_>,
    name: &TensorName,
) -> Result<Result<Material, String>, EngineError> {
    let features = names::features();
    let (steps, given) = segment(plan, &|name| record.has(name) || *name == features, name);
    let mut inputs = BTreeMap::new();
    for input in given {
        let tensor = match &question.features {
            Some(tensor) if input == features => Ok(tensor.clone()),
            _ => record.tensor(&input),
        };
        match tensor {
            Ok(tensor) => inputs.insert(input, tensor),
            Err(reason) => return Ok(Err(format!("{input}: {reason}"))),
        };
    }
    engine.load(plan, question.model)?;
    inputs.values().try_for_each(|tensor: &Tensor| engine.write(tensor.clone()))?;
    for &step in &steps {
        engine.run(&plan.steps[step], question.control)?;
    }
    let computed = engine.read(name)?;
    let known = match record.tensor(name) {
        Ok(known) => known,
        Err(reason) => return Ok(Err(format!("{name}: {reason}"))),
    };
    let pair = if engine_is_subject { (computed, known) } else { (known, computed) };
    let own = engine_is_subject.then(|| Arc::clone(plan));
    let steps = steps.into_iter().collect();
    Ok(Ok(Material { plan: Arc::clone(question.plan), own, steps, inputs, observed: vec![pair] }))
}
