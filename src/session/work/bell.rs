//! Tells every waiting worker, and the window, that something changed.

use super::lock;
use crate::session::Waker;
use std::sync::{Condvar, Mutex, PoisonError};

/// A counter that can be waited on.
#[derive(Debug)]
pub(crate) struct Bell {
    count: Mutex<u64>,
    changed: Condvar,
    waker: Waker,
}

impl Bell {
    pub(crate) fn new(waker: Waker) -> Self {
        Self { count: Mutex::new(0), changed: Condvar::new(), waker }
    }

    /// How often it rang.
    pub(crate) fn count(&self) -> u64 {
        *lock(&self.count)
    }

    /// Tells everyone. Call it without a lock held.
    pub(crate) fn ring(&self) {
        *lock(&self.count) += 1;
        self.changed.notify_all();
        self.waker.wake();
    }

    /// Waits until it has rung since `seen`.
    pub(crate) fn wait(&self, seen: u64) {
        let count = lock(&self.count);
        drop(self.changed.wait_while(count, |count| *count == seen).unwrap_or_else(PoisonError::into_inner));
    }
}
