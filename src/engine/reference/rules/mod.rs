//! Interprets changed [`Rules`](crate::numerics::Rules): what the reference's kernels call where a rule may differ.
//!
//! Every function here gives the exact result under [`Rules::EXACT`](crate::numerics::Rules::EXACT), through the
//! functions of [`numerics`](crate::numerics); the other arms are what ports were seen to do instead.

mod dot;
mod group;
mod half;
mod layout;
mod publication;
mod softmax;
mod weights;

pub(super) use dot::{Operands, Sum, dot};
pub(super) use half::{Half, activate, read, read_codes};
pub(super) use layout::{rearrange, rows_behind};
pub(super) use publication::{Epilogue, publish, raw_bytes};
pub(super) use softmax::{exponential, outside_token, total, window_grid};
pub(super) use weights::{columns, prior};
