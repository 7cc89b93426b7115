//! Every cause switched on is found as itself; nothing fires on an exact run; mixtures of two are taken apart.
//!
//! The network runs on a field of 48x40 pixels: all 71 blocks, all kernels, all four phases, windows and ViT padding
//! that leave the field, at a small cost.

mod command;
mod crafted;
mod doubts;
mod draws;
mod ends;
mod recordings;

use blockscope::diagnosis::explain::{Explained, Explanation, Segment, explain};
use blockscope::diagnosis::search::{Question, Run, diagnose};
use blockscope::diagnosis::{Diagnosis, Doubt, Profile, Test, Variant, find, variants};
use blockscope::engine::{Control, Engine, EngineSpec, open, reference, runner};
use blockscope::frame;
use blockscope::geometry::{Geometry, Size};
use blockscope::model::{Model, synthetic};
use blockscope::plan::{Detail, Plan, Step};
use blockscope::tensor::{Bytes, Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// A step, the plan that changes it, and what both sides give there.
type Effect = (usize, Plan, Vec<(Tensor, Tensor)>);

struct Network {
    plan: Arc<Plan>,
    model: Arc<Model>,
    tensors: BTreeMap<TensorName, Tensor>,
}

/// The exact network with every tensor kept.
static NETWORK: LazyLock<Network> = LazyLock::new(|| {
    let levels = [(24, 20), (12, 12), (8, 8), (4, 4), (4, 4), (4, 4)].map(|(w, h)| Size::new(w, h));
    Network::new(Geometry { valid: Size::new(40, 36), field: Size::new(48, 40), levels })
});

impl Network {
    /// The exact network on a synthetic frame.
    fn new(geometry: Geometry) -> Self {
        let plan = Arc::new(Plan::new(geometry, Detail::Raw));
        let model = Arc::new(synthetic::model(1));
        let mut engine = open(&EngineSpec::cpu()).unwrap();
        let features = frame::synthetic::features(&geometry, 1);
        let mut tensors = BTreeMap::from([(features.name.clone(), features.clone())]);
        let (network, control) = ((&plan, &model), Control::new());
        let (all, watch) = (&runner::Keep::All, &mut |_: &mut dyn Engine, _: &Step, _| Ok(()));
        let run = runner::run_from_features(engine.as_mut(), network, features, None, all, &control, watch);
        tensors.extend(run.unwrap().tensors);
        Self { plan, model, tensors }
    }

    fn features(&self) -> Tensor {
        self.tensors[&TensorName::from("features")].clone()
    }

    /// Diagnoses a side up to a step, the exact engine being `exact`.
    fn ask(&self, side: Run<'_>, features: Option<Tensor>, until: &str, exact: &mut dyn Engine) -> Diagnosis {
        let (plan, model) = (Arc::clone(&self.plan), Arc::clone(&self.model));
        let question = Question { plan, model, features, side, until: self.plan.find_step(until), limit: 8 };
        diagnose(question, exact, &Control::new(), &|_| {}).unwrap()
    }

    /// The boundaries of a whole run of a subject, up to a step.
    fn record(&self, spec: &str, until: &str) -> BTreeMap<TensorName, Tensor> {
        let spec: EngineSpec = spec.parse().unwrap();
        let changed = Arc::new(Profile::new(&spec.changes).unwrap().apply(&self.plan).unwrap());
        let mut engine = open(&spec).unwrap();
        let (network, last) = ((&changed, &self.model), self.plan.find_step(until));
        let (keep, control) = (&runner::Keep::Boundaries, Control::new());
        let watch = &mut |_: &mut dyn Engine, _: &Step, _| Ok(());
        let run = runner::run_from_features(engine.as_mut(), network, self.features(), last, keep, &control, watch);
        run.unwrap().tensors
    }

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
        let between = &BTreeMap::new();
        let segment = Segment { plan, model, steps: step..step + 1, known, between, observed };
        explain(&segment, &[], &Control::new(), &|_, _| {}).unwrap()
    }

    /// The cheapest steps where a variant has a place and an effect, and what a subject with it gives there.
    fn effective(&self, variant: &Variant) -> Option<Effect> {
        let mut places: Vec<usize> =
            (0..self.plan.steps.len()).filter(|&i| variant.apply(&mut Plan::clone(&self.plan), i)).collect();
        places.sort_by_key(|&i| self.plan.steps[i].op.products(&self.plan));
        places.into_iter().take(PLACES).find_map(|i| {
            let mut changed = Plan::clone(&self.plan);
            variant.apply(&mut changed, i);
            let observed = self.observe(&changed, i);
            observed.iter().any(|(s, r)| s.bytes() != r.bytes()).then_some((i, changed, observed))
        })
    }
}

/// What was doubted, by its word.
fn doubt<'a>(answer: &'a Diagnosis, what: &str) -> &'a Doubt {
    answer.doubts.iter().find(|doubt| doubt.what == what).unwrap_or_else(|| panic!("{what}: {:?}", answer.doubts))
}

/// Variants that change a step.
fn step_variants() -> impl Iterator<Item = &'static Variant> {
    variants().map(|(_, v)| v).filter(|v| matches!(v.test, Test::Step(_)))
}

/// Places of a variant that are looked at for an effect.
const PLACES: usize = 24;
/// Without effect anywhere: the shift of 4 is its own opposite.
const NEVER: &[&str] = &["shift-negated"];

#[test]
fn every_cause_switched_on_is_found_as_itself() {
    let network = &*NETWORK;
    let (mut problems, mut silent, mut crafted, mut ties) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for variant in step_variants() {
        let (step, found) = if let Some((step, _, observed)) = network.effective(variant) {
            (step, network.explain(step, observed))
        } else if let Some((effect, tensors)) = crafted::effective(network, variant) {
            crafted.push(format!("{} at {}", variant.id, network.plan.steps[effect.0].name()));
            (effect.0, crafted::explained(network, effect, &tensors))
        } else {
            silent.push(variant.id);
            continue;
        };
        let name = network.plan.steps[step].name();
        let exact: Vec<&str> = found.tested.iter().filter(|t| t.exact()).flat_map(|t| t.causes.clone()).collect();
        if found.explained != Explained::Exactly || !exact.contains(&variant.id) {
            problems.push(format!("{} at {name}: {:?}", variant.id, found.tested.first()));
        } else if exact[0] != variant.id {
            // Another cause gives the very same bytes here: both are named.
            ties.push(format!("{} at {name}: {exact:?}", variant.id));
        }
    }
    println!("on crafted inputs: {crafted:#?}\nwithout effect: {silent:?}\nequal bytes: {ties:#?}");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(silent, NEVER, "without effect");
    assert!(ties.len() <= 16, "{ties:?}");
}

#[test]
fn mixtures_of_two_are_taken_apart() {
    let network = &*NETWORK;
    let draws = [
        ("block-2/normalized", "squares-in-order", "scale-missing"),
        ("block-6/normalized", "root-rounded", "scales-merged"),
        ("block-10/normalized", "fold-norm", "publish-toward-zero"),
        ("block-3/attended", "mask-outside", "softmax-in-order"),
        ("block-6/attended", "true-exp", "prior-missing"),
        ("block-11/attended", "outside-wrapped", "softmax-f32-sum"),
        ("block-5/ffn", "silu-true", "accumulate-f32"),
        ("block-9/ffn_quantized", "residual-at-end", "publish-ties-away"),
        ("transition-0-1", "pool-corner", "publish-toward-zero"),
        ("block-39", "upsample-bilinear", "skip-one-early"),
    ];
    let mut missed = Vec::new();
    for (name, a, b) in draws {
        let step = network.plan.find_step(name).unwrap();
        let mut changed = Plan::clone(&network.plan);
        for id in [a, b] {
            assert!(find(id).unwrap().1.apply(&mut changed, step), "{id} has a place at {name}");
        }
        let found = network.explain(step, network.observe(&changed, step));
        let named = found.tested.iter().filter(|t| t.exact()).any(|t| t.causes.contains(&a) && t.causes.contains(&b));
        if !named {
            missed.push(format!("{name}: {a} + {b}: {:?}", found.tested.first()));
        }
    }
    println!("missed: {missed:#?}");
    assert!(missed.len() <= 1, "{missed:#?}");
}

#[test]
fn nothing_fires_on_an_exact_run_and_a_profile_is_found_where_it_was_switched_on() {
    let network = &*NETWORK;
    let ask = |spec: &str| {
        let side = Run::engine(&spec.parse().unwrap(), &network.plan).unwrap();
        let mut exact = open(&EngineSpec::cpu()).unwrap();
        network.ask(side, Some(network.features()), "block-6", exact.as_mut())
    };
    let clean = ask("cpu");
    assert!(clean.findings.is_empty() && clean.exact > 30, "{clean:?}");
    assert!(clean.doubts.iter().all(|doubt| doubt.holds != Some(false)), "{:?}", clean.doubts);
    let changed = ask("cpu+mask-outside@3-4+squares-in-order@5");
    let causes: Vec<_> = changed.findings.iter().map(|f| (f.tensor.as_str(), f.tested[0].causes.clone())).collect();
    assert_eq!(
        causes,
        [("block-3/attended", vec!["mask-outside"]), ("block-5/normalized", vec!["squares-in-order"])],
        "findings"
    );
    assert_eq!(changed.findings[0].also, ["block-4/attended"], "gathered under the first");
}
