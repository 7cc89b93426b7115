//! A session saved and restored.
//!
//! **Invariants**
//! * A file is written beside its final name and moved: two windows on one file leave one of both sessions, whole.
//! * A file that cannot be read is set aside under another name, with a message, never overwritten.

use super::{Bookmark, Pin, Place, Recent, Selection, Session, Severity, Sources, View, Waker};
use std::path::{Path, PathBuf};

/// The format that this build writes.
const VERSION: u32 = 1;

/// What a file holds.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
struct Saved {
    version: u32,
    sources: Sources,
    selection: Selection,
    view: View,
    pins: Vec<Pin>,
    bookmarks: Vec<Bookmark>,
    recent: Vec<Recent>,
    tour: usize,
}

/// Where the session of this user lies: `BLOCKSCOPE_SESSION`, or a file in the state directory.
pub fn default_path() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("BLOCKSCOPE_SESSION") {
        return Some(path.into());
    }
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local").join("state"));
    Some(state.or_else(home)?.join("blockscope").join("session.json"))
}

impl Session {
    /// The session of a file, or a first start when there is none. `change` has the last word on the sources.
    pub fn restore(path: &Path, waker: Waker, change: impl FnOnce(&mut Sources)) -> Self {
        let (saved, problem) = match read(path) {
            Ok(saved) => (saved, None),
            Err(problem) => (None, Some(problem)),
        };
        let mut sources = saved.as_ref().map_or_else(Sources::first_start, |saved| saved.sources.clone());
        change(&mut sources);
        let mut session = Self::new(sources, waker);
        if let Some(saved) = saved {
            session.selection = saved.selection;
            session.view = saved.view;
            session.pins = saved.pins;
            session.bookmarks = saved.bookmarks;
            session.recent = saved.recent;
            session.tour = saved.tour;
            session.follow = false;
            session.settle();
        }
        if let Some(problem) = problem {
            session.say(Severity::Warning, Place::Window, problem);
        }
        session
    }

    /// Writes the session to a file.
    ///
    /// # Errors
    /// When the folder cannot be made or the file cannot be written; the old file is then untouched.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        let saved = Saved {
            version: VERSION,
            sources: self.sources.clone(),
            selection: Selection { hover: None, ..self.selection.clone() },
            view: self.view.clone(),
            pins: self.pins.clone(),
            bookmarks: self.bookmarks.clone(),
            recent: self.recent.clone(),
            tour: self.tour,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        super::export::write_atomic(path, &serde_json::to_vec_pretty(&saved)?)
    }
}

/// The file's session; `None` when there is no file. A broken file is set aside.
fn read(path: &Path) -> Result<Option<Saved>, String> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("the last session cannot be read: {error}; path {}", path.display())),
    };
    let problem = match serde_json::from_slice::<Saved>(&bytes) {
        Ok(saved) if saved.version == VERSION => return Ok(Some(saved)),
        Ok(saved) => format!("it has version {}, this build reads version {VERSION}", saved.version),
        Err(error) => error.to_string(),
    };
    let aside = (0..10_000).map(|n| path.with_extension(format!("broken-{n}"))).find(|aside| !aside.exists());
    let aside = aside.unwrap_or_else(|| path.with_extension("broken"));
    let moved = match std::fs::rename(path, &aside) {
        Ok(()) => format!("it was set aside as {}", aside.display()),
        Err(error) => format!("it could not be set aside: {error}"),
    };
    Err(format!("the last session could not be restored ({problem}); {moved}"))
}
