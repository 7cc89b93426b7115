//! What the transport wants: how far to run, and whether to stop at a divergence.

use super::lock;
use crate::engine::Control;
use crate::session::paint::Style;
use std::sync::Mutex;
use std::time::Instant;

/// Shared by the session and both engine workers.
#[derive(Debug, Default)]
pub(crate) struct Goal {
    wish: Mutex<Wish>,
    controls: Mutex<[Control; 2]>,
}

/// What is wanted now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    /// Steps below this shall run.
    pub(crate) to: usize,
    /// Whether that was asked for by stepping: further steps queue behind it.
    pub(crate) stepping: bool,
    /// Stop at the first step from here on whose isolated verdict is not exact.
    pub(crate) divergence_from: Option<usize>,
    /// When the run began, and at which step.
    pub(crate) began: Option<(Instant, usize)>,
    /// A step whose tensors are looked at, on each side; made again when they were dropped.
    pub(crate) shown: usize,
    /// How the canvas shows a tensor: a device paints its newest like that before it is read.
    pub(crate) style: Option<Style>,
    /// Whether the workers shall end.
    pub(crate) closed: bool,
}

impl Goal {
    /// What is wanted now.
    pub(crate) fn wish(&self) -> Wish {
        lock(&self.wish).clone()
    }

    /// Changes what is wanted.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Wish)) {
        change(&mut lock(&self.wish));
    }

    /// A fresh control for a side's next kernel.
    pub(crate) fn begin(&self, side: usize) -> Control {
        let control = Control::new();
        lock(&self.controls)[side] = control.clone();
        control
    }

    /// Cancels the kernels in hand.
    pub(crate) fn cancel(&self) {
        lock(&self.controls).iter().for_each(Control::cancel);
    }

    /// Products finished in the kernels in hand.
    pub(crate) fn in_hand(&self, side: usize) -> u64 {
        lock(&self.controls)[side].done()
    }
}
