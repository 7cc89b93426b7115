//! What a report or a bundle is made of: the session's tensors and verdicts as they stood when it was asked for.

use super::{CANCELLED, Reporting};
use crate::compare;
use crate::compare::parity::{Mode, segment};
use crate::diagnosis::Pattern;
use crate::diagnosis::explain::{self, Segment};
use crate::diagnosis::search::window_grid;
use crate::engine::EngineSpec;
use crate::model::{Model, write_file};
use crate::plan::{Plan, Role, Step};
use crate::report::bundle::{self, Labels};
use crate::report::compose::{self, Pins};
use crate::report::{Fact, Format, Material, Outcome, Report, Row, export, quoted};
use crate::session::{Judgement, Sources, Verdict};
use crate::tensor::{Tensor, TensorName};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Everything that a job needs.
pub(super) struct Order {
    pub(super) plan: Arc<Plan>,
    pub(super) own: Option<Arc<Plan>>,
    pub(super) model: Arc<Model>,
    pub(super) sources: Sources,
    pub(super) verdicts: Vec<[Judgement; 2]>,
    pub(super) tensors: [BTreeMap<TensorName, Tensor>; 2],
    /// Outputs of runs on the other side's inputs, where they are not the side's own.
    pub(super) isolated: BTreeMap<TensorName, Tensor>,
    pub(super) recorded: [bool; 2],
    pub(super) facts: Vec<Fact>,
    pub(super) pins: Pins,
    pub(super) path: PathBuf,
}

impl Order {
    /// Writes the report; returns where.
    pub(super) fn report(mut self, reporting: &Reporting, ring: &dyn Fn()) -> Result<String, String> {
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

    /// Writes the repro bundle of the first divergence; returns where, and whose weights it holds.
    pub(super) fn bundle(&self, weights: bool, reporting: &Reporting, ring: &dyn Fn()) -> Result<String, String> {
        reporting.at("the first divergence", 0.1)?;
        ring();
        let Some(material) = self.material() else {
            return Err(match self.verdicts.iter().any(|[_, isolated]| bad(isolated)) {
                true => "what the divergent kernel reads is not kept any more: run to it again".to_owned(),
                false => "no kernel differs on its own so far".to_owned(),
            });
        };
        let counted = material.differing().map(|(subject, reference)| compare::compare(subject, reference).counts);
        let conclusion = counted.map_or(String::new(), |counts| {
            let (name, differing, total) = (material.last().name(), counts.differing(), counts.total());
            format!("The first kernel that differs on its own writes `{name}`: {differing} of {total} elements differ.")
        });
        reporting.at("writing", 0.4)?;
        ring();
        let subject = Sources::watched(&self.sources.subject).unwrap_or(&self.sources.subject);
        let labels = Labels { subject, reference: &self.sources.reference, conclusion: &conclusion };
        bundle::write(&self.path, &material, &self.model, labels, weights).map_err(|error| error.to_string())?;
        let path = self.path.display();
        Ok(match weights {
            true => format!(
                "{path}; it holds weights of {} (this kernel's): do not pass it on unless you may, or write it \
                 without weights",
                self.model.source
            ),
            false => path.to_string(),
        })
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

fn bad(judgement: &Judgement) -> bool {
    matches!(judgement.verdict, Verdict::Differs | Verdict::ZeroSign)
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
