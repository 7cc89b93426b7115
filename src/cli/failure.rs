//! How a command ends: the four exit codes, and the message of each failure.

use super::output;
use crate::engine::EngineError;
use std::fmt::Display;
use std::panic::UnwindSafe;
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

/// Runs a command: a failure is told, and a panic, which tells of itself, is a fault of the program.
pub(super) fn guarded(command: impl FnOnce() -> Result<Exit, Failure> + UnwindSafe) -> Exit {
    let outcome = std::panic::catch_unwind(|| command().unwrap_or_else(|failure| failure.tell()));
    outcome.unwrap_or(Exit::Fault)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::TensorName;
    use rayon::prelude::*;

    #[test]
    fn every_end_has_its_exit_status() {
        let ends = [Exit::Exact, Exit::Differs, Exit::Unasked, Exit::Fault];
        assert_eq!(ends.map(|exit| guarded(move || Ok(exit)) as u8), [0, 1, 2, 3], "the documented numbers");
        assert_eq!(guarded(|| Err(Failure::ask("a wrong question"))), Exit::Unasked, "bad input");
        assert_eq!(guarded(|| Err(Failure::Fault("a fault".to_owned()))), Exit::Fault, "a fault that was noticed");
    }

    #[test]
    fn a_panic_anywhere_is_a_fault() {
        assert_eq!(guarded(|| panic!("here")), Exit::Fault, "on the command's own thread");
        let on_a_worker = || {
            (0..64).into_par_iter().for_each(|i| assert!(i != 63, "in a kernel"));
            Ok(Exit::Exact)
        };
        assert_eq!(guarded(on_a_worker), Exit::Fault, "on a thread of an engine");
    }

    #[test]
    fn an_engines_error_is_the_users_or_the_programs() {
        let name = || TensorName::from("block-0");
        let held = EngineError::NotHeld { engine: "cpu".to_owned(), tensor: name() };
        assert!(matches!(Failure::from(held), Failure::Fault(_)), "a tensor that should be there");
        let unavailable = EngineError::Unavailable { engine: "vulkan".to_owned(), message: "no loader".to_owned() };
        assert!(matches!(Failure::from(unavailable), Failure::Ask(_)), "this machine cannot do it");
    }
}
