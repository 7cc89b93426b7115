//! Known causes of divergence, and the search that tests them.
//!
//! When a subject diverges, the reference is run again with one known cause switched on. A cause that reproduces the
//! subject's bytes explains them; how many of the differing bytes it reproduces, and how many it newly breaks, is
//! the whole evidence. No score, no guess.
//!
//! * [`catalogue`]: the causes, one file each in `causes/`, with their testable variants.
//! * [`Profile`]: causes switched on for chosen blocks; turns a plan into the plan of that subject (what-if).
//! * [`explain`]: one divergent segment of the network against all causes.
//! * [`trust`]: whether this machine's engines can be a reference at all.
//! * [`search`]: two whole runs, from the first divergence to the end of the network.
//! * [`mod@what_if`]: what a subject's causes do to every boundary and the image, beside the noise floor.
//!
//! **Invariants**
//! * A cause is a change of a plan (rules, sources, phases), never a copy of a kernel.
//! * "None of the known causes" is an answer, and comes with the pattern of the differences.

mod causes;
pub mod explain;
mod moves;
mod pattern;
mod profile;
pub mod search;
mod site;
pub mod trust;
pub mod what_if;

pub use explain::{Explained, Explanation, Tested};
pub use pattern::{Pattern, Share};
pub use profile::{Profile, ProfileError, Selection};
pub use search::{Diagnosis, Doubt, Finding, Question, Run};
pub use what_if::{Effect, WhatIf, noise_floor, what_if};

use crate::plan::Plan;

/// One known cause: a page of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// The page's id, and the stem of its file.
    pub page: &'static str,
    /// The case of the field that it stands for.
    pub case: &'static str,
    /// The deviation, not the remedy.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// How it looks.
    pub looks: &'static str,
    /// Why it happens.
    pub why: &'static str,
    /// How to confirm it.
    pub confirm: &'static str,
    /// What to change in the port.
    pub change: &'static str,
    /// What can be tested.
    pub variants: &'static [Variant],
}

/// One testable form of a cause.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its id: what a command line switches on.
    pub id: &'static str,
    /// The deviation in a few words.
    pub name: &'static str,
    /// How it is tested.
    pub test: Test,
}

/// How a variant is tested.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    /// By re-running the reference with one step changed; `false` where the variant has no place.
    Step(fn(&mut Plan, usize) -> bool),
    /// By evidence from runs and tensors, without a changed step.
    Evidence(Evidence),
}

/// Evidence that is no changed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Two runs on the same input differ.
    Unstable,
    /// The head differs with and without dumps.
    Observer,
    /// The tensor is another boundary's.
    OtherTensor,
    /// Exact in isolation, different when accumulated.
    Inherited,
    /// Only steps of one shape differ.
    OneShape,
}

/// All causes.
pub fn catalogue() -> &'static [Cause] {
    causes::ALL
}

/// All variants with their causes.
pub fn variants() -> impl Iterator<Item = (&'static Cause, &'static Variant)> {
    causes::ALL.iter().flat_map(|cause| cause.variants.iter().map(move |variant| (cause, variant)))
}

/// The variant of an id.
pub fn find(id: &str) -> Option<(&'static Cause, &'static Variant)> {
    variants().find(|(_, variant)| variant.id == id)
}

impl Variant {
    /// Switches the variant on at a step; `false` where it has no place or is no change of a step.
    pub fn apply(&self, plan: &mut Plan, step: usize) -> bool {
        match self.test {
            Test::Step(change) => change(plan, step),
            Test::Evidence(_) => false,
        }
    }

    /// Kernels where the variant has a place, with the blocks of each: `qkv 0-38, 40-70`.
    pub fn sites(&self, plan: &Plan) -> Vec<(&'static str, String)> {
        let mut sites: std::collections::BTreeMap<&'static str, Vec<usize>> = std::collections::BTreeMap::new();
        let mut changed = plan.clone();
        for i in 0..plan.steps.len() {
            if self.apply(&mut changed, i) {
                let blocks = sites.entry(plan.steps[i].kernel).or_default();
                if blocks.last() != Some(&plan.steps[i].block) {
                    blocks.push(plan.steps[i].block);
                }
            }
        }
        sites.into_iter().map(|(kernel, blocks)| (kernel, profile::ranges(&blocks))).collect()
    }
}
