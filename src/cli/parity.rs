//! `blockscope parity`: two engines or recordings, boundary by boundary, and where they part.

use super::memory::Memory;
use super::progress::Progress;
use super::sources::{self, Loaded, Sources};
use super::{Exit, Failure, interrupt, output, watch};
use crate::compare::parity::{self, Mode, Question, Row, Side};
use crate::diagnosis::what_if::Network;
use crate::diagnosis::{self, WhatIf};
use crate::engine::memory::Habit;
use crate::engine::runner;
use crate::plan::{Plan, Role};
use crate::report::{self, Format, Report, compose, quoted};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The side under test: an engine, a capture directory, or a digests JSON.
    #[arg(long, value_name = "S", required_unless_present = "watch", conflicts_with = "watch")]
    subject: Option<String>,
    /// Instead of a subject: a folder into which a running port writes its dumps, compared as they come.
    #[arg(long, value_name = "DIR")]
    watch: Option<PathBuf>,
    /// With --watch: end when nothing new came for so long.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "watch")]
    idle: u64,
    /// With --watch: what the dumps are, as for `import`.
    #[arg(long, value_name = "FILE", requires = "watch")]
    map: Option<PathBuf>,
    /// The side that is right: the same kinds.
    #[arg(long, value_name = "R")]
    reference: String,
    /// On which inputs each step runs: its own side's, the other side's, or both in turn.
    #[arg(long, value_enum, default_value_t = ModeName::Both)]
    mode: ModeName,
    #[command(flatten)]
    sources: Sources,
    /// The last step to compare: a tensor's name or a step's index.
    #[arg(long, value_name = "STEP")]
    until: Option<String>,
    #[command(flatten)]
    memory: Memory,
    /// Also run the exact network with a sum reordered in every block, and say how far rounding alone carries.
    #[arg(long)]
    noise_floor: bool,
    /// Write the result as JSON; `-` for standard output.
    #[arg(long, value_name = "FILE|-")]
    json: Option<String>,
    /// Write the result as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    Accumulated,
    Isolated,
    Both,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mode = match arguments.mode {
        ModeName::Accumulated => Mode::Accumulated,
        ModeName::Isolated => Mode::Isolated,
        ModeName::Both => Mode::Both,
    };
    for file in [&arguments.json, &arguments.junit].into_iter().flatten().filter(|file| *file != "-") {
        output::check_writable(Path::new(file))?;
    }
    let named = subject_name(arguments);
    let watched = arguments.watch.as_deref();
    // A watched folder takes the subject's place once it is read.
    let opened = if watched.is_some() { "cpu" } else { named.as_str() };
    let mut sides = sources::sides(&arguments.sources, opened, &arguments.reference)?;
    let plan = Arc::clone(&sides.loaded.plan);
    let last = arguments.until.as_deref().map(|text| sources::step(&plan, text)).transpose()?;
    let control = interrupt::job();
    let steps = runner::until(&plan, last);
    let habit = Habit::Steps { engines: sides.engines() };
    let keeper = arguments.memory.keeper(&plan, &steps, &sides.loaded.model, habit)?;
    sides.keep_within(&keeper)?;
    let quiet = arguments.json.as_deref() == Some("-");
    if !quiet {
        announce(arguments, &named, mode, &sides.loaded);
    }
    if let Some(folder) = watched {
        let (map, idle) = (arguments.map.as_deref(), Duration::from_secs(arguments.idle));
        watch::collect(&watch::Question { folder, map, idle, last, quiet }, &mut sides)?;
    }
    let (mut subject, mut reference, loaded) = (sides.subject, sides.reference, sides.loaded);
    let products = plan.steps[steps.clone()].iter().map(|step| step.op.products(&plan)).sum::<u64>() * 2;
    let progress = Progress::start(&control, products);
    let features = sides.features;
    if arguments.noise_floor && features.is_none() {
        return Err(Failure::ask("the noise floor needs an input: expected --input, since the recording has none"));
    }
    let mut effects = WhatIf::default();
    let question = Question { plan: &plan, model: &loaded.model, features, steps, mode, control: &control };
    let answer = parity::ask(&mut subject, &mut reference, &question, &mut |row, tensors| {
        progress.at(row.block);
        let accumulated = row.role == Role::Boundary && row.accumulated.is_some();
        if let (true, Some((got, expected))) = (accumulated && mode.accumulated(), tensors)
            && got.shape == expected.shape
        {
            effects.add(&plan.geometry, question.features.as_ref(), got, expected);
        }
        if !quiet && row.role == Role::Boundary {
            for text in lines(row) {
                progress.line(text);
            }
        }
    })?;
    drop(progress);
    let mut report = Report::new(&named, &arguments.reference);
    compose::rows(&mut report, &plan, &answer);
    report.environment = compose::environment(mode, &plan, &loaded.model, &loaded.input.source);
    for (name, side) in [("subject", &subject), ("reference", &reference)] {
        if let Side::Live(engine, _) = side {
            report.environment.extend(compose::engine(name, &**engine));
        }
    }
    let ends = ends(arguments, &effects, &question, last)?;
    report.pattern.extend(ends.iter().cloned());
    report.command = command(arguments, &named, mode, &plan);
    for (target, format) in [(&arguments.json, Format::Json), (&arguments.junit, Format::Junit)] {
        if let Some(target) = target {
            let bytes = report::export(&report, format);
            output::text_to(target, &String::from_utf8_lossy(&bytes))?;
        }
    }
    if !quiet {
        output::line(&report.conclusion);
        ends.iter().for_each(output::line);
    }
    Ok(match answer.tally() {
        (0, _) => {
            output::complain("error: nothing was compared");
            Exit::Unasked
        }
        (_, 0) => Exit::Exact,
        _ => Exit::Differs,
    })
}

/// The command line that asks the same again.
fn command(arguments: &Arguments, named: &str, mode: Mode, plan: &Plan) -> String {
    let option = if arguments.watch.is_some() { "watch" } else { "subject" };
    let mut line = format!(
        "blockscope parity --{option} {} --reference {} --mode {} {}",
        quoted(named),
        quoted(&arguments.reference),
        mode.word(),
        arguments.sources.command(plan)
    );
    let map = arguments.map.as_ref().map(|map| map.display().to_string());
    for (option, value) in [("--map", map.as_ref()), ("--until", arguments.until.as_ref())] {
        if let Some(value) = value {
            line += &format!(" {option} {}", quoted(value));
        }
    }
    if arguments.noise_floor { line + " --noise-floor" } else { line }
}

/// What is compared, in one line.
fn announce(arguments: &Arguments, named: &str, mode: Mode, loaded: &Loaded) {
    output::line(format_args!(
        "subject {named}, reference {}, mode {}, model {}, input {}, size {} px",
        arguments.reference,
        mode.word(),
        loaded.model.source,
        loaded.input.source,
        loaded.plan.geometry.valid
    ));
}

/// What the differences come to in the end, and what rounding alone would.
fn ends(
    arguments: &Arguments,
    effects: &WhatIf,
    question: &Question<'_>,
    until: Option<usize>,
) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    if effects.head().is_some_and(|head| head.differing > 0) {
        lines.push(format!("in the end: {}", effects.phrase()));
    }
    if let (true, Some(features)) = (arguments.noise_floor, &question.features) {
        let network = Network { plan: question.plan, model: question.model, features, until };
        let floor = diagnosis::noise_floor(&network, question.control, &mut |_| {})?;
        lines.push(format!("noise floor, the exact network with sums reordered: {}", floor.phrase()));
    }
    Ok(lines)
}

/// The subject as a person named it: an engine, a path, or the watched folder.
fn subject_name(arguments: &Arguments) -> String {
    let watched = || arguments.watch.as_ref().map(|folder| folder.display().to_string());
    arguments.subject.clone().or_else(watched).unwrap_or_default()
}

/// One line for each answer; one line where both are the same.
fn lines(row: &Row) -> Vec<String> {
    let name = row.name.as_str();
    match (&row.accumulated, &row.isolated) {
        (Some(a), Some(i)) if a == i => vec![format!("{name:16} {a}")],
        (a, i) => {
            let line = |mode: &str, text: &dyn std::fmt::Display| format!("{name:16} {mode:11} {text}");
            let accumulated = a.as_ref().map(|answer| line("accumulated", answer));
            accumulated.into_iter().chain(i.as_ref().map(|answer| line("isolated", answer))).collect()
        }
    }
}
