//! Two runs to the place where they part: accumulated, isolated, or both.
//!
//! * **Accumulated**: each side runs on its own previous results, as in a real frame.
//! * **Isolated**: the side that runs gets the other's inputs at every step, so that one bad kernel lights one step.
//!   Of a recording only some tensors are known: the steps from the nearest known ones are run again from there.
//!
//! Where both sides run and a step's inputs are equal, one run answers both questions.

pub use super::recorded::Recorded;

use super::{Comparison, OUTPUT, Verdict, compare, output};
use crate::engine::{Control, Engine, EngineError};
use crate::model::Model;
use crate::plan::{Plan, Role, Step, names};
use crate::tensor::{Digest, Tensor, TensorName};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Which question is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Each side on its own results.
    Accumulated,
    /// Every step on the other side's inputs.
    Isolated,
    /// Both.
    #[default]
    Both,
}

impl Mode {
    /// Whether accumulated verdicts are wanted.
    pub fn accumulated(self) -> bool {
        self != Self::Isolated
    }

    /// Whether isolated verdicts are wanted.
    pub fn isolated(self) -> bool {
        self != Self::Accumulated
    }

    /// One word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accumulated => "accumulated",
            Self::Isolated => "isolated",
            Self::Both => "both",
        }
    }
}

/// One side of a comparison.
#[expect(missing_debug_implementations, reason = "engines and recordings are known by their names")]
pub enum Side {
    /// An engine, and the plan that it runs: the network's own, or one with a cause switched on.
    Live(Box<dyn Engine>, Arc<Plan>),
    /// A recorded run.
    Recorded(Box<dyn Recorded>),
}

/// What is said of one tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The tensor.
    pub name: TensorName,
    /// The step that writes it.
    pub step: usize,
    /// The step's block.
    pub block: usize,
    /// The step's kernel.
    pub kernel: &'static str,
    /// Boundary or intermediate.
    pub role: Role,
    /// The accumulated answer, if it was asked for.
    pub accumulated: Option<Comparison>,
    /// The isolated answer, if it was asked for.
    pub isolated: Option<Comparison>,
}

impl Row {
    fn new(plan: &Plan, name: &TensorName) -> Self {
        let info = plan.tensor(name);
        let step = &plan.steps[info.step.expect("outputs have a step")];
        let (block, kernel) = (step.block, step.kernel);
        Self { name: name.clone(), step: step.index, block, kernel, role: info.role, accumulated: None, isolated: None }
    }

    /// The row of the output image, which no step writes: it is composed behind the last one.
    fn output(plan: &Plan, accumulated: Option<Comparison>, isolated: Option<Comparison>) -> Self {
        let last = plan.steps.last().expect("a plan has steps");
        let (step, block, role) = (last.index, last.block, Role::Boundary);
        Self { name: OUTPUT.into(), step, block, kernel: "compose", role, accumulated, isolated }
    }

    /// Both answers that exist, accumulated first.
    pub fn answers(&self) -> impl Iterator<Item = &Comparison> {
        self.accumulated.iter().chain(&self.isolated)
    }
}

/// The whole answer: boundaries, and kernels where both sides ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parity {
    /// Every tensor asked about, in the order of the plan's steps.
    pub rows: Vec<Row>,
}

impl Parity {
    /// The boundaries.
    pub fn boundaries(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.role == Role::Boundary)
    }

    /// The first boundary that differs; accumulated answers are asked before isolated ones.
    pub fn first_boundary(&self) -> Option<&Row> {
        self.boundaries().find(|row| row.answers().any(|answer| answer.verdict.is_difference()))
    }

    /// The first tensor of any kind that differs in isolation: the kernel at fault.
    pub fn first_kernel(&self) -> Option<&Row> {
        let differs = |row: &&Row| row.isolated.as_ref().is_some_and(|answer| answer.verdict.is_difference());
        self.rows.iter().filter(|row| row.name.as_str() != OUTPUT).find(differs)
    }

    /// Answers compared, and of these the ones that differ.
    pub fn tally(&self) -> (usize, usize) {
        let compared =
            self.rows.iter().flat_map(Row::answers).filter(|c| !matches!(c.verdict, Verdict::NotCompared(_)));
        compared.fold((0, 0), |(all, bad), c| (all + 1, bad + usize::from(c.verdict.is_difference())))
    }
}

/// What is to be compared.
#[derive(Debug)]
pub struct Question<'a> {
    /// The network.
    pub plan: &'a Arc<Plan>,
    /// Its weights.
    pub model: &'a Arc<Model>,
    /// Its input; without one only recorded tensors feed a run.
    pub features: Option<Tensor>,
    /// The steps.
    pub steps: Range<usize>,
    /// Which answers.
    pub mode: Mode,
    /// Progress and cancelling.
    pub control: &'a Control,
}

/// Called with every row as soon as it is known, and with both tensors where both are.
pub type Report<'a> = dyn FnMut(&Row, Option<(&Tensor, &Tensor)>) + 'a;

/// Answers a question about two sides.
///
/// # Errors
/// Those of the engines.
pub fn ask(
    subject: &mut Side,
    reference: &mut Side,
    question: &Question<'_>,
    report: &mut Report<'_>,
) -> Result<Parity, EngineError> {
    match (subject, reference) {
        (Side::Live(s, s_plan), Side::Live(r, r_plan)) => {
            live((&mut **s, s_plan), (&mut **r, r_plan), question, report)
        }
        (Side::Live(engine, plan), Side::Recorded(record)) => {
            recorded((&mut **engine, plan), &**record, true, question, report)
        }
        (Side::Recorded(record), Side::Live(engine, plan)) => {
            recorded((&mut **engine, plan), &**record, false, question, report)
        }
        (Side::Recorded(s), Side::Recorded(r)) => Ok(two_recordings(&**s, &**r, question, report)),
    }
}

/// Both sides run, step by step, in the same order.
fn live(
    (subject, subject_plan): (&mut dyn Engine, &Arc<Plan>),
    (reference, reference_plan): (&mut dyn Engine, &Arc<Plan>),
    question: &Question<'_>,
    report: &mut Report<'_>,
) -> Result<Parity, EngineError> {
    let mode = question.mode;
    subject.load(subject_plan, question.model)?;
    reference.load(reference_plan, question.model)?;
    if let Some(features) = &question.features {
        subject.write(features.clone())?;
        reference.write(features.clone())?;
    }
    let mut parity = Parity::default();
    let mut apart: BTreeSet<TensorName> = BTreeSet::new();
    // A plan with a cause switched on may read a tensor longer than the exact one does.
    let last_reads = [subject_plan.last_reads(), reference_plan.last_reads()];
    for step in &reference_plan.steps[question.steps.clone()] {
        let own = &subject_plan.steps[step.index];
        reference.run(step, question.control)?;
        let inputs_apart = own.op.inputs().iter().any(|name| apart.contains(*name));
        let isolated = if mode.isolated() && inputs_apart && mode.accumulated() {
            Some(run_on(subject, own, reference, question.control)?)
        } else {
            None
        };
        subject.run(own, question.control)?;
        for (i, name) in step.op.outputs().into_iter().enumerate() {
            let expected = reference.read(name)?;
            let got = subject.read(name)?;
            let mut row = Row::new(question.plan, name);
            let answer = compare(&got, &expected);
            let alone = isolated.as_ref().map_or_else(|| answer.clone(), |outputs| compare(&outputs[i], &expected));
            if answer.verdict != Verdict::BitExact {
                if mode.accumulated() {
                    apart.insert(name.clone());
                } else {
                    // From here on the subject goes on with the reference's tensor.
                    subject.write(expected.clone())?;
                }
            }
            row.accumulated = mode.accumulated().then_some(answer);
            row.isolated = mode.isolated().then_some(alone);
            report(&row, Some((&got, &expected)));
            got.rest();
            expected.rest();
            parity.rows.push(row);
        }
        let dead =
            |name: &&TensorName| last_reads.iter().all(|reads| reads.get(*name).is_none_or(|&last| last <= step.index));
        let read = step.op.inputs().into_iter().chain(own.op.inputs());
        for name in read.chain(step.op.outputs()).filter(dead) {
            subject.release(name);
            reference.release(name);
        }
    }
    Ok(parity)
}

/// Runs a step of the subject on the reference's inputs, and gives the subject its own back.
fn run_on(
    subject: &mut dyn Engine,
    step: &Step,
    reference: &mut dyn Engine,
    control: &Control,
) -> Result<Vec<Tensor>, EngineError> {
    let own: Vec<Tensor> = step.op.inputs().into_iter().map(|name| subject.read(name)).collect::<Result<_, _>>()?;
    for name in step.op.inputs() {
        subject.write(reference.read(name)?)?;
    }
    subject.run(step, control)?;
    let outputs = step.op.outputs().into_iter().map(|name| subject.read(name)).collect::<Result<_, _>>()?;
    own.into_iter().try_for_each(|tensor| subject.write(tensor))?;
    Ok(outputs)
}

/// One side runs, the other is a recording.
fn recorded(
    (engine, plan): (&mut dyn Engine, &Arc<Plan>),
    record: &dyn Recorded,
    engine_is_subject: bool,
    question: &Question<'_>,
    report: &mut Report<'_>,
) -> Result<Parity, EngineError> {
    let judge = |computed: &Tensor| -> (Comparison, Option<Tensor>) {
        let name = &computed.name;
        match (record.has(name), record.tensor(name), record.digest(name)) {
            (true, Ok(known), _) if engine_is_subject => (compare(computed, &known), Some(known)),
            (true, Ok(known), _) => (compare(&known, computed), Some(known)),
            (false, _, Ok(digest)) => (by_digest(computed, digest), None),
            (true, Err(reason), _) | (false, _, Err(reason)) => (Comparison::not_compared(name.clone(), reason), None),
        }
    };
    let asked: Vec<&TensorName> = question.plan.boundaries.iter().filter(|name| within(question, name)).collect();
    let mut rows: Vec<Row> = asked.iter().map(|name| Row::new(question.plan, name)).collect();
    // Where nothing but the input is recorded in front of a tensor, one run through the network answers both questions.
    let features = names::features();
    let only_input = |row: &&Row| {
        let (_, given) = segment(plan, &|name| record.has(name) || *name == features, &row.name);
        question.mode.isolated() && given.iter().all(|input| *input == features)
    };
    let from_input: BTreeSet<TensorName> = rows.iter().filter(only_input).map(|row| row.name.clone()).collect();
    let mut head = None;
    if question.mode.accumulated() || !from_input.is_empty() {
        engine.load(plan, question.model)?;
        match &question.features {
            None => rows.iter_mut().for_each(|row| {
                let reason = "the recording has no input features to run from";
                row.accumulated = Some(Comparison::not_compared(row.name.clone(), reason));
            }),
            Some(features) => {
                engine.write(features.clone())?;
                // Rows with all their answers are told at once, with both tensors.
                let done = |row: &mut Row, computed: Tensor, known: Option<Tensor>| {
                    if row.name.as_str() == names::HEAD {
                        head = Some(computed.clone());
                    }
                    let both = from_input.contains(&row.name);
                    row.isolated = both.then(|| row.accumulated.clone()).flatten();
                    if both || question.mode == Mode::Accumulated {
                        let pair =
                            known.map(|known| if engine_is_subject { (computed, known) } else { (known, computed) });
                        report(row, pair.as_ref().map(|(subject, reference)| (subject, reference)));
                    }
                };
                accumulate(engine, plan, question, &mut rows, &judge, done)?;
            }
        }
    }
    if question.mode.isolated() {
        engine.load(plan, question.model)?;
        for row in rows.iter_mut().filter(|row| row.isolated.is_none()) {
            let mut pair = None;
            // Nothing is run for a tensor that the recording cannot be asked about.
            let computed = match record.has(&row.name) || record.digest(&row.name).is_ok() {
                true => from_recorded(engine, plan, record, question, &row.name)?,
                false => Err(record.tensor(&row.name).err().unwrap_or_default()),
            };
            row.isolated = Some(match computed {
                Ok(computed) => {
                    let (answer, known) = judge(&computed);
                    pair = known.map(|known| if engine_is_subject { (computed, known) } else { (known, computed) });
                    answer
                }
                Err(reason) => Comparison::not_compared(row.name.clone(), reason),
            });
            report(row, pair.as_ref().map(|(subject, reference)| (subject, reference)));
        }
    }
    if !question.mode.accumulated() {
        rows.iter_mut().for_each(|row| row.accumulated = None);
    }
    if question.steps.end == plan.steps.len()
        && let Some(known) = record.output()
    {
        let own = || head.ok_or_else(|| "there is no input to run from".to_owned());
        let recorded = || record.tensor(&names::HEAD.into()).map_err(|reason| format!("head: {reason}"));
        let judge = |head| output::judge(head, &known, question, engine_is_subject);
        let accumulated = question.mode.accumulated().then(|| judge(own()));
        let isolated = question.mode.isolated().then(|| judge(recorded()));
        let row = Row::output(question.plan, accumulated, isolated);
        report(&row, None);
        rows.push(row);
    }
    Ok(Parity { rows })
}

fn accumulate(
    engine: &mut dyn Engine,
    plan: &Arc<Plan>,
    question: &Question<'_>,
    rows: &mut [Row],
    judge: &dyn Fn(&Tensor) -> (Comparison, Option<Tensor>),
    mut done: impl FnMut(&mut Row, Tensor, Option<Tensor>),
) -> Result<(), EngineError> {
    let last_reads = plan.last_reads();
    for step in &plan.steps[question.steps.clone()] {
        engine.run(step, question.control)?;
        for row in rows.iter_mut().filter(|row| row.step == step.index) {
            let computed = engine.read(&row.name)?;
            let (answer, known) = judge(&computed);
            row.accumulated = Some(answer);
            done(row, computed, known);
        }
        let dead = |name: &&&TensorName| last_reads.get(**name).is_none_or(|&last| last <= step.index);
        for name in step.op.inputs().iter().chain(&step.op.outputs()).filter(dead) {
            engine.release(name);
        }
    }
    Ok(())
}

/// Computes a tensor from the nearest recorded ones: the steps back to them, in the plan's order.
fn from_recorded(
    engine: &mut dyn Engine,
    plan: &Arc<Plan>,
    record: &dyn Recorded,
    question: &Question<'_>,
    name: &TensorName,
) -> Result<Result<Tensor, String>, EngineError> {
    let features = names::features();
    let (steps, given) = segment(plan, &|name| record.has(name) || *name == features, name);
    for input in &given {
        let tensor = match &question.features {
            Some(tensor) if *input == features => Ok(tensor.clone()),
            _ => record.tensor(input).map_err(|reason| format!("{input} is needed to run it alone: {reason}")),
        };
        match tensor {
            Ok(tensor) => engine.write(tensor)?,
            Err(reason) => return Ok(Err(reason)),
        }
    }
    for &step in &steps {
        engine.run(&plan.steps[step], question.control)?;
    }
    let result = engine.read(name)?;
    let touched = steps.iter().flat_map(|&s| plan.steps[s].op.tensors());
    touched.for_each(|name| engine.release(name));
    Ok(Ok(result))
}

/// The steps between known tensors and a wanted one, and the known tensors that they read.
pub fn segment(
    plan: &Plan,
    known: &dyn Fn(&TensorName) -> bool,
    wanted: &TensorName,
) -> (BTreeSet<usize>, BTreeSet<TensorName>) {
    let (mut steps, mut given) = (BTreeSet::new(), BTreeSet::new());
    let mut open: Vec<&TensorName> = vec![wanted];
    while let Some(next) = open.pop() {
        let Some(step) = plan.tensor(next).step.filter(|&step| steps.insert(step)) else { continue };
        for input in plan.steps[step].op.inputs() {
            if known(input) {
                given.insert(input.clone());
            } else {
                open.push(input);
            }
        }
    }
    (steps, given)
}

fn two_recordings(s: &dyn Recorded, r: &dyn Recorded, question: &Question<'_>, report: &mut Report<'_>) -> Parity {
    let alone = "both sides are recordings: no engine runs a step alone";
    let rows = question.plan.boundaries.iter().filter(|name| within(question, name)).map(|name| {
        let mut row = Row::new(question.plan, name);
        let (answer, pair) = match (s.tensor(name), r.tensor(name)) {
            (Ok(got), Ok(expected)) => (compare(&got, &expected), Some((got, expected))),
            _ => (two_digests(name, s.digest(name), r.digest(name)), None),
        };
        row.accumulated = question.mode.accumulated().then_some(answer);
        row.isolated = question.mode.isolated().then(|| Comparison::not_compared(name.clone(), alone));
        report(&row, pair.as_ref().map(|(got, expected)| (got, expected)));
        row
    });
    let mut rows: Vec<Row> = rows.collect();
    if let (Some(got), Some(expected), true) = (s.output(), r.output(), question.steps.end == question.plan.steps.len())
    {
        let not = |why: String| Comparison::not_compared(OUTPUT.into(), why);
        let answer = got.and_then(|got| Ok(got.compare(&expected?))).unwrap_or_else(not);
        let (accumulated, isolated) = (question.mode.accumulated(), question.mode.isolated());
        let row = Row::output(question.plan, accumulated.then_some(answer), isolated.then(|| not(alone.to_owned())));
        report(&row, None);
        rows.push(row);
    }
    Parity { rows }
}

fn within(question: &Question<'_>, name: &TensorName) -> bool {
    question.plan.tensor(name).step.is_some_and(|step| question.steps.contains(&step))
}

fn by_digest(computed: &Tensor, expected: Digest) -> Comparison {
    two_digests(&computed.name, Ok(computed.digest()), Ok(expected))
}

/// Equal digests are equal bytes; different ones say that something differs, and nothing else.
fn two_digests(name: &TensorName, s: Result<Digest, String>, r: Result<Digest, String>) -> Comparison {
    match (s, r) {
        (Ok(s), Ok(r)) => {
            let verdict = if s == r { Verdict::BitExact } else { Verdict::Differs };
            Comparison { verdict, digests: Some((s, r)), ..Comparison::not_compared(name.clone(), "") }
        }
        (Err(reason), _) => Comparison::not_compared(name.clone(), format!("subject: {reason}")),
        (_, Err(reason)) => Comparison::not_compared(name.clone(), format!("reference: {reason}")),
    }
}
