//! The folder of things worth keeping between runs, and files in it that appear whole or not at all.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// `$XDG_CACHE_HOME/blockscope`, or the system's usual place; `None` when the environment names none.
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = variable("XDG_CACHE_HOME").or_else(|| variable("LOCALAPPDATA")).or_else(|| {
        variable("HOME")
            .map(|home| if cfg!(target_os = "macos") { home.join("Library/Caches") } else { home.join(".cache") })
    })?;
    Some(base.join("blockscope"))
}

/// Reads a cached file; nothing when it is not there.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}

/// Writes a cached file beside its place and renames it. A cache that cannot be written is no error: the work is
/// done again next time.
pub(crate) fn write(path: &Path, bytes: &[u8]) {
    let attempt = || -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    };
    attempt().unwrap_or_default();
}
