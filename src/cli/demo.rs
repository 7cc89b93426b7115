//! Without a subcommand: the app, where this build has one and a display exists; else a headless demonstration.
//!
//! The demonstration runs the synthetic model on the synthetic 64x64 frame, holds every published digest against it,
//! and holds sampled rows of every kernel against the scalar reference.

use super::progress::Progress;
use super::{Exit, Failure, interrupt, output};
use crate::engine::runner::{self, Keep};
use crate::engine::{Control, EngineSpec, reference};
use crate::frame;
use crate::geometry::{Geometry, Size};
use crate::model::synthetic;
use crate::plan::{Detail, Plan, Step};
use crate::tensor::{Digest, Tensor, TensorName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Digests that two other implementations published for this model and frame.
const PUBLISHED: &str = include_str!("../../tests/data/digests-64x64.json");
/// Rows of every kernel that the reference recomputes.
const ROWS: usize = 4;

/// Opens the app, or runs the demonstration.
pub(super) fn start() -> Result<Exit, Failure> {
    output::line("no window here: this build has none, or there is no display; running the headless demonstration");
    demonstrate()
}

fn demonstrate() -> Result<Exit, Failure> {
    let geometry = Geometry::new(Size::new(64, 64)).map_err(Failure::ask)?;
    let plan = Arc::new(Plan::new(geometry, Detail::Needed));
    let model = Arc::new(synthetic::model(1));
    let features = frame::synthetic::features(&geometry, 1);
    let published = published()?;
    let mut engine = crate::engine::open(&EngineSpec::cpu())?;
    let info = engine.info();
    output::line(format_args!(
        "synthetic model and frame, 64x64 px, {:.1} G products, on {} ({}), against the reference and {} published digests",
        plan.products() as f64 / 1e9,
        info.name,
        info.device,
        published.len()
    ));
    let control = interrupt::job();
    let progress = Progress::start(&control, plan.products());
    let mut tally = Tally::default();
    let scalar = Control::new();
    let outcome = runner::run_from_features(
        &mut *engine,
        (&plan, &model),
        features,
        None,
        &Keep::Nothing,
        &control,
        &mut |engine, step, _| {
            progress.at(step.block);
            let tensors = runner::read_around(engine, step)?;
            for name in step.op.outputs() {
                if let Some(expected) = published.get(name.as_str()) {
                    let found = tensors[name].digest();
                    tally.digests.0 += 1;
                    if found != *expected {
                        tally.digests.1 += 1;
                        progress.line(format_args!("{name}: digest {found}, published {expected}"));
                    }
                }
            }
            let wrong = sample(&plan, &model, step, &tensors, &scalar)?;
            tally.kernels.0 += 1;
            if wrong {
                tally.kernels.1 += 1;
                progress.line(format_args!("{}: differs from the reference on sampled rows", step.name()));
            }
            Ok(())
        },
    )?;
    drop(progress);
    tally.tell(outcome.elapsed.as_secs_f64(), plan.products());
    Ok(if tally.digests.1 + tally.kernels.1 == 0 { Exit::Exact } else { Exit::Differs })
}

/// Compared and differing.
#[derive(Default)]
struct Tally {
    digests: (usize, usize),
    kernels: (usize, usize),
}

impl Tally {
    fn tell(&self, seconds: f64, products: u64) {
        let verdict = |bad: usize| if bad == 0 { "all equal".to_owned() } else { format!("{bad} DIFFER") };
        output::line(format_args!("{} published digests: {}", self.digests.0, verdict(self.digests.1)));
        output::line(format_args!(
            "{} kernels, {ROWS} rows each against the scalar reference: {}",
            self.kernels.0,
            verdict(self.kernels.1)
        ));
        let rate = products as f64 / seconds / 1e9;
        output::line(format_args!("{seconds:.2} s with the checks, {rate:.2} G products/s"));
        output::line("next: blockscope plan, blockscope parity --subject cpu --reference reference --until block-4");
    }
}

/// Whether a few rows of a step differ from the reference's.
fn sample(
    plan: &Plan,
    model: &crate::model::Model,
    step: &Step,
    tensors: &BTreeMap<TensorName, Tensor>,
    control: &Control,
) -> Result<bool, crate::engine::EngineError> {
    let tokens = plan.shape(step.name()).tokens();
    let rows: Vec<usize> = (0..ROWS).map(|i| (i * tokens / ROWS + step.index * 7) % tokens).collect();
    let sources = reference::Sources { plan, model, tensors };
    let expected = reference::run_rows(step, sources, &rows, control)?;
    Ok(expected.iter().any(|(name, bytes)| {
        let got = rows.iter().flat_map(|&row| tensors[name].row(row).iter().copied());
        !got.eq(bytes.iter().copied())
    }))
}

fn published() -> Result<BTreeMap<String, Digest>, Failure> {
    let fault = || Failure::Fault("the embedded digests are damaged".to_owned());
    let value: serde_json::Value = serde_json::from_str(PUBLISHED).map_err(|e| Failure::Fault(e.to_string()))?;
    let tensors = value["tensors"].as_object().ok_or_else(fault)?;
    tensors
        .iter()
        .map(|(name, text)| Ok((name.clone(), text.as_str().and_then(Digest::parse).ok_or_else(fault)?)))
        .collect()
}
