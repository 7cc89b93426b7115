//! What most commands work on: a model, an input, a size and an engine, as a person names them.

use super::{Failure, output};
use crate::compare::parity::Side;
use crate::engine::{self, Engine, EngineSpec};
use crate::frame::{self, Conditions, Input};
use crate::geometry::{Geometry, Size};
use crate::model::{self, Model};
use crate::plan::{Detail, Plan};
use crate::tensor::{Tensor, TensorName};
use clap::Args;
use std::sync::Arc;

/// Model, input and size.
#[derive(Debug, Args)]
pub(super) struct Sources {
    /// A model directory, or synthetic[:SEED].
    #[arg(long, value_name = "M", default_value = "synthetic:1")]
    pub(super) model: String,
    /// synthetic[:SEED], an image (PNG, JPEG, WebP, TIFF, HDR, EXR), a capture directory, or features (.f32, .npy).
    #[arg(long, value_name = "I", default_value = "synthetic:1")]
    pub(super) input: String,
    /// Valid size, such as 512x512; an image's own, or 64x64, without.
    #[arg(long, value_name = "WxH")]
    pub(super) size: Option<Size>,
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
        let input = open_input(&self.input, self.size)?;
        for note in &input.notes {
            output::complain(&format!("note: {note}"));
        }
        let model = Arc::new(model::open(&self.model).map_err(Failure::ask)?);
        let plan = Arc::new(Plan::new(input.geometry, detail));
        Ok(Loaded { plan, model, input })
    }
}

/// Opens an input.
pub(super) fn open_input(spec: &str, size: Option<Size>) -> Result<Input, Failure> {
    frame::input::open(spec, size, &Conditions::default()).map_err(Failure::ask)
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
    let alike: Vec<&str> =
        plan.tensors.keys().map(TensorName::as_str).filter(|n| n.split('/').next() == Some(block)).collect();
    if alike.is_empty() { String::new() } else { format!(" ({} has {})", block, alike.join(", ")) }
}

/// Opens an engine, and the plan that it is to run: changed where causes are switched on.
pub(super) fn open_engine(spec: &EngineSpec, plan: &Arc<Plan>) -> Result<(Box<dyn Engine>, Arc<Plan>), Failure> {
    if let Some(change) = spec.changes.first() {
        return Err(Failure::ask(format_args!(
            "engine {spec}: no cause is called \"{}\"; this build has no catalogue of causes yet",
            change.cause
        )));
    }
    Ok((engine::open(spec)?, Arc::clone(plan)))
}

/// Both sides of a comparison, and what they run on.
pub(super) struct Sides {
    pub(super) subject: Side,
    pub(super) reference: Side,
    pub(super) loaded: Loaded,
    /// What a live side runs on; nothing when a recording came without its input.
    pub(super) features: Option<Tensor>,
}

/// Opens both sides: engines, or recordings by their path.
pub(super) fn sides(sources: &Sources, subject: &str, reference: &str) -> Result<Sides, Failure> {
    let loaded = sources.load(Detail::Needed)?;
    let side = |text: &str| -> Result<Side, Failure> {
        let spec = text.parse::<EngineSpec>().map_err(Failure::ask)?;
        let (engine, plan) = open_engine(&spec, &loaded.plan)?;
        Ok(Side::Live(engine, plan))
    };
    let (subject, reference) = (side(subject)?, side(reference)?);
    let features = Some(loaded.input.features.clone());
    Ok(Sides { subject, reference, loaded, features })
}
