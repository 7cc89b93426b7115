//! Blockscope: an interactive debugger and visualizer for one bit-exact neural network.
//!
//! The map, leaf first. A module may use only modules above it; a test enforces it.
//!
//! * [`numerics`]: formats, publication, fixed-point dot products, half operations. The definition of right.
//! * [`geometry`]: field, levels, windows, phases, token orders.
//! * [`tensor`]: a named, typed, shaped buffer and its digest.
//! * [`model`]: the model directory, its records, the synthetic generator.
//! * [`frame`]: input features and the composition of the output.
//! * [`plan`]: the network as data.
//! * [`engine`]: whatever can run a step of the plan: `reference`, `cpu`, `vulkan`.
//! * [`capture`]: recorded runs.
//! * [`compare`]: verdicts, classes, first differences.
//! * [`diagnosis`]: known causes and the search that tests them.
//! * [`report`]: one exporter per format.
//! * [`session`]: what the window knows, without egui.
//! * `ui` and `shell`: panels, and the windows around them (feature `app`).
//! * [`cli`]: the command line.

pub mod numerics;

pub mod geometry;

pub mod tensor;

pub mod model;

pub mod frame;

pub mod plan;

pub mod engine;

pub mod capture;

pub mod compare;

pub mod diagnosis;

pub mod report;

pub mod session;

#[cfg(feature = "app")]
pub mod ui;

#[cfg(feature = "app")]
pub mod shell;

pub mod cli;
