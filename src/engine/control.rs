//! How a running job is watched and stopped: a cancel flag and a progress counter, shared with whoever waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of a job, in products (multiply-accumulates) so that its rate is the engine's rate.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
}

/// Handed to every step: cancel it, watch it. Clones share the same flag and counter.
#[derive(Clone, Debug, Default)]
pub struct Control {
    cancel: Arc<AtomicBool>,
    progress: Arc<Progress>,
}

impl Control {
    /// A control that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the job to stop at the next tile.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Whether the job should stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Whether another handle is a clone of this one.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.cancel, &other.cancel)
    }

    /// Reports finished products.
    pub fn advance(&self, products: u64) {
        self.progress.done.fetch_add(products, Ordering::Relaxed);
    }

    /// Products finished so far.
    pub fn done(&self) -> u64 {
        self.progress.done.load(Ordering::Relaxed)
    }
}
