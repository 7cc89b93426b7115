//! Floating-point measures of two tensors. They come second: equal bytes are the only pass.

use crate::numerics::e4m3;
use crate::tensor::{Element, Tensor};
use rayon::prelude::*;

/// Measures over all elements whose two values are finite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures {
    /// Largest absolute difference.
    pub max_abs: f64,
    /// Root of the mean squared difference.
    pub rmse: f64,
    /// Peak signal to noise in dB, the peak being the reference's largest magnitude; infinite without a difference.
    pub psnr: f64,
    /// Cosine of the angle between the two; 1 for two zero tensors.
    pub cosine: f64,
    /// Elements left out because a value is not finite.
    pub skipped: u64,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    elements: u64,
    skipped: u64,
    max_abs: f64,
    peak: f64,
    squares: f64,
    dot: f64,
    subject: f64,
    reference: f64,
}

impl Measures {
    /// Measures two tensors of one shape.
    pub(super) fn of(subject: &Tensor, reference: &Tensor) -> Self {
        let sums = match reference.shape.element {
            Element::E4m3 => {
                let values: [f32; 256] = std::array::from_fn(|code| e4m3::decode(code as u8));
                sums(subject.codes(), reference.codes(), |&code| values[usize::from(code)])
            }
            Element::F16 => sums(subject.halves(), reference.halves(), |x| x.to_f32()),
            Element::F32 => sums(subject.floats(), reference.floats(), |&x| x),
        };
        let mean = sums.squares / sums.elements.max(1) as f64;
        let norms = (sums.subject * sums.reference).sqrt();
        let cosine = match () {
            () if norms > 0.0 => sums.dot / norms,
            () if sums.subject == sums.reference => 1.0,
            () => 0.0,
        };
        let psnr = if mean == 0.0 { f64::INFINITY } else { 10.0 * (sums.peak * sums.peak / mean).log10() };
        Self { max_abs: sums.max_abs, rmse: mean.sqrt(), psnr, cosine, skipped: sums.skipped }
    }
}

/// Sums in tasks of fixed size added in order, so that a report's numbers do not depend on the number of cores.
fn sums<T: Sync>(subject: &[T], reference: &[T], value: impl Fn(&T) -> f32 + Sync) -> Sums {
    const TASK: usize = 1 << 16;
    let parts: Vec<Sums> = subject
        .par_chunks(TASK)
        .zip(reference.par_chunks(TASK))
        .map(|(s, r)| {
            let pairs = s.iter().zip(r).map(|(s, r)| (f64::from(value(s)), f64::from(value(r))));
            pairs.fold(Sums::default(), Sums::with)
        })
        .collect();
    parts.into_iter().fold(Sums::default(), Sums::plus)
}

impl Sums {
    fn with(mut self, (s, r): (f64, f64)) -> Self {
        if !s.is_finite() || !r.is_finite() {
            return Self { skipped: self.skipped + 1, ..self };
        }
        let difference = (s - r).abs();
        self.elements += 1;
        self.max_abs = self.max_abs.max(difference);
        self.peak = self.peak.max(r.abs());
        self.squares += difference * difference;
        self.dot += s * r;
        self.subject += s * s;
        self.reference += r * r;
        self
    }

    fn plus(self, other: Self) -> Self {
        Self {
            elements: self.elements + other.elements,
            skipped: self.skipped + other.skipped,
            max_abs: self.max_abs.max(other.max_abs),
            peak: self.peak.max(other.peak),
            squares: self.squares + other.squares,
            dot: self.dot + other.dot,
            subject: self.subject + other.subject,
            reference: self.reference + other.reference,
        }
    }
}
