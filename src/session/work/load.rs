//! Loads what a session works on: model, input, plan and both sides.

use super::{Ledger, budget, fault};
use crate::capture::import::{IN_FOLDER, Mapping};
use crate::capture::watch::Watch;
use crate::capture::{self, Recording};
use crate::diagnosis::Profile;
use crate::engine::{self, Engine, EngineInfo, EngineSpec};
use crate::frame;
use crate::model::{self, Model};
use crate::plan::{Detail, Plan};
use crate::session::{Side, Sources};
use crate::tensor::{Keeper, Tensor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Fields up to this many tokens keep every raw half; larger ones only what the network needs.
const RAW_TOKENS: usize = 400_000;

/// What is asked for, and what is there already.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// A number that never returns: answers to older orders are dropped.
    pub(crate) id: u64,
    /// What to load.
    pub(crate) sources: Sources,
    /// The model in hand, with its spec.
    pub(crate) model: Option<(String, Arc<Model>)>,
    /// Ledgers kept for these sources.
    pub(crate) kept: [Option<Arc<Ledger>>; 2],
}

/// One side, ready to run.
pub(crate) struct LoadedSide {
    /// Its results, new or kept.
    pub(crate) ledger: Arc<Ledger>,
    /// Its engine; none for a recording.
    pub(crate) engine: Option<Box<dyn Engine>>,
    /// What it is.
    pub(crate) info: EngineInfo,
    /// What it says about itself beyond that.
    pub(crate) facts: Vec<(String, String)>,
    /// The folder that its tensors come from.
    pub(crate) watch: Option<Watch>,
}

/// What a loader hands back.
pub(crate) struct Loaded {
    /// The order.
    pub(crate) id: u64,
    /// The sources as loaded (the size may come from the input).
    pub(crate) sources: Sources,
    /// The model, or every problem.
    pub(crate) model: Result<Arc<Model>, Vec<String>>,
    /// Plan and features, or every problem of the input.
    pub(crate) input: Result<(Arc<Plan>, Tensor), Vec<String>>,
    /// What both sides keep their tensors with.
    pub(crate) keeper: Arc<Keeper>,
    /// The sides; an empty problem list means that model or input failed first.
    pub(crate) sides: [Result<LoadedSide, Vec<String>>; 2],
}

/// Loads on a thread of its own, and hands the answer to `done`.
pub(crate) fn start(order: Order, done: impl FnOnce(Loaded) + Send + 'static) -> std::io::Result<()> {
    let work = move || done(load(order));
    std::thread::Builder::new().name("loader".to_owned()).spawn(work).map(|_detached| ())
}

fn load(order: Order) -> Loaded {
    let Order { id, sources, model, kept } = order;
    let kept_model = model.filter(|(spec, _)| *spec == sources.model).map(|(_, model)| model);
    let model = match kept_model {
        Some(model) => Ok(model),
        None => guarded(|| model::open(&sources.model).map(Arc::new).map_err(|e| lines(&e.to_string()))),
    };
    let mut sources = sources;
    let recorded = [&sources.subject, &sources.reference].map(|spec| guarded(|| recording(spec)));
    // A recording brings its own size and features.
    let first = recorded.iter().find_map(|recording| recording.as_ref().ok()?.as_ref());
    if let Some(recording) = first {
        sources.size = recording.geometry.valid;
    }
    let input = guarded(|| input(&sources, first));
    let engines = recorded.iter().filter(|recording| matches!(recording, Ok(None))).count() as u64;
    let keeper = match (&model, &input) {
        (Ok(model), Ok((plan, _))) => budget::keeper(&sources, plan, model, engines),
        _ => Ok(Arc::new(Keeper::unlimited())),
    };
    let [kept_subject, kept_reference] = kept;
    let each = |side: Side, kept: Option<Arc<Ledger>>| match (&model, &input, &keeper) {
        (Ok(model), Ok((plan, features)), Ok(keeper)) => {
            let spec = if side == Side::Subject { &sources.subject } else { &sources.reference };
            guarded(|| match (&recorded[side as usize], Sources::watched(spec)) {
                (_, Some(folder)) if side == Side::Subject => watched_side(spec, plan, features, Path::new(folder)),
                (_, Some(_)) => Err(vec![format!("only the subject can be watched; found the reference \"{spec}\"")]),
                (Ok(Some(recording)), _) => recorded_side(spec, plan, features, recording, keeper),
                (Ok(None), _) => self::side(spec, plan, features, model, (kept, keeper)),
                (Err(problems), _) => Err(problems.clone()),
            })
        }
        // Said once.
        (_, _, Err(problem)) if side == Side::Subject => Err(vec![problem.clone()]),
        _ => Err(Vec::new()),
    };
    let sides = [each(Side::Subject, kept_subject), each(Side::Reference, kept_reference)];
    let keeper = keeper.unwrap_or_else(|_refused| Arc::new(Keeper::unlimited()));
    Loaded { id, sources, model, input, keeper, sides }
}

/// A job's panic becomes a problem.
fn guarded<T>(job: impl FnOnce() -> Result<T, Vec<String>>) -> Result<T, Vec<String>> {
    catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|panic| Err(vec![fault(&*panic)]))
}

/// A message of several lines as several problems.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// The plan and features of an input, and the size that they have.
fn input(sources: &Sources, recording: Option<&Recording>) -> Result<(Arc<Plan>, Tensor), Vec<String>> {
    let conditions = frame::Conditions::default();
    let recorded = recording.and_then(|recording| Some((recording.geometry, recording.features().ok()?)));
    let (geometry, features) = match recorded {
        Some(recorded) => recorded,
        None => {
            let input = capture::input::open(&sources.input, Some(sources.size), &conditions);
            let input = input.map_err(|error| lines(&error.to_string()))?;
            (input.geometry, input.features)
        }
    };
    let detail = if geometry.field.tokens() <= RAW_TOKENS { Detail::Raw } else { Detail::Needed };
    Ok((Arc::new(Plan::new(geometry, detail)), features))
}

/// The recording that a spec names, if it names one.
fn recording(spec: &str) -> Result<Option<Recording>, Vec<String>> {
    let path = Path::new(spec);
    if !path.exists() {
        return Ok(None);
    }
    let recording = Recording::open(path).map_err(|error| lines(&error.to_string()))?;
    if recording.is_digests() {
        return Err(vec![format!(
            "only digests are known here, nothing to look at: use `blockscope parity`; path {spec}"
        )]);
    }
    Ok(Some(recording))
}

/// One side that was recorded.
fn recorded_side(
    spec: &str,
    plan: &Arc<Plan>,
    features: &Tensor,
    recording: &Recording,
    keeper: &Keeper,
) -> Result<LoadedSide, Vec<String>> {
    if recording.geometry != plan.geometry {
        let (expected, found) = (plan.geometry.valid, recording.geometry.valid);
        return Err(vec![format!("expected a recording of size {expected}, found {found}; path {spec}")]);
    }
    let mut tensors = std::collections::BTreeMap::from([(features.name.clone(), features.clone())]);
    for name in recording.names().filter(|name| plan.tensors.contains_key(*name)) {
        let tensor = recording.tensor(name).map_err(|error| lines(&error.to_string()))?;
        tensors.insert(name.clone(), keeper.keep(tensor).map_err(|error| vec![error.to_string()])?);
    }
    let info = EngineInfo { name: spec.to_owned(), device: "recording".to_owned(), exact: false };
    let ledger = Arc::new(Ledger::recording(Arc::clone(plan), tensors));
    Ok(LoadedSide { ledger, engine: None, info, facts: recording.facts(), watch: None })
}

/// A side that a running port writes: empty at first. The folder's own `import.json` says what is what, if there is one.
fn watched_side(spec: &str, plan: &Arc<Plan>, features: &Tensor, folder: &Path) -> Result<LoadedSide, Vec<String>> {
    let file = folder.join(IN_FOLDER);
    let mapping = if file.is_file() { Mapping::open(&file).map_err(|e| vec![e])? } else { Mapping::default() };
    if let Some(expected) = mapping.size().filter(|size| *size != plan.geometry.valid) {
        let found = plan.geometry.valid;
        let path = file.display();
        return Err(vec![format!(
            "expected the mapping's size {expected}, found {found}; change the size; path {path}"
        )]);
    }
    let info = EngineInfo { name: spec.to_owned(), device: "watched folder".to_owned(), exact: false };
    let ledger = Arc::new(Ledger::watched(Arc::clone(plan), features.clone()));
    let watch = Some(Watch::new(folder, plan.geometry, mapping));
    Ok(LoadedSide { ledger, engine: None, info, facts: Vec::new(), watch })
}

/// One side: an engine with its plan, or a recording.
fn side(
    spec: &str,
    plan: &Arc<Plan>,
    features: &Tensor,
    model: &Arc<Model>,
    (kept, keeper): (Option<Arc<Ledger>>, &Arc<Keeper>),
) -> Result<LoadedSide, Vec<String>> {
    let parsed: EngineSpec = spec.parse().map_err(|error: engine::spec::SpecError| vec![error.to_string()])?;
    let own = changed(plan, &parsed)?;
    let mut engine = engine::open(&parsed).map_err(|error| lines(&error.to_string()))?;
    engine.keep_within(keeper);
    engine.load(&own, model).map_err(|error| lines(&error.to_string()))?;
    let info = EngineInfo { name: spec.to_owned(), ..engine.info() };
    let ledger = kept.unwrap_or_else(|| Arc::new(Ledger::engine(own, features.clone())));
    ledger.keep_within(keeper).map_err(|error| vec![error.to_string()])?;
    let facts = engine.facts();
    Ok(LoadedSide { ledger, engine: Some(engine), info, facts, watch: None })
}

/// The plan with a spec's causes switched on.
fn changed(plan: &Arc<Plan>, spec: &EngineSpec) -> Result<Arc<Plan>, Vec<String>> {
    if spec.changes.is_empty() {
        return Ok(Arc::clone(plan));
    }
    let profile = Profile::new(&spec.changes).map_err(|error| vec![error.to_string()])?;
    profile.apply(plan).map(Arc::new).map_err(|error| vec![error.to_string()])
}
