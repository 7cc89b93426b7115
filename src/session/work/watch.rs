//! A subject that a running port writes: dumps become tensors of a recording as they come.
//!
//! The reference runs first, so that layouts are recovered against it; then the folder is looked at a few times a
//! second. What comes, or comes again, is judged (again), and so is whatever was judged on it before.

use super::{Crew, lock};
use crate::capture::watch::{Arrival, Watch};
use crate::engine::Control;
use crate::session::{Place, Severity, SideState};
use crate::tensor::{Tensor, TensorName};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often the folder is looked at.
const PERIOD: Duration = Duration::from_millis(150);

/// Where messages go.
pub(crate) type Post = Arc<Mutex<Vec<(Severity, Place, String)>>>;

/// Starts to watch; ends when the goal is closed or the control cancels.
pub(crate) fn start(mut watch: Watch, crew: Crew, control: Control, post: Post) -> std::io::Result<()> {
    let work = move || {
        while !crew.goal.wish().closed && !control.is_cancelled() {
            if reference_stands(&crew) {
                look(&mut watch, &crew, &post);
            }
            std::thread::sleep(PERIOD);
        }
    };
    std::thread::Builder::new().name("watch".to_owned()).spawn(work).map(|_detached| ())
}

/// Whether the reference has run as far as it shall.
fn reference_stands(crew: &Crew) -> bool {
    let Some(reference) = &crew.sides[1] else { return true };
    let to = crew.goal.wish().to.min(reference.plan.steps.len());
    let store = reference.store();
    reference.recording || store.failed.is_some() || store.done >= to
}

fn look(watch: &mut Watch, crew: &Crew, post: &Post) {
    let expected = |name: &TensorName| crew.sides[1].as_ref()?.tensor(name);
    let arrivals = watch.poll(&expected);
    let any = !arrivals.is_empty();
    for arrival in arrivals {
        let problem = match arrival {
            Arrival::Tensor { key, tensor, .. } => arrive(crew, tensor).err().map(|why| format!("{key}: {why}")),
            Arrival::Refused { key, reason } => Some(format!("{key}: {reason}")),
        };
        if let Some(text) = problem {
            lock(post).push((Severity::Warning, Place::Subject, text));
        }
    }
    if any {
        crew.bell.ring();
    }
}

/// Takes a tensor into the subject, and has it judged.
pub(crate) fn arrive(crew: &Crew, tensor: Tensor) -> Result<(), String> {
    let Some(subject) = &crew.sides[0] else { return Ok(()) };
    let info = subject.plan.tensors.get(&tensor.name).ok_or("the network has no such tensor here")?;
    let (name, step) = (tensor.name.clone(), info.step);
    let tensor = crew.keeper.keep(tensor).map_err(|error| error.to_string())?;
    let later: Vec<usize> = {
        let mut store = subject.store();
        store.tensors.insert(name.clone(), tensor);
        if let Some(step) = step {
            store.states[step] = SideState::Done { duration: Duration::ZERO };
        }
        store.latest = Some(name.clone());
        let from = step.unwrap_or(0);
        (from..store.states.len()).filter(|&step| store.states[step].is_done()).collect()
    };
    let mut pair = crew.pair.store();
    pair.exact.remove(&name);
    let judged = pair.judged;
    pair.again.extend(later.into_iter().filter(|&step| step < judged));
    Ok(())
}
