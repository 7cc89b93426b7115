//! Writes a capture directory, tensor by tensor, into a draft beside the target that is renamed when finished.

use super::CaptureError;
use crate::frame::{Composed, Conditions, Picture};
use crate::geometry::{Geometry, Size};
use crate::model::directory::hex;
use crate::plan::{Detail, Plan, names};
use crate::tensor::{Tensor, TensorName};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A capture in the making. Dropped unfinished, it leaves nothing behind.
#[derive(Debug)]
pub struct Writer {
    target: PathBuf,
    draft: tempfile::TempDir,
    plan: Plan,
    manifest: Map<String, Value>,
    blocks: BTreeMap<usize, Value>,
    transitions: Vec<Value>,
    intermediates: Vec<Value>,
    written: BTreeSet<TensorName>,
    output: bool,
}

impl Writer {
    /// Starts a capture at a path that does not exist yet, or is an empty directory.
    ///
    /// # Errors
    /// When the path is taken, or its parent cannot be written.
    pub fn create(target: &Path, geometry: Geometry) -> Result<Self, CaptureError> {
        let fail = |source| CaptureError::Write { path: target.to_owned(), source };
        if target.is_file() || fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(CaptureError::Exists { path: target.to_owned() });
        }
        let parent = crate::model::make_parent(target).map_err(fail)?;
        let draft = tempfile::Builder::new().prefix(".capture-").tempdir_in(parent).map_err(fail)?;
        let side = |size: Size| json!([size.width, size.height]);
        let mut manifest = Map::new();
        manifest.insert("sourceDimensions".to_owned(), side(geometry.valid));
        manifest.insert("fullDimensions".to_owned(), side(geometry.field));
        Ok(Self {
            target: target.to_owned(),
            draft,
            plan: Plan::new(geometry, Detail::Raw),
            manifest,
            blocks: BTreeMap::new(),
            transitions: Vec::new(),
            intermediates: Vec::new(),
            written: BTreeSet::new(),
            output: false,
        })
    }

    /// Adds a tensor of the plan: the features, a boundary, the head, or a kernel's tensor. A second one of the same
    /// name is ignored.
    ///
    /// # Errors
    /// When its file cannot be written.
    ///
    /// # Panics
    /// When the plan does not name it, or has another shape.
    pub fn add(&mut self, tensor: &Tensor) -> Result<(), CaptureError> {
        let (name, shape) = (&tensor.name, tensor.shape);
        assert_eq!(self.plan.shape(name), shape, "{name} has the plan's shape");
        if !self.written.insert(name.clone()) {
            return Ok(());
        }
        let folder = if name.as_str().contains('/') { "intermediates" } else { "boundaries" };
        let file = format!("{folder}/{}.{}", name.as_str().replace(['/', ' '], "-"), shape.element.name());
        let sha256 = self.store(&file, tensor.bytes())?;
        let (width, height, channels) = (shape.size.width, shape.size.height, shape.channels);
        let file_only = json!({ "file": file, "sha256": sha256 });
        if *name == names::features() {
            self.manifest.insert("inputFeatures".to_owned(), file_only);
        } else if name.as_str() == names::HEAD {
            self.manifest.insert("referenceHead".to_owned(), file_only);
        } else if !super::carried(&self.plan).any(|carried| carried == name) {
            let dtype = shape.element.name();
            self.intermediates.push(json!({
                "name": name.as_str(), "dtype": dtype, "width": width, "height": height, "channels": channels,
                "file": file, "sha256": sha256,
            }));
        } else if let Some(id) = name.as_str().strip_prefix("transition-") {
            self.transitions.push(json!({
                "id": id, "width": width, "height": height, "channels": channels, "file": file, "sha256": sha256,
            }));
        } else {
            let block = name.as_str().trim_start_matches("block-").parse().expect("the other carried names are blocks");
            let entry = json!({
                "block": block, "width": width, "height": height, "channels": channels, "file": file, "sha256": sha256,
            });
            self.blocks.insert(block, entry);
        }
        Ok(())
    }

    /// Records the image in front of the network instead of its features. Alpha is 1.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub fn proxy(&mut self, picture: &Picture, conditions: &Conditions) -> Result<(), CaptureError> {
        let rgba: Vec<f32> = picture.pixels.iter().flat_map(|p| [p[0], p[1], p[2], 1.0]).collect();
        let sha256 = self.store("proxy.f32", bytemuck::cast_slice(&rgba))?;
        let (width, height) = (picture.size.width, picture.size.height);
        let entry = json!({ "file": "proxy.f32", "width": width, "height": height, "sha256": sha256 });
        self.manifest.insert("proxy".to_owned(), entry);
        let conditioning = json!({
            "style": conditions.style, "localTone": conditions.tone, "localStructure": conditions.structure,
            "skinStructure": conditions.skin_structure, "paperWhite": conditions.paper_white,
        });
        self.manifest.insert("conditioning".to_owned(), conditioning);
        self.manifest.insert("seed".to_owned(), json!(conditions.seed));
        self.manifest.insert("autoMask".to_owned(), json!(u8::from(conditions.auto_mask)));
        Ok(())
    }

    /// Records the final image: as f32 after a [`proxy`](Self::proxy), else as RGBA8.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub fn output(&mut self, composed: &Composed) -> Result<(), CaptureError> {
        if self.manifest.contains_key("proxy") {
            let floats: Vec<f32> = composed.pixels.iter().flatten().map(|half| half.to_f32()).collect();
            self.image(composed.size, false, bytemuck::cast_slice(&floats))
        } else {
            self.image(composed.size, true, &composed.to_u8())
        }
    }

    /// Records the final image as its bytes: RGBA, of u8 or of little-endian f32.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub fn image(&mut self, size: Size, is_u8: bool, bytes: &[u8]) -> Result<(), CaptureError> {
        let (file, dtype) = if is_u8 { ("output.u8", "u8") } else { ("output.f32", "f32") };
        let sha256 = self.store(file, bytes)?;
        let (width, height) = (size.width, size.height);
        let entry = json!({ "file": file, "width": width, "height": height, "dtype": dtype, "sha256": sha256 });
        self.manifest.insert("nativeOutput".to_owned(), entry);
        self.output = true;
        Ok(())
    }

    /// Writes the manifest and moves the capture to its name. Every carried boundary that was not added is omitted
    /// for `reason`; `metadata` becomes `recordedBy`.
    ///
    /// # Errors
    /// When nothing was recorded, or the directory cannot be written.
    pub fn finish(mut self, reason: &str, metadata: Option<Value>) -> Result<(), CaptureError> {
        let fail = |source| CaptureError::Write { path: self.target.clone(), source };
        let mut checks = Vec::new();
        if !(self.blocks.is_empty() && self.transitions.is_empty()) {
            checks.push("boundaries");
        }
        // Every carried boundary is recorded or excused, whatever is checked.
        let reason = if reason.trim().is_empty() { "not recorded" } else { reason };
        let rest = super::carried(&self.plan).filter(|name| !self.written.contains(*name));
        let omitted: Map<String, Value> = rest.map(|name| (name.to_string(), json!(reason))).collect();
        self.manifest.insert("omittedBoundaries".to_owned(), Value::Object(omitted));
        let head = self.written.contains(names::HEAD).then_some("head");
        checks.extend(head.into_iter().chain(self.output.then_some("output")));
        if checks.is_empty() || !["inputFeatures", "proxy"].iter().any(|key| self.manifest.contains_key(*key)) {
            let text = "nothing to save: a capture needs its input and at least one boundary, the head or the output";
            return Err(fail(std::io::Error::other(text)));
        }
        self.manifest.insert("checks".to_owned(), json!(checks));
        self.manifest.insert("blocks".to_owned(), self.blocks.values().cloned().collect());
        self.manifest.insert("transitions".to_owned(), Value::Array(self.transitions));
        if !self.intermediates.is_empty() {
            self.manifest.insert("intermediates".to_owned(), Value::Array(self.intermediates));
        }
        if let Some(metadata) = metadata {
            self.manifest.insert("recordedBy".to_owned(), metadata);
        }
        let text = format!("{:#}\n", Value::Object(self.manifest));
        fs::write(self.draft.path().join("manifest.json"), text).map_err(fail)?;
        crate::model::publish_directory(self.draft, &self.target).map_err(fail)
    }

    /// Writes one file and returns its hash.
    fn store(&self, file: &str, bytes: &[u8]) -> Result<String, CaptureError> {
        let path = self.draft.path().join(file);
        let fail = |source| CaptureError::Write { path: self.target.join(file), source };
        fs::create_dir_all(path.parent().expect("a file has a folder")).map_err(fail)?;
        fs::write(&path, bytes).map_err(fail)?;
        Ok(hex(bytes))
    }
}
