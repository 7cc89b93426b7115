//! Window attention on matrix units, with the group of 16 of [`super::gemm_matrix`]: scores, weights and results stay in the
//! registers that fragments give them, since the network's order of sums is that layout's.

use super::kernel::Variant;
use super::matrix_unit;
use super::shaders::WINDOW_ATTENTION_MATRIX;
use super::window_attention_fast::stepped;

pub(super) static MATRIX: Variant = Variant {
    name: "window_attention_matrix",
    op: "window_attention",
    exact: true,
    shaders: &[&WINDOW_ATTENTION_MATRIX],
    fits: matrix_unit::fits,
    proven: matrix_unit::proven,
    takes: |_, _| true,
    dispatches: |op, binder| stepped(op, binder, &WINDOW_ATTENTION_MATRIX),
};
