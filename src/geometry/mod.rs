//! Sizes, levels, windows and token orders: the network's geometry in integers.
//!
//! A valid size is padded to a *field*; six levels halve it downwards. Every window block cuts its level into
//! 8x8 windows whose grid is shifted by the block's phase.
//!
//! **Invariants**
//! * A token is a pixel of its level, `token = y * width + x`.
//! * Window tokens have two orders: *natural* (row-major) and *physical* (4x4 tiles); [`window`] converts.
//! * No arithmetic on values, no allocation of tensors.

mod size;
pub mod window;

pub use size::{Geometry, GeometryError, LEVELS, Plane, Size};
pub use window::{Phase, WindowGrid};
