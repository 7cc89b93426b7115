//! What happens once a frame: finished work is taken, nothing is waited for.

use super::work::load::{self, Loaded, Order};
use super::work::{self, Crew, Pair, lock};
use super::{
    Activity, JobView, Loading, Place, Recent, Run, Session, Severity, Side, SideState, Sources, StepState, Verdict,
};
use std::sync::Arc;
use std::time::Duration;

/// The job number of a diagnosis.
pub(super) const DIAGNOSIS: u64 = 2;
/// The job number of a report.
pub(super) const REPORT: u64 = 3;
/// The job number of a watched folder.
pub(super) const WATCH: u64 = 5;
/// The job number of an examination.
pub const DOCTOR: u64 = 4;
/// The job number of a run.
const RUN: u64 = 1;
/// Results of this many sides are kept.
const KEPT: usize = 6;

impl Session {
    /// Takes whatever the workers have finished. Call it once a frame.
    pub fn poll(&mut self) {
        if std::mem::take(&mut self.asleep) {
            self.load();
            self.survey();
        }
        let loaded: Vec<Loaded> = std::mem::take(&mut lock(&self.loaded));
        for loaded in loaded {
            if Some(loaded.id) == self.order {
                self.install(loaded);
            }
        }
        let post = std::mem::take(&mut *lock(&self.post));
        for (severity, place, text) in post {
            self.say(severity, place, text);
        }
        let rung = self.bell.count();
        if rung != self.seen {
            self.seen = rung;
            self.refresh();
            self.take_answers();
            self.take_survey();
            self.take_report();
            if self.doctor.seen.is_running() {
                self.take_examination();
                self.list_jobs();
            }
            if self.take_diagnosis() {
                self.list_jobs();
            }
        }
        self.ask();
    }

    /// Changes the sources and loads them.
    pub(super) fn change_sources(&mut self, change: impl FnOnce(&mut Sources)) {
        change(&mut self.sources);
        if !self.asleep {
            self.load();
        }
    }

    /// Key of a side's kept results.
    fn ledger_key(sources: &Sources, side: Side) -> String {
        let spec = if side == Side::Subject { &sources.subject } else { &sources.reference };
        format!("{side}\n{spec}\n{}\n{}\n{}", sources.model, sources.input, sources.size)
    }

    /// Starts a loader for the current sources; whatever runs is stopped.
    pub(super) fn load(&mut self) {
        self.goal.change(|wish| wish.closed = true);
        self.goal.cancel();
        self.bell.ring();
        let to = self.goal.wish().to;
        self.goal = Arc::default();
        let first_start = self.crew.is_none() && to == 0;
        let to = if first_start { usize::MAX } else { to };
        self.goal.change(|wish| wish.to = to);
        self.crew = None;
        self.next_id += 1;
        let id = self.next_id;
        let kept = [Side::Subject, Side::Reference]
            .map(|side| self.ledgers.get(&Self::ledger_key(&self.sources, side)).cloned());
        let order = Order { id, sources: self.sources.clone(), model: self.model.clone(), kept };
        self.order = Some(id);
        let busy = || Loading::Busy;
        self.states = super::SourceStates {
            model: busy(),
            input: busy(),
            subject: busy(),
            reference: busy(),
            ..Default::default()
        };
        let (answers, bell) = (Arc::clone(&self.loaded), Arc::clone(&self.bell));
        let done = move |loaded| {
            lock(&answers).push(loaded);
            bell.ring();
        };
        if let Err(error) = load::start(order, done) {
            self.order = None;
            self.say(Severity::Error, Place::Window, format!("cannot start the loader: {error}"));
        }
        self.refresh();
    }

    /// Takes what a loader brought, and starts the workers.
    fn install(&mut self, loaded: Loaded) {
        self.order = None;
        let Loaded { sources, model, input, keeper, sides, .. } = loaded;
        self.sources = sources;
        self.states.model = match &model {
            Ok(model) => Loading::Ready(model.source.clone()),
            Err(problems) => Loading::Failed(problems.clone()),
        };
        self.states.input = match &input {
            Ok((plan, _)) => Loading::Ready(format!("{}, field {}", plan.geometry.valid, plan.geometry.field)),
            Err(problems) => Loading::Failed(problems.clone()),
        };
        if let Ok(model) = model {
            self.model = Some((self.sources.model.clone(), model));
        }
        if let Ok((plan, _)) = &input {
            self.plan = Arc::clone(plan);
            self.products = plan.steps.iter().map(|step| step.op.products(plan)).collect();
            self.settle();
        }
        let mut engines = Vec::new();
        let mut ledgers = [None, None];
        let mut watch = None;
        for (side, loaded) in [Side::Subject, Side::Reference].into_iter().zip(sides) {
            let (state, info) = match loaded {
                Ok(loaded) => {
                    self.facts[side as usize] = loaded.facts;
                    let line = format!("{}: {}", loaded.info.name, loaded.info.device);
                    loaded.ledger.store().failed = None;
                    watch = watch.or(loaded.watch);
                    self.ledgers.insert(Self::ledger_key(&self.sources, side), Arc::clone(&loaded.ledger));
                    ledgers[side as usize] = Some(loaded.ledger);
                    engines.extend(loaded.engine.map(|engine| (side, engine)));
                    (Loading::Ready(line), Some(loaded.info))
                }
                Err(problems) => (Loading::Failed(problems), None),
            };
            match side {
                Side::Subject => (self.states.subject, self.states.subject_info) = (state, info),
                Side::Reference => (self.states.reference, self.states.reference_info) = (state, info),
            }
        }
        self.report_problems();
        self.remember_sources(&ledgers);
        self.forget_old();
        let key = Side::ALL.iter().map(|side| Self::ledger_key(&self.sources, *side)).collect::<String>();
        let steps = self.plan.steps.len();
        if watch.is_some() {
            // Everything comes anew.
            self.pairs.remove(&key);
        }
        let pair = Arc::clone(self.pairs.entry(key).or_insert_with(|| Arc::new(Pair::new(steps))));
        self.goal.change(|wish| {
            wish.to = wish.to.min(steps);
            wish.began = Some((std::time::Instant::now(), 0));
            wish.shown = self.selection.step;
        });
        let (goal, bell) = (Arc::clone(&self.goal), Arc::clone(&self.bell));
        let crew = Crew { sides: ledgers, pair, goal, bell, keeper };
        self.watch(watch, &crew);
        for (side, engine) in engines {
            if let Err(error) = work::start(side, engine, crew.clone()) {
                self.say(Severity::Error, Place::Run, format!("cannot start the {side}'s thread: {error}"));
            }
        }
        if crew.is_recorded()
            && let Err(error) = work::start_judge(crew.clone())
        {
            self.say(Severity::Error, Place::Run, format!("cannot start the judge's thread: {error}"));
        }
        self.crew = Some(crew);
        self.asked = super::ask::Asked::default();
        self.happened.about(&Self::ledger_key(&self.sources, Side::Subject));
        self.events = super::Requested::Nothing;
        self.diagnosing.cancel();
        self.diagnosis = super::Requested::Nothing;
        self.refresh();
    }

    /// Says beside each source what is wrong with it; a problem that is gone is not said any longer.
    fn report_problems(&mut self) {
        let places = [Place::Model, Place::Input, Place::Subject, Place::Reference];
        self.messages.retain(|message| !places.contains(&message.place));
        let states = [&self.states.model, &self.states.input, &self.states.subject, &self.states.reference];
        let found: Vec<(Place, Vec<String>)> = places
            .into_iter()
            .zip(states)
            .filter_map(|(place, state)| match state {
                Loading::Failed(problems) if !problems.is_empty() => Some((place, problems.clone())),
                Loading::Failed(_) | Loading::Nothing | Loading::Busy | Loading::Ready(_) => None,
            })
            .collect();
        for (place, problems) in found {
            self.say_all(Severity::Error, place, problems[0].clone(), problems);
        }
    }

    /// Keeps what was opened from files for the recent list and the pickers.
    fn remember_sources(&mut self, ledgers: &[Option<Arc<work::Ledger>>; 2]) {
        let ready = |state: &Loading| matches!(state, Loading::Ready(_));
        let Sources { model, input, subject, reference, .. } = self.sources.clone();
        let recorded = |side: usize| ledgers[side].as_ref().is_some_and(|ledger| ledger.recording);
        let opened = [
            ("input", input, ready(&self.states.input)),
            ("model", model, ready(&self.states.model)),
            ("subject", reference, recorded(1)),
            ("subject", subject, recorded(0)),
        ];
        for (word, spec, there) in opened {
            if there && !spec.starts_with("synthetic") {
                let command = format!("{word} {spec}");
                self.recent.retain(|recent| recent.command != command);
                self.recent.insert(0, Recent { command, path: spec.into() });
            }
        }
        self.recent.truncate(12);
        self.list_choices();
    }

    /// Drops kept results beyond a few sides.
    fn forget_old(&mut self) {
        let current = Side::ALL.iter().map(|side| Self::ledger_key(&self.sources, *side)).collect::<Vec<_>>();
        let kept = if self.sources.memory.is_some() { current.len() } else { KEPT };
        while self.ledgers.len() > kept {
            let Some(old) = self.ledgers.keys().find(|key| !current.contains(key)).cloned() else { break };
            self.ledgers.remove(&old);
            self.pairs.retain(|key, _| !key.contains(&old));
        }
    }

    /// Copies what the workers have published.
    pub(super) fn refresh(&mut self) {
        let steps = self.plan.steps.len();
        let mut run = Run { steps: vec![StepState::default(); steps], ..Run::default() };
        let (mut done, mut ran) = ([None, None], 0);
        let mut failures = Vec::new();
        if let Some(crew) = &self.crew {
            for side in [Side::Subject, Side::Reference] {
                let Some(ledger) = &crew.sides[side as usize] else { continue };
                let store = ledger.store();
                for (step, state) in run.steps.iter_mut().zip(&store.states) {
                    *(if side == Side::Subject { &mut step.subject } else { &mut step.reference }) = state.clone();
                }
                self.tensors[side as usize].clone_from(&store.tensors);
                done[side as usize] = (!ledger.recording).then_some(store.done);
                if side == Side::Subject {
                    ran = store.preview.as_ref().map_or(0, |(_, ran)| *ran);
                    self.preview = store.preview.as_ref().map(|(picture, _)| Arc::clone(picture));
                }
                failures.extend(store.failed.clone().map(|text| (side, text)));
            }
            let verdicts = crew.pair.store();
            for (i, step) in run.steps.iter_mut().enumerate() {
                step.accumulated = verdicts.accumulated[i].clone();
                step.isolated = verdicts.isolated[i].clone();
            }
            self.isolated.clone_from(&verdicts.tensors);
        } else {
            self.tensors = Default::default();
            self.isolated.clear();
        }
        for (&step, counts) in &self.happened.counts {
            if let Some(state) = run.steps.get_mut(step) {
                state.events.clone_from(counts);
            }
        }
        let bad = |verdict: Verdict| matches!(verdict, Verdict::Differs | Verdict::ZeroSign);
        run.first_isolated = run.steps.iter().position(|step| bad(step.isolated.verdict));
        run.first_accumulated = run.steps.iter().position(|step| bad(step.accumulated.verdict));
        let wish = self.goal.wish();
        // A step whose first look is there counts as run: the window goes there, its bytes follow.
        let stands = done[0].map(|done| if ran == done + 1 { ran } else { done });
        run.playhead = wish.to.min(stands.or(done[1]).unwrap_or(steps)).min(steps);
        run.activity = self.activity(&run, done, &wish);
        let moved = run.playhead != self.run.playhead;
        self.run = run;
        if self.follow && moved && self.run.playhead > 0 && self.crew.is_some() {
            self.select_step(self.run.playhead - 1);
            self.selection.channel = self.selection.channel.min(self.plan.shape(&self.selection.tensor).channels - 1);
            self.goal.change(|wish| wish.shown = self.selection.step);
        }
        self.follow_watched();
        for (side, text) in failures {
            let place = if side == Side::Subject { Place::Subject } else { Place::Reference };
            if !self.messages.iter().any(|message| message.text == text) {
                self.say(Severity::Error, place, text);
            }
        }
        self.list_jobs();
    }

    /// What runs now, how far it is, and when it will be done.
    fn activity(&self, run: &Run, done: [Option<usize>; 2], wish: &work::Wish) -> Option<Activity> {
        let failed = |side: &Option<Arc<work::Ledger>>| side.as_ref().is_some_and(|l| l.store().failed.is_some());
        let crew = self.crew.as_ref()?;
        let to = wish.to.min(run.steps.len());
        let behind = |i: usize| done[i].filter(|&done| done < to && !failed(&crew.sides[i]));
        let side = usize::from(behind(0).is_none());
        let (judged, again) = {
            let store = crew.pair.store();
            (store.judged, store.again.first().copied())
        };
        let unjudged = || {
            let able = crew.is_judged() && !crew.sides.iter().any(failed);
            let next = (done.iter().flatten().all(|&done| done > judged) && judged < to).then_some(judged);
            next.or(again).filter(|_| able)
        };
        let at = behind(side).or_else(unjudged)?;
        let step = &self.plan.steps[at];
        let (since, from) = wish.began.unwrap_or((std::time::Instant::now(), 0));
        let from = from.min(at);
        let total: u64 = self.products[from..to].iter().sum::<u64>().max(1);
        let finished = self.products[from..at].iter().sum::<u64>() + self.goal.in_hand(side).min(self.products[at]);
        let seconds = since.elapsed().as_secs_f64();
        let rate = if seconds > 0.0 { finished as f64 / seconds } else { 0.0 };
        let left = (rate > 0.0 && seconds > 0.3)
            .then(|| Duration::try_from_secs_f64(total.saturating_sub(finished) as f64 / rate).ok())
            .flatten();
        let what = format!("block {}, {}", step.block, step.kernel);
        let share = (finished as f64 / total as f64).min(1.0) as f32;
        Some(Activity { what, steps: (at - from, to - from), stepping: wish.stepping, share, rate, left })
    }

    fn list_jobs(&mut self) {
        let loading = self.order.map(|id| JobView { id, what: "loading".to_owned(), share: None, cancellable: false });
        let running = self.run.activity.as_ref().map(|activity| JobView {
            id: RUN,
            what: activity.what.clone(),
            share: Some(activity.share),
            cancellable: true,
        });
        let diagnosing = self.diagnosis.is_pending().then(|| JobView {
            id: DIAGNOSIS,
            what: "testing known causes".to_owned(),
            share: None,
            cancellable: true,
        });
        let jobs = loading.into_iter().chain(running).chain(diagnosing).chain(self.report_job());
        self.jobs = jobs.chain(self.examination_job()).chain(self.watch_job()).collect();
    }

    /// Whether a side has computed a step.
    pub fn has(&self, side: Side, step: usize) -> bool {
        matches!(self.run.steps[step].side(side), SideState::Done { .. })
    }
}
