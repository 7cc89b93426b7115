//! A session saved and restored.
//!
//! **Invariants**
//! * A file is written beside its final name and moved, so it is never half a session.
//! * A window [`claim`]s its file: a second window on the same file keeps its session in one beside it.
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

/// A session file that one window writes. Held as long as the window lives.
#[derive(Debug)]
pub struct Claim {
    /// Where this window's session is kept.
    pub path: PathBuf,
    /// What it starts from: its own file, or at first the one that another window keeps.
    pub start: PathBuf,
    /// The lock; none where the folder takes no lock, and then nobody is kept out.
    _lock: Option<std::fs::File>,
}

/// Claims a session file, or the first free one beside it (`session-2.json`) while other windows hold the others.
pub fn claim(path: &Path) -> Claim {
    let numbered = |n: usize| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let ending = path.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
        if n == 1 { path.to_owned() } else { path.with_file_name(format!("{stem}-{n}{ending}")) }
    };
    for own in (1..100).map(numbered) {
        let folder = own.parent().map_or(Ok(()), std::fs::create_dir_all);
        let lock = folder.and_then(|()| std::fs::File::create(own.with_extension("lock")));
        let Ok(lock) = lock else { break };
        match lock.try_lock() {
            Ok(()) => {
                let start = if own.exists() { own.clone() } else { path.to_owned() };
                return Claim { path: own, start, _lock: Some(lock) };
            }
            Err(std::fs::TryLockError::WouldBlock) => {}
            Err(std::fs::TryLockError::Error(_)) => break,
        }
    }
    Claim { path: path.to_owned(), start: path.to_owned(), _lock: None }
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
            session.list_choices();
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
        crate::model::write_file(path, &serde_json::to_vec_pretty(&saved)?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_window_keeps_its_session_beside_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("session.json");
        let first = claim(&file);
        assert_eq!((&first.path, &first.start), (&file, &file), "the first has the file");
        std::fs::write(&file, "the first's").unwrap();
        let second = claim(&file);
        assert_eq!(second.path, folder.path().join("session-2.json"), "the second one beside it");
        assert_eq!(second.start, file, "and starts from what the first kept");
        drop(first);
        assert_eq!(claim(&file).path, file, "free again");
        std::fs::write(&second.path, "its own").unwrap();
        let path = second.path.clone();
        drop(second);
        let first = claim(&file);
        let second = claim(&file);
        assert_eq!((&second.path, &second.start), (&path, &path), "later it starts from its own");
        drop(first);
    }

    #[test]
    fn where_no_lock_can_be_made_the_file_is_taken_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = folder.path().join("a file");
        std::fs::write(&blocked, "").unwrap();
        let file = blocked.join("session.json");
        assert_eq!(claim(&file).path, file, "saving will say what is wrong");
    }
}
