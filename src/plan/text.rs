//! The plan as text and as JSON: one line a step.

use super::{Op, Plan, Step};
use crate::tensor::TensorName;
use serde_json::{Value, json};

impl Plan {
    /// One line per step: index, block, kernel, op, shapes, phase, inputs -> outputs, products.
    pub fn lines(&self) -> Vec<String> {
        self.steps.iter().map(|step| self.line(step)).collect()
    }

    fn line(&self, step: &Step) -> String {
        let tensors = |names: Vec<&TensorName>| {
            let each: Vec<String> = names.into_iter().map(|n| format!("{n} {}", self.shape(n))).collect();
            each.join(", ")
        };
        let phase = match &step.op {
            Op::WindowAttention(op) => format!(" phase {}", op.phase.0),
            _ => String::new(),
        };
        let products = step.op.products(self) as f64 / 1e9;
        format!(
            "{:3}  block {:2}  {:14} {:16}{phase}  {} -> {}  {products:.3} G products",
            step.index,
            step.block,
            step.kernel,
            step.op.word(),
            tensors(step.op.inputs()),
            tensors(step.op.outputs()),
        )
    }

    /// The same facts for programs.
    pub fn json(&self) -> Value {
        let tensor = |name: &TensorName| {
            let shape = self.shape(name);
            json!({
                "name": name.as_str(), "element": shape.element.name(), "width": shape.size.width,
                "height": shape.size.height, "channels": shape.channels,
            })
        };
        let steps: Vec<Value> = self
            .steps
            .iter()
            .map(|step| {
                json!({
                    "index": step.index, "name": step.name().as_str(), "block": step.block, "kernel": step.kernel,
                    "op": step.op.word(),
                    "phase": match &step.op { Op::WindowAttention(op) => json!(op.phase.0), _ => Value::Null },
                    "inputs": step.op.inputs().into_iter().map(tensor).collect::<Vec<_>>(),
                    "outputs": step.op.outputs().into_iter().map(tensor).collect::<Vec<_>>(),
                    "products": step.op.products(self),
                })
            })
            .collect();
        let sizes: Vec<String> = self.geometry.levels.iter().map(ToString::to_string).collect();
        json!({
            "size": self.geometry.valid.to_string(), "field": self.geometry.field.to_string(), "levels": sizes,
            "products": self.products(), "steps": steps,
            "boundaries": self.boundaries.iter().map(TensorName::as_str).collect::<Vec<_>>(),
        })
    }
}
