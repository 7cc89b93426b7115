//! The exact GEMM on matrix units: the unit's own cut of small terms, moved to where the network cuts.
//!
//! The network's sum cuts each of 16 products, and the accumulator, at `2^(E - 13)`, E the largest exponent among them. A
//! matrix unit of the kind that [`super::matrix_unit`] asks for also cuts each term on its own, but 25 bits below the
//! largest exponent, and gives the sum as a single. So (`shaders/include/matrix.glsl`):
//!
//! 1. *Where to cut.* Every product takes 8 of the 16 terms, and two more: `+2^(E + 12)` and `-2^(E + 12)`, which are the
//!    largest, cancel, and cut everything else at `2^(E + 12 - 25)`. Two such products, one after the other, make the 16
//!    terms; the accumulator, a single that holds a half, is a term of the first.
//! 2. *Nothing else is lost.* 16 products below `2^(E + 2)` and the accumulator below `2^(E + 1)` are less than 2^20 units
//!    of `2^(E - 13)`: a single holds every partial sum.
//! 3. *E.* One product of bfloat16 powers `2^(8 e - 3)`: 16 equal maxima do not carry into the next multiple of 8, so the upper
//!    five bits of the result's exponent field are the products' part of E. The accumulator's own field is the rest.
//! 4. *All E of a fragment.* Row and column operands carry the largest terms, so one product has one E. It is repeated for
//!    every E that occurs among the subgroup's results (five to nine with the network's own data), and each result is taken
//!    from the product that had its own. Below -11 nothing is ever cut, so those share one.
//! 5. *Result.* Rounded to a half from the exact single. Infinities and NaN in the accumulator stay what they are.
//!
//! A workgroup stages rows for all its subgroups; columns are staged once for a model, as invocations hold them, and are
//! fetched a group ahead.

use super::constants::{MATRIX_SIDE, MATRIX_STAGED, MATRIX_SUBGROUPS};
use super::gemm::columns;
use super::gemm_fast::{self, Staged, Staging, Tiling, launch, prepare, staged};
use super::kernel::{Binder, Dispatch, Variant};
use super::matrix_unit;
use super::raw::VulkanError;
use super::shaders::{GEMM_FAST_JOIN, GEMM_MATRIX, GEMM_MATRIX_EXPAND};
use crate::plan::Op;
use crate::plan::ops::Gemm;

pub(super) static MATRIX: Variant = Variant {
    name: "gemm_matrix",
    op: "gemm",
    exact: true,
    shaders: &[&GEMM_MATRIX[0], &GEMM_MATRIX[1], &GEMM_MATRIX_EXPAND, &GEMM_FAST_JOIN],
    fits: matrix_unit::fits,
    proven: matrix_unit::proven,
    takes: gemm_fast::takes,
    dispatches,
};

/// How subgroups share a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    /// Tiles of a subgroup, side by side: 2 or 1, the order of [`GEMM_MATRIX`].
    each: u32,
    /// Subgroups side by side; the others lie below them.
    beside: u32,
}

impl Tile {
    fn below(self) -> u32 {
        MATRIX_SUBGROUPS / self.beside
    }

    fn tiling(self) -> Tiling {
        Tiling { rows: MATRIX_SIDE * self.below(), columns: MATRIX_SIDE * self.each * self.beside }
    }
}

/// Two tiles a subgroup where that leaves every processor enough of them to choose from; as many side by side as share rows.
fn tile([rows, columns, depth]: [u32; 3], processors: u32) -> Tile {
    let wide = rows.div_ceil(MATRIX_SIDE) * (columns / (2 * MATRIX_SIDE)) * depth;
    let each = if wide < 16 * processors { 1 } else { 2 };
    let divides = |beside: &u32| columns.is_multiple_of(MATRIX_SIDE * each * beside);
    Tile { each, beside: [4, 2, 1].into_iter().find(divides).expect("every product has a multiple of 32 columns") }
}

/// The weights as these kernels want them, and the kernel that makes them unless it has run; `None` without memory for them.
pub(super) fn staged_columns(op: &Gemm, binder: &mut Binder<'_>) -> Result<Option<Staged>, VulkanError> {
    let codes = binder.weights(&format!("{} columns", op.weights), |model| columns(model, op))?;
    let staging = Staging {
        shader: &GEMM_MATRIX_EXPAND,
        constants: Vec::new(),
        packing: "matrices".to_owned(),
        bytes: 16 * MATRIX_STAGED / MATRIX_SIDE,
    };
    staged(op, binder, &codes, staging)
}

fn dispatches(wanted: &Op, binder: &mut Binder<'_>) -> Result<Vec<Dispatch>, VulkanError> {
    let Op::Gemm(op) = wanted else { unreachable!("takes() accepts no other op") };
    let rows = binder.shape(&op.input).tokens() as u32;
    let [k, n, partition] = [op.k, op.n, op.partition].map(|x| x as u32);
    // Parts of K are independent chains: where tokens are few they run side by side, and are joined by a second kernel.
    let parts = k / partition;
    let split = parts > 1 && op.groups == 1 && tile([rows, n, 1], binder.processors).each == 1;
    let depth = if split { parts } else { op.groups as u32 };
    let chosen = tile([rows, n, depth], binder.processors);
    let mut prepared = prepare(op, binder, chosen.tiling())?;
    let (buffers, push, ..) = &mut prepared;
    let Some((weights, made)) = staged_columns(op, binder)? else {
        return gemm_fast::without_staging(wanted, binder);
    };
    buffers[1] = weights;
    let line = k / 16 * MATRIX_STAGED;
    (push.weight_row, push.weight_z) = (line, n / MATRIX_SIDE * line);
    let mut all: Vec<Dispatch> = made.into_iter().collect();
    let shader = &GEMM_MATRIX[usize::from(chosen.each == 1)];
    all.extend(launch(op, binder, shader, prepared, (split, partition / 16 * MATRIX_STAGED), &[chosen.below()])?);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::synthetic::Xorshift;
    use crate::numerics::fdpa::{self, Operand};
    use crate::numerics::{e4m3, f16, float16, hopper};

    /// Eight terms and the two largest ones in units of `2^(e - 13)`, as the measured unit sums them.
    fn sum(a: &[u8], b: &[u8], e: i32, accumulator: f16) -> i64 {
        let two = |power: i32| Operand::from_half(f16::from_f32(f32::powi(2.0, power)));
        let largest = two(14);
        let negative = Operand { significand: -largest.significand, ..largest };
        let real =
            a.iter().zip(b).map(|(&a, &b)| [a, b].map(|code| Operand::from_half(e4m3::decode_half(code))).into());
        let pairs = real.chain([(largest, two(e - 2)), (negative, two(e - 2))]);
        let group = fdpa::group(pairs, accumulator, hopper::FRACTION);
        assert_eq!(group.shared, e + 12, "the largest terms are the largest");
        group.units
    }

    #[test]
    fn two_products_of_the_measured_unit_are_the_networks_sum() {
        let mut random = Xorshift::new(0xe4);
        for round in 0..20_000 {
            let wild = round % 2 == 0;
            let mut code = || {
                let code = (random.draw() >> 8) as u8;
                if wild { code } else { (code & 0x87) | (0x20 + (code >> 3) % 0x20) }
            };
            let (a, b): ([u8; 16], [u8; 16]) = (std::array::from_fn(|_| code()), std::array::from_fn(|_| code()));
            let accumulator = f16::from_bits(random.draw() as u16);
            if !accumulator.is_finite() {
                continue;
            }
            let pairs = a.iter().zip(&b).map(|(&a, &b)| (Operand::from_e4m3(a), Operand::from_e4m3(b)));
            let exact = fdpa::group(pairs.clone(), accumulator, fdpa::FRACTION_FP8);
            // What the powers tell: 8 (E + 15) + 1 in the exponent field, and less than 8 more.
            let power = |e: i32| f64::powi(2.0, 8 * (e + 15) + 1 - 127);
            let powers = pairs.filter_map(|(a, b)| Some(power(a.exponent? + b.exponent?))).sum::<f64>();
            let told = if powers == 0.0 { 0 } else { (powers.log2().floor() as i32 + 127) >> 3 };
            let told = told.max(i32::from((accumulator.to_bits() >> 10) & 0x1f));
            let e = told.max(4) - 15;
            assert_eq!(e, exact.shared.max(-11), "{a:?} {b:?} {accumulator}");
            let units = sum(&a[..8], &b[..8], e, accumulator) + sum(&a[8..], &b[8..], e, f16::ZERO);
            let result = float16::from_units(units, e - fdpa::FRACTION_FP8);
            assert_eq!(result, exact.result, "{a:?} {b:?} {accumulator}");
        }
    }

    #[test]
    fn subgroups_have_one_tile_where_there_is_little_to_do() {
        let chosen = |product| tile(product, 132);
        assert_eq!(chosen([294_912, 32, 1]), Tile { each: 2, beside: 1 }, "the field: rows only");
        assert_eq!(chosen([4608, 512, 1]), Tile { each: 2, beside: 4 }, "level 2: rows are staged for four");
        assert_eq!(chosen([320, 512, 1]), Tile { each: 1, beside: 4 }, "level 4");
        assert_eq!(chosen([1152, 32, 8]), Tile { each: 1, beside: 2 }, "columns that four tiles do not divide");
        for rows in (1..700).step_by(7) {
            for columns in (32..=1024).step_by(32) {
                let tiling = chosen([rows, columns, 1]).tiling();
                assert!(columns.is_multiple_of(tiling.columns), "{rows} x {columns}: {tiling:?}");
            }
        }
    }
}
