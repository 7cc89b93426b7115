//! Divergence reports: one record of what was compared and found, and one exporter per format.
//!
//! A [`Report`] is facts only: whoever ran the comparison fills it in, exporters turn it into bytes. Every format
//! says the same; the HTML page also carries pictures.
//!
//! **Invariants**
//! * Deterministic: the same report gives the same bytes. Time and host stand apart in [`Report::origin`], and
//!   nowhere else.
//! * Self-contained: no format refers to a file or an address that must be fetched.
//! * A tensor that was not compared is listed with its reason, and counts as a failure in JUnit only as skipped.
//!
//! JSON schema, version 1: the serde form of [`Report`]. Fields are only ever added; a change of meaning changes
//! [`SCHEMA`].

pub mod bundle;
mod command;
pub mod compose;
mod csv;
mod format;
mod html;
mod json;
mod junit;
mod markdown;
pub mod material;
pub mod picture;
mod sarif;

pub use command::quoted;
pub use format::Format;
pub use material::Material;
pub use picture::Picture;

pub(crate) use crate::compare::percent;

use crate::compare::{Comparison, Difference, Verdict};
use crate::diagnosis::WhatIf;
use crate::tensor::Shape;
use serde::{Deserialize, Serialize};

/// Version of the JSON form.
pub const SCHEMA: u32 = 1;

/// Everything one comparison found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was compared, as specified: an engine, a recording, a digest file.
    pub subject: String,
    /// What it was compared with.
    pub reference: String,
    /// One paragraph: what was found, where, why.
    pub conclusion: String,
    /// The first boundary that differs.
    pub first_boundary: Option<String>,
    /// The first kernel that differs in isolation.
    pub first_kernel: Option<String>,
    /// Boundaries and kernels, in the plan's order.
    pub rows: Vec<Row>,
    /// Single elements, with the bits of both sides.
    pub probes: Vec<Probe>,
    /// Elements that a person asked for, whether they differ or not.
    #[serde(default)]
    pub pins: Vec<Pin>,
    /// One differing window's attention, where the divergent kernel has one.
    pub attention: Option<Attention>,
    /// Known causes that were tested, best first.
    pub causes: Vec<Cause>,
    /// Where the differences lie: a sentence each.
    pub pattern: Vec<String>,
    /// Where they do not lie: a sentence each.
    #[serde(default)]
    pub elsewhere: Vec<String>,
    /// Events of the divergent kernels: NaN -> +0, -0, saturation, overflow, subnormals, ties.
    pub events: Vec<Event>,
    /// What the differences come to at every boundary and in the output image, each side on its own results.
    #[serde(default)]
    pub effect: Option<WhatIf>,
    /// The same of the exact network with a sum reordered in every block: how far rounding alone carries.
    #[serde(default)]
    pub noise_floor: Option<WhatIf>,
    /// Versions, hashes, device, driver, half-probe.
    pub environment: Vec<Fact>,
    /// The command line that reproduces this report.
    pub command: String,
    /// When and where: left out of every comparison of reports.
    pub origin: Vec<Fact>,
    /// Pictures of the first divergent tensor; only the HTML page carries them.
    #[serde(skip)]
    pub pictures: Vec<Picture>,
}

/// One tensor of the plan with both verdicts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The tensor.
    pub name: String,
    /// `boundary` or `kernel`.
    pub kind: String,
    /// Block 0..=70.
    pub block: usize,
    /// The op that writes it.
    pub op: String,
    /// Element format and extent.
    pub shape: String,
    /// Each side on its own previous results.
    pub accumulated: Option<Outcome>,
    /// The subject on the reference's inputs.
    pub isolated: Option<Outcome>,
}

impl Row {
    /// A row without verdicts.
    pub fn new(name: &str, kind: &str, block: usize, op: &str, shape: Shape) -> Self {
        let [name, kind, op] = [name, kind, op].map(str::to_owned);
        Self { name, kind, block, op, shape: shape.to_string(), accumulated: None, isolated: None }
    }
}

/// The result of comparing one tensor in one mode.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// `bit-exact`, `sign-of-zero`, `differs` or `not-compared`.
    pub verdict: String,
    /// Why it was not compared.
    pub reason: Option<String>,
    /// Elements compared.
    pub elements: u64,
    /// Elements that differ.
    pub differing: u64,
    /// Bytes that differ.
    pub differing_bytes: u64,
    /// Differing elements by class.
    pub classes: Vec<(String, u64)>,
    /// The first element that differs.
    pub first: Option<Probe>,
}

impl Outcome {
    /// Differing elements as a share of all, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.elements == 0 { 0.0 } else { self.differing as f64 / self.elements as f64 }
    }

    /// A comparison that did not take place.
    pub fn not_compared(reason: &str) -> Self {
        Self {
            verdict: "not-compared".to_owned(),
            reason: Some(reason.to_owned()),
            elements: 0,
            differing: 0,
            differing_bytes: 0,
            classes: Vec::new(),
            first: None,
        }
    }

    /// Whether something was compared.
    pub fn is_compared(&self) -> bool {
        self.verdict != "not-compared"
    }

    /// Whether every byte is equal.
    pub fn is_exact(&self) -> bool {
        self.verdict == "bit-exact"
    }

    /// Whether something was compared and is not equal.
    pub fn is_difference(&self) -> bool {
        matches!(self.verdict.as_str(), "differs" | "sign-of-zero")
    }
}

impl From<&Comparison> for Outcome {
    fn from(comparison: &Comparison) -> Self {
        let reason = match &comparison.verdict {
            Verdict::NotCompared(reason) => Some(reason.clone()),
            _ => None,
        };
        let classes = comparison.counts.iter().filter(|&(class, count)| count > 0 && class.word() != "equal");
        Self {
            verdict: comparison.verdict.word().to_owned(),
            reason,
            elements: comparison.counts.total(),
            differing: comparison.counts.differing(),
            differing_bytes: comparison.differing_bytes,
            classes: classes.map(|(class, count)| (class.word().to_owned(), count)).collect(),
            first: comparison.first.as_ref().map(|first| Probe::new(comparison.name.as_str(), first)),
        }
    }
}

/// One element of both sides.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// The tensor.
    pub tensor: String,
    /// Token `y * width + x`.
    pub token: usize,
    /// Column.
    pub x: usize,
    /// Row.
    pub y: usize,
    /// Channel.
    pub channel: usize,
    /// The subject's bits, hexadecimal.
    pub subject_bits: String,
    /// The reference's bits, hexadecimal.
    pub reference_bits: String,
    /// The subject's value.
    pub subject: String,
    /// The reference's value.
    pub reference: String,
    /// How they differ.
    pub class: String,
    /// Codes from the reference to the subject, signed.
    pub distance: i64,
}

impl Probe {
    /// An element of a comparison.
    pub fn new(tensor: &str, at: &Difference) -> Self {
        Self {
            tensor: tensor.to_owned(),
            token: at.token,
            x: at.x,
            y: at.y,
            channel: at.channel,
            subject_bits: format!("{:#04x}", at.subject_bits),
            reference_bits: format!("{:#04x}", at.reference_bits),
            // Text, since JSON has no NaN, no infinity and no -0.
            subject: at.subject.to_string(),
            reference: at.reference.to_string(),
            class: at.class.word().to_owned(),
            distance: at.distance,
        }
    }
}

/// An element that a person asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pin {
    /// What the person calls it.
    pub name: String,
    /// The element; absent when its tensor was not compared byte by byte.
    pub probe: Option<Probe>,
}

/// One query's attention in a differing window. Keys are in natural order, `y * 8 + x` in the window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attention {
    /// The tensor that the attention writes.
    pub tensor: String,
    /// Head.
    pub head: usize,
    /// Window, column and row.
    pub window: (usize, usize),
    /// Query, natural order.
    pub query: usize,
    /// Which keys lie in the field.
    pub inside: Vec<bool>,
    /// The subject's side, where its arithmetic is known: an engine of this program.
    pub subject: Option<AttentionSide>,
    /// The exact side.
    pub reference: AttentionSide,
}

/// What a query makes of the 64 keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttentionSide {
    /// Bits of the scores, halves.
    pub scores: Vec<u16>,
    /// Codes of the published weights, E4M3.
    pub weights: Vec<u8>,
}

/// A known cause that was tested.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cause {
    /// Its id in the catalogue.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where it was switched on.
    pub site: String,
    /// Share of the differing bytes that it reproduces, 0 to 1.
    pub explained: f64,
    /// Bytes that were equal and that it makes wrong.
    pub newly_wrong: u64,
    /// Whether the reference with this cause equals the subject in every byte.
    pub exact: bool,
    /// What to change in the port.
    pub advice: String,
}

/// Events of one kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// The kernel's tensor.
    pub tensor: String,
    /// What happened.
    pub kind: String,
    /// How often on the subject's side, where its arithmetic is known, and on the reference's.
    pub counts: (Option<u64>, u64),
}

/// A name and a value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fact {
    /// What.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Fact {
    /// A fact.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

impl Report {
    /// An empty report of two sides.
    pub fn new(subject: &str, reference: &str) -> Self {
        Self { schema: SCHEMA, subject: subject.to_owned(), reference: reference.to_owned(), ..Self::default() }
    }

    /// What the differences come to in the end, and beside the noise floor: a sentence each.
    pub fn in_the_end(&self) -> Vec<String> {
        let tell = |who: &str, ends: &Option<WhatIf>| {
            ends.as_ref().filter(|ends| ends.head().is_some()).map(|ends| format!("{who}: {}.", ends.phrase()))
        };
        let floor = "Noise floor, the exact network with a sum reordered in every block";
        let both = self.effect.as_ref().zip(self.noise_floor.as_ref());
        let judged = both.and_then(|(own, floor)| own.against(floor)).map(|text| compose::sentence(&text));
        [tell("Subject", &self.effect), tell(floor, &self.noise_floor), judged].into_iter().flatten().collect()
    }

    /// Rows of boundaries.
    pub fn boundaries(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.kind == "boundary")
    }

    /// Rows that differ in either mode.
    pub fn divergent(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.accumulated.iter().chain(&row.isolated).any(Outcome::is_difference))
    }
}

/// A report in a format.
pub fn export(report: &Report, format: Format) -> Vec<u8> {
    let text = match format {
        Format::Html => html::export(report),
        Format::Json => json::export(report),
        Format::Junit => junit::export(report),
        Format::Sarif => sarif::export(report),
        Format::Markdown => markdown::export(report),
        Format::Csv => csv::export(report),
    };
    text.into_bytes()
}
