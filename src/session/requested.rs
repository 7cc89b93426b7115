//! A value that a worker makes: what the window shows while it waits.

use std::sync::Arc;

/// A requested value. Every state keeps what was there before, so that nothing flickers.
#[derive(Clone, Debug, Default)]
pub enum Requested<T> {
    /// Nobody asked yet, or there is nothing to ask about.
    #[default]
    Nothing,
    /// Asked; a worker is on it.
    Pending {
        /// The value before.
        previous: Option<Arc<T>>,
    },
    /// There.
    Ready(Arc<T>),
    /// It cannot be had.
    Unavailable {
        /// Why, for people.
        reason: String,
        /// The value before.
        previous: Option<Arc<T>>,
    },
}

impl<T> Requested<T> {
    /// The value, or the one before it while a new one is on its way.
    pub fn shown(&self) -> Option<&Arc<T>> {
        match self {
            Self::Ready(value) | Self::Pending { previous: Some(value) } => Some(value),
            Self::Nothing | Self::Pending { previous: None } | Self::Unavailable { .. } => None,
        }
    }

    /// Whether a worker is on it.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Pending { .. })
    }

    /// Why it cannot be had.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Unavailable { reason, .. } => Some(reason),
            Self::Nothing | Self::Pending { .. } | Self::Ready(_) => None,
        }
    }

    /// The value before, whatever the state.
    fn take(&mut self) -> Option<Arc<T>> {
        match std::mem::take(self) {
            Self::Nothing => None,
            Self::Ready(value) => Some(value),
            Self::Pending { previous } | Self::Unavailable { previous, .. } => previous,
        }
    }

    /// Marks the value as asked for.
    pub(crate) fn ask(&mut self) {
        *self = Self::Pending { previous: self.take() };
    }

    /// Takes a worker's answer.
    pub(crate) fn answer(&mut self, answer: Result<Arc<T>, String>) {
        let previous = self.take();
        *self = match answer {
            Ok(value) => Self::Ready(value),
            Err(reason) => Self::Unavailable { reason, previous },
        };
    }
}
