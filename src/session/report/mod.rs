//! A report from the window: what the session holds, written by the report library on a thread of its own.
//!
//! Verdicts and tensors are those of the run as it stands: what was not run, or was dropped, is listed as not compared
//! and never run again behind a person's back.

use super::poll::REPORT;
use super::work::{Ledger, guarded, lock};
use super::{Judgement, Place, Session, Severity, Side, Sources, Verdict};
use crate::compare;
use crate::compare::parity::{Mode, segment};
use crate::diagnosis::Pattern;
use crate::diagnosis::explain::{self, Segment};
use crate::diagnosis::search::window_grid;
use crate::engine::{Control, EngineSpec};
use crate::model::{Model, write_file};
use crate::plan::{Plan, Role, Step};
use crate::report::compose::{self, Pins};
use crate::report::{Fact, Format, Material, Outcome, Report, Row, export, quoted};
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A report that is being written.
#[derive(Clone, Debug)]
pub(super) struct Reporting {
    pub(super) control: Control,
    progress: Arc<Mutex<Progress>>,
}

#[derive(Debug, Default)]
struct Progress {
    what: &'static str,
    share: f32,
    done: bool,
}

impl Reporting {
    /// What it is doing, how far it is, and whether it is over.
    pub(super) fn look(&self) -> (&'static str, f32, bool) {
        let progress = lock(&self.progress);
        (progress.what, progress.share, progress.done)
    }

    fn at(&self, what: &'static str, share: f32) -> Result<(), String> {
        let mut progress = lock(&self.progress);
        (progress.what, progress.share) = (what, share);
        if self.control.is_cancelled() { Err(CANCELLED.to_owned()) } else { Ok(()) }
    }
}

/// What a cancelled report says.
const CANCELLED: &str = "cancelled";

/// Everything that the job needs.
struct Order {
    plan: Arc<Plan>,
    own: Option<Arc<Plan>>,
    model: Arc<Model>,
    sources: Sources,
    verdicts: Vec<[Judgement; 2]>,
    tensors: [BTreeMap<TensorName, Tensor>; 2],
    /// Outputs of runs on the other side's inputs, where they are not the side's own.
    isolated: BTreeMap<TensorName, Tensor>,
    recorded: [bool; 2],
    facts: Vec<Fact>,
    pins: Pins,
    path: PathBuf,
}

impl Session {
    /// Starts writing a report; the path's ending names the format, a path without one is a folder for all.
    pub(super) fn report(&mut self, path: &str) {
        if self.reporting.is_some() {
            self.say(Severity::Info, Place::Window, "a report is being written; wait for it, or cancel it");
            return;
        }
        let Some((_, model)) = self.model.clone().filter(|_| self.run.steps.iter().any(|s| s.subject.is_done())) else {
            self.say(Severity::Warning, Place::Window, "nothing was run yet: there is nothing to report");
            return;
        };
        let order = self.report_order(model, path);
        let reporting = Reporting { control: Control::new(), progress: Arc::default() };
        self.reporting = Some(reporting.clone());
        let (post, bell) = (Arc::clone(&self.post), Arc::clone(&self.bell));
        let work = move || {
            let ring = || bell.ring();
            lock(&post).push(match guarded(|| order.write(&reporting, &ring)) {
                Ok(path) => (Severity::Info, Place::Window, format!("wrote the report {path}")),
                Err(text) if text == CANCELLED => {
                    (Severity::Info, Place::Window, "the report was cancelled; nothing was written".to_owned())
                }
                Err(text) => (Severity::Error, Place::Window, format!("the report was not written: {text}")),
            });
            lock(&reporting.progress).done = true;
            ring();
        };
        if let Err(error) = std::thread::Builder::new().name("report".to_owned()).spawn(work) {
            self.reporting = None;
            self.say(Severity::Error, Place::Window, format!("cannot start a thread: {error}"));
        }
        self.refresh();
    }

    fn report_order(&self, model: Arc<Model>, path: &str) -> Order {
        let info = [&self.states.subject_info, &self.states.reference_info];
        let mut facts = Vec::new();
        for (side, info) in Side::ALL.iter().zip(info) {
            facts.extend(info.iter().map(|info| Fact::new(format!("{side} runs on"), &info.device)));
            let own = self.facts[*side as usize].iter();
            facts.extend(own.map(|(name, value)| Fact::new(format!("{side} {name}"), value)));
        }
        let pins = self.pins.iter().map(|pin| {
            let token = self.plan.tensors.get(&pin.tensor).map(|info| pin.token.index(info.shape.size.width));
            (pin.name.clone(), pin.tensor.clone(), token.unwrap_or(usize::MAX), pin.channel)
        });
        Order {
            plan: Arc::clone(&self.plan),
            own: self.ledger(Side::Subject).filter(|l| !l.recording).map(|l| Arc::clone(&l.plan)),
            model,
            sources: self.sources.clone(),
            verdicts: self.run.steps.iter().map(|s| [s.accumulated.clone(), s.isolated.clone()]).collect(),
            tensors: self.tensors.clone(),
            isolated: self.isolated.clone(),
            recorded: [Side::Subject, Side::Reference].map(|side| self.ledger(side).is_some_and(|l| l.recording)),
            facts,
            pins: Pins::new(pins.collect()),
            path: PathBuf::from(path),
        }
    }

    /// A side's results, once it is loaded.
    pub(super) fn ledger(&self, side: Side) -> Option<&Arc<Ledger>> {
        self.crew.as_ref()?.sides[side as usize].as_ref()
    }

    /// Takes a finished report's place away.
    pub(super) fn take_report(&mut self) {
        if self.reporting.as_ref().is_some_and(|reporting| reporting.look().2) {
            self.reporting = None;
        }
    }

    /// Cancels the report with this job's number.
    pub(super) fn cancel_report(&self) {
        self.reporting.iter().for_each(|reporting| reporting.control.cancel());
    }

    /// The report as a job of the bottom panel.
    pub(super) fn report_job(&self) -> Option<super::JobView> {
        let (what, share, _) = self.reporting.as_ref()?.look();
        let what = format!("report: {what}");
        Some(super::JobView { id: REPORT, what, share: Some(share), cancellable: true })
    }
}

impl Order {
    fn write(mut self, reporting: &Reporting, ring: &dyn Fn()) -> Result<String, String> {
        let at = |what, share| {
            let answer = reporting.at(what, share);
            ring();
            answer
        };
        at("comparing", 0.05)?;
        let Sources { subject, reference, model, input, size, .. } = &self.sources;
        // A folder that was watched is a recording to whoever looks at it later.
        let subject = Sources::watched(subject).unwrap_or(subject);
        let mut report = Report::new(subject, reference);
        let [s, r, m, i] = [subject, reference, model, input].map(quoted);
        report.command =
            format!("blockscope report --subject {s} --reference {r} --model {m} --input {i} --size {size} --out DIR");
        report.environment = compose::environment(Mode::Both, &self.plan, &self.model, input);
        report.environment.append(&mut self.facts);
        for step in self.plan.steps.clone() {
            for name in step.op.outputs() {
                report.rows.push(self.row(&step, name));
                if let (Some(s), Some(r)) = (self.tensors[0].get(name), self.tensors[1].get(name)) {
                    self.pins.look(s, r);
                }
            }
            reporting.at("comparing", 0.05 + 0.35 * step.index as f32 / self.plan.steps.len() as f32)?;
        }
        compose::settle(&mut report);
        at("the first divergence", 0.4)?;
        match self.material() {
            Some(material) => self.look(&mut report, &material, reporting, &at)?,
            None if report.first_kernel.is_some() => {
                let text = "There are no pictures: what the divergent kernel reads is not kept any more.";
                report.elsewhere.push(text.to_owned());
            }
            None => {}
        }
        report.pins = self.pins.into_report();
        at("writing", 0.95)?;
        save(&report, &self.path)
    }

    /// Pictures, attention, events and causes of the first divergence.
    fn look(
        &self,
        report: &mut Report,
        material: &Material,
        reporting: &Reporting,
        at: &dyn Fn(&'static str, f32) -> Result<(), String>,
    ) -> Result<(), String> {
        let text = |error: crate::engine::EngineError| match error {
            crate::engine::EngineError::Cancelled => CANCELLED.to_owned(),
            error => error.to_string(),
        };
        let control = &reporting.control;
        let mut exact = crate::engine::open(&EngineSpec::cpu()).map_err(text)?;
        let inside = material.inside(&mut *exact, &self.model, control).map_err(text)?;
        compose::show(report, material, &self.model, &inside);
        compose::events(report, material, &self.model, &inside, control).map_err(text)?;
        at("testing known causes", 0.5)?;
        let (first, last) = (material.steps[0], material.last().index);
        let segment = Segment {
            plan: &self.plan,
            model: &self.model,
            steps: first..last + 1,
            known: &material.inputs,
            between: &BTreeMap::new(),
            observed: material.observed.clone(),
        };
        let found = explain::explain(&segment, &[], control, &|_, _| {}).map_err(text)?;
        if let Some((subject, reference)) = material.differing() {
            let counts = compare::compare(subject, reference).counts;
            let grid = window_grid(&self.plan, material.last().block);
            compose::pattern(report, &Pattern::of(subject, reference, &counts, grid.as_ref()));
            compose::tested(report, reference.name.as_str(), &found.tested);
        }
        compose::explained(report, &found);
        Ok(())
    }

    /// Both sides of a tensor with its step run alone: on the side that judges, what it made of the other's inputs.
    fn alone(&self, name: &TensorName) -> (Option<&Tensor>, Option<&Tensor>) {
        let [own, exact] = [&self.tensors[0], &self.tensors[1]].map(|side| side.get(name));
        let alone = self.isolated.get(name);
        if self.recorded[0] { (own, alone.or(exact)) } else { (alone.or(own), exact) }
    }

    fn row(&self, step: &Step, name: &TensorName) -> Row {
        let info = self.plan.tensor(name);
        let kind = if info.role == Role::Boundary { "boundary" } else { "kernel" };
        let [accumulated, isolated] = &self.verdicts[step.index];
        let [own, exact] = &self.tensors;
        let (s, r) = self.alone(name);
        let mut row = Row::new(name.as_str(), kind, step.block, step.op.word(), info.shape);
        row.accumulated = Some(outcome(accumulated, own.get(name), exact.get(name)));
        row.isolated = Some(outcome(isolated, s, r));
        row
    }

    /// The first step that differs in isolation, with what it read; for a recording the steps since its last boundary.
    fn material(&self) -> Option<Material> {
        let bad = |judgement: &Judgement| matches!(judgement.verdict, Verdict::Differs | Verdict::ZeroSign);
        let step = self.verdicts.iter().position(|[_, isolated]| bad(isolated))?;
        let plan = &self.plan;
        let given = &self.tensors[usize::from(!self.recorded[0])];
        let outputs = plan.steps[step].op.outputs();
        let (steps, reads) = match self.recorded[0] || self.recorded[1] {
            true => segment(plan, &|name| given.contains_key(name), outputs[0]),
            false => {
                let own = self.own.iter().flat_map(|own| own.steps[step].op.inputs());
                let reads = plan.steps[step].op.inputs().into_iter().chain(own).cloned().collect();
                ([step].into(), reads)
            }
        };
        let inputs: Option<BTreeMap<TensorName, Tensor>> =
            reads.into_iter().map(|name| given.get(&name).map(|tensor| (name, tensor.clone()))).collect();
        let observed = outputs.into_iter().filter_map(|name| {
            let (s, r) = self.alone(name);
            Some((s?.clone(), r?.clone()))
        });
        let observed: Vec<(Tensor, Tensor)> = observed.collect();
        if observed.is_empty() {
            return None;
        }
        let own = self.own.clone();
        Some(Material { plan: Arc::clone(plan), own, steps: steps.into_iter().collect(), inputs: inputs?, observed })
    }
}

/// A verdict with all that can be said: by the tensors where both are kept, else by what was noted when they were.
fn outcome(judgement: &Judgement, subject: Option<&Tensor>, reference: Option<&Tensor>) -> Outcome {
    if judgement.verdict == Verdict::NotCompared {
        let reason = if judgement.reason.is_empty() { "not run yet" } else { &judgement.reason };
        return Outcome::not_compared(reason);
    }
    if let (Some(subject), Some(reference)) = (subject, reference) {
        let comparison = compare::compare(subject, reference);
        if comparison.counts.differing() == judgement.differing || comparison.counts.total() != judgement.total {
            return (&comparison).into();
        }
    }
    let word = match judgement.verdict {
        Verdict::Exact => "bit-exact",
        Verdict::ZeroSign => "sign-of-zero",
        Verdict::Differs | Verdict::NotCompared => "differs",
    };
    let (elements, differing) = (judgement.total, judgement.differing);
    Outcome { verdict: word.to_owned(), reason: None, elements, differing, ..Outcome::not_compared("") }
}

/// One file by its ending, or a folder of all formats.
fn save(report: &Report, path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error, path: &Path| format!("{error}; path {}", path.display());
    if path.extension().is_some() {
        let text = path.to_string_lossy();
        let format = Format::parse(&text).ok_or_else(|| {
            let known = Format::ALL.map(Format::file_name).join(", ");
            format!("no format has this ending; the endings are those of {known}; path {text}")
        })?;
        write_file(path, &export(report, format)).map_err(|error| cannot(error, path))?;
    } else {
        std::fs::create_dir_all(path).map_err(|error| cannot(error, path))?;
        for format in Format::ALL {
            let file = path.join(format.file_name());
            write_file(&file, &export(report, format)).map_err(|error| cannot(error, &file))?;
        }
    }
    Ok(path.display().to_string())
}
