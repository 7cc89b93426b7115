//! What a subject's deviations do in the end: at every boundary and in the output image, beside the noise floor.
//!
//! The network is chaotic: a change of one code at the input moves the head by about a tenth. Whether a late
//! difference means anything is therefore judged against the exact network with one sum reordered, which is right
//! in real arithmetic and differs as much as rounding alone can.
//!
//! **Invariants**
//! * Both sides run on their own results (accumulated); isolated verdicts are the business of `search`.
//! * A peak signal-to-noise ratio never says "equal": only bytes do.

use super::Profile;
use crate::compare::{Details, percent};
use crate::engine::spec::{Change, EngineSpec};
use crate::engine::{Control, Engine, EngineError, runner};
use crate::frame::{self, Composed};
use crate::geometry::Geometry;
use crate::model::Model;
use crate::numerics::f16;
use crate::plan::{Plan, Role, names};
use crate::tensor::{Tensor, TensorName};
use std::sync::Arc;

/// The cause that reorders a sum in every block: squares added one after the other instead of by the tree.
pub const REORDERED: &str = "squares-in-order";

/// Decibels within which two ends are as far away: where the network has mixed everything, no more can be said.
const ALIKE: f64 = 2.0;

/// One tensor, or the image, of a subject beside the exact one.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Effect {
    /// The boundary, or `image`.
    pub name: String,
    /// Bytes that differ.
    pub differing: u64,
    /// Bytes of the whole.
    pub bytes: u64,
    /// Peak signal-to-noise ratio in dB, the exact side's largest magnitude being the peak (1 in the image); `None`
    /// where no value differs.
    pub psnr: Option<f64>,
}

/// A subject beside the exact network, from the first boundary to the image.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct WhatIf {
    /// Every boundary, in order; the head is the last.
    pub boundaries: Vec<Effect>,
    /// The composed output image, eight bits a channel, where the head was reached.
    pub image: Option<Effect>,
}

impl Effect {
    /// Two tensors of one shape.
    pub fn of(subject: &Tensor, exact: &Tensor) -> Self {
        let pairs = subject.bytes().iter().zip(exact.bytes());
        let differing = pairs.filter(|(s, r)| s != r).count() as u64;
        // Equal values of different bytes are zeros of another sign.
        let psnr = (differing > 0).then(|| Details::of(subject, exact, None).measures.psnr).filter(|p| p.is_finite());
        Self { name: exact.name.to_string(), differing, bytes: exact.bytes().len() as u64, psnr }
    }

    /// Two images of one size: bytes of the eight-bit image, PSNR of the colours before they are quantized.
    pub fn of_images(subject: &Composed, exact: &Composed) -> Self {
        let (ours, theirs) = (subject.to_u8(), exact.to_u8());
        let differing = ours.iter().zip(&theirs).filter(|(s, r)| s != r).count() as u64;
        let colours = |image: &Composed| -> Vec<f64> {
            image.pixels.iter().flat_map(|p| [p[0], p[1], p[2]]).map(f16::to_f64).collect()
        };
        let (s, r) = (colours(subject), colours(exact));
        let squares: f64 = s.iter().zip(&r).map(|(s, r)| (s - r) * (s - r)).sum();
        let psnr = (squares > 0.0).then(|| -10.0 * (squares / r.len() as f64).log10());
        Self { name: "image".to_owned(), differing, bytes: theirs.len() as u64, psnr }
    }

    /// Differing bytes as a share of all, 0 to 1.
    pub fn share(&self) -> f64 {
        self.differing as f64 / self.bytes.max(1) as f64
    }

    /// In one phrase.
    pub fn phrase(&self) -> String {
        let psnr = self.psnr.map(|psnr| format!(", PSNR {psnr:.1} dB")).unwrap_or_default();
        let share = percent(self.share());
        format!("{}: {} of {} bytes differ ({share}){psnr}", self.name, self.differing, self.bytes)
    }
}

impl WhatIf {
    /// The last boundary reached: the head of a whole run.
    pub fn head(&self) -> Option<&Effect> {
        self.boundaries.last()
    }

    /// Head and image in one phrase.
    pub fn phrase(&self) -> String {
        self.head().into_iter().chain(&self.image).map(Effect::phrase).collect::<Vec<_>>().join("; ")
    }

    /// What the end says beside the noise floor, which was run as far; nothing where either has no measure there.
    pub fn against(&self, floor: &Self) -> Option<String> {
        let ends = [self, floor].map(|ends| ends.image.as_ref().or_else(|| ends.head()));
        let [Some(own), Some(floor)] = ends else { return None };
        if own.name != floor.name {
            return None;
        }
        if own.differing == 0 {
            return Some(format!("in the end nothing differs: {} has the exact bytes", own.name));
        }
        // Zeros of another sign have no measure.
        let (own, floor, name) = (own.psnr?, floor.psnr?, &own.name);
        let both = format!("{own:.1} dB, and {floor:.1} dB");
        Some(match own - floor {
            more if more > ALIKE => format!(
                "the subject's {name} is nearer to the exact one than a reordered sum carries it ({both}): rounding alone \
                 can do this"
            ),
            less if less < -ALIKE => format!(
                "the subject's {name} is further from the exact one than a reordered sum carries it ({both}): more than \
                 rounding"
            ),
            _ => format!(
                "the subject's {name} is as far from the exact one as a reordered sum carries it ({both}): the end cannot \
                 tell this from rounding, isolated verdicts can"
            ),
        })
    }

    /// Takes a boundary in, and the image once both heads are known.
    pub fn add(&mut self, geometry: &Geometry, features: Option<&Tensor>, subject: &Tensor, exact: &Tensor) {
        self.boundaries.push(Effect::of(subject, exact));
        if let (names::HEAD, Some(features)) = (exact.name.as_str(), features) {
            let image = |head: &Tensor| frame::compose(geometry, features, head, None);
            self.image = Some(Effect::of_images(&image(subject), &image(exact)));
        }
    }
}

/// What is run.
#[derive(Clone, Debug)]
pub struct Network<'a> {
    /// The exact plan.
    pub plan: &'a Arc<Plan>,
    /// Its weights.
    pub model: &'a Arc<Model>,
    /// The input of both sides.
    pub features: &'a Tensor,
    /// The last step; all of them without.
    pub until: Option<usize>,
}

/// Runs a subject and the exact network side by side, each on its own results. `told` hears of every boundary.
///
/// # Errors
/// Those of the engines, and a cancelled control.
pub fn what_if(
    (subject, changed): (&mut dyn Engine, &Arc<Plan>),
    exact: &mut dyn Engine,
    network: &Network<'_>,
    control: &Control,
    told: &mut dyn FnMut(&Effect),
) -> Result<WhatIf, EngineError> {
    let plan = network.plan;
    subject.load(changed, network.model)?;
    subject.write(network.features.clone())?;
    let mut effects = WhatIf::default();
    // A changed step may read what the exact one no longer needs.
    let last_reads = changed.last_reads();
    let mut watch = |exact: &mut dyn Engine, step: &crate::plan::Step, _| {
        let own = &changed.steps[step.index];
        subject.run(own, control)?;
        let boundary = |name: &&TensorName| plan.tensor(name).role == Role::Boundary;
        for name in step.op.outputs().into_iter().filter(boundary) {
            let (ours, theirs) = (subject.read(name)?, exact.read(name)?);
            effects.add(&plan.geometry, Some(network.features), &ours, &theirs);
            told(effects.boundaries.last().expect("one was just added"));
        }
        let dead = |name: &&TensorName| last_reads.get(*name).is_none_or(|&last| last <= step.index);
        own.op.tensors().filter(dead).for_each(|name| subject.release(name));
        Ok(())
    };
    let (sides, keep) = ((plan, network.model), runner::Keep::Nothing);
    runner::run_from_features(exact, sides, network.features.clone(), network.until, &keep, control, &mut watch)?;
    Ok(effects)
}

/// The noise floor: the exact network against itself with a reordered sum in every block.
///
/// # Errors
/// As [`what_if`].
pub fn noise_floor(
    network: &Network<'_>,
    control: &Control,
    told: &mut dyn FnMut(&Effect),
) -> Result<WhatIf, EngineError> {
    let change = Change { cause: REORDERED.to_owned(), blocks: None };
    let reordered = Profile::new(&[change]).and_then(|profile| profile.apply(network.plan));
    let reordered = Arc::new(reordered.expect("every plan normalizes, and the catalogue has the cause"));
    let mut subject = crate::engine::open(&EngineSpec::cpu())?;
    let mut exact = crate::engine::open(&EngineSpec::cpu())?;
    what_if((subject.as_mut(), &reordered), exact.as_mut(), network, control, told)
}
