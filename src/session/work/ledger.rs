//! One side's results: states of steps, and the tensors kept.

use super::lock;
use crate::plan::{Plan, Role};
use crate::session::{Picture, SideState};
use crate::tensor::{Keeper, SpillError, Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of kernel tensors kept on a side; boundaries are always kept.
const BUDGET: usize = 1 << 30;

/// One side's results; kept when another pair is chosen.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// The side's own plan: a what-if changes rules or sources, never names and shapes.
    pub(crate) plan: Arc<Plan>,
    /// Whether it is a recording: nothing can be run on it.
    pub(crate) recording: bool,
    /// Whether tensors still come from outside.
    pub(crate) watched: bool,
    store: Mutex<Store>,
}

/// What a [`Ledger`] guards.
#[derive(Debug, Default)]
pub(crate) struct Store {
    /// One per step.
    pub(crate) states: Vec<SideState>,
    /// Tensors kept.
    pub(crate) tensors: BTreeMap<TensorName, Tensor>,
    /// Steps below this have run.
    pub(crate) done: usize,
    /// The first look at the step in hand, with the number of steps that have then run.
    pub(crate) preview: Option<(Arc<Picture>, usize)>,
    /// What came last into a watched folder.
    pub(crate) latest: Option<TensorName>,
    /// Why the side cannot go on.
    pub(crate) failed: Option<String>,
}

impl Ledger {
    /// An engine's side, with the features.
    pub(crate) fn engine(plan: Arc<Plan>, features: Tensor) -> Self {
        let states = vec![SideState::Waiting; plan.steps.len()];
        let tensors = BTreeMap::from([(features.name.clone(), features)]);
        let store = Store { states, tensors, ..Store::default() };
        Self { plan, recording: false, watched: false, store: Mutex::new(store) }
    }

    /// A recording's side: a step is done when the recording holds one of its tensors.
    pub(crate) fn recording(plan: Arc<Plan>, tensors: BTreeMap<TensorName, Tensor>) -> Self {
        let held = |step: &crate::plan::Step| step.op.outputs().into_iter().any(|name| tensors.contains_key(name));
        let done = SideState::Done { duration: std::time::Duration::ZERO };
        let states = plan.steps.iter().map(|s| if held(s) { done.clone() } else { SideState::Absent }).collect();
        let store = Store { states, tensors, done: plan.steps.len(), ..Store::default() };
        Self { plan, recording: true, watched: false, store: Mutex::new(store) }
    }

    /// A recording that has only begun.
    pub(crate) fn watched(plan: Arc<Plan>, features: Tensor) -> Self {
        let tensors = BTreeMap::from([(features.name.clone(), features)]);
        Self { watched: true, ..Self::recording(plan, tensors) }
    }

    /// Puts everything that is kept within a budget.
    pub(crate) fn keep_within(&self, keeper: &Keeper) -> Result<(), SpillError> {
        let tensors: Vec<Tensor> = self.store().tensors.values().cloned().collect();
        for tensor in tensors {
            let kept = keeper.keep(tensor)?;
            self.store().tensors.insert(kept.name.clone(), kept);
        }
        Ok(())
    }

    /// The store, for a moment.
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }

    /// A kept tensor.
    pub(crate) fn tensor(&self, name: &TensorName) -> Option<Tensor> {
        self.store().tensors.get(name).cloned()
    }

    /// Takes a step's outputs; drops kernel tensors of the oldest steps when there are too many. `keep` is the
    /// step that is looked at.
    pub(crate) fn publish(&self, outputs: Vec<Tensor>, keep: usize) {
        let mut store = self.store();
        for tensor in outputs {
            store.tensors.insert(tensor.name.clone(), tensor);
        }
        let kernel = |name: &TensorName| self.plan.tensors.get(name).filter(|i| i.role == Role::Intermediate);
        let mut inside: Vec<(usize, usize, TensorName)> = store
            .tensors
            .values()
            .filter_map(|t| Some((kernel(&t.name)?.step?, t.bytes().len(), t.name.clone())))
            .collect();
        let mut held: usize = inside.iter().map(|(_, bytes, _)| bytes).sum();
        inside.sort();
        let last_block = self.plan.steps[store.done.min(self.plan.steps.len() - 1)].block;
        for (step, bytes, name) in inside {
            if held <= BUDGET {
                break;
            }
            // The block in hand still reads its tensors.
            if self.plan.steps[step].block + 1 < last_block && step != keep {
                store.tensors.remove(&name);
                held -= bytes;
            }
        }
    }
}
