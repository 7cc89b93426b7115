//! 2x2 average in halves, published.

use crate::tensor::TensorName;

/// `publish(((a + b) + (c + d)) * 0.25)` of a 2x2 block (a b / c d); an output pixel whose block leaves the
/// input is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// f16 on the upper plane.
    pub input: TensorName,
    /// E4M3 on the plane below.
    pub output: TensorName,
    /// f16, the halves before publication; the network itself never reads them, only [events](crate::engine::events).
    pub raw: Option<TensorName>,
}
