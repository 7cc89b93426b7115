//! `blockscope report`: a comparison with its causes and pictures, as files for people and programs.
//!
//! The comparison of `blockscope parity`, then the search of `blockscope diagnose` where something differs, written
//! as a folder: one file for each format, beside each other, all or none.

use super::memory::Memory;
use super::progress::Progress;
use super::sources::{self, Sources};
use super::{Exit, Failure, output, parity};
use crate::compare::parity::{self as compare, Mode, Question, Side};
use crate::compare::{Difference, Verdict};
use crate::diagnosis::{self, Diagnosis};
use crate::engine::memory::Habit;
use crate::engine::{Control, EngineSpec, runner};
use crate::plan::{Detail, Plan};
use crate::report::{self, Cause, Fact, Format, Probe, Report, picture};
use crate::tensor::{Keeper, Tensor};
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Differing elements shown as probes.
const PROBES: usize = 12;
/// Divergences that the search explains.
const FINDINGS: usize = 4;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The side under test: an engine, a capture directory, or a digests JSON.
    #[arg(long, value_name = "S")]
    subject: String,
    /// The side that is right: the same kinds.
    #[arg(long, value_name = "R")]
    reference: String,
    #[command(flatten)]
    sources: Sources,
    /// The last step to compare: a tensor's name or a step's index.
    #[arg(long, value_name = "STEP")]
    until: Option<String>,
    /// The folder to write; made if it is not there.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Formats, separated by commas: html, json, junit, sarif, markdown, csv. All without.
    #[arg(long, value_name = "FORMATS", value_delimiter = ',')]
    format: Vec<String>,
    #[command(flatten)]
    memory: Memory,
    /// Do not test the known causes.
    #[arg(long)]
    no_causes: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let formats = formats(&arguments.format)?;
    std::fs::create_dir_all(&arguments.out).map_err(|error| {
        Failure::ask(format_args!("the report's folder cannot be made: {error}; path {}", arguments.out.display()))
    })?;
    let mut sides = sources::sides(&arguments.sources, &arguments.subject, &arguments.reference)?;
    let plan = Arc::clone(&sides.loaded.plan);
    let last = arguments.until.as_deref().map(|text| sources::step(&plan, text)).transpose()?;
    let steps = runner::until(&plan, last);
    let habit = if arguments.no_causes { Habit::Steps { engines: sides.engines() } } else { Habit::Blocks };
    let keeper = arguments.memory.keeper(&plan, &steps, &sides.loaded.model, habit)?;
    sides.keep_within(&keeper)?;
    let (mut subject, mut reference, loaded) = (sides.subject, sides.reference, sides.loaded);
    let control = Control::new();
    let products = plan.steps[steps.clone()].iter().map(|step| step.op.products(&plan)).sum::<u64>() * 2;
    let progress = Progress::start(&control, products);
    let mut evidence = Evidence::default();
    let question = Question {
        plan: &plan,
        model: &loaded.model,
        features: sides.features.clone(),
        steps,
        mode: Mode::Both,
        control: &control,
    };
    let answer = compare::ask(&mut subject, &mut reference, &question, &mut |row, tensors| {
        progress.at(row.block);
        evidence.look(row, tensors);
    })?;
    drop(progress);

    let mut report = Report::new(&arguments.subject, &arguments.reference);
    parity::describe(&mut report, Mode::Both, &plan, &loaded, &answer);
    report.conclusion = parity::conclude(&plan, &answer);
    report.environment.push(Fact::new("model digest", loaded.model.digest().to_string()));
    for (name, side) in [("subject device", &subject), ("reference device", &reference)] {
        if let Side::Live(engine, _) = side {
            report.environment.push(Fact::new(name, engine.info().device));
        }
    }
    evidence.tell(&mut report);
    let (compared, differing) = answer.tally();
    if differing > 0 && !arguments.no_causes {
        drop(reference);
        let found = diagnose(arguments, (&loaded, sides.features), subject, last, (&control, &keeper))?;
        explain(&mut report, &found);
    }
    report.command = format!(
        "blockscope report --subject {} --reference {} {} --out DIR",
        arguments.subject,
        arguments.reference,
        arguments.sources.command(&plan)
    );
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    report.origin = vec![Fact::new("written", format!("{now} s after 1970-01-01 UTC"))];
    for format in formats {
        let path = arguments.out.join(format.file_name());
        output::save(&path, &report::export(&report, format))?;
        output::line(format_args!("wrote {}", path.display()));
    }
    output::line(&report.conclusion);
    Ok(match (compared, differing) {
        (0, _) => Exit::Unasked,
        (_, 0) => Exit::Exact,
        _ => Exit::Differs,
    })
}

fn formats(names: &[String]) -> Result<Vec<Format>, Failure> {
    if names.is_empty() {
        return Ok(Format::ALL.to_vec());
    }
    let parse = |name: &String| {
        let known = || Format::ALL.map(Format::name).join(", ");
        Format::parse(name).ok_or_else(|| Failure::ask(format_args!("expected {}; found \"{name}\"", known())))
    };
    names.iter().map(parse).collect()
}

/// What the first divergent tensor looks like, gathered while the comparison runs.
#[derive(Default)]
struct Evidence {
    first: Option<(Tensor, Tensor)>,
    alone: bool,
}

impl Evidence {
    /// Keeps the first kernel that differs alone; until one is found, the first tensor that differs at all.
    fn look(&mut self, row: &compare::Row, tensors: Option<(&Tensor, &Tensor)>) {
        let Some((subject, reference)) = tensors else { return };
        let differs = |answer: &crate::compare::Comparison| answer.verdict == Verdict::Differs;
        let alone = row.isolated.as_ref().is_some_and(differs);
        let wanted = if self.first.is_none() { row.answers().any(differs) } else { alone && !self.alone };
        if wanted && subject.shape == reference.shape {
            self.first = Some((subject.clone(), reference.clone()));
            self.alone = alone;
        }
    }

    fn tell(&self, report: &mut Report) {
        let Some((subject, reference)) = &self.first else { return };
        report.pictures = picture::of(subject, reference);
        let width = reference.shape.element.bytes();
        let pairs = subject.bytes().chunks(width).zip(reference.bytes().chunks(width)).enumerate();
        let places = pairs.filter(|(_, (s, r))| s != r).map(|(index, _)| index).take(PROBES);
        let probe = |index| Probe::new(reference.name.as_str(), &Difference::at(subject, reference, index));
        report.probes = places.map(probe).collect();
    }
}

fn diagnose(
    arguments: &Arguments,
    (loaded, features): (&sources::Loaded, Option<Tensor>),
    subject: Side,
    until: Option<usize>,
    (control, keeper): (&Control, &Arc<Keeper>),
) -> Result<Diagnosis, Failure> {
    let plan = Arc::new(Plan::new(loaded.plan.geometry, Detail::Raw));
    let side = match subject {
        // An engine runs the plan with every raw tensor, which some causes read.
        Side::Live(..) => {
            let spec: EngineSpec = arguments.subject.parse().map_err(Failure::ask)?;
            diagnosis::Run::engine(&spec, &plan).map_err(Failure::ask)?.within(keeper)
        }
        Side::Recorded(record) => diagnosis::Run::Recording(Box::new(move |name| record.tensor(name).ok())),
    };
    let until = until.map(|last| plan.tensor(loaded.plan.steps[last].name()).step.unwrap_or(last));
    let question =
        diagnosis::Question { plan, model: Arc::clone(&loaded.model), features, side, until, limit: FINDINGS };
    let mut exact = crate::engine::open(&"cpu".parse().map_err(Failure::ask)?)?;
    exact.keep_within(keeper);
    Ok(diagnosis::search::diagnose(question, &mut *exact, control, &|_| {})?)
}

/// Puts the search's answer into the report.
fn explain(report: &mut Report, found: &Diagnosis) {
    for finding in &found.findings {
        report.conclusion += &format!(" {}", finding.sentence());
        report.pattern.extend(finding.pattern.sentences());
        for tested in &finding.tested {
            let pages = tested.causes.iter().filter_map(|id| diagnosis::find(id));
            let (names, advice): (Vec<&str>, Vec<&str>) =
                pages.map(|(page, variant)| (variant.name, page.change)).unzip();
            report.causes.push(Cause {
                id: tested.causes.join(" + "),
                name: names.join(", and "),
                site: finding.tensor.clone(),
                explained: tested.share(),
                newly_wrong: tested.newly_wrong,
                exact: tested.exact() && tested.whole,
                advice: advice.join(" "),
            });
        }
    }
    report.pattern.extend(found.doubts.iter().map(|doubt| doubt.text.clone()));
}
