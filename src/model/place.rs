//! Files named by a manifest: they must be relative, and stay inside the manifest's directory.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

/// The path of a file that a manifest names, or why it is refused: absolute, leaving the directory by `..` or by
/// a symbolic link, missing, or not a file (a pipe would block for ever).
pub(crate) fn inside(root: &Path, relative: &str) -> Result<PathBuf, String> {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let path = Path::new(relative);
    // A backslash is a separator elsewhere: a manifest that means the same everywhere has none.
    if relative.is_empty() || relative.contains(['\\', '\0']) || !path.components().all(plain) {
        return Err(format!("path \"{}\" is refused: expected a relative path without \"..\"", clip(relative)));
    }
    let whole = root.join(path);
    let cannot = |e| format!("file \"{}\" cannot be read: {e}", clip(relative));
    let real = whole.canonicalize().map_err(cannot)?;
    if !real.starts_with(root.canonicalize().map_err(cannot)?) {
        return Err(format!("file \"{}\" is refused: a symbolic link leads out of the directory", clip(relative)));
    }
    if !real.metadata().map_err(cannot)?.is_file() {
        return Err(format!("\"{}\" is refused: expected a file, found something else", clip(relative)));
    }
    Ok(real)
}

/// Reads a file of a known size; any other size is an error that names both.
pub(crate) fn read_sized(path: &Path, relative: &str, expected: usize) -> Result<Vec<u8>, String> {
    let cannot = |e| format!("file \"{relative}\" cannot be read: {e}");
    let file = File::open(path).map_err(cannot)?;
    check_size(relative, expected, file.metadata().map_err(cannot)?.len())?;
    let mut bytes = Vec::with_capacity(expected + 1);
    file.take(expected as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    check_size(relative, expected, bytes.len() as u64)?;
    Ok(bytes)
}

/// The error of a file whose size is not the expected one.
pub(crate) fn check_size(relative: &str, expected: usize, found: u64) -> Result<(), String> {
    let kind = match found.cmp(&(expected as u64)) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => "truncated",
        std::cmp::Ordering::Greater => "too long",
    };
    Err(format!("file \"{}\" is {kind}: expected {expected} bytes, found {found}", clip(relative)))
}

/// A name as a message shows it: short, and without control characters.
pub(crate) fn clip(text: &str) -> String {
    let shown: String = text.chars().take(120).flat_map(char::escape_default).collect();
    if text.chars().count() > 120 { format!("{shown}...") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_inside_the_directory_are_accepted() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let outside = dir.path().join("outside");
        let root = dir.path().join("root");
        std::fs::create_dir_all(root.join("sub")).expect("folders");
        std::fs::write(&outside, "x").expect("a file outside");
        std::fs::write(root.join("sub/a.bin"), "a").expect("a file inside");
        assert!(inside(&root, "sub/a.bin").is_ok(), "inside");
        for bad in ["", "/etc/passwd", "../outside", "sub/../../outside", "sub\\a.bin", "sub", "missing"] {
            assert!(inside(&root, bad).is_err(), "{bad}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&outside, root.join("link")).expect("a link");
            let error = inside(&root, "link").expect_err("a link that leaves");
            assert!(error.contains("symbolic link"), "{error}");
            std::os::unix::fs::symlink(root.join("sub/a.bin"), root.join("near")).expect("a link");
            assert!(inside(&root, "near").is_ok(), "a link that stays is fine");
        }
    }
}
