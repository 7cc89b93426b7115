//! The arithmetic contract: every number format, rounding and order of sums that the network is made of.
//!
//! Apart from everything else because it is the definition of right: scalar, pure, obvious, and checked
//! exhaustively where the domain allows. The fast engines are tested against these functions bit for bit.
//!
//! **Invariants**
//! * Halves travel as [`half::f16`]; E4M3 values travel as their `u8` code.
//! * "Every + is a half add": a sum or product of halves is rounded to a half at once, never kept in `f32`,
//!   except where a function says so.
//! * No function here depends on the machine: no libm exponentials, no fused operation the text does not name.

pub mod cosine;
pub mod e4m3;
pub mod exponential;
pub mod fdpa;
pub mod float16;
pub mod hopper;
pub mod rules;
pub mod silu;
pub mod softmax;

pub use half::f16;
pub use rules::Rules;
