//! The published digests at 64x64.
