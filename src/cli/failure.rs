//! How a command ends: the four exit codes, and the message of each failure.

use super::output;
use crate::engine::EngineError;
use std::fmt::Display;
use std::process::ExitCode;

/// The program's exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything that was compared is bit-exact, or nothing was to be compared.
    Exact = 0,
    /// Something differs; equal up to the sign of zero differs too.
    Differs = 1,
    /// The question could not be asked.
    Unasked = 2,
    /// A fault of the program.
    Fault = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command ended without an answer.
#[derive(Debug)]
pub enum Failure {
    /// Bad input, or this machine cannot do it.
    Ask(String),
    /// A fault of the program.
    Fault(String),
}

impl Failure {
    /// A question that cannot be asked.
    pub fn ask(error: impl Display) -> Self {
        Self::Ask(error.to_string())
    }

    /// Prints the message; the exit status that goes with it.
    pub(super) fn tell(&self) -> Exit {
        match self {
            Self::Ask(message) => {
                output::complain(&format!("error: {message}"));
                Exit::Unasked
            }
            Self::Fault(message) => {
                output::complain(&format!("fault: {message}\nThis is a fault of blockscope; please report it."));
                Exit::Fault
            }
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::MissingTensor { .. } | EngineError::NotHeld { .. } => Self::Fault(error.to_string()),
            EngineError::Cancelled
            | EngineError::Unavailable { .. }
            | EngineError::WrongShape { .. }
            | EngineError::Device { .. }
            | EngineError::Spill { .. } => Self::ask(error),
        }
    }
}

/// Help and version go to standard output and are no failure; anything else is a wrong question.
pub(super) fn usage(error: &clap::Error) -> Exit {
    let text = error.render();
    if error.use_stderr() {
        output::complain(text.to_string().trim_end());
        return Exit::Unasked;
    }
    output::line(text.to_string().trim_end());
    Exit::Exact
}

/// Replaces the panic message by one that says whose fault it is.
pub(super) fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!(" at {at}")).unwrap_or_default();
        let message = info.payload_as_str().unwrap_or("no message");
        output::complain(&format!("fault{place}: {message}\nThis is a fault of blockscope; please report it."));
    }));
}
