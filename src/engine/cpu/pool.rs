//! 2x2 average in halves, eight channels at a time.

use super::publish;
use super::simd::half::{Lanes, pool_lanes};
use super::{Outputs, Run};
use crate::engine::EngineError;
use crate::plan::ops::Pool;
use rayon::prelude::*;

pub(super) fn run(op: &Pool, run: &Run<'_>) -> Result<Outputs, EngineError> {
    let input = run.tensor(&op.input);
    let (above, channels) = (input.shape.size, input.shape.channels);
    let below = run.plan.shape(&op.output).size;
    let halves: &[u16] = bytemuck::cast_slice(input.halves());
    let mut codes = vec![0_u8; below.tokens() * channels];
    codes.par_chunks_exact_mut(below.width * channels).enumerate().try_for_each(|(y, row)| {
        run.check()?;
        for (x, out) in row.chunks_exact_mut(channels).enumerate() {
            if 2 * x + 1 >= above.width || 2 * y + 1 >= above.height {
                continue;
            }
            let token = |dx: usize, dy: usize| {
                halves[((2 * y + dy) * above.width + 2 * x + dx) * channels..][..channels].as_chunks::<8>().0
            };
            let [a, b, c, d] = [token(0, 0), token(1, 0), token(0, 1), token(1, 1)];
            for (i, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let mut average: Lanes = [0; 8];
                pool_lanes(run.token, [&a[i], &b[i], &c[i], &d[i]], &mut average);
                publish::publish(&publish::PLAIN, &average, out);
            }
        }
        Ok::<(), EngineError>(())
    })?;
    let mut outputs = Outputs::default();
    outputs.codes(Some(&op.output), codes);
    Ok(outputs)
}
