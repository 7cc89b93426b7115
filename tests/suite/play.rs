//! Play scripts, each against an offscreen window: what a person does, without a display.

#![cfg(feature = "app")]

use blockscope::session::Sources;
use blockscope::shell::offscreen::Screen;
use blockscope::shell::play::{PlayError, Player};
use std::path::Path;

/// Scripts write relative to the player's folder, except for exports and reports, which go where the process stands.
fn localized(script: &str, folder: &Path) -> String {
    let local = |line: &str| match line.split_once(' ') {
        Some((word @ ("export" | "bundle"), rest)) if rest.contains(' ') => {
            let (what, file) = rest.split_once(' ').unwrap_or_default();
            format!("{word} {what} {}", folder.join(file).display())
        }
        Some(("report", file)) => format!("report {}", folder.join(file).display()),
        _ => line.to_owned(),
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

scripts!(
    attention, bundle, dialogs, divergence, doctor, events, export, keyboard, probe, report, session, sources, step,
    trace, view
);

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

/// A capture of block-0 to block-2 in a folder; `changed` flips one byte of block-1.
fn capture(folder: &Path, name: &str, changed: bool) -> std::path::PathBuf {
    use blockscope::capture::Writer;
    use blockscope::engine::{Control, Engine as _, cpu};
    use blockscope::geometry::{Geometry, Size};
    use blockscope::plan::{Detail, Plan};
    use blockscope::tensor::{Bytes, Tensor};
    let plan = std::sync::Arc::new(Plan::new(Geometry::new(Size::new(64, 64)).unwrap(), Detail::Needed));
    let mut engine = cpu::Cpu::new(cpu::Level::best()).unwrap();
    engine.load(&plan, &std::sync::Arc::new(blockscope::model::synthetic::model(1))).unwrap();
    let features = blockscope::frame::synthetic::features(&plan.geometry, 1);
    engine.write(features.clone()).unwrap();
    let target = folder.join(name);
    let mut writer = Writer::create(&target, plan.geometry).unwrap();
    writer.add(&features).unwrap();
    for step in plan.steps.iter().take_while(|step| step.block <= 2) {
        engine.run(step, &Control::new()).unwrap();
        if ["block-0", "block-1", "block-2"].contains(&step.name().as_str()) {
            let mut tensor = engine.read(step.name()).unwrap();
            if changed && step.name().as_str() == "block-1" {
                let mut codes = tensor.bytes().to_vec();
                codes[4321] ^= 1;
                tensor = Tensor::new(tensor.name.clone(), tensor.shape, Bytes::copy(&codes)).unwrap();
            }
            writer.add(&tensor).unwrap();
        }
    }
    writer.finish("a test", None).unwrap();
    target
}

fn player(subject: &Path, reference: &str, folder: &Path) -> Player {
    let sources =
        Sources { subject: subject.display().to_string(), reference: reference.to_owned(), ..Sources::default() };
    Player::new(sources, Screen { width: 1280, height: 720, scale: 1.0 }, folder.to_owned(), false).unwrap()
}

#[test]
fn two_recordings_are_compared_with_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (capture(folder.path(), "good", false), capture(folder.path(), "bad", true));
    let mut player = player(&bad, &good.display().to_string(), folder.path());
    let script = "tour 0\nwait\n\
        expect verdict block-0 accumulated exact\n\
        expect verdict block-1 accumulated differs\n\
        expect verdict block-1 isolated not-compared\n\
        expect verdict block-2 accumulated exact\n\
        expect verdict block-3 accumulated not-compared\n\
        select divergence\nexpect selection block-1\nview mode difference\nwait\nexpect difference-picture ready";
    player.run(script, |_, _| {}).unwrap();
    let offered = player.session().choices().iter().filter(|choice| choice.about.starts_with("recording")).count();
    assert_eq!(offered, 2, "the pickers offer what was opened: {:?}", player.session().choices());
}

#[test]
fn a_recording_may_be_deleted_while_it_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = capture(folder.path(), "recorded", false);
    let mut player = player(&recorded, "cpu", folder.path());
    player.run("tour 0\nfirst\nwait\nstep block", |_, _| {}).unwrap();
    std::fs::remove_dir_all(&recorded).unwrap();
    let script = "wait\nstep block\nwait\nstep block\nwait\n\
        expect verdict block-2 accumulated exact\nexpect verdict block-2 isolated exact\n\
        select block 1\nview mode split\nview tab statistics\nwait\nexpect statistics ready\nexpect picture ready";
    player.run(script, |_, _| {}).unwrap();
    let again = format!("subject cpu\nwait\nsubject {}\nwait", recorded.display());
    player.run(&again, |_, _| {}).unwrap();
    let said: Vec<&str> = player.session().messages().iter().map(|message| message.text.as_str()).collect();
    assert!(said.iter().any(|text| text.contains("recorded")), "what is gone is named: {said:?}");
}

#[test]
fn an_idle_window_asks_for_no_frame() {
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir().unwrap();
    let screen = Screen { width: 1280, height: 720, scale: 1.0 };
    let sources = Sources { reference: "cpu".to_owned(), ..Sources::default() };
    let mut player = Player::new(sources, screen, folder.path().to_owned(), false).unwrap();
    player.run("tour 0\nfirst\nwait\nstep block\nwait\nview overlay windows on\nselect block 0", |_, _| {}).unwrap();
    let begin = Instant::now();
    // Animations end, then nothing moves.
    loop {
        player.window().frame(Vec::new(), false).unwrap();
        if player.window().due() == Duration::MAX && player.session().is_idle() {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "still wants a frame in {:?}", player.window().due());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_watched_folder_is_compared_as_it_fills() {
    use blockscope::capture::Recording;
    let folder = tempfile::tempdir().unwrap();
    let dumps = folder.path().join("dumps");
    std::fs::create_dir(&dumps).unwrap();
    let recording = Recording::open(&capture(folder.path(), "bad", true)).unwrap();
    let dump = |name: &str| {
        let tensor = recording.tensor(&name.into()).unwrap();
        std::fs::write(dumps.join(format!("{name}.u8")), tensor.bytes()).unwrap();
    };
    let mut player = player(Path::new("cpu"), "cpu", folder.path());
    player.run(&format!("tour 0\nwatch {}\nwait\nexpect came 0", dumps.display()), |_, _| {}).unwrap();
    let until = |player: &mut Player, script: &str| {
        let begin = std::time::Instant::now();
        while let Err(error) = player.run(&format!("wait 0.05\n{script}"), |_, _| {}) {
            assert!(begin.elapsed() < std::time::Duration::from_secs(30), "{error}");
        }
    };
    // Out of order, as threads write them.
    dump("block-2");
    until(&mut player, "expect came 1\nexpect verdict block-2 accumulated exact");
    dump("block-1");
    until(&mut player, "expect came 2\nexpect selection block-1\nexpect verdict block-1 accumulated differs");
    // What was exact so far now comes from another block-1.
    until(&mut player, "expect verdict block-2 isolated differs\nexpect verdict block-1 isolated differs");
    let watching = player.session().jobs().iter().any(|job| job.what.contains("2 of") && job.cancellable);
    assert!(watching, "it is a job: {:?}", player.session().jobs());
    let script = "cancel 5\nwait\nexpect message no longer watching\ncopy command-line\nselect block 1\nwait\n\
        expect picture ready";
    player.run(script, |_, _| {}).unwrap();
}

#[test]
fn a_window_within_a_budget_keeps_the_rest_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut player = player(Path::new("cpu"), "cpu", folder.path());
    player.run("tour 0\nfirst\nmemory 64MiB\nwait\nexpect message the window needs at least", |_, _| {}).unwrap();
    let said = player.session().messages().iter().find_map(|message| message.text.split_once("at least "));
    let least: u64 = said.and_then(|(_, rest)| rest.split_once("MiB")).unwrap().0.parse().unwrap();
    let script = format!(
        "spill {}\nmemory {}MiB\nwait\nstep block\nwait\nstep block\nwait\n\
         expect verdict block-1 accumulated exact\nexpect verdict block-1 isolated exact\nexpect picture ready",
        folder.path().display(),
        least + 1
    );
    player.run(&script, |_, _| {}).unwrap();
    assert!(player.session().spilled() > 1 << 20, "{} bytes are on disk", player.session().spilled());
    player.run("memory unlimited\nwait\nexpect verdict block-1 accumulated exact", |_, _| {}).unwrap();
}
