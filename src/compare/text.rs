//! A comparison as one line for people.

use super::{Class, Comparison, Difference, Verdict};
use crate::tensor::Element;
use std::fmt;

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.verdict)?;
        match (&self.verdict, self.digests) {
            (Verdict::NotCompared(_), _) => return Ok(()),
            (Verdict::BitExact, None) => return write!(f, ", {} bytes", self.bytes),
            (_, Some((s, r))) if s == r => return write!(f, ", digest {s}"),
            (_, Some((s, r))) => return write!(f, ", digest {s} against {r}"),
            (Verdict::SignOfZero | Verdict::Differs, None) => {}
        }
        write!(f, ", {} of {} bytes", self.differing_bytes, self.bytes)?;
        write!(f, ", {:.4} % of elements", self.share() * 100.0)?;
        let classes = self.counts.iter().filter(|(class, count)| *class != Class::Equal && *count > 0);
        let classes: Vec<String> = classes.map(|(class, count)| format!("{count} {class}")).collect();
        write!(f, " ({})", classes.join(", "))?;
        if let Some(first) = &self.first {
            write!(f, ", first at {first}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { x, y, channel, subject, reference, subject_bits, reference_bits, distance, .. } = self;
        write!(f, "token {} (x {x}, y {y}) channel {channel}: ", self.token)?;
        write!(f, "{subject} ({subject_bits:#x}) against {reference} ({reference_bits:#x}), {distance:+} codes")
    }
}

/// Bits of an element, as many digits as it has.
pub fn bits(element: Element, bits: u32) -> String {
    format!("{bits:#0width$x}", width = 2 + 2 * element.bytes())
}

/// A share as people read it: `12.3 %`, with more digits where it is small. Only all is 100 %.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        100.0 => "100 %".to_owned(),
        p if p > 99.9 => "99.9 %".to_owned(),
        p if p >= 10.0 => format!("{p:.1} %"),
        p if p >= 0.01 => format!("{p:.2} %"),
        p => format!("{p:.1e} %"),
    }
}
