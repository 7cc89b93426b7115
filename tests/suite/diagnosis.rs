//! Every cause switched on is found as itself; nothing fires on an exact run; mixtures of two are taken apart.
//!
//! The network runs on a field of 48x40 pixels: all 71 blocks, all kernels, all four phases, windows and ViT padding
//! that leave the field, at a small cost.

use blockscope::diagnosis::explain::{Explained, Explanation, Segment, explain};
use blockscope::diagnosis::search::{Question, Run, diagnose};
use blockscope::diagnosis::{Test, Variant, variants};
use blockscope::engine::{Control, EngineSpec, open, reference, runner};
use blockscope::frame;
use blockscope::geometry::{Geometry, Size};
use blockscope::model::{Model, synthetic};
use blockscope::plan::{Detail, Plan};
use blockscope::tensor::{Bytes, Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

struct Network {
    plan: Arc<Plan>,
    model: Arc<Model>,
    tensors: BTreeMap<TensorName, Tensor>,
}

/// The exact network with every tensor kept.
static NETWORK: LazyLock<Network> = LazyLock::new(|| {
    let levels = [(24, 20), (12, 12), (8, 8), (4, 4), (4, 4), (4, 4)].map(|(w, h)| Size::new(w, h));
    let geometry = Geometry { valid: Size::new(40, 36), field: Size::new(48, 40), levels };
    let plan = Arc::new(Plan::new(geometry, Detail::Raw));
    let model = Arc::new(synthetic::model(1));
    let mut engine = open(&EngineSpec::cpu()).unwrap();
    let features = frame::synthetic::features(&geometry, 1);
    let mut tensors = BTreeMap::from([(features.name.clone(), features.clone())]);
    let (network, control) = ((&plan, &model), Control::new());
    let all = &runner::Keep::All;
    let run = runner::run_from_features(engine.as_mut(), network, features, None, all, &control, &mut |_, _, _| Ok(()));
    tensors.extend(run.unwrap().tensors);
    Network { plan, model, tensors }
});

impl Network {
    /// The outputs of a step under a changed plan, beside the exact ones.
    fn observe(&self, changed: &Plan, step: usize) -> Vec<(Tensor, Tensor)> {
        let sources = reference::Sources { plan: changed, model: &self.model, tensors: &self.tensors };
        let rows: Vec<usize> = (0..self.plan.shape(self.plan.steps[step].name()).tokens()).collect();
        let outputs = reference::run_rows(&changed.steps[step], sources, &rows, &Control::new()).unwrap();
        let known = outputs.into_iter().filter(|(name, _)| self.plan.steps[step].op.outputs().contains(&name));
        known
            .map(|(name, bytes)| {
                let exact = self.tensors[&name].clone();
                (Tensor::new(name, exact.shape, Bytes::copy(&bytes)).unwrap(), exact)
            })
            .collect()
    }

    fn explain(&self, step: usize, observed: Vec<(Tensor, Tensor)>) -> Explanation {
        let (plan, model, known) = (&self.plan, &self.model, &self.tensors);
        let segment = Segment { plan, model, steps: step..step + 1, known, observed };
        explain(&segment, &[], &Control::new(), &|_, _| {}).unwrap()
    }

    /// Steps where a variant has a place and an effect, up to `n`, spread over the network.
    fn effective(&self, variant: &Variant, n: usize) -> Vec<(usize, Vec<(Tensor, Tensor)>)> {
        let places = (0..self.plan.steps.len()).filter(|&i| variant.apply(&mut Plan::clone(&self.plan), i));
        let places: Vec<usize> = places.collect();
        let order = places.iter().enumerate().map(|(k, &i)| (k.reverse_bits(), i));
        let mut found: Vec<(usize, usize)> = order.collect();
        found.sort_unstable();
        let effective = found.into_iter().filter_map(|(_, i)| {
            let mut changed = Plan::clone(&self.plan);
            variant.apply(&mut changed, i);
            let observed = self.observe(&changed, i);
            observed.iter().any(|(s, r)| s.bytes() != r.bytes()).then_some((i, observed))
        });
        effective.take(n).collect()
    }
}

#[test]
fn every_cause_switched_on_is_found_as_itself() {
    let network = &*NETWORK;
    let mut problems = Vec::new();
    let mut silent = Vec::new();
    for (_, variant) in variants().filter(|(_, v)| matches!(v.test, Test::Step(_))) {
        let places = network.effective(variant, 1);
        if places.is_empty() {
            silent.push(variant.id);
        }
        for (step, observed) in places {
            let start = std::time::Instant::now();
            let found = network.explain(step, observed);
            let name = network.plan.steps[step].name();
            let best: Vec<String> = found
                .tested
                .iter()
                .take(3)
                .map(|t| format!("{} {}/{} new {}", t.causes.join("+"), t.explained, t.differing, t.newly_wrong))
                .collect();
            let first = found.tested.first();
            let itself = first.is_some_and(|t| t.exact() && t.causes == [variant.id]);
            println!("{:28} {name:28} {:?} {:?} {best:?}", variant.id, itself, start.elapsed());
            if !itself || found.explained != Explained::Exactly {
                problems.push(format!("{} at {name}: {best:?}", variant.id));
            }
        }
    }
    println!("silent: {silent:?}");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
