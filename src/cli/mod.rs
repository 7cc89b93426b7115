//! The command line: one file per subcommand.
//!
//! The only module that prints. A subcommand asks the library, writes what it found, and ends with an [`Exit`];
//! names, exit codes and JSON keys are a contract that the README documents.
//!
//! **Invariants**
//! * With `--json -` (or `--json`), standard output carries one JSON value and nothing else.
//! * Every number for people has its unit.
//! * A panic is a fault of the program: exit code 3 and a message, never a half-written file.

#[cfg(feature = "app")]
pub mod app;
mod attention;
mod bench;
#[cfg(feature = "app")]
mod bench_ui;
mod causes;
mod demo;
pub mod devices;
mod diagnose;
mod doctor;
mod events;
mod explain;
mod failure;
mod import;
mod interrupt;
mod memory;
mod model;
mod output;
mod parity;
mod plan;
#[cfg(feature = "app")]
pub mod play;
mod progress;
mod replay;
mod report;
mod run;
#[cfg(feature = "app")]
pub mod screenshot;
mod sources;
mod watch;

pub use failure::{Exit, Failure};

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// An interactive debugger and visualizer for the bit-exact 71-block DLSS-NR network.
#[derive(Debug, Parser)]
#[command(name = "blockscope", version, about, max_term_width = 110)]
#[command(after_help = "Exit status: 0 everything compared is bit-exact; 1 something differs; 2 the question could \
                        not be asked (bad input, nothing compared); 3 a fault of the program.")]
#[cfg_attr(feature = "app", command(args_conflicts_with_subcommands = true))]
struct Arguments {
    #[cfg(feature = "app")]
    #[command(flatten)]
    app: app::Args,
    #[command(flatten)]
    devices: devices::DeviceArguments,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the network as a list of steps.
    Plan(plan::Arguments),
    /// Run the network, or its first steps, and save what was asked for.
    Run(run::Arguments),
    /// Compare two engines or recordings, boundary by boundary.
    Parity(parity::Arguments),
    /// Turn the dumps of another program into a capture.
    Import(import::Arguments),
    /// Compare, test known causes, and write the evidence as HTML, JSON, JUnit, SARIF, Markdown and CSV.
    Report(report::Arguments),
    /// Check a repro bundle alone: do its kernels give the expected results, and who gives the other ones?
    Replay(replay::Arguments),
    /// Make, check or describe a model directory.
    #[command(subcommand)]
    Model(model::Arguments),
    /// Show one query's attention, step by step: scores, exponentials, every half add, weights.
    Attention(attention::Arguments),
    /// Show how one value came to be.
    Explain(explain::Arguments),
    /// Measure engines on the synthetic network.
    Bench(bench::Arguments),
    Devices(devices::Devices),
    /// Find which known cause explains a subject's divergence.
    Diagnose(diagnose::Arguments),
    /// Check whether this machine's engines can be trusted: known answers, repetition, observation, memory, disk.
    Doctor(doctor::Arguments),
    /// List the known causes, or print the page of one.
    Causes(causes::Arguments),
    /// Play a script of the window's commands, without a display.
    #[cfg(feature = "app")]
    Play(play::Args),
    /// Write the standard pictures of the window, without a display.
    #[cfg(feature = "app")]
    Screenshot(screenshot::Args),
}

/// Runs the program with the arguments of the process.
pub fn run() -> ExitCode {
    failure::report_panics();
    failure::guarded(|| match Arguments::try_parse() {
        Ok(arguments) => dispatch(arguments),
        Err(error) => Ok(failure::usage(&error)),
    })
    .into()
}

fn dispatch(arguments: Arguments) -> Result<Exit, Failure> {
    arguments.devices.configure();
    match arguments.command {
        #[cfg(feature = "app")]
        None => match arguments.app.check().map_err(Failure::ask).map(|()| app::run(arguments.app))? {
            Err(crate::shell::ShellError::Window { .. }) => demo::start(),
            outcome => outcome.map(|()| Exit::Exact).map_err(Failure::ask),
        },
        #[cfg(not(feature = "app"))]
        None => demo::start(),
        #[cfg(feature = "app")]
        Some(Command::Play(arguments)) => play::run(&arguments).map(|()| Exit::Exact).map_err(Failure::ask),
        #[cfg(feature = "app")]
        Some(Command::Screenshot(arguments)) => screenshot::run(&arguments).map(|()| Exit::Exact).map_err(Failure::ask),
        Some(Command::Plan(arguments)) => plan::run(&arguments),
        Some(Command::Run(arguments)) => run::run(&arguments),
        Some(Command::Parity(arguments)) => parity::run(&arguments),
        Some(Command::Import(arguments)) => import::run(&arguments),
        Some(Command::Report(arguments)) => report::run(&arguments),
        Some(Command::Doctor(arguments)) => doctor::run(arguments),
        Some(Command::Replay(arguments)) => replay::run(&arguments),
        Some(Command::Model(arguments)) => model::run(&arguments),
        Some(Command::Attention(arguments)) => attention::run(&arguments),
        Some(Command::Explain(arguments)) => explain::run(&arguments),
        Some(Command::Diagnose(arguments)) => diagnose::run(&arguments),
        Some(Command::Causes(arguments)) => causes::run(&arguments),
        Some(Command::Bench(arguments)) => bench::run(&arguments),
        Some(Command::Devices(arguments)) => {
            output::line(arguments.output().map_err(Failure::ask)?.trim_end());
            Ok(Exit::Exact)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
