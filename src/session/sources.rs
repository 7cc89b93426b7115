//! What is loaded: model, input, size, and the two sides.

use crate::engine::spec::{Change, EngineKind};
use crate::engine::{EngineInfo, EngineSpec};
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
    /// The same; the subject may also be a folder that a running port writes, as `watch:FOLDER`.
    pub reference: String,
    /// Bytes that the window may take; no limit without. What does not fit lies in temporary files.
    pub memory: Option<u64>,
    /// The folder of these files; the system's temporary one without.
    pub spill: Option<String>,
}

/// What a watched folder's spec begins with.
const WATCH: &str = "watch:";

impl Default for Sources {
    fn default() -> Self {
        Self {
            model: "synthetic:1".to_owned(),
            input: "synthetic:1".to_owned(),
            size: Size::new(64, 64),
            subject: "cpu".to_owned(),
            reference: "reference".to_owned(),
            memory: None,
            spill: None,
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

/// A known cause that can be switched on in the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CausePlace {
    /// Its id: what a spec takes.
    pub id: &'static str,
    /// The deviation in a few words.
    pub name: &'static str,
    /// The page of the catalogue that it stands on.
    pub page: &'static str,
    /// Blocks where it has a place.
    pub blocks: std::collections::BTreeSet<usize>,
}

impl Sources {
    /// The spec of a folder that is watched as the subject.
    pub fn watching(folder: &str) -> String {
        format!("{WATCH}{folder}")
    }

    /// The folder that a spec watches.
    pub fn watched(spec: &str) -> Option<&str> {
        spec.strip_prefix(WATCH)
    }

    /// The engine that causes are switched on in: the reference's where it can change its arithmetic, else the CPU.
    fn changeable(&self) -> String {
        let reference: Option<EngineSpec> = self.reference.parse().ok();
        match reference.map(|spec| spec.kind) {
            Some(EngineKind::Reference | EngineKind::Cpu(_)) => {
                self.reference.split('+').next().unwrap_or("cpu").to_owned()
            }
            Some(EngineKind::Vulkan { .. }) | None => "cpu".to_owned(),
        }
    }

    /// Causes switched on in the subject; none for a recording.
    pub fn causes(&self) -> Vec<Change> {
        self.subject.parse::<EngineSpec>().map(|spec| spec.changes).unwrap_or_default()
    }

    /// The subject that is the reference with these causes, and nothing else.
    pub fn with_causes(&self, causes: &[Change]) -> String {
        let part = |change: &Change| match &change.blocks {
            Some(blocks) => format!("+{}@{blocks}", change.cause),
            None => format!("+{}", change.cause),
        };
        self.changeable() + &causes.iter().map(part).collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(cause: &str, blocks: Option<&str>) -> Change {
        Change { cause: cause.to_owned(), blocks: blocks.map(str::to_owned) }
    }

    #[test]
    fn a_what_if_subject_is_the_reference_with_causes() {
        let sources = |subject: &str, reference: &str| Sources {
            subject: subject.to_owned(),
            reference: reference.to_owned(),
            ..Sources::default()
        };
        let one = [change("mask-outside", Some("9-14"))];
        assert_eq!(sources("cpu", "reference").with_causes(&one), "reference+mask-outside@9-14", "its engine");
        assert_eq!(sources("x", "cpu:scalar").with_causes(&[]), "cpu:scalar", "without causes it is the reference");
        assert_eq!(sources("x", "vulkan:1").with_causes(&one), "cpu+mask-outside@9-14", "a device cannot change");
        assert_eq!(sources("x", "a/recording").with_causes(&one), "cpu+mask-outside@9-14", "nor can a recording");
        let two = sources("cpu+mask-outside@9-14+true-exp", "cpu");
        assert_eq!(two.causes(), [one[0].clone(), change("true-exp", None)], "what is switched on");
        assert_eq!(two.with_causes(&two.causes()), two.subject, "there and back");
        assert!(sources("a/recording", "cpu").causes().is_empty(), "a recording has none");
    }
}
