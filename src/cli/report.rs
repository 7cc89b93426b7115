//! `blockscope report`: a comparison with its causes, pictures and repro bundle, as files for people and programs.
//!
//! The comparison of `blockscope parity`, then the search of `blockscope diagnose` where something differs, written
//! as a folder: one file for each format, beside each other.

use super::memory::Memory;
use super::progress::Progress;
use super::sources::{self, Sources};
use super::{Exit, Failure, interrupt, output};
use crate::compare::parity::{self as compare, Mode, Question, Side};
use crate::diagnosis::what_if::Network;
use crate::diagnosis::{self, Diagnosis, WhatIf};
use crate::engine::memory::Habit;
use crate::engine::{Control, EngineSpec, runner};
use crate::model::Model;
use crate::plan::{Detail, Plan, Role};
use crate::report::bundle::{self, Labels};
use crate::report::compose::{self, Pins};
use crate::report::{self, Fact, Format, Material, Report, material, quoted};
use crate::tensor::{Keeper, Tensor, TensorName};
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

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
    /// Show one element of both sides, such as block-9/attended@12,3,5: x, y and channel. Can be repeated.
    #[arg(long, value_name = "TENSOR@X,Y,C")]
    pin: Vec<String>,
    /// Also write a repro bundle of the first divergent kernel into this new folder: inputs, weights, both results.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Leave the model's weights out of the bundle.
    #[arg(long, requires = "bundle")]
    without_weights: bool,
    /// Do not test the known causes.
    #[arg(long)]
    no_causes: bool,
    /// Also run the exact network with a sum reordered in every block, and say how far rounding alone carries.
    #[arg(long)]
    noise_floor: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let formats = formats(&arguments.format)?;
    let mut sides = sources::sides(&arguments.sources, &arguments.subject, &arguments.reference)?;
    let plan = Arc::clone(&sides.loaded.plan);
    let last = arguments.until.as_deref().map(|text| sources::step(&plan, text)).transpose()?;
    let pins = arguments.pin.iter().map(|text| pin(&plan, text)).collect::<Result<_, _>>()?;
    if let Some(target) =
        arguments.bundle.as_ref().filter(|t| std::fs::read_dir(t).is_ok_and(|mut d| d.next().is_some()))
    {
        return Err(Failure::ask(format_args!("--bundle wants a new or empty folder; path {}", target.display())));
    }
    std::fs::create_dir_all(&arguments.out).map_err(|error| {
        Failure::ask(format_args!("the report's folder cannot be made: {error}; path {}", arguments.out.display()))
    })?;
    let steps = runner::until(&plan, last);
    let habit = if arguments.no_causes { Habit::Steps { engines: sides.engines() } } else { Habit::Blocks };
    let keeper = arguments.memory.keeper(&plan, &steps, &sides.loaded.model, habit)?;
    sides.keep_within(&keeper)?;
    let (mut subject, mut reference, loaded) = (sides.subject, sides.reference, sides.loaded);
    let control = interrupt::job();
    let products = plan.steps[steps.clone()].iter().map(|step| step.op.products(&plan)).sum::<u64>() * 2;
    let progress = Progress::start(&control, products);
    if arguments.noise_floor && sides.features.is_none() {
        return Err(Failure::ask("the noise floor needs an input: expected --input, since the recording has none"));
    }
    let (mut pins, mut effect) = (Pins::new(pins), WhatIf::default());
    let (model, mode) = (&loaded.model, Mode::Both);
    let question = Question { plan: &plan, model, features: sides.features.clone(), steps, mode, control: &control };
    let answer = compare::ask(&mut subject, &mut reference, &question, &mut |row, tensors| {
        progress.at(row.block);
        if let Some((subject, reference)) = tensors {
            pins.look(subject, reference);
            if row.role == Role::Boundary && row.accumulated.is_some() && subject.shape == reference.shape {
                effect.add(&plan.geometry, question.features.as_ref(), subject, reference);
            }
        }
    })?;
    drop(progress);

    let mut report = Report::new(&arguments.subject, &arguments.reference);
    compose::rows(&mut report, &plan, &answer);
    report.environment = compose::environment(mode, &plan, &loaded.model, &loaded.input.source);
    for (name, side) in [("subject", &subject), ("reference", &reference)] {
        report.environment.extend(match side {
            Side::Live(engine, _) => compose::engine(name, &**engine),
            Side::Recorded(record) => recording(name, &plan, &**record),
        });
    }
    report.pins = pins.into_report();
    report.effect = Some(effect).filter(|effect| effect.head().is_some());
    if let (true, Some(features)) = (arguments.noise_floor, &question.features) {
        let network = Network { plan: &plan, model, features, until: last };
        report.noise_floor = Some(diagnosis::noise_floor(&network, &control, &mut |_| {})?);
    }
    let (compared, differing) = answer.tally();
    let mut material = None;
    if differing > 0 {
        match material::collect(&mut subject, &mut reference, &question, &answer)? {
            Ok(found) => {
                show(&mut report, &found, model, &control)?;
                material = Some(found);
            }
            Err(reason) => report.elsewhere.push(format!("There are no pictures and no bundle: {reason}.")),
        }
        if !arguments.no_causes {
            drop(reference);
            let found = diagnose(arguments, (&loaded, sides.features), subject, last, (&control, &keeper))?;
            compose::explain(&mut report, &found);
        }
    }
    report.command = command(arguments, &plan);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    report.origin = vec![Fact::new("written", format!("{now} s after 1970-01-01 UTC"))];
    for format in formats {
        let path = arguments.out.join(format.file_name());
        output::save(&path, &report::export(&report, format))?;
        output::line(format_args!("wrote {}", path.display()));
    }
    if let Some(target) = &arguments.bundle {
        bundle(arguments, target, material.as_ref(), model, &report.conclusion)?;
    }
    output::line(&report.conclusion);
    Ok(match (compared, differing) {
        (0, _) => Exit::Unasked,
        (_, 0) => Exit::Exact,
        _ => Exit::Differs,
    })
}

/// Writes the repro bundle, and says loudly whose weights it holds.
fn bundle(
    arguments: &Arguments,
    target: &Path,
    material: Option<&Material>,
    model: &Model,
    conclusion: &str,
) -> Result<(), Failure> {
    let Some(material) = material else {
        output::complain("note: no bundle was written: there is no kernel that differs on its own");
        return Ok(());
    };
    let weights = !arguments.without_weights;
    let labels = Labels { subject: &arguments.subject, reference: &arguments.reference, conclusion };
    bundle::write(target, material, model, labels, weights).map_err(Failure::ask)?;
    output::line(format_args!("wrote {}", target.display()));
    if weights {
        output::complain(&format!(
            "note: {} holds weights of {} (this kernel's); do not pass it on unless you may, or write it with \
             --without-weights",
            target.display(),
            model.source
        ));
    }
    Ok(())
}

fn show(report: &mut Report, material: &Material, model: &Arc<Model>, control: &Control) -> Result<(), Failure> {
    let mut exact = crate::engine::open(&EngineSpec::cpu())?;
    let inside = material.inside(&mut *exact, model, control)?;
    compose::show(report, material, model, &inside);
    compose::events(report, material, model, &inside, control)?;
    Ok(())
}

/// What is known about a recording: how many tensors, and one digest of them all.
fn recording(side: &str, plan: &Plan, record: &dyn compare::Recorded) -> Vec<Fact> {
    let digests: Vec<_> = plan.boundaries.iter().filter_map(|name| record.digest(name).ok()).collect();
    let text = format!("{} boundaries, digest {}", digests.len(), crate::tensor::run_digest(digests.iter().copied()));
    let facts = record.facts().into_iter().map(|(name, value)| Fact::new(format!("{side} {name}"), value));
    std::iter::once(Fact::new(format!("{side} recording"), text)).chain(facts).collect()
}

/// The command line that makes the same report.
fn command(arguments: &Arguments, plan: &Plan) -> String {
    let mut line = format!(
        "blockscope report --subject {} --reference {} {}",
        quoted(&arguments.subject),
        quoted(&arguments.reference),
        arguments.sources.command(plan)
    );
    for (option, value) in
        arguments.until.iter().map(|until| ("--until", until)).chain(arguments.pin.iter().map(|pin| ("--pin", pin)))
    {
        line += &format!(" {option} {}", quoted(value));
    }
    for (given, option) in [(arguments.no_causes, " --no-causes"), (arguments.noise_floor, " --noise-floor")] {
        line += if given { option } else { "" };
    }
    line + " --out DIR"
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

/// A pin of the command line.
fn pin(plan: &Plan, text: &str) -> Result<(String, TensorName, usize, usize), Failure> {
    let wrong = |problem: String| {
        Failure::ask(format_args!("--pin expects TENSOR@X,Y,CHANNEL, such as block-9/attended@12,3,5; {problem}"))
    };
    let (name, place) = text.split_once('@').ok_or_else(|| wrong(format!("found \"{text}\"")))?;
    let tensor = sources::tensor(plan, name)?;
    let numbers: Vec<usize> = place.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    let &[x, y, channel] = numbers.as_slice() else { return Err(wrong(format!("found \"{text}\""))) };
    let shape = plan.shape(&tensor);
    if x >= shape.size.width || y >= shape.size.height || channel >= shape.channels {
        return Err(wrong(format!("{tensor} is {shape}, and {place} lies outside")));
    }
    Ok((text.to_owned(), tensor, y * shape.size.width + x, channel))
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
    let mut exact = crate::engine::open(&EngineSpec::cpu())?;
    exact.keep_within(keeper);
    Ok(diagnosis::search::diagnose(question, &mut *exact, control, &|_| {})?)
}
