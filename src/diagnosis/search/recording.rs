//! The walk over a recording: every boundary, re-run exactly from the recording's own earlier tensors.
//!
//! A recording that is right from its own previous boundary but not what the exact network makes of the input has
//! inherited its difference; where the difference is made, the segment is explained like a kernel. A boundary that is
//! what the exact network makes of the input is exact, whatever lies in front of it: a wrong tensor there was dumped
//! wrong, and the run went on from the right one.

use super::doubt;
use super::engine::checked_rows;
use super::walk::{Divergence, Walk};
use super::{Doubt, Stage};
use crate::engine::{Engine, EngineError, runner};
use crate::plan::{Plan, Role, Step, names};
use crate::tensor::{Digest, Tensor, TensorName};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// A recording's tensors by name, its input among them.
type Lookup<'a> = dyn Fn(&TensorName) -> Option<Tensor> + 'a;

/// What the whole walk over a recording adds up.
#[derive(Default)]
struct Seen {
    /// Digests of the recorded boundaries so far.
    recorded: Vec<(Digest, TensorName)>,
    /// Not what the exact network makes of the input.
    wrong: BTreeSet<TensorName>,
    /// Wrong ones, each with an exact one that is made from it: the run did not go on from what was dumped.
    unused: Vec<(TensorName, TensorName)>,
    /// Right from their own previous boundary, but not what the exact network makes of the input.
    inherited: Vec<TensorName>,
}

impl Walk<'_> {
    /// Every boundary of a recording.
    pub(super) fn recording(
        &mut self,
        exact: &mut dyn Engine,
        get: &dyn Fn(&TensorName) -> Option<Tensor>,
        given: Option<Tensor>,
        steps: Range<usize>,
    ) -> Result<(), EngineError> {
        let plan = Arc::clone(&self.plan);
        let features = self.input(get(&names::features()), given);
        let lookup = |name: &TensorName| if *name == names::features() { features.clone() } else { get(name) };
        let truth = self.digests(exact, features.as_ref(), &steps)?;
        let mut seen = Seen::default();
        let count = plan.boundaries.len();
        for (n, name) in plan.boundaries.iter().enumerate() {
            let Some(writer) = plan.tensor(name).step.filter(|step| steps.contains(step)) else { continue };
            (self.progress)(Stage::Comparing(name.clone(), n, count));
            let Some(recorded) = get(name) else {
                self.not_compared(name, "the recording does not have it");
                continue;
            };
            let range = match segment(&plan, writer, &lookup) {
                Ok(range) => range,
                Err(missing) => {
                    self.not_compared(name, &format!("\"{missing}\" is needed to run it again and was not recorded"));
                    continue;
                }
            };
            self.boundary(exact, recorded, range, &lookup, (&truth, &mut seen))?;
            if self.is_full() {
                break;
            }
        }
        self.inherited(&seen, &truth);
        self.unused(&seen);
        Ok(())
    }

    /// One boundary from the recorded tensors before it.
    fn boundary(
        &mut self,
        exact: &mut dyn Engine,
        recorded: Tensor,
        range: Range<usize>,
        lookup: &Lookup<'_>,
        (truth, seen): (&BTreeMap<TensorName, Digest>, &mut Seen),
    ) -> Result<(), EngineError> {
        let plan = Arc::clone(&self.plan);
        let (name, digest) = (recorded.name.clone(), recorded.digest());
        let twin = seen.recorded.iter().find(|(other, _)| *other == digest).map(|(_, name)| name.clone());
        seen.recorded.push((digest, name.clone()));
        match truth.get(&name) {
            Some(exact) if *exact == digest => {
                let unused = runner::needed(&plan, &range).into_iter().filter(|input| seen.wrong.contains(input));
                seen.unused.extend(unused.map(|input| (input, name.clone())));
                self.agree(range.end - 1, 1);
                return Ok(());
            }
            Some(_) => drop(seen.wrong.insert(name.clone())),
            None => {}
        }
        self.known = runner::needed(&plan, &range).into_iter().filter_map(|n| Some((n.clone(), lookup(&n)?))).collect();
        exact.load(&plan, &self.model)?;
        for tensor in self.known.values() {
            exact.write(tensor.clone())?;
        }
        let mut between = BTreeMap::new();
        for step in &plan.steps[range.clone()] {
            exact.run(step, self.control)?;
            for output in step.op.outputs() {
                between.insert(output.clone(), exact.read(output)?);
            }
        }
        let result = between[&name].clone();
        if recorded.shape == result.shape && recorded.bytes() == result.bytes() {
            if truth.get(&name).is_some_and(|exact| *exact != digest) {
                seen.inherited.push(name);
            }
            self.agree(range.end - 1, 1);
            return Ok(());
        }
        // The exact engine on the step that made the difference, checked row by row.
        let mut sources = between.clone();
        sources.extend(self.known.clone());
        let last = range.end - 1;
        let checked = checked_rows((&plan, &self.model), &sources, last, std::slice::from_ref(&result), self.control)?;
        checked.into_iter().for_each(|holds| self.rows.look(name.as_str(), holds));
        let stale = twin.map(|other| format!("holds the same bytes as the recorded \"{other}\"")).or_else(|| {
            let (other, _) = truth.iter().find(|(other, exact)| **exact == digest && **other != name)?;
            Some(format!("holds the exact bytes of \"{other}\""))
        });
        if let Some(stale) = stale {
            let text = format!("\"{name}\" {stale}: a dump under the wrong name, or a stale one");
            self.diagnosis.doubts.push(Doubt::fails("files", Some("dump-of-another-boundary"), text));
        }
        // Sources that a cause may read instead.
        let earlier = plan.boundaries.iter().filter(|other| plan.tensor(other).step < Some(range.start));
        self.known.extend(earlier.filter_map(|other| Some((other.clone(), lookup(other)?))));
        self.find(Divergence { steps: range, observed: vec![(recorded, result)], between, stable: None })
    }

    /// The input that the recording was made from, as far as anybody knows it.
    fn input(&mut self, recorded: Option<Tensor>, given: Option<Tensor>) -> Option<Tensor> {
        let doubt = match (&recorded, &given) {
            (Some(recorded), Some(given)) => doubt::lanes(recorded, given, "the recording's"),
            (Some(_), None) => Doubt::unknown(
                "inputs",
                "the recording's own input features are used; no other input was given to compare them with",
            ),
            (None, Some(_)) => Doubt::unknown("inputs", "the recording has no input features; the given input is used"),
            (None, None) => Doubt::unknown(
                "inputs",
                "the recording has no input features and no input was given: nothing that reads them is compared",
            ),
        };
        self.diagnosis.doubts.push(doubt);
        let moves = "a recording cannot be repeated: whether its bytes move from run to run is not known";
        self.diagnosis.doubts.push(Doubt::unknown("stability", moves));
        recorded.or(given)
    }

    /// Digests of what the exact network makes of the input, at every boundary.
    fn digests(
        &mut self,
        exact: &mut dyn Engine,
        features: Option<&Tensor>,
        steps: &Range<usize>,
    ) -> Result<BTreeMap<TensorName, Digest>, EngineError> {
        let plan = Arc::clone(&self.plan);
        let Some(features) = features else { return Ok(BTreeMap::new()) };
        let mut digests = BTreeMap::new();
        let mut watch = |engine: &mut dyn Engine, step: &Step, _| {
            (self.progress)(Stage::Comparing(step.name().clone(), step.index, steps.end));
            for name in step.op.outputs().into_iter().filter(|name| plan.tensor(name).role == Role::Boundary) {
                digests.insert(name.clone(), engine.read(name)?.digest());
            }
            Ok(())
        };
        let (network, last) = ((&plan, &self.model), steps.end.checked_sub(1));
        let keep = runner::Keep::Nothing;
        runner::run_from_features(exact, network, features.clone(), last, &keep, self.control, &mut watch)?;
        Ok(digests)
    }

    fn not_compared(&mut self, name: &TensorName, reason: &str) {
        self.diagnosis.not_compared.push((name.to_string(), reason.to_owned()));
    }

    /// Dumps that are wrong although the run was right.
    fn unused(&mut self, seen: &Seen) {
        let wrong: BTreeSet<&TensorName> = seen.unused.iter().map(|(wrong, _)| wrong).collect();
        for wrong in wrong {
            let behind = seen.unused.iter().find(|(other, _)| other == wrong).map(|(_, behind)| behind);
            let text = format!(
                "the run did not go on from the recorded \"{wrong}\": \"{}\", made from it, is exact; the dump is \
                 damaged, of another moment or in another layout, and the network is right there",
                behind.map_or("", |name| name.as_str())
            );
            self.diagnosis.doubts.push(Doubt::fails("files", None, text));
        }
    }

    /// Boundaries that only inherit a difference.
    fn inherited(&mut self, seen: &Seen, truth: &BTreeMap<TensorName, Digest>) {
        let Some(first) = seen.inherited.first() else { return };
        let n = seen.inherited.len();
        let cause = match self.diagnosis.findings.is_empty() {
            true => "the recording was made from another input, or its first boundaries are missing",
            false => "they inherit it from the divergences before them",
        };
        let text = format!(
            "{n} of {} boundaries, from \"{first}\" on, are not what the exact network makes of this input, but exact \
             from the recording's own previous boundary: {cause}",
            truth.len()
        );
        self.diagnosis.doubts.push(Doubt {
            what: "inherited",
            holds: Some(!self.diagnosis.findings.is_empty()),
            text,
            evidence: Some("inherited"),
        });
    }
}

/// The steps up to `writer`, back to where everything that is read was recorded.
fn segment(plan: &Plan, writer: usize, lookup: &Lookup<'_>) -> Result<Range<usize>, TensorName> {
    let mut range = writer..writer + 1;
    let mut there: BTreeSet<TensorName> = BTreeSet::new();
    loop {
        let needed = runner::needed(plan, &range);
        let Some(missing) = needed.into_iter().find(|name| !there.contains(name) && lookup(name).is_none()) else {
            return Ok(range);
        };
        range.start = plan.tensor(&missing).step.ok_or(missing)?;
        there.extend(runner::needed(plan, &range).into_iter().filter(|name| lookup(name).is_some()));
    }
}
