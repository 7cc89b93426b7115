//! What the right panel's tabs show, computed by workers from both sides' tensors.

use super::{Mask, Side, Verdict};
use crate::engine::trace;
use crate::numerics::f16;
use crate::numerics::softmax::Tree;
use crate::tensor::TensorName;
use std::sync::Arc;

/// Attention of one window (or of the ViT), head and query, on one side.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionSide {
    /// Scores of every key; physical order in a window, plain order in the ViT.
    pub scores: Vec<f16>,
    /// Their exponentials.
    pub exponentials: Vec<f16>,
    /// The prior; empty in the ViT.
    pub prior: Vec<f16>,
    /// Published weights.
    pub weights: Vec<u8>,
    /// The window's softmax; `None` in the ViT.
    pub tree: Option<Tree>,
    /// The denominator.
    pub total: f16,
    /// Sum of the decoded published weights.
    pub weight_sum: f32,
    /// Weights of all 64 queries, `[query natural][key physical]`; empty in the ViT.
    pub matrix: Vec<u8>,
    /// Scores of all 64 queries, likewise.
    pub matrix_scores: Vec<f16>,
    /// The head's published result, 32 channels.
    pub attended: Vec<u8>,
}

/// Attention of the selected window, head and query.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// The window, `None` in the ViT.
    pub window: Option<(usize, usize)>,
    /// The head, and how many there are.
    pub head: (usize, usize),
    /// Natural index of the query in its window, or its token in the ViT.
    pub query: usize,
    /// For each key (physical order), whether it lies in the field; in the ViT, whether it is no padding.
    pub inside: Vec<bool>,
    /// Share of the denominator that keys outside the field take.
    pub outside_share: f32,
    /// The subject, as its bytes are.
    pub subject: Option<AttentionSide>,
    /// The reference.
    pub reference: Option<AttentionSide>,
    /// The subject with the view's what-if changes; `None` when none is on.
    pub changed: Option<AttentionSide>,
}

impl Attention {
    /// One side.
    pub fn side(&self, side: Side) -> Option<&AttentionSide> {
        match side {
            Side::Subject => self.subject.as_ref(),
            Side::Reference => self.reference.as_ref(),
        }
    }
}

/// A histogram over named bins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Count of each bin.
    pub counts: Vec<u64>,
    /// The first bin's number: codes start at 0, signed distances at -256.
    pub first: i32,
}

/// Counts of the selected tensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The tensor's verdict as a whole.
    pub verdict: Verdict,
    /// Elements of the tensor.
    pub elements: u64,
    /// Smallest, mean, largest value and root mean square of the subject and of the reference.
    pub moments: [Option<[f64; 4]>; 2],
    /// Histogram of the subject's codes (f16 and f32: of their published codes).
    pub subject_codes: Histogram,
    /// Of the reference's.
    pub reference_codes: Histogram,
    /// Signed distance in codes; equal elements are left out.
    pub distances: Histogram,
    /// Elements by class, with the class' name.
    pub classes: Vec<(String, u64)>,
    /// Differing elements of each channel.
    pub channels: Vec<u64>,
    /// Differing elements at each natural window position, on the grid of the block's phase; empty without one.
    pub positions: Vec<u64>,
    /// Differing elements of each head or 32-channel group.
    pub heads: Vec<u64>,
    /// Largest absolute difference of values.
    pub max_abs: f64,
    /// Root mean square of the difference.
    pub rmse: f64,
}

/// How the selected value came to be on each side, as `explain` tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The subject's story.
    pub subject: Option<Arc<trace::Trace>>,
    /// The reference's.
    pub reference: Option<Arc<trace::Trace>>,
}

/// Known causes tested on one divergent step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// The step.
    pub step: usize,
    /// Whether the first cause reproduces every byte.
    pub explained: bool,
    /// How many candidates were tried.
    pub tried: usize,
    /// Causes that explain something, best first.
    pub causes: Vec<CauseFound>,
    /// What the best of them does to each token of each tensor looked at.
    pub masks: Vec<Arc<Mask>>,
}

impl Diagnosis {
    /// The mask of a tensor.
    pub fn mask_of(&self, tensor: &TensorName) -> Option<&Arc<Mask>> {
        self.masks.iter().find(|mask| mask.tensor == *tensor)
    }
}

/// One cause, or two together, and what they did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CauseFound {
    /// Ids in the catalogue.
    pub ids: Vec<String>,
    /// The deviation in a few words.
    pub name: String,
    /// The subject that has this cause and no other.
    pub subject: String,
    /// Bytes that differ, among those looked at.
    pub differing: u64,
    /// Of these, bytes that the cause reproduces.
    pub explained: u64,
    /// Equal bytes that it breaks.
    pub newly_wrong: u64,
    /// Whether it reproduces the whole tensor.
    pub exact: bool,
}

impl CauseFound {
    /// Share of the differing bytes explained, 0..=1.
    pub fn share(&self) -> f64 {
        if self.differing == 0 { 0.0 } else { self.explained as f64 / self.differing as f64 }
    }
}
