//! Work on named threads: one engine worker per side, a loader, and the desk that makes pictures.
//!
//! Workers share two kinds of store, each behind its own lock: a [`Ledger`] per side (states and tensors) and a
//! [`Pair`] (verdicts). A [`Bell`] tells everyone that something changed.
//!
//! **Invariants**
//! * A worker publishes, drops its locks, then rings and wakes.
//! * Locks are held to copy pointers, never while computing.

mod bell;
mod budget;
pub(super) mod desk;
mod goal;
mod judge;
mod ledger;
pub(super) mod load;
mod pair;
pub(super) mod watch;
mod worker;

pub(super) use bell::Bell;
pub(super) use goal::{Goal, Wish};
pub(super) use judge::start as start_judge;
pub(super) use ledger::Ledger;
pub(super) use pair::{Pair, verdict};
pub(super) use worker::{Crew, start};

use crate::plan::Plan;
use crate::tensor::TensorName;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; a store that a panic left behind is still consistent, since stores are changed in single moves.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The steps to run, in order, so that a step's outputs come out of the tensors that are there; `None` when a
/// tensor that nothing makes is missing.
pub(super) fn closure(plan: &Plan, step: usize, there: impl Fn(&TensorName) -> bool) -> Option<BTreeSet<usize>> {
    let mut steps = BTreeSet::new();
    let mut open = vec![step];
    while let Some(step) = open.pop() {
        if steps.insert(step) {
            for name in plan.steps[step].op.inputs() {
                if !there(name) {
                    open.push(plan.tensor(name).step?);
                }
            }
        }
    }
    Some(steps)
}

/// Does a job; a panic becomes its problem, and never the window's.
pub(super) fn guarded<T>(job: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|panic| Err(fault(&*panic)))
}

/// What a job says that a panic ended.
pub(super) fn fault(payload: &(dyn std::any::Any + Send)) -> String {
    format!("a fault of the program: {}", panic_text(payload))
}

/// What a panic said.
pub(super) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no reason given").to_owned()
}
