//! What most commands work on: a model, an input, a size and an engine, as a person names them.

use super::{Failure, output};
use crate::capture::{self, Recording};
use crate::compare::parity::Side;
use crate::diagnosis::Profile;
use crate::engine::{self, Engine, EngineError, EngineSpec};
use crate::frame::{Conditions, Input};
use crate::geometry::{Geometry, Size};
use crate::model::{self, Model};
use crate::plan::{Detail, Plan};
use crate::report::quoted;
use crate::tensor::{Keeper, Tensor, TensorName};
use clap::Args;
use std::path::Path;
use std::sync::Arc;

/// The input without `--input`.
const DEFAULT_INPUT: &str = "synthetic:1";

/// Model, input and size.
#[derive(Debug, Args)]
pub(super) struct Sources {
    /// A model directory, or synthetic or synthetic:SEED.
    #[arg(long, value_name = "M", default_value = "synthetic:1")]
    pub(super) model: String,
    /// synthetic or synthetic:SEED, an image (PNG, JPEG, WebP, TIFF, HDR, EXR), a capture directory, or features (.f32, .npy).
    /// Without: the recording's own input, else synthetic:1.
    #[arg(long, value_name = "I")]
    pub(super) input: Option<String>,
    /// Valid size, such as 512x512; an image's own, or 64x64, without.
    #[arg(long, value_name = "WxH")]
    pub(super) size: Option<Size>,
}

/// Sources, and the engine that runs on them: what commands have that look at one place of the network.
#[derive(Debug, Args)]
pub(super) struct Look {
    #[command(flatten)]
    pub(super) sources: Sources,
    /// The engine that computes what is looked at.
    #[arg(long, value_name = "E", default_value = "cpu")]
    pub(super) engine: EngineSpec,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// What [`Look`] opens: sources, an engine, and the plan that it runs.
pub(super) struct Opened {
    pub(super) loaded: Loaded,
    pub(super) engine: Box<dyn Engine>,
    pub(super) plan: Arc<Plan>,
}

/// Everything loaded.
pub(super) struct Loaded {
    pub(super) plan: Arc<Plan>,
    pub(super) model: Arc<Model>,
    pub(super) input: Input,
}

impl Sources {
    /// Opens model and input.
    pub(super) fn load(&self, detail: Detail) -> Result<Loaded, Failure> {
        let input = open_input(self.input.as_deref().unwrap_or(DEFAULT_INPUT), self.size)?;
        for note in &input.notes {
            output::complain(&format!("note: {note}"));
        }
        let model = Arc::new(model::open(&self.model).map_err(Failure::ask)?);
        let plan = Arc::new(Plan::new(input.geometry, detail));
        Ok(Loaded { plan, model, input })
    }
}

impl Look {
    /// Opens the sources and the engine.
    pub(super) fn open(&self, detail: Detail) -> Result<Opened, Failure> {
        let loaded = self.sources.load(detail)?;
        let (engine, plan) = open_engine(&self.engine, &loaded.plan)?;
        Ok(Opened { loaded, engine, plan })
    }
}

impl Sources {
    /// The options that name these sources again.
    pub(super) fn command(&self, plan: &Plan) -> String {
        let input = self.input.as_ref().map(|input| format!(" --input {}", quoted(input))).unwrap_or_default();
        format!("--model {}{input} --size {}", quoted(&self.model), plan.geometry.valid)
    }
}

/// Opens an input.
pub(super) fn open_input(spec: &str, size: Option<Size>) -> Result<Input, Failure> {
    capture::input::open(spec, size, &Conditions::default()).map_err(Failure::ask)
}

/// The geometry of a size.
pub(super) fn geometry(size: Size) -> Result<Geometry, Failure> {
    Geometry::new(size).map_err(Failure::ask)
}

/// The step that a person names.
pub(super) fn step(plan: &Plan, text: &str) -> Result<usize, Failure> {
    plan.find_step(text).ok_or_else(|| {
        let near = nearest(plan, text);
        Failure::ask(format_args!(
            "expected a step: a tensor such as block-12 or block-12/qkv, or an index of 0 to {}; found \"{text}\"{near}",
            plan.steps.len() - 1
        ))
    })
}

/// The tensor that a person names.
pub(super) fn tensor(plan: &Plan, text: &str) -> Result<TensorName, Failure> {
    if plan.tensors.contains_key(text) {
        return Ok(TensorName::from(text));
    }
    let near = nearest(plan, text);
    Err(Failure::ask(format_args!("the plan names no tensor \"{text}\"{near}; `blockscope plan` lists them all")))
}

/// Names that begin alike, as a hint.
fn nearest(plan: &Plan, text: &str) -> String {
    let block = text.split('/').next().unwrap_or_default();
    if block.is_empty() {
        return String::new();
    }
    let alike: Vec<&str> =
        plan.tensors.keys().map(TensorName::as_str).filter(|n| n.split('/').next() == Some(block)).collect();
    if alike.is_empty() { String::new() } else { format!(" ({} has {})", block, alike.join(", ")) }
}

/// Opens an engine, and the plan that it is to run: changed where causes are switched on.
pub(super) fn open_engine(spec: &EngineSpec, plan: &Arc<Plan>) -> Result<(Box<dyn Engine>, Arc<Plan>), Failure> {
    if spec.changes.is_empty() {
        return Ok((engine::open(spec)?, Arc::clone(plan)));
    }
    let profile = Profile::new(&spec.changes).map_err(Failure::ask)?;
    let changed = profile.apply(plan).map_err(Failure::ask)?;
    Ok((engine::open(spec)?, Arc::new(changed)))
}

/// Both sides of a comparison, and what they run on.
pub(super) struct Sides {
    pub(super) subject: Side,
    pub(super) reference: Side,
    pub(super) loaded: Loaded,
    /// What a live side runs on; nothing when a recording came without its input.
    pub(super) features: Option<Tensor>,
}

impl Sides {
    /// Engines among the sides.
    pub(super) fn engines(&self) -> u64 {
        [&self.subject, &self.reference].into_iter().filter(|side| matches!(side, Side::Live(..))).count() as u64
    }

    /// Lets the engines among the sides keep boundaries within a budget.
    pub(super) fn keep_within(&mut self, keeper: &Arc<Keeper>) -> Result<(), Failure> {
        let kept = keeper.keep(self.loaded.input.features.clone()).map_err(EngineError::from)?;
        self.features = self.features.take().map(|_| kept.clone());
        self.loaded.input.features = kept;
        for side in [&mut self.subject, &mut self.reference] {
            if let Side::Live(engine, _) = side {
                engine.keep_within(keeper);
            }
        }
        Ok(())
    }
}

/// Opens both sides: engines, or recordings by their path. Without `--size` or `--input` a recording's own are used.
pub(super) fn sides(sources: &Sources, subject: &str, reference: &str) -> Result<Sides, Failure> {
    sides_with(sources, subject, reference, Detail::Needed)
}

/// [`sides`] with a plan of some detail.
pub(super) fn sides_with(sources: &Sources, subject: &str, reference: &str, detail: Detail) -> Result<Sides, Failure> {
    let (s_record, r_record) = (recording(subject)?, recording(reference)?);
    let records: Vec<&Recording> = s_record.iter().chain(&r_record).collect();
    for note in records.iter().flat_map(|record| &record.notes) {
        output::complain(&format!("note: {note}"));
    }
    let size = records.first().map(|record| record.geometry.valid);
    for record in &records {
        let (found, source) = (record.geometry.valid, &record.source);
        if let Some(expected) = sources.size.or(size).filter(|&expected| expected != found) {
            return Err(Failure::ask(format_args!("expected size {expected}, found {found} in {source}")));
        }
    }
    let fed = records.iter().find_map(|record| record.features().ok().map(|features| (features, &record.source)));
    let model = Arc::new(model::open(&sources.model).map_err(Failure::ask)?);
    let (input, features) = match (&sources.input, fed) {
        (Some(input), _) => {
            let input = open_input(input, sources.size.or(size))?;
            let features = Some(input.features.clone());
            (input, features)
        }
        (None, Some((features, source))) => {
            let geometry = records[0].geometry;
            let (features, source) = (features, source.clone());
            let input = Input { geometry, features: features.clone(), source, notes: Vec::new(), picture: None };
            (input, Some(features))
        }
        (None, None) => {
            let input = open_input(DEFAULT_INPUT, sources.size.or(size))?;
            // A capture without its input was not made from the synthetic one; digests say what they were made from.
            let features = records.iter().all(|record| record.is_digests()).then(|| input.features.clone());
            (input, features)
        }
    };
    let doubts = records.iter().flat_map(|record| doubts(record, &model, &input.source));
    for note in input.notes.iter().cloned().chain(doubts) {
        output::complain(&format!("note: {note}"));
    }
    let plan = Arc::new(Plan::new(input.geometry, detail));
    let side = |text: &str, record: Option<Recording>| -> Result<Side, Failure> {
        if let Some(record) = record {
            return Ok(Side::Recorded(Box::new(record)));
        }
        let spec = text.parse::<EngineSpec>().map_err(Failure::ask)?;
        let (engine, plan) = open_engine(&spec, &plan)?;
        Ok(Side::Live(engine, plan))
    };
    let (subject, reference) = (side(subject, s_record)?, side(reference, r_record)?);
    Ok(Sides { subject, reference, loaded: Loaded { plan, model, input }, features })
}

/// What a recording says of its making and this comparison does otherwise: then differences are no wonder.
fn doubts(record: &Recording, model: &Model, input: &str) -> Vec<String> {
    let said =
        |key: &str| record.metadata.as_ref().and_then(|about| about.get(key)).and_then(serde_json::Value::as_str);
    // Published digest files say "synthetic seed 1".
    let other = |text: &str, ours: &str| text.replace(" seed ", ":") != ours;
    let (source, ours) = (&record.source, &model.source);
    let mut doubts = Vec::new();
    match (said("model"), said("modelDigest")) {
        (name, Some(digest)) if model.digest().to_string() != digest => {
            let name = name.unwrap_or("another model");
            let found = model.digest();
            doubts.push(format!(
                "{source} was made with model {name} (digest {digest}), and this runs {ours} ({found}); see --model"
            ));
        }
        (Some(name), None) if other(name, ours) => {
            doubts.push(format!("{source} was made with model {name}, and this runs {ours}; see --model"));
        }
        _ => {}
    }
    if let Some(features) = said("features").filter(|features| other(features, input)) {
        doubts.push(format!("{source} was made from input {features}, and this runs {input}; see --input"));
    }
    doubts
}

/// The recording at a path; `None` where a text names no file and so must be an engine.
fn recording(text: &str) -> Result<Option<Recording>, Failure> {
    let path = Path::new(text);
    if path.exists() {
        return Recording::open(path).map(Some).map_err(Failure::ask);
    }
    match text.parse::<EngineSpec>() {
        Err(_) if text.contains(['/', '\\', '.']) => {
            Err(Failure::ask(format_args!("there is no such recording, and no such engine; path {text}")))
        }
        _ => Ok(None),
    }
}
