//! `f16(features)`, eight lanes at a time.

use super::simd::half::convert_lanes;
use super::{Outputs, Run};
use crate::engine::EngineError;
use crate::plan::ops::Convert;
use rayon::prelude::*;

pub(super) fn run(op: &Convert, run: &Run<'_>) -> Result<Outputs, EngineError> {
    let singles = run.tensor(&op.input).floats();
    let mut halves = vec![0_u16; singles.len()];
    let lanes = singles.as_chunks::<8>().0.par_iter().zip(halves.as_chunks_mut::<8>().0);
    lanes.with_min_len(4096).for_each(|(singles, halves)| convert_lanes(run.token, singles, halves));
    let mut outputs = Outputs::default();
    outputs.halves(Some(&op.output), halves);
    Ok(outputs)
}
