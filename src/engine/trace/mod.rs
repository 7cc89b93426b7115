//! How one value came to be: every product, every sum, every rounding, by the network's own rules.
//!
//! A [`Trace`] is computed from the tensors that a step read, with the functions of [`numerics`](crate::numerics);
//! it says whether its result is the stored one. For a step whose rules are changed the trace shows what the network
//! itself would have made of the same inputs, and need not reproduce the stored value; only an attention's record, down
//! to the weights, follows the step's own rules.
//!
//! **Invariants**
//! * Facts only: [`text`] turns them into lines, the window into drawings.
//! * Every half that is shown is the half that the arithmetic used, not a recomputed likeness.

mod attention;
mod dot;
mod kernels;
mod sums;
pub mod text;

pub use attention::{Add, Attention, Key, Place};
pub use dot::{Chain, Group, Term};

use super::EngineError;
use super::reference::{Sources, check_inputs};
use crate::numerics::{e4m3, f16};
use crate::plan::{Op, Step};
use crate::tensor::{Element, Tensor, TensorName};
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

/// A number with its bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Its format.
    pub element: Element,
    /// Its bits, in the low bits.
    pub bits: u32,
}

impl Number {
    /// An E4M3 code.
    pub fn code(code: u8) -> Self {
        Self { element: Element::E4m3, bits: u32::from(code) }
    }

    /// A half.
    pub fn half(x: f16) -> Self {
        Self { element: Element::F16, bits: u32::from(x.to_bits()) }
    }

    /// A single.
    pub fn single(x: f32) -> Self {
        Self { element: Element::F32, bits: x.to_bits() }
    }

    /// An element of a tensor.
    pub fn of(tensor: &Tensor, token: usize, channel: usize) -> Self {
        Self { element: tensor.shape.element, bits: tensor.bits(token, channel) }
    }

    /// Its value.
    pub fn value(self) -> f32 {
        match self.element {
            Element::E4m3 => e4m3::decode(self.bits as u8),
            Element::F16 => f16::from_bits(self.bits as u16).to_f32(),
            Element::F32 => f32::from_bits(self.bits),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Number", 3)?;
        out.serialize_field("element", self.element.name())?;
        out.serialize_field("bits", &text::bits(*self))?;
        let value = self.value();
        // JSON has no infinity, no NaN and no -0.
        if value.is_finite() && value.to_bits() != 0x8000_0000 {
            out.serialize_field("value", &value)?;
        } else {
            out.serialize_field("value", &value.to_string())?;
        }
        out.end()
    }
}

/// One part of a value's history.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "stage", rename_all = "kebab-case")]
pub enum Stage {
    /// A chain of groups: a dot product, or one partition of it.
    Chain(Chain),
    /// One rounded operation: `name = formula`.
    Operation {
        /// What the result is called further on.
        name: String,
        /// The operation, with the names of its operands.
        formula: String,
        /// Its operands, in the formula's order.
        operands: Vec<Number>,
        /// The result.
        result: Number,
    },
    /// One query's attention in one head.
    Attention(Box<Attention>),
    /// Something to know.
    Note {
        /// A sentence.
        text: String,
    },
}

/// How one value came to be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    /// The tensor.
    pub tensor: String,
    /// The op that writes it.
    pub op: &'static str,
    /// The step's block.
    pub block: usize,
    /// Token.
    pub token: usize,
    /// Column.
    pub x: usize,
    /// Row.
    pub y: usize,
    /// Channel.
    pub channel: usize,
    /// Tensors read.
    pub inputs: Vec<String>,
    /// Its history, first to last.
    pub stages: Vec<Stage>,
    /// What the history ends in.
    pub result: Number,
    /// What the tensor holds.
    pub stored: Number,
    /// Whether the two are the same bits.
    pub reproduces: bool,
}

/// Traces one value of a step's output. `sources` holds the step's inputs, `output` is the tensor that was computed.
///
/// # Errors
/// When an input is missing.
///
/// # Panics
/// When the step does not write the tensor, or the place lies outside it: callers check both.
pub fn trace(
    step: &Step,
    sources: Sources<'_>,
    output: &Tensor,
    (token, channel): (usize, usize),
) -> Result<Trace, EngineError> {
    check_inputs("trace", step, sources)?;
    let name = &output.name;
    assert!(step.op.outputs().contains(&name), "{} writes {name}", step.name());
    let mut story = Story::default();
    if !step.rules.is_exact() {
        story.note(match step.op {
            Op::WindowAttention(_) | Op::GlobalAttention(_) => {
                "this step ran under changed rules: scores and softmax follow them, what follows is the network's own"
            }
            _ => "this step ran under changed rules; what follows is the network's own arithmetic",
        });
    }
    let at = (token, channel);
    let result = match &step.op {
        Op::Convert(op) => kernels::convert(op, sources, at, &mut story),
        Op::Gemm(op) => dot::gemm(op, sources, at, name, &mut story),
        Op::GemmHalf(op) => dot::gemm_half(op, sources, at, name, &mut story),
        Op::Normalize(op) => kernels::normalize(op, sources, at, &mut story),
        Op::WindowAttention(op) => attention::window(op, (step.block, &step.rules), sources, at, &mut story),
        Op::GlobalAttention(op) => attention::global(op, (step.block, &step.rules), sources, at, &mut story),
        Op::Pool(op) => kernels::pool(op, sources, at, &mut story),
        Op::Merge(op) => kernels::merge(op, sources, at, name, &mut story),
    };
    let width = output.shape.size.width;
    let stored = Number::of(output, token, channel);
    Ok(Trace {
        tensor: name.to_string(),
        op: step.op.word(),
        block: step.block,
        token,
        x: token % width,
        y: token / width,
        channel,
        inputs: step.op.inputs().into_iter().map(TensorName::to_string).collect(),
        stages: story.stages,
        result,
        stored,
        reproduces: result == stored,
    })
}

/// One query's attention: the record that [`trace`] shows inside, on its own.
///
/// # Errors
/// When the normalized tensor is missing.
///
/// # Panics
/// When the step is no attention, or the place lies outside: callers check.
pub fn attention(step: &Step, sources: Sources<'_>, head: usize, query: Place) -> Result<Attention, EngineError> {
    check_inputs("trace", step, sources)?;
    Ok(match &step.op {
        Op::WindowAttention(op) => attention::window_record(op, (step.block, &step.rules), sources, head, query).0,
        Op::GlobalAttention(op) => attention::global_record(op, (step.block, &step.rules), sources, head, query).0,
        _ => panic!("{} is no attention", step.name()),
    })
}

/// Collects stages.
#[derive(Default)]
struct Story {
    stages: Vec<Stage>,
}

impl Story {
    fn note(&mut self, text: impl Into<String>) {
        self.stages.push(Stage::Note { text: text.into() });
    }

    /// Records an operation and passes its half on.
    fn half(&mut self, name: impl Into<String>, formula: &str, operands: &[Number], result: f16) -> f16 {
        self.number(name, formula, operands, Number::half(result));
        result
    }

    fn number(&mut self, name: impl Into<String>, formula: &str, operands: &[Number], result: Number) -> Number {
        let (name, formula, operands) = (name.into(), formula.to_owned(), operands.to_vec());
        self.stages.push(Stage::Operation { name, formula, operands, result });
        result
    }

    fn publish(&mut self, formula: &str, half: f16, code: u8) -> Number {
        self.number("published", formula, &[Number::half(half)], Number::code(code))
    }
}

#[cfg(test)]
mod tests;
