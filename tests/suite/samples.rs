//! The sample captures in `captures/` are what their commands make, and compare as their README says.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn blockscope(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blockscope"));
    command.current_dir(root()).args(arguments).output().expect("the program starts")
}

/// The commands of the README, each as words, by the folder that it makes.
fn commands() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(root().join("captures/README.md")).expect("the README");
    let script = text.split("```").nth(1).expect("a block of commands").replace("\\\n", " ");
    let commands = script.lines().filter(|line| line.starts_with("blockscope ")).map(|line| {
        let words: Vec<String> = line.split_whitespace().skip(1).map(str::to_owned).collect();
        let at = words.iter().position(|word| word == "--save-capture").expect("a capture is made");
        (words[at + 1].clone(), words)
    });
    commands.collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap_or_else(|e| panic!("{}: {e}", next.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() { open.push(path) } else { found.push(path.strip_prefix(folder).expect("below").into()) }
        }
    }
    found.sort();
    found
}

/// A manifest without the machine that made it.
fn manifest(bytes: &[u8]) -> Value {
    let mut value: Value = serde_json::from_slice(bytes).expect("JSON");
    let made = value["recordedBy"].as_object_mut().expect("who made it");
    made.remove("device").expect("a device");
    made.remove("program").expect("a version");
    value
}

#[test]
fn each_sample_is_what_its_command_makes() {
    let (commands, folder) = (commands(), tempfile::tempdir().expect("a folder"));
    assert_eq!(commands.keys().collect::<Vec<_>>(), ["captures/divergent", "captures/exact"], "both samples");
    for (sample, mut words) in commands {
        let target = folder.path().join(Path::new(&sample).file_name().expect("a name"));
        let at = words.iter().position(|word| *word == sample).expect("the target");
        words[at] = target.display().to_string();
        let output = blockscope(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        let kept = root().join(&sample);
        assert_eq!(files(&target), files(&kept), "{sample}: the same files");
        for file in files(&kept) {
            let read = |folder: &Path| fs::read(folder.join(&file)).expect("there");
            let (made, kept) = (read(&target), read(&kept));
            let same = if file.ends_with("manifest.json") { manifest(&made) == manifest(&kept) } else { made == kept };
            assert!(same, "{sample}/{} is not what its command makes any more", file.display());
        }
    }
}

#[test]
fn the_exact_sample_is_bit_exact() {
    let output = blockscope(&["parity", "--subject", "captures/exact", "--reference", "cpu"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("bit-exact: 9 boundaries, 17 comparisons"), "{text}");
}

#[test]
fn the_divergent_sample_names_its_block() {
    let arguments = ["parity", "--subject", "captures/divergent", "--reference", "cpu", "--until", "block-10"];
    let output = blockscope(&[&arguments[..], &["--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let value: Value = serde_json::from_slice(&output.stdout).expect("only JSON");
    assert_eq!(value["first_boundary"], "block-9", "{value:#}");
    let verdict = |name: &str, mode: &str| -> Value {
        let row = value["rows"].as_array().expect("rows").iter().find(|row| row["name"] == name).expect("the row");
        row[mode]["verdict"].clone()
    };
    assert_eq!(verdict("block-10", "accumulated"), "differs", "block 10 inherits it");
    assert_eq!(verdict("block-10", "isolated"), "bit-exact", "and is right itself");
}

#[test]
fn the_published_digests_are_compared_in_one_run() {
    let digests = "tests/data/digests-64x64.json";
    let output = blockscope(&["parity", "--subject", "cpu", "--reference", digests]);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{text}{errors}");
    assert!(text.contains("bit-exact: 83 boundaries, 166 comparisons"), "{text}");
    assert!(!errors.contains("was made"), "its own model and input: {errors}");
}

#[test]
fn a_recording_of_another_input_or_model_is_doubted() {
    let folder = tempfile::tempdir().expect("a folder");
    let digests = folder.path().join("d.json").display().to_string();
    let made = blockscope(&["run", "--input", "captures/frame.png", "--until", "block-0", "--digests", &digests]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let arguments = ["parity", "--subject", &digests, "--reference", "cpu", "--until", "block-0", "--model"];
    let output = blockscope(&[&arguments[..], &["synthetic:2"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    for said in ["from input captures/frame.png, and this runs synthetic:1", "with model synthetic:1, and this runs"] {
        assert!(errors.contains(said), "{errors}");
    }
}
