//! `blockscope diagnose`: which known cause explains the subject's divergence, kernel by kernel.

use super::memory::Memory;
use super::sources::{self, Loaded, Sources};
use super::{Exit, Failure, interrupt, output};
use crate::compare::parity::Side;
use crate::diagnosis::search::{self, Stage};
use crate::diagnosis::what_if::Network;
use crate::diagnosis::{self, Diagnosis, Doubt, Finding, Question, Run, WhatIf};
use crate::engine::memory::Habit;
use crate::engine::spec::EngineKind;
use crate::engine::{self, Control, EngineSpec, runner};
use crate::plan::{Detail, names};
use crate::tensor::Tensor;
use clap::Args;
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The side under test: an engine, with causes switched on or without, or a capture directory.
    #[arg(long, value_name = "S")]
    pub(super) subject: String,
    /// The side that is right: the same kinds. One that is not the exact network itself is doubted, and walked too.
    #[arg(long, value_name = "R", default_value = "cpu")]
    pub(super) reference: String,
    #[command(flatten)]
    pub(super) sources: Sources,
    /// The last step to look at: a tensor's name or a step's index.
    #[arg(long, value_name = "STEP")]
    pub(super) until: Option<String>,
    /// Stop after this many different findings.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(super) limit: usize,
    #[command(flatten)]
    pub(super) memory: Memory,
    /// Also run both sides on their own results to the end, and the exact network with a sum reordered in every
    /// block: differing bytes and PSNR of every boundary and of the output image.
    #[arg(long)]
    pub(super) noise_floor: bool,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// What a subject does in the end, and what rounding alone would.
#[derive(Debug)]
pub(super) struct Ends {
    /// The subject beside the exact network; a recording is not run.
    subject: Option<WhatIf>,
    floor: WhatIf,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let start = Instant::now();
    let (answer, ends) = diagnose(arguments, !arguments.json)?;
    let [subject, reference] = &answer;
    if arguments.json {
        let side = |d: &Option<Diagnosis>| serde_json::to_value(d).map_err(|e| Failure::Fault(e.to_string()));
        output::json(&json!({
            "version": 1, "subject": arguments.subject, "reference": arguments.reference,
            "reproduce": subject.as_ref().map(|d| format!("cpu+{}", search::profile_of(d))),
            "diagnosis": side(subject)?, "doubted_reference": side(reference)?,
            "effect": ends.as_ref().and_then(|ends| ends.subject.as_ref()).map(|effect| json!(effect)),
            "noise_floor": ends.as_ref().map(|ends| json!(ends.floor)),
        }));
    } else {
        for (name, diagnosis) in [("subject", subject), ("reference", reference)] {
            if let Some(diagnosis) = diagnosis {
                text(name, diagnosis).iter().for_each(output::line);
            }
        }
        ends.iter().flat_map(Ends::lines).for_each(output::line);
        output::line(format_args!("took {:.1} s", start.elapsed().as_secs_f64()));
    }
    let sides = || answer.iter().flatten();
    let doubtful = |d: &Diagnosis| d.doubts.iter().any(|doubt| doubt.holds == Some(false));
    Ok(match () {
        () if sides().any(|d| !d.findings.is_empty() || doubtful(d)) => Exit::Differs,
        () if sides().any(|d| d.exact == 0) => Exit::Unasked,
        () => Exit::Exact,
    })
}

/// Both sides; `None` for a side that is the exact network itself.
pub(super) fn diagnose(arguments: &Arguments, tell: bool) -> Result<([Option<Diagnosis>; 2], Option<Ends>), Failure> {
    let sides = sources::sides_with(&arguments.sources, &arguments.subject, &arguments.reference, Detail::Raw)?;
    let loaded = sides.loaded;
    let until = arguments.until.as_deref().map(|text| sources::step(&loaded.plan, text)).transpose()?;
    let steps = runner::until(&loaded.plan, until);
    let keeper = arguments.memory.keeper(&loaded.plan, &steps, &loaded.model, Habit::Blocks)?;
    let exact = EngineSpec::cpu();
    let control = interrupt::job();
    let progress = |stage: Stage| {
        if let (true, Stage::Testing(name, 0, all)) = (tell, stage) {
            output::complain(&format!("testing {all} candidates on \"{name}\""));
        }
    };
    let mut answers = [None, None];
    let names = [&arguments.subject, &arguments.reference];
    for (i, (side, text)) in [sides.subject, sides.reference].into_iter().zip(names).enumerate() {
        let spec = text.parse::<EngineSpec>();
        let trusted = |spec: EngineSpec| spec.changes.is_empty() && (spec == EngineSpec::reference() || spec == exact);
        if i == 1 && spec.is_ok_and(trusted) {
            continue;
        }
        let question = Question {
            plan: Arc::clone(&loaded.plan),
            model: Arc::clone(&loaded.model),
            features: features(&side, &arguments.sources, sides.features.as_ref()),
            side: open(side, text, &loaded)?.within(&keeper),
            until,
            limit: arguments.limit,
        };
        let mut engine = engine::open(&exact)?;
        engine.keep_within(&keeper);
        let mut answer = search::diagnose(question, engine.as_mut(), &control, &progress)?;
        answer.doubts.extend(observed(text, &loaded, sides.features.as_ref(), until, &control)?);
        answers[i] = Some(answer);
    }
    let ends = match (arguments.noise_floor, &sides.features) {
        (false, _) => None,
        (true, None) => {
            return Err(Failure::ask("the noise floor needs an input: expected --input, the recording has none"));
        }
        (true, Some(features)) => {
            let network = Network { plan: &loaded.plan, model: &loaded.model, features, until };
            Some(in_the_end(&arguments.subject, &network, &control)?)
        }
    };
    Ok((answers, ends))
}

/// The subject and the reordered exact network, each on its own results.
fn in_the_end(subject: &str, network: &Network<'_>, control: &Control) -> Result<Ends, Failure> {
    let effect = match subject.parse::<EngineSpec>() {
        Ok(spec) => {
            let (mut engine, changed) = sources::open_engine(&spec, network.plan)?;
            let mut exact = engine::open(&EngineSpec::cpu())?;
            let effect = diagnosis::what_if((&mut *engine, &changed), &mut *exact, network, control, &mut |_| {});
            Some(effect?)
        }
        Err(_) => None,
    };
    let floor = diagnosis::noise_floor(network, control, &mut |_| {})?;
    Ok(Ends { subject: effect, floor })
}

impl Ends {
    fn lines(&self) -> Vec<String> {
        let subject = self.subject.as_ref().map(|effect| format!("in the end, subject: {}", effect.phrase()));
        let floor = format!("in the end, the exact network with sums reordered (noise floor): {}", self.floor.phrase());
        subject.into_iter().chain([floor]).collect()
    }
}

/// Whether a device's result depends on being looked at; the processor's own engines keep every tensor anyway.
fn observed(
    text: &str,
    loaded: &Loaded,
    features: Option<&Tensor>,
    until: Option<usize>,
    control: &Control,
) -> Result<Option<Doubt>, Failure> {
    let device = text.parse::<EngineSpec>().ok().filter(|spec| matches!(spec.kind, EngineKind::Vulkan { .. }));
    let (Some(spec), Some(features)) = (device, features) else { return Ok(None) };
    let (mut engine, changed) = sources::open_engine(&spec, &loaded.plan)?;
    Ok(Some(search::observe(&mut *engine, (&changed, &loaded.model), features, until, control)?))
}

/// What a side is meant to have been given: a recording's own input proves nothing about it, one named does.
fn features(side: &Side, sources: &Sources, found: Option<&Tensor>) -> Option<Tensor> {
    match side {
        Side::Recorded(record) if sources.input.is_none() && record.has(&names::features()) => None,
        Side::Recorded(_) | Side::Live(..) => found.cloned(),
    }
}

fn open<'a>(side: Side, text: &str, loaded: &Loaded) -> Result<Run<'a>, Failure> {
    match side {
        Side::Live(engine, plan) => Ok(Run::Engine { engine, plan }),
        Side::Recorded(record) if loaded.plan.boundaries.iter().any(|name| record.has(name)) => {
            Ok(Run::Recording(Box::new(move |name| record.tensor(name).ok())))
        }
        Side::Recorded(_) => Err(Failure::ask(format_args!(
            "a digest says that something differs and nothing more: expected an engine or a capture directory with \
             bytes (`blockscope run --save-capture DIR` writes one); `blockscope parity` compares digests; found {text}"
        ))),
    }
}

/// The answer for people.
pub(super) fn text(side: &str, diagnosis: &Diagnosis) -> Vec<String> {
    let doubted = |holds| match holds {
        Some(true) => "checked",
        Some(false) => "DOUBT",
        None => "not checked",
    };
    let mut lines: Vec<String> = Vec::new();
    for doubt in &diagnosis.doubts {
        let evidence = doubt.evidence.map(|id| format!(" [{id}]")).unwrap_or_default();
        lines.push(format!("{}: {}{evidence}", doubted(doubt.holds), doubt.text));
    }
    for (i, finding) in diagnosis.findings.iter().enumerate() {
        let then = if i == 0 { "first divergence" } else { "with that accepted, the next divergence" };
        lines.push(format!("{side}, {then}: {}", finding.sentence()));
        lines.extend(details(finding));
    }
    match diagnosis.findings.len() {
        0 if diagnosis.exact == 0 => lines.push(format!("{side}: nothing was compared")),
        0 => lines.push(format!("{side}: bit-exact, {} tensors compared, no cause fires", diagnosis.exact)),
        n => {
            let profile = search::profile_of(diagnosis);
            lines.push(format!("{side}: {n} findings; {} tensors are bit-exact in isolation", diagnosis.exact));
            if !profile.is_empty() {
                lines.push(format!("reproduce with: --subject cpu+{profile}"));
            }
        }
    }
    if let Some((name, reason)) = diagnosis.not_compared.first() {
        let n = diagnosis.not_compared.len();
        lines.push(format!("{side}: {n} tensors were not compared; the first is \"{name}\": {reason}"));
    }
    lines
}

fn details(finding: &Finding) -> Vec<String> {
    let mut lines = Vec::new();
    if finding.cause().is_none() {
        lines.extend(finding.pattern.sentences().into_iter().map(|s| format!("    {s}")));
    }
    for tested in finding.tested.iter().take(4) {
        lines.push(format!(
            "    {:40} {:6.2} % of {} differing bytes explained, {} newly wrong{}",
            tested.causes.join(" + "),
            100.0 * tested.share(),
            tested.differing,
            tested.newly_wrong,
            if tested.whole { "" } else { " (sample)" }
        ));
    }
    if !finding.also.is_empty() {
        let (n, few) = (finding.also.len(), finding.also.iter().take(6).cloned().collect::<Vec<_>>().join(", "));
        lines.push(format!(
            "    the same cause explains {n} more tensors exactly: {few}{}",
            if n > 6 { ", ..." } else { "" }
        ));
    }
    lines
}
