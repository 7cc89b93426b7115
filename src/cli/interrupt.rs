//! Ctrl-C, a hangup or a request to end: the running job is cancelled, so that what it has half written goes away with it.
//!
//! The first press cancels the job begun last, which then ends as any cancelled job does. With no job left, or on a
//! second press while a job takes its time to end, the program ends at once, as it always does.

use super::output;
use crate::engine::Control;
use std::ops::Deref;
use std::sync::{Mutex, Once, PoisonError};

/// Jobs that can be cancelled, the last one first to go.
static JOBS: Mutex<Vec<Control>> = Mutex::new(Vec::new());
static WATCHED: Once = Once::new();

/// The exit status of a program that a signal ended.
const INTERRUPTED: i32 = 130;

/// A job's control, which Ctrl-C cancels while it lives.
pub(super) struct Job(Control);

/// Begins a job.
pub(super) fn job() -> Job {
    WATCHED.call_once(|| {
        if let Err(error) = ctrlc::set_handler(pressed) {
            output::complain(&format!("note: Ctrl-C cannot be watched ({error}): it ends the program at once"));
        }
    });
    let control = Control::new();
    jobs(|jobs| jobs.push(control.clone()));
    Job(control)
}

fn pressed() {
    let job = jobs(|jobs| jobs.last().filter(|job| !job.is_cancelled()).cloned());
    match job {
        Some(job) => {
            job.cancel();
            output::complain("stopping; Ctrl-C again ends at once");
        }
        None => std::process::exit(INTERRUPTED),
    }
}

fn jobs<T>(with: impl FnOnce(&mut Vec<Control>) -> T) -> T {
    with(&mut JOBS.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Deref for Job {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.0
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        jobs(|jobs| jobs.retain(|job| !job.is(&self.0)));
    }
}
