//! The sidecar: what was decided about each dump, for people to correct and for a second import to follow.
//!
//! ```json
//! { "blockscopeImport": 1, "size": [64, 64], "source": "dumps",
//!   "dumps": { "block_12.bin": { "tensor": "block-12", "element": "e4m3", "layout": "channels-first", "pitch": 64,
//!                                "confidence": 0.98, "evidence": ["..."] },
//!              "notes.bin": { "skip": "not a tensor" } } }
//! ```
//!
//! A key is a file's path inside the folder, or `file.npz:array`. Every field of an entry is optional: one that is
//! there is followed, one that is not is searched for. `confidence`, `evidence` and `alternatives` are for people, and
//! ignored.

use super::{Format, Layout, Order};
use crate::geometry::Size;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The version written and read.
const VERSION: u32 = 1;
/// A mapping larger than this is none.
const MAX_BYTES: u64 = 64 << 20;
/// The name under which a folder of dumps carries its mapping.
pub const IN_FOLDER: &str = "import.json";

/// What is known of a set of dumps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mapping {
    /// Format version.
    pub blockscope_import: u32,
    /// The valid size, `[width, height]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<[usize; 2]>,
    /// What was imported.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// What the readings were tested against.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tested_against: String,
    /// The dumps, by file or array.
    #[serde(default)]
    pub dumps: BTreeMap<String, Entry>,
}

/// What is known of one dump.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// The tensor of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<String>,
    /// Its element format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<Format>,
    /// Its order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Order>,
    /// Phase of its windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u8>,
    /// Bytes from row to row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pitch: Option<usize>,
    /// Where each channel lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permutation: Option<Vec<usize>>,
    /// Why it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
    /// How sure the search was, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Other readings, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<String>,
}

impl Entry {
    /// Whether a reading agrees with what is fixed here.
    pub(super) fn allows(&self, format: Format, layout: &Layout) -> bool {
        self.element.is_none_or(|element| element == format)
            && self.layout.is_none_or(|order| order == layout.order)
            && self.phase.is_none_or(|phase| phase == layout.phase)
            && self.pitch.is_none_or(|pitch| layout.pitch == Some(pitch))
    }

    /// The reading, where element and layout are both fixed.
    pub(super) fn fixed(&self) -> Option<(Format, Layout)> {
        let (phase, permutation) = (self.phase.unwrap_or(0), self.permutation.clone());
        Some((self.element?, Layout { order: self.layout?, phase, pitch: self.pitch, permutation }))
    }

    /// Fixes a reading.
    pub(super) fn fix(&mut self, format: Format, layout: &Layout) {
        self.element = Some(format);
        self.layout = Some(layout.order);
        self.phase = (layout.phase > 0).then_some(layout.phase);
        self.pitch = layout.pitch;
        self.permutation.clone_from(&layout.permutation);
    }
}

impl Mapping {
    /// A mapping of nothing.
    pub fn new(size: Size) -> Self {
        Self { blockscope_import: VERSION, size: Some([size.width, size.height]), ..Self::default() }
    }

    /// Reads a mapping file.
    ///
    /// # Errors
    /// When it cannot be read, is no JSON of this form, or is of another version.
    pub fn open(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let cannot = |e: std::io::Error| format!("the mapping cannot be read: {e}; path {shown}");
        let length = std::fs::metadata(path).map_err(cannot)?.len();
        if length > MAX_BYTES {
            return Err(format!("{length} bytes are too many for a mapping (at most {MAX_BYTES}); path {shown}"));
        }
        let bytes = std::fs::read(path).map_err(cannot)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mapping: Self = serde_json::from_slice(bytes)
            .map_err(|e| format!("the mapping is not of the form that an import writes: {e}; path {shown}"))?;
        if mapping.blockscope_import != VERSION {
            let found = mapping.blockscope_import;
            return Err(format!("expected \"blockscopeImport\": {VERSION}, found {found}; path {shown}"));
        }
        Ok(mapping)
    }

    /// The valid size, if it says one.
    pub fn size(&self) -> Option<Size> {
        self.size.map(|[width, height]| Size::new(width, height))
    }

    /// The text of the file.
    pub fn to_json(&self) -> String {
        format!("{}\n", serde_json::to_string_pretty(self).expect("a mapping is plain JSON"))
    }
}
