//! What an engine of this process holds: a plan, a model, and tensors by name in host memory.
//!
//! Shared by `reference` and `cpu`, which differ in how they compute and in nothing else. Boundaries and the input
//! live long and go through a [`Keeper`]; tensors inside a block die with it and stay on the heap.

use super::reference::Sources;
use super::{EngineError, check_shape};
use crate::model::Model;
use crate::plan::{Plan, Role, Step};
use crate::tensor::{Bytes, Keeper, Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tensors of one plan and one model.
#[derive(Debug)]
pub(super) struct Held {
    loaded: Option<(Arc<Plan>, Arc<Model>)>,
    tensors: BTreeMap<TensorName, Tensor>,
    pub(super) keeper: Arc<Keeper>,
}

impl Default for Held {
    fn default() -> Self {
        Self { loaded: None, tensors: BTreeMap::new(), keeper: Arc::new(Keeper::unlimited()) }
    }
}

impl Held {
    /// Takes a plan and a model and forgets every tensor; whether the model is another one than before.
    pub(super) fn load(&mut self, plan: &Arc<Plan>, model: &Arc<Model>) -> bool {
        let same = self.loaded.as_ref().is_some_and(|(_, before)| Arc::ptr_eq(before, model));
        self.loaded = Some((Arc::clone(plan), Arc::clone(model)));
        self.tensors.clear();
        !same
    }

    /// Everything that a kernel may read.
    pub(super) fn sources(&self) -> Sources<'_> {
        let (plan, model) = self.loaded.as_ref().expect("load comes before run");
        Sources { plan, model, tensors: &self.tensors }
    }

    /// Holds a tensor of the loaded plan.
    pub(super) fn write(&mut self, tensor: Tensor) -> Result<(), EngineError> {
        let mut role = Role::Intermediate;
        if let Some((plan, _)) = &self.loaded {
            check_shape(plan, &tensor)?;
            role = plan.tensors.get(&tensor.name).map_or(role, |info| info.role);
        }
        let tensor = if role == Role::Intermediate { tensor } else { self.keeper.keep(tensor)? };
        self.tensors.insert(tensor.name.clone(), tensor);
        Ok(())
    }

    /// Holds the outputs of a step, in the order of its op's outputs, and lets its inputs rest.
    pub(super) fn publish(&mut self, step: &Step, outputs: Vec<Bytes>) -> Result<(), EngineError> {
        let names = step.op.outputs().into_iter().cloned();
        for (name, bytes) in names.zip(outputs) {
            let shape = self.sources().plan.shape(&name);
            self.write(Tensor::new(name, shape, bytes).expect("kernels fill their shape"))?;
        }
        step.op.inputs().into_iter().filter_map(|name| self.tensors.get(name)).for_each(Tensor::rest);
        Ok(())
    }

    /// A held tensor.
    pub(super) fn read(&self, engine: &str, name: &TensorName) -> Result<Tensor, EngineError> {
        let missing = || EngineError::NotHeld { engine: engine.to_owned(), tensor: name.clone() };
        self.tensors.get(name).cloned().ok_or_else(missing)
    }

    /// Forgets a tensor.
    pub(super) fn release(&mut self, name: &TensorName) {
        self.tensors.remove(name);
    }
}
