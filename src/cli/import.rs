//! `blockscope import`: foreign dumps into a capture, with the evidence for how each was read.

use super::progress::Progress;
use super::{Exit, Failure, interrupt, output, sources};
use crate::capture::import::{Decided, Mapping, Survey};
use crate::capture::{Recording, Writer};
use crate::engine::runner::{self, Keep};
use crate::engine::{Control, EngineError, EngineSpec};
use crate::frame::{self, Conditions, Picture};
use crate::geometry::Size;
use crate::model;
use crate::plan::names;
use crate::tensor::{Tensor, TensorName};
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A folder of raw dumps, a .npy, .npz or .safetensors file, an image, or a capture directory.
    path: PathBuf,
    /// The valid size that the dumps were made at; a capture or a mapping has its own.
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// What the dumps are: the JSON that an earlier import wrote, corrected.
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// The capture directory to write; its mapping is written beside it as CAPTURE.import.json.
    #[arg(long, value_name = "CAPTURE")]
    out: PathBuf,
    /// The model of the run that made the dumps. With it the reference runs and tells the layouts apart.
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// The input of that run, as for `run`. Without: features or an input image among the dumps.
    #[arg(long, value_name = "I")]
    input: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = &arguments.path;
    if !path.exists() {
        return Err(Failure::ask(format_args!("there is nothing to import; path {}", path.display())));
    }
    if path.join("manifest.json").exists() {
        return copy(arguments, &interrupt::job());
    }
    let control = interrupt::job();
    let mapping = mapping(arguments)?;
    let size = arguments.size.or(mapping.size());
    let size = size.ok_or_else(|| Failure::ask("expected --size WxH, the valid size that the dumps were made at"))?;
    if let Some(other) = mapping.size().filter(|other| *other != size) {
        return Err(Failure::ask(format_args!("expected the mapping's size {other}, found --size {size}")));
    }
    let geometry = sources::geometry(size)?;
    let survey = Survey::new(path, geometry, &mapping).map_err(Failure::ask)?;
    for (key, reason) in &survey.skipped {
        output::line(format_args!("skipped  {key}: {reason}"));
    }
    let features = features(arguments, &survey)?;
    let expected = match &arguments.model {
        Some(model) => reference(model, &survey, &features, &control)?,
        None => BTreeMap::new(),
    };
    let lookup = |name: &TensorName| match expected.get(name) {
        None if *name == names::features() && arguments.input.is_some() => Some(features.clone()),
        found => found.cloned(),
    };
    let decided = survey.decide(&lookup);
    for one in &decided {
        tell(one);
    }
    let tested = arguments.model.as_ref().map(|model| {
        let input = arguments.input.as_deref().unwrap_or("the input among the dumps");
        format!("cpu, model {model}, input {input}")
    });
    let text = survey.mapping(&decided, tested.as_deref().unwrap_or_default()).to_json();
    let sidecar = sidecar(&arguments.out);
    let open = decided.iter().filter(|one| one.reading.is_err()).count();
    if open > 0 {
        output::save(&sidecar, text.as_bytes())?;
        return Err(Failure::ask(format_args!(
            "{open} of {} dumps cannot be read for certain, and nothing was imported; what is known is in {}: correct \
             it and give it with --map",
            decided.len(),
            sidecar.display()
        )));
    }
    survey.write(&decided, Some(&features), &arguments.out, &control).map_err(Failure::ask)?;
    output::save(&sidecar, text.as_bytes())?;
    output::line(format_args!(
        "imported {} tensors into {}; how each was read is in {}",
        decided.len(),
        arguments.out.display(),
        sidecar.display()
    ));
    Ok(Exit::Exact)
}

/// Beside the capture: `CAPTURE.import.json`.
fn sidecar(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(".import.json");
    out.with_file_name(name)
}

/// The mapping that was given. One that lies there from an earlier import may have been corrected by hand: it is
/// neither used nor overwritten unasked.
fn mapping(arguments: &Arguments) -> Result<Mapping, Failure> {
    let there = sidecar(&arguments.out);
    match &arguments.map {
        Some(path) => Mapping::open(path).map_err(Failure::ask),
        None if there.exists() => Err(Failure::ask(format_args!(
            "there is a mapping of an earlier import, and it is not overwritten; follow it with --map {shown}, or \
             remove it",
            shown = there.display()
        ))),
        None => {
            let inside = arguments.path.join(crate::capture::import::IN_FOLDER);
            if inside.exists() { Mapping::open(&inside).map_err(Failure::ask) } else { Ok(Mapping::default()) }
        }
    }
}

/// What the dumped run was fed with: as said, or as dumped.
fn features(arguments: &Arguments, survey: &Survey) -> Result<Tensor, Failure> {
    let size = survey.plan.geometry.valid;
    if let Some(input) = &arguments.input {
        return Ok(sources::open_input(input, Some(size))?.features);
    }
    if let Some(decided) = survey.decide_one(&names::features(), None) {
        return survey.read(&decided).map_err(Failure::ask);
    }
    if let Some(path) = &survey.input {
        let conditions = Conditions::default();
        let picture = Picture::open(path, conditions.paper_white).map_err(Failure::ask)?;
        if picture.size != size {
            return Err(Failure::ask(format_args!(
                "expected an input image of {size}, found {}; path {}",
                picture.size,
                path.display()
            )));
        }
        output::line(format_args!("input    {}: with the default conditions and seed", path.display()));
        return Ok(frame::input::features(&survey.plan.geometry, &picture, &conditions, None));
    }
    Err(Failure::ask(
        "a capture needs what the network was fed, and the dumps have neither features nor an input image; name it \
         with --input",
    ))
}

/// What the reference makes of the same input.
fn reference(
    spec: &str,
    survey: &Survey,
    features: &Tensor,
    control: &Control,
) -> Result<BTreeMap<TensorName, Tensor>, Failure> {
    let model = Arc::new(model::open(spec).map_err(Failure::ask)?);
    let plan = Arc::new(survey.plan.clone());
    let wanted: std::collections::BTreeSet<TensorName> = survey.tensors().cloned().collect();
    let last = wanted.iter().filter_map(|name| plan.tensor(name).step).max();
    let mut expected = BTreeMap::from([(features.name.clone(), features.clone())]);
    let Some(last) = last else { return Ok(expected) };
    let (mut engine, plan) = sources::open_engine(&"cpu".parse::<EngineSpec>().map_err(Failure::ask)?, &plan)?;
    let products = plan.steps[..=last].iter().map(|step| step.op.products(&plan)).sum();
    let progress = Progress::start(control, products);
    let outcome = runner::run_from_features(
        &mut *engine,
        (&plan, &model),
        features.clone(),
        Some(last),
        &Keep::Named(wanted),
        control,
        &mut |_, step, _| {
            progress.at(step.block);
            Ok(())
        },
    )?;
    expected.extend(outcome.tensors);
    Ok(expected)
}

fn tell(one: &Decided) {
    let (key, tensor) = (&one.key, &one.tensor);
    match &one.reading {
        Ok(reading) => {
            let (format, layout, evidence) = (reading.format.name(), &reading.layout, &reading.evidence);
            let sure = one.confidence * 100.0;
            output::line(format_args!("{tensor:24} {key}: {format} {layout}, {sure:.0} % sure ({evidence})"));
        }
        Err(reason) => output::line(format_args!("{tensor:24} {key}: {reason}")),
    }
}

/// A capture written anew: checked, with hashes, in today's form.
fn copy(arguments: &Arguments, control: &Control) -> Result<Exit, Failure> {
    let recording = Recording::open(&arguments.path).map_err(Failure::ask)?;
    if let Some(expected) = arguments.size.filter(|size| *size != recording.geometry.valid) {
        let found = recording.geometry.valid;
        return Err(Failure::ask(format_args!("expected size {expected}, found a capture of {found}")));
    }
    for note in &recording.notes {
        output::complain(&format!("note: {note}"));
    }
    let mut writer = Writer::create(&arguments.out, recording.geometry).map_err(Failure::ask)?;
    match recording.picture() {
        Some((picture, conditions)) => writer.proxy(&picture, &conditions).map_err(Failure::ask)?,
        None => writer.add(&recording.features().map_err(Failure::ask)?).map_err(Failure::ask)?,
    }
    let mut count = 0;
    for name in recording.names().filter(|name| **name != names::features()) {
        if control.is_cancelled() {
            return Err(EngineError::Cancelled.into());
        }
        writer.add(&recording.tensor(name).map_err(Failure::ask)?).map_err(Failure::ask)?;
        count += 1;
    }
    if let Some(output) = &recording.output {
        writer.image(output.size, output.is_u8, &output.read().map_err(Failure::ask)?).map_err(Failure::ask)?;
    }
    writer.finish("not in the imported capture", recording.metadata.clone()).map_err(Failure::ask)?;
    output::line(format_args!("imported {count} tensors into {}", arguments.out.display()));
    Ok(Exit::Exact)
}
