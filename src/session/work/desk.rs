//! The desk: three threads that make what panels ask for. Pictures have one of their own, so that a long count
//! never holds up the canvas, and so have events, which are looked for in the background.

use super::{Bell, guarded, lock};
use crate::geometry::WindowGrid;
use crate::session::attention::{self, AttentionOrder};
use crate::session::events::{EventsFound, EventsOrder};
use crate::session::look;
use crate::session::paint::{self, Painted};
use crate::session::{Attention, Marks, Statistics, Thumbnails, Trace};
use crate::tensor::Tensor;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// Something to make.
#[derive(Debug)]
pub(crate) enum Job {
    Canvas(Box<paint::Order>),
    Marks(Box<paint::MarksOrder>),
    Thumbnails(Tensor),
    Attention(Box<AttentionOrder>),
    Statistics([Option<Tensor>; 2], Option<WindowGrid>),
    Trace(Box<look::TraceOrder>),
    Events(Box<EventsOrder>),
}

/// Something made.
#[derive(Debug)]
pub(crate) enum Answer {
    Canvas(Result<Painted, String>),
    Marks(Result<Arc<Marks>, String>),
    Thumbnails(Result<Arc<Thumbnails>, String>),
    Attention(Result<Arc<Attention>, String>),
    Statistics(Result<Arc<Statistics>, String>),
    Trace(Result<Arc<Trace>, String>),
    Events(EventsFound),
}

/// Takes jobs and keeps answers until they are taken.
#[derive(Debug)]
pub(crate) struct Desk {
    pictures: SyncSender<Job>,
    counts: SyncSender<Job>,
    events: SyncSender<Job>,
    answers: Arc<Mutex<Vec<Answer>>>,
}

impl Desk {
    /// Starts the threads; they end when the desk is dropped.
    pub(crate) fn new(bell: &Arc<Bell>) -> std::io::Result<Self> {
        let answers = Arc::new(Mutex::new(Vec::new()));
        // Threads of their own: on those of the kernels, a picture would wait for the kernel in hand.
        let threads = rayon::ThreadPoolBuilder::new().thread_name(|i| format!("desk {i}")).build().ok().map(Arc::new);
        let open = |name: &str| {
            let (sender, jobs) = sync_channel(8);
            let (answers, bell) = (Arc::clone(&answers), Arc::clone(bell));
            // Events are looked for in the background, where they leave pictures alone.
            let threads = threads.clone().filter(|_| name != "events");
            let work = move || serve(&jobs, threads.as_deref(), &answers, &bell);
            std::thread::Builder::new().name(name.to_owned()).spawn(work).map(|_detached| sender)
        };
        Ok(Self { pictures: open("pictures")?, counts: open("counts")?, events: open("events")?, answers })
    }

    /// Hands in a job; callers keep at most one of a kind in flight, so there is always room.
    pub(crate) fn send(&self, job: Job) {
        let queue = match job {
            Job::Canvas(_) | Job::Thumbnails(_) => &self.pictures,
            Job::Marks(_) | Job::Attention(_) | Job::Statistics(..) | Job::Trace(_) => &self.counts,
            Job::Events(_) => &self.events,
        };
        drop(queue.try_send(job));
    }

    /// What was made since the last call.
    pub(crate) fn take(&self) -> Vec<Answer> {
        std::mem::take(&mut lock(&self.answers))
    }
}

fn serve(jobs: &Receiver<Job>, threads: Option<&rayon::ThreadPool>, answers: &Mutex<Vec<Answer>>, bell: &Bell) {
    while let Ok(job) = jobs.recv() {
        let answer = match threads {
            Some(threads) => threads.install(|| answer(job)),
            None => answer(job),
        };
        lock(answers).push(answer);
        bell.ring();
    }
}

fn answer(job: Job) -> Answer {
    match job {
        Job::Canvas(order) => Answer::Canvas(guarded(|| Ok(paint::paint(&order)))),
        Job::Marks(order) => Answer::Marks(guarded(|| Ok(Arc::new(paint::marks(&order))))),
        Job::Thumbnails(tensor) => Answer::Thumbnails(guarded(|| Ok(Arc::new(paint::thumbnails(&tensor))))),
        Job::Attention(order) => {
            let none = || "this step has no attention".to_owned();
            Answer::Attention(guarded(|| attention::attention(&order).map(Arc::new).ok_or_else(none)))
        }
        Job::Events(order) => {
            let found = guarded(|| order.look());
            Answer::Events(order.answered(found))
        }
        Job::Trace(order) => Answer::Trace(guarded(|| look::trace(&order).map(Arc::new))),
        Job::Statistics(sides, grid) => {
            Answer::Statistics(guarded(|| Ok(Arc::new(look::statistics(&sides, grid.as_ref())))))
        }
    }
}
