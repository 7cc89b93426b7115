//! Fills a [`Report`] from what a comparison and a diagnosis found: the same for the command line and the window.

use super::material::Material;
use super::{Attention, AttentionSide, Cause, Fact, Outcome, Pin, Probe, Report, Row, percent, picture};
use crate::compare::parity::{self, Mode, Parity};
use crate::compare::{self, Difference};
use crate::diagnosis::{self, Diagnosis, Explanation, Pattern, Tested, explain, search};
use crate::engine::events::{self, Kind};
use crate::engine::reference::{Sources, window_attention};
use crate::engine::{Control, Engine, EngineError, EngineInfo};
use crate::geometry::window;
use crate::model::Model;
use crate::numerics::cosine::HEAD;
use crate::plan::{Op, Plan, Role};
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;

/// Differing elements shown as probes.
const PROBES: usize = 12;

/// Puts an answer's rows into a report, with everything that follows from verdicts alone.
pub fn rows(report: &mut Report, plan: &Plan, answer: &Parity) {
    report.rows = answer.rows.iter().map(|row| row_of(plan, row)).collect();
    settle(report);
}

/// What follows from a report's rows: both first divergences, the conclusion, and where nothing differs.
pub fn settle(report: &mut Report) {
    let differs = |outcome: &Option<Outcome>| outcome.as_ref().is_some_and(Outcome::is_difference);
    let first = report.boundaries().find(|row| differs(&row.accumulated) || differs(&row.isolated));
    report.first_boundary = first.map(|row| row.name.clone());
    report.first_kernel = report.rows.iter().find(|row| differs(&row.isolated)).map(|row| row.name.clone());
    report.conclusion = conclude(report);
    report.elsewhere = elsewhere(report);
}

fn row_of(plan: &Plan, row: &parity::Row) -> Row {
    let kind = if row.role == Role::Boundary { "boundary" } else { "kernel" };
    let mut out = match plan.tensors.get(&row.name) {
        Some(info) => Row::new(row.name.as_str(), kind, row.block, plan.steps[row.step].op.word(), info.shape),
        // The output image: no tensor, and no step.
        None => {
            let (name, op) = (row.name.to_string(), row.kernel.to_owned());
            let shape = format!("rgba {}", plan.geometry.valid);
            Row { name, kind: kind.to_owned(), block: row.block, op, shape, accumulated: None, isolated: None }
        }
    };
    out.accumulated = row.accumulated.as_ref().map(Into::into);
    out.isolated = row.isolated.as_ref().map(Into::into);
    out
}

/// What ran and where: the part of the environment that every report has.
pub fn environment(mode: Mode, plan: &Plan, model: &Model, input: &str) -> Vec<Fact> {
    let field = format!("{} (field {})", plan.geometry.valid, plan.geometry.field);
    vec![
        Fact::new("blockscope", env!("CARGO_PKG_VERSION")),
        Fact::new("platform", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        Fact::new("mode", mode.word()),
        Fact::new("size", field),
        Fact::new("model", &model.source),
        Fact::new("model digest", model.digest().to_string()),
        Fact::new("input", input),
    ]
}

/// What an engine says about itself: its name, its device, and every fact such as driver and half-probe.
pub fn engine(side: &str, engine: &dyn Engine) -> Vec<Fact> {
    let EngineInfo { device, exact, .. } = engine.info();
    let exact = if exact { "" } else { " (not exact)" };
    let first = Fact::new(format!("{side} runs on"), format!("{device}{exact}"));
    let facts = engine.facts().into_iter().map(|(name, value)| Fact::new(format!("{side} {name}"), value));
    std::iter::once(first).chain(facts).collect()
}

/// Every outcome of both modes.
fn outcomes(row: &Row) -> impl Iterator<Item = &Outcome> {
    row.accumulated.iter().chain(&row.isolated)
}

/// The conclusion of a comparison alone, in a sentence.
fn conclude(report: &Report) -> String {
    let all = || report.rows.iter().flat_map(outcomes).filter(|outcome| outcome.is_compared());
    let (compared, differing) = (all().count(), all().filter(|outcome| outcome.is_difference()).count());
    let boundaries = report.boundaries().filter(|row| outcomes(row).any(Outcome::is_compared)).count();
    let kernel = report.first_kernel.as_ref().and_then(|name| report.rows.iter().find(|row| row.name == *name));
    let Some(first) = &report.first_boundary else {
        let inside = kernel.map(|row| format!("; but {} differs inside block {}", row.name, row.block));
        return match compared {
            0 => "nothing was compared".to_owned(),
            _ => format!("bit-exact: {boundaries} boundaries, {compared} comparisons{}", inside.unwrap_or_default()),
        };
    };
    let stepped = report.rows.iter().any(|row| row.kind != "boundary");
    let kernel = match kernel {
        Some(row) if row.name == compare::OUTPUT => {
            "; all tensors agree, the output image does not: the fault lies in \
             its composition, or it was blended with a history"
                .to_owned()
        }
        // Of a recording a block is known by its ends only.
        Some(row) if !stepped => {
            format!("; run from the recorded tensors in front of it, {} differs: the fault lies there", row.name)
        }
        Some(row) => {
            format!("; run alone, the first kernel that differs is {} ({}, block {})", row.name, row.op, row.block)
        }
        None if report.rows.iter().any(|row| row.isolated.as_ref().is_some_and(Outcome::is_compared)) => {
            "; run alone on the other side's inputs, no kernel differs: the difference comes from the inputs".to_owned()
        }
        None => String::new(),
    };
    format!("first divergent boundary {first} ({differing} of {compared} comparisons differ){kernel}")
}

/// What can be said about places without differences from verdicts alone.
fn elsewhere(report: &Report) -> Vec<String> {
    let Some(first) = report.first_kernel.as_ref().or(report.first_boundary.as_ref()) else { return Vec::new() };
    let mut out = Vec::new();
    let before = report.rows.iter().take_while(|row| row.name != *first);
    let exact = before.filter(|row| outcomes(row).next().is_some() && outcomes(row).all(Outcome::is_exact)).count();
    if exact > 0 {
        out.push(format!("All {exact} tensors compared before \"{first}\" are bit-exact."));
    }
    let alone = || report.rows.iter().filter_map(|row| row.isolated.as_ref()).filter(|o| o.is_compared());
    if alone().next().is_some() {
        let (fine, all) = (alone().filter(|o| o.is_exact()).count(), alone().count());
        out.push(format!("{fine} of {all} tensors are bit-exact when their step gets the reference's inputs."));
    }
    let missing = report.rows.iter().flat_map(outcomes).filter(|o| !o.is_compared()).count();
    if missing > 0 {
        out.push(format!("{missing} comparisons did not take place; their reasons are in the table."));
    }
    out
}

/// Elements that a person asks to see, collected while a comparison passes by.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    /// Name, tensor, token and channel.
    pub wanted: Vec<(String, TensorName, usize, usize)>,
    found: BTreeMap<usize, Probe>,
}

impl Pins {
    /// Pins to look for.
    pub fn new(wanted: Vec<(String, TensorName, usize, usize)>) -> Self {
        Self { wanted, found: BTreeMap::new() }
    }

    /// Looks at one tensor of both sides.
    pub fn look(&mut self, subject: &Tensor, reference: &Tensor) {
        for (i, (_, tensor, token, channel)) in self.wanted.iter().enumerate() {
            let shape = reference.shape;
            if *tensor == reference.name && subject.shape == shape && *token < shape.tokens() {
                let index = token * shape.channels + (*channel).min(shape.channels - 1);
                let probe = Probe::new(tensor.as_str(), &Difference::at(subject, reference, index));
                self.found.insert(i, probe);
            }
        }
    }

    /// The pins for a report.
    pub fn into_report(mut self) -> Vec<Pin> {
        let pins = self.wanted.into_iter().enumerate();
        pins.map(|(i, (name, ..))| Pin { name, probe: self.found.remove(&i) }).collect()
    }
}

/// Shows the first divergence: pictures, probes, and the attention of a differing window. `inside` holds every tensor
/// that its kernels read.
pub fn show(report: &mut Report, material: &Material, model: &Model, inside: &BTreeMap<TensorName, Tensor>) {
    let Some((subject, reference)) = material.differing() else { return };
    let plan = &material.plan;
    let info = plan.tensor(&reference.name);
    let grid = search::window_grid(plan, material.last().block).filter(|grid| grid.size == reference.shape.size);
    let valid = Some(plan.geometry.valid_on(info.plane));
    report.pictures = picture::of(subject, reference, picture::Marks { grid, valid });
    let width = reference.shape.element.bytes();
    let pairs = subject.bytes().chunks(width).zip(reference.bytes().chunks(width)).enumerate();
    let places = pairs.filter(|(_, (s, r))| s != r).map(|(index, _)| index).take(PROBES);
    let probe = |index| Probe::new(reference.name.as_str(), &Difference::at(subject, reference, index));
    report.probes = places.map(probe).collect();
    report.attention = attention(material, model, inside);
}

/// What happened inside the divergent kernels, by the reference's arithmetic and, of an engine, by the subject's own.
///
/// # Errors
/// When the control cancels.
pub fn events(
    report: &mut Report,
    material: &Material,
    model: &Model,
    inside: &BTreeMap<TensorName, Tensor>,
    control: &Control,
) -> Result<(), EngineError> {
    let count = |plan: &Plan, step: usize| {
        events::of_step(&plan.steps[step], Sources { plan, model, tensors: inside }, None, control)
    };
    for &step in &material.steps {
        let exact = count(&material.plan, step)?;
        // A chain of kernels is known on the reference's side only.
        let own = material.own.as_ref().filter(|_| material.steps.len() == 1);
        let own = own.map(|own| count(own, step)).transpose()?;
        for &kind in Kind::ALL {
            let counts = (own.as_ref().map(|own| own.count(kind)), exact.count(kind));
            if counts.0.unwrap_or(0) + counts.1 > 0 {
                let (tensor, kind) = (exact.tensor.to_string(), kind.title().to_owned());
                report.events.push(super::Event { tensor, kind, counts });
            }
        }
    }
    Ok(())
}

/// The window of the first differing token, as its first differing head sees it.
fn attention(material: &Material, model: &Model, inside: &BTreeMap<TensorName, Tensor>) -> Option<Attention> {
    let step = material.window_attention()?;
    let Op::WindowAttention(op) = &step.op else { return None };
    let (subject, reference) = material.differing()?;
    let input = inside.get(&op.input)?;
    if reference.shape.size != input.shape.size {
        return None;
    }
    let first = compare::compare(subject, reference).first?;
    // Behind the attention channels are mixed: only its own output says which head it was.
    let head = if reference.name == op.output { (first.channel / HEAD).min(op.heads - 1) } else { 0 };
    let look = |plan: &Plan, rules| {
        let sources = Sources { plan, model, tensors: inside };
        window_attention::look(op, rules, sources, head, first.token)
    };
    let side = |query: &window_attention::Query| AttentionSide {
        scores: (0..window::TOKENS).map(|n| query.scores[window::physical(n)].to_bits()).collect(),
        weights: (0..window::TOKENS).map(|n| query.weights[window::physical(n)]).collect(),
    };
    let (keys, exact) = look(&material.plan, &crate::numerics::Rules::EXACT);
    let own = material.own.as_ref().map(|own| look(own, &own.steps[step.index].rules).1);
    let (at, query) = op.grid(input.shape.size).locate(first.token);
    Some(Attention {
        tensor: op.output.to_string(),
        head,
        window: at,
        query,
        inside: (0..window::TOKENS).map(|n| keys.inside[window::physical(n)]).collect(),
        subject: own.as_ref().map(side),
        reference: side(&exact),
    })
}

/// Puts a whole diagnosis into a report.
pub fn explain(report: &mut Report, found: &Diagnosis) {
    for finding in &found.findings {
        let stop = if report.conclusion.ends_with('.') { "" } else { "." };
        report.conclusion += &format!("{stop} {}", finding.sentence());
        if report.pattern.is_empty() {
            pattern(report, &finding.pattern);
        }
        tested(report, &finding.tensor, &finding.tested);
        if !finding.also.is_empty() {
            let (few, n) = (finding.also.iter().take(4).cloned().collect::<Vec<_>>().join(", "), finding.also.len());
            let more = if n > 4 { ", ..." } else { "" };
            report.conclusion += &format!(" The same cause explains {n} more tensors exactly ({few}{more}).");
        }
    }
    for doubt in &found.doubts {
        let wrong = doubt.holds == Some(false);
        let list = if wrong { &mut report.pattern } else { &mut report.elsewhere };
        list.push(sentence(&doubt.text));
    }
}

/// Adds what one divergence's causes say to the conclusion.
pub fn explained(report: &mut Report, found: &Explanation) {
    report.conclusion += &format!(": {}.", explain::verdict(found.explained, &found.tested, found.tried));
}

/// Causes tested on one tensor.
pub fn tested(report: &mut Report, tensor: &str, all: &[Tested]) {
    for tested in all {
        let pages = tested.causes.iter().filter_map(|id| diagnosis::find(id));
        let advice: Vec<&str> = pages.map(|(page, _)| page.change).collect();
        report.causes.push(Cause {
            id: tested.causes.join(" + "),
            name: tested.names(),
            site: tensor.to_owned(),
            explained: tested.share(),
            newly_wrong: tested.newly_wrong,
            exact: tested.exact() && tested.whole,
            advice: advice.join(" "),
        });
    }
}

/// Where differences lie, and where they do not.
pub fn pattern(report: &mut Report, pattern: &Pattern) {
    report.pattern.extend(pattern.notes.iter().cloned());
    for share in &pattern.shares {
        let (d, e) = (percent(share.of_differences), percent(share.of_elements));
        if share.of_differences == 0.0 {
            report.elsewhere.push(format!("None of the differences lie {} ({e} of the elements).", share.part));
        } else {
            let text = format!("{d} of the differences lie {} ({e} of the elements).", share.part);
            let rare = share.of_differences < share.of_elements;
            if rare { &mut report.elsewhere } else { &mut report.pattern }.push(text);
        }
    }
    for (axis, period) in &pattern.periods {
        report.pattern.push(format!("Differences repeat along {axis} with a period of {period} tokens."));
    }
    if !pattern.distances.is_empty() {
        let near: u64 = pattern.distances.iter().filter(|(a, b, _)| a.abs().max(b.abs()) <= 1).map(|d| d.2).sum();
        let share = near as f64 / pattern.differing.max(1) as f64;
        report.pattern.push(format!("{} of the differing elements are one code apart.", percent(share)));
    }
}

/// A text with a capital and a full stop.
pub(super) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{stop}", chars.as_str())
}
