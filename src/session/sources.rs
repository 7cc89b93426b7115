//! What is loaded: model, input, size, and the two sides.

use crate::engine::EngineInfo;
use crate::geometry::Size;

/// Texts that name what a session works on; each as a command line would say it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Sources {
    /// `synthetic[:SEED]` or a model directory.
    pub model: String,
    /// `synthetic[:SEED]`, an image, features or a capture.
    pub input: String,
    /// The valid size.
    pub size: Size,
    /// An engine, an engine with causes (`cpu+mask-outside@9-14`), or a capture.
    pub subject: String,
    /// The same.
    pub reference: String,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            model: "synthetic:1".to_owned(),
            input: "synthetic:1".to_owned(),
            size: Size::new(64, 64),
            subject: "cpu".to_owned(),
            reference: "reference".to_owned(),
        }
    }
}

impl Sources {
    /// What the very first start shows: one known cause switched on in block 9, to be found by the person.
    pub fn first_start() -> Self {
        let subject = "cpu+mask-outside@9".to_owned();
        Self { subject, reference: "cpu".to_owned(), ..Self::default() }
    }
}

/// How far loading one of the sources is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Loading {
    /// Not asked for.
    #[default]
    Nothing,
    /// On a worker.
    Busy,
    /// There: a line for people.
    Ready(String),
    /// Refused, with every problem listed.
    Failed(Vec<String>),
}

/// The state of each source, for showing it (and its errors) beside its field.
#[derive(Clone, Debug, Default)]
pub struct SourceStates {
    /// The model.
    pub model: Loading,
    /// The input.
    pub input: Loading,
    /// The subject.
    pub subject: Loading,
    /// The reference.
    pub reference: Loading,
    /// What the subject is, once loaded.
    pub subject_info: Option<EngineInfo>,
    /// What the reference is, once loaded.
    pub reference_info: Option<EngineInfo>,
}

/// One choice of the source pickers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What the command takes.
    pub spec: String,
    /// What people read.
    pub label: String,
    /// One line about it: device, driver, age of the recording.
    pub about: String,
    /// Why it cannot be chosen, if so.
    pub refused: Option<String>,
}
