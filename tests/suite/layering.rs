//! The shape of the sources: which module may use which, one word per op in every layer, unsafe code in its fence.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Modules from the leaf up: each may use only those before it.
const ORDER: [&str; 14] = [
    "numerics",
    "geometry",
    "tensor",
    "model",
    "frame",
    "plan",
    "engine",
    "capture",
    "compare",
    "diagnosis",
    "report",
    "session",
    "ui",
    "shell",
];

/// Where `unsafe` may be expected: instructions, mapped files, Vulkan and the shells that use it.
const FENCE: [&str; 4] = ["engine/cpu/simd/", "engine/vulkan/raw/", "shell/", "tensor/"];

/// Lines of one file at most; most files have about 120.
const LINES: usize = 500;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a folder, with its path relative to it.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap_or_else(|e| panic!("{}: {e}", next.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
                files.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "{} has sources", folder.display());
    files
}

/// Code of a file without its comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.split("//").next().unwrap_or_default())
}

#[test]
fn modules_use_only_modules_above_them() {
    let mut wrong = Vec::new();
    for (name, text) in sources(&root().join("src")) {
        let module = name.split(['/', '.']).next().unwrap();
        let Some(rank) = ORDER.iter().position(|&m| m == module) else { continue };
        for (number, line) in code(&text).enumerate() {
            for later in &ORDER[rank + 1..] {
                let named = [format!("crate::{later}::"), format!("crate::{later};"), format!("crate::{later} ")];
                if named.iter().any(|named| line.contains(named.as_str())) {
                    wrong.push(format!("src/{name}:{}: {module} uses {later}", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "a module may use only modules above it in src/lib.rs:\n{}", wrong.join("\n"));
}

#[test]
fn every_op_has_one_word_in_every_layer() {
    let stems = |folder: &str, ending: &str| -> BTreeSet<String> {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter_map(|name| name.strip_suffix(ending).map(str::to_owned)).collect()
    };
    let ops: BTreeSet<String> = stems("src/plan/ops", ".rs").into_iter().filter(|stem| stem != "mod").collect();
    assert_eq!(ops.len(), 8, "ops: {ops:?}");
    for (folder, ending) in
        [("src/engine/reference", ".rs"), ("src/engine/cpu", ".rs"), ("src/engine/vulkan", ".rs"), ("shaders", ".comp")]
    {
        let missing: Vec<&String> = ops.iter().filter(|op| !stems(folder, ending).contains(*op)).collect();
        assert!(missing.is_empty(), "{folder} lacks a file for {missing:?}");
    }
}

#[test]
fn unsafe_code_stays_in_its_fence() {
    for (name, text) in sources(&root().join("src")) {
        let has_unsafe =
            code(&text).any(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == "unsafe"));
        let fenced = FENCE.iter().any(|fence| name.starts_with(fence));
        assert!(!has_unsafe || fenced, "src/{name} has unsafe code outside {FENCE:?}");
    }
}

#[test]
fn files_stay_readable_and_say_what_they_are() {
    for folder in ["src", "tests/suite"] {
        for (name, text) in sources(&root().join(folder)) {
            let lines = text.lines().count();
            assert!(lines <= LINES, "{folder}/{name} has {lines} lines; split it");
            assert!(text.starts_with("//!"), "{folder}/{name} opens with what it is");
        }
    }
}

#[test]
fn no_test_file_is_forgotten() {
    let main = std::fs::read_to_string(root().join("tests/suite/main.rs")).unwrap();
    for (name, _) in sources(&root().join("tests/suite")) {
        let stem = name.trim_end_matches(".rs").split('/').next().unwrap();
        assert!(stem == "main" || main.contains(&format!("mod {stem};")), "tests/suite/main.rs lacks `mod {stem};`");
    }
}
