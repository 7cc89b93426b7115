//! One test binary: every file of this folder is a module here, and `layering` fails when one is forgotten.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on should stop, and say what it skipped"
)]

mod captures;
mod cli;
mod cpu;
mod devices;
mod diagnosis;
mod digests;
mod doctor;
mod events;
mod fuzz;
mod hardware;
mod imports;
mod layering;
mod memory;
mod models;
mod parity;
mod play;
mod replay;
mod report;
mod samples;
mod schema;
mod shaders;
#[cfg(feature = "app")]
mod ui;
mod vulkan;
#[cfg(all(feature = "app", unix))]
mod window;
