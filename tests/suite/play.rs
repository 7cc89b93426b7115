//! Play scripts, each against an offscreen window: what a person does, without a display.

#![cfg(feature = "app")]

use blockscope::session::Sources;
use blockscope::shell::offscreen::Screen;
use blockscope::shell::play::{PlayError, Player};
use std::path::Path;

/// Scripts write relative to the player's folder, except for exports, which go where the process stands.
fn localized(script: &str, folder: &Path) -> String {
    let local = |line: &str| match line.strip_prefix("export ").and_then(|rest| rest.split_once(' ')) {
        Some((what, file)) => format!("export {what} {}", folder.join(file).display()),
        None => line.to_owned(),
    };
    script.lines().map(local).collect::<Vec<_>>().join("\n")
}

fn play(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/play").join(format!("{name}.play"));
    let script = std::fs::read_to_string(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let drawn = script.contains("\nscreenshot");
    let screen = Screen { width: 1280, height: 720, scale: 1.0 };
    let mut player = match Player::new(Sources::default(), screen, folder.path().to_owned(), drawn) {
        Ok(player) => player,
        Err(error @ PlayError::Shell(_)) if std::env::var_os("BLOCKSCOPE_REQUIRE_VULKAN").is_none() => {
            println!("skipped {name}.play: {error}; set BLOCKSCOPE_REQUIRE_VULKAN to make this a failure");
            return;
        }
        Err(error) => panic!("{name}.play: {error}"),
    };
    player.run(&localized(&script, folder.path()), |_, _| {}).unwrap_or_else(|error| panic!("{name}.play: {error}"));
}

macro_rules! scripts {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { play(stringify!($name)); })*

        #[test]
        fn every_script_is_played() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/play");
            let mut found: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
                .collect();
            found.sort();
            assert_eq!(found, [$(stringify!($name)),*], "the list of this file and tests/play");
        }
    };
}

scripts!(attention, dialogs, divergence, export, probe, session, sources, step, view);

#[test]
fn a_broken_session_is_set_aside() {
    use blockscope::session::{Session, Waker};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session.json");
    std::fs::write(&file, "{ half a sess").unwrap();
    let session = Session::restore(&file, Waker::default(), |_| {});
    let said = &session.messages()[0];
    assert!(said.text.contains("set aside"), "{said:?}");
    assert!(!file.exists() && folder.path().join("session.broken-0").exists(), "moved, not overwritten");
    session.save(&file).unwrap();
    assert!(Session::restore(&file, Waker::default(), |_| {}).messages().is_empty(), "what was saved reads back");
}
