//! Digests: the first 16 hexadecimal digits of a SHA-256.

use sha2::{Digest as _, Sha256};
use std::fmt;

/// The first eight bytes of a SHA-256, shown as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 8]);

impl Digest {
    /// The digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let hash = Sha256::digest(bytes);
        Self(std::array::from_fn(|i| hash[i]))
    }

    /// Reads 16 hexadecimal digits of either case; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit()))
            .then(|| u64::from_str_radix(text, 16).ok())
            .flatten()
            .map(|value| Self(value.to_be_bytes()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

/// The digest of a run: that of its tensors' digests, in boundary order, joined with ",".
pub fn run_digest(digests: impl IntoIterator<Item = Digest>) -> Digest {
    let joined: Vec<String> = digests.into_iter().map(|d| d.to_string()).collect();
    Digest::of(joined.join(",").as_bytes())
}
