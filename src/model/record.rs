//! One record of a model: bytes that are there, or that are made when somebody first wants them.
//!
//! Records of a directory are there from the start, since a directory is checked whole. Synthetic ones are made one
//! by one, so that the first block runs while the weights of the last do not exist yet.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// Bytes of a known length.
pub(super) struct Record {
    length: usize,
    bytes: OnceLock<Arc<[u8]>>,
    make: Box<dyn Fn() -> Arc<[u8]> + Send + Sync>,
}

impl Record {
    /// Bytes that are there.
    pub(super) fn of(bytes: Arc<[u8]>) -> Self {
        let length = bytes.len();
        Self { length, bytes: OnceLock::from(bytes), make: Box::new(|| Arc::from([])) }
    }

    /// Bytes that `make` makes, `length` of them.
    pub(super) fn later(length: usize, make: impl Fn() -> Arc<[u8]> + Send + Sync + 'static) -> Self {
        Self { length, bytes: OnceLock::new(), make: Box::new(make) }
    }

    /// Number of bytes.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        let bytes = self.bytes.get_or_init(|| (self.make)());
        debug_assert_eq!(bytes.len(), self.length, "records have the length that they say");
        bytes
    }

    /// Makes the bytes if they are not there.
    pub(super) fn make(&self) {
        self.bytes();
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.length)
    }
}
