//! Panels through egui's test harness, on sessions made by hand.

mod raster;
mod stage;

use blockscope::session::{Command, Dialog, Mode, Overlay, Select, Session, Tab, Transport, ViewChange};
use blockscope::ui::{Memory, install, ui};
use egui::Key;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::{By, NodeT as _, Queryable as _};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};

/// The window with its session and every command so far.
struct Desk {
    session: Session,
    memory: Memory,
    out: Vec<Command>,
    sent: Vec<Command>,
}

fn window(session: Session, size: (f32, f32)) -> Harness<'static, Desk> {
    let desk = Desk { session, memory: Memory::default(), out: Vec::new(), sent: Vec::new() };
    let mut installed = false;
    let mut harness = Harness::builder()
        .with_size(egui::vec2(size.0, size.1))
        .with_max_steps(60)
        .renderer(raster::Rasteriser::default())
        .build_ui_state(
            move |root, desk: &mut Desk| {
                if !installed {
                    install(root.ctx());
                    installed = true;
                    root.ctx().request_repaint();
                    return;
                }
                // A shell gives the whole window; the harness keeps a margin.
                let whole = egui::UiBuilder::new().max_rect(root.ctx().content_rect());
                root.scope_builder(whole, |root| {
                    root.set_clip_rect(root.ctx().content_rect());
                    ui(root, &desk.session, &mut desk.memory, &mut desk.out);
                });
                let sent = stage::apply(&mut desk.session, &mut desk.out);
                desk.sent.extend(sent);
            },
            desk,
        );
    harness.run_steps(12);
    harness
}

fn sent(harness: &Harness<'_, Desk>, command: &Command) -> bool {
    harness.state().sent.contains(command)
}

#[test]
fn keys_run_the_transport_and_move_the_selection() {
    let mut harness = window(stage::diverged(), (1280.0, 720.0));
    for key in [Key::Space, Key::F10, Key::F5, Key::ArrowRight, Key::G] {
        harness.key_press(key);
        harness.step();
    }
    harness.key_press_modifiers(egui::Modifiers::SHIFT, Key::Space);
    harness.step();
    for command in [
        Command::Run(Transport::StepKernel),
        Command::Run(Transport::StepBlock),
        Command::Run(Transport::All),
        Command::Run(Transport::Back),
        Command::Select(Select::StepBy(1)),
        Command::Select(Select::Divergence),
    ] {
        assert!(sent(&harness, &command), "{command} was sent");
    }
    let steps = harness.state().sent.iter().filter(|c| **c == Command::Run(Transport::StepKernel)).count();
    assert_eq!(steps, 1, "Shift+Space is no Space");
}

#[test]
fn blocks_kernels_and_tabs_are_chosen_by_their_names() {
    let mut harness = window(stage::diverged(), (1280.0, 720.0));
    harness.get_by_label("block 11, differs accumulated, exact isolated").click();
    harness.step();
    harness.get_by_label("Attention tab").click();
    harness.run_steps(2);
    harness.get_by_label_contains("kernel attended").click();
    harness.step();
    assert!(sent(&harness, &Command::Select(Select::Block(11))), "the map chooses blocks");
    assert!(sent(&harness, &Command::View(ViewChange::Tab(Tab::Attention))), "tabs are named");
    let plan = harness.state().session.plan().clone();
    let step = plan.find_step("block-11/attended").expect("a step");
    assert!(sent(&harness, &Command::Select(Select::Step(step))), "kernels follow the chosen block");
}

#[test]
fn the_palette_finds_a_command_by_letters_and_runs_it() {
    let mut harness = window(stage::diverged(), (1280.0, 720.0));
    harness.key_press_modifiers(egui::Modifiers::COMMAND | egui::Modifiers::SHIFT, Key::P);
    harness.run_steps(3);
    assert_eq!(harness.state().session.dialog(), Some(Dialog::Palette), "the palette is open");
    harness.get_by_label("Command").type_text("split");
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(2);
    assert!(sent(&harness, &Command::View(ViewChange::Mode(Mode::Split))), "the best row ran");
    assert_eq!(harness.state().session.dialog(), None, "and the palette closed");
}

#[test]
fn views_and_layers_have_keys_and_names() {
    let mut harness = window(stage::diverged(), (1280.0, 720.0));
    harness.get_by_label("View: Difference").click();
    harness.step();
    harness.key_press(Key::W);
    harness.step();
    assert!(sent(&harness, &Command::View(ViewChange::Mode(Mode::Difference))), "by name");
    assert!(sent(&harness, &Command::View(ViewChange::Overlay(Overlay::Windows, None))), "by key");
}

#[test]
fn typing_is_not_mistaken_for_keys() {
    let mut harness = window(stage::diverged(), (1280.0, 720.0));
    harness.get_by_label("Events tab").click();
    harness.run_steps(2);
    harness.get_by_label("Filter events").focus();
    harness.run_steps(2);
    harness.key_press(Key::W);
    harness.key_press(Key::Space);
    harness.run_steps(2);
    let toggled = Command::View(ViewChange::Overlay(Overlay::Windows, None));
    assert!(!sent(&harness, &toggled), "letters go into the field");
    assert!(!sent(&harness, &Command::Run(Transport::StepKernel)), "and so does Space");
}

#[test]
fn holding_the_flick_key_shows_the_other_side() {
    let mut session = stage::diverged();
    session.stage().view.tab = Tab::Notes;
    let mut harness = window(session, (1280.0, 720.0));
    let before = harness.render().expect("the window draws");
    harness.key_down(Key::F);
    harness.run_steps(2);
    let held = harness.render().expect("the window draws");
    harness.key_up(Key::F);
    harness.run_steps(2);
    let after = harness.render().expect("the window draws");
    assert_ne!(before.as_raw(), held.as_raw(), "the reference is another picture");
    assert_eq!(before.as_raw(), after.as_raw(), "letting go comes back");
}

#[test]
fn the_pointer_probes_and_clicks_select_a_token() {
    let mut harness = window(stage::diverged(), (1280.0, 720.0));
    let canvas = harness.get_by_label("canvas: block-9").rect();
    harness.hover_at(canvas.center());
    harness.run_steps(3);
    let hover = harness.state().session.selection().hover.expect("a token under the pointer");
    let told = format!("token: ({}, {}) #{}", hover.x, hover.y, hover.y * 44 + hover.x);
    let fact = harness.query_by_value(&told).or_else(|| harness.query_by_label(&told));
    assert!(fact.is_some(), "the probe tells \"{told}\"");
    harness.drag_at(canvas.center());
    harness.drop_at(canvas.center());
    harness.run_steps(2);
    assert!(sent(&harness, &Command::Select(Select::Token(Some(hover)))), "a click keeps what was pointed at");
}

#[test]
fn the_map_is_walked_by_arrow_keys() {
    let mut harness = window(stage::diverged(), (1280.0, 720.0));
    harness.get_by_label_contains("block 9, ").focus();
    harness.run_steps(2);
    for (key, block) in [(Key::ArrowRight, 10), (Key::ArrowDown, 14)] {
        harness.key_press(key);
        harness.run_steps(2);
        assert!(sent(&harness, &Command::Select(Select::Block(block))), "{key:?} goes to block {block}");
    }
    assert!(!sent(&harness, &Command::Select(Select::StepBy(1))), "the window's own arrows rest meanwhile");
}

#[test]
fn the_window_grid_glides_from_one_phase_to_the_next() {
    let mut session = stage::diverged();
    session.stage().view.overlays.insert(Overlay::Windows);
    let mut harness = window(session, (1280.0, 720.0));
    let before = harness.render().expect("the window draws");
    harness.state_mut().session.stage().selection.block = 10;
    harness.run_steps(2);
    let underway = harness.render().expect("the window draws");
    harness.run_steps(40);
    let there = harness.render().expect("the window draws");
    assert_ne!(before.as_raw(), underway.as_raw(), "it leaves");
    assert_ne!(underway.as_raw(), there.as_raw(), "and arrives later");
    harness.run_steps(4);
    let rest = harness.render().expect("the window draws");
    assert_eq!(there.as_raw(), rest.as_raw(), "where it stays");
}

#[test]
fn the_tour_leads_on_and_ends() {
    let mut session = stage::diverged();
    *session.stage().tour = 1;
    let mut harness = window(session, (1280.0, 720.0));
    harness.get_by_label("Next").click();
    harness.run_steps(2);
    assert_eq!(harness.state().session.tour(), 2, "the next card");
    harness.get_by_label("End tour").click();
    harness.run_steps(2);
    assert_eq!(harness.state().session.tour(), 0, "dismissed");
}

#[test]
fn every_control_has_a_name() {
    let mut nameless = Vec::new();
    for (scene, session) in scenes() {
        let harness = window(session, (1280.0, 720.0));
        let bare = By::new().predicate(|node| {
            let clickable = node.data().supports_action(egui::accesskit::Action::Click);
            let words = [node.label(), node.value()].into_iter().flatten().any(|text| !text.trim().is_empty());
            // Scroll bars and the edges that panels are resized by are egui's own, and it gives them no name.
            let own = !matches!(node.role(), Role::ScrollBar | Role::Unknown);
            clickable && own && !words && !node.is_hidden()
        });
        nameless.extend(harness.query_all(bare).map(|node| {
            let node = node.accesskit_node();
            format!("{scene}: {:?} at {:?}", node.role(), node.raw_bounds())
        }));
    }
    assert!(nameless.is_empty(), "controls that a screen reader cannot tell:\n{}", nameless.join("\n"));
}

/// Panels as they were when somebody last looked at them: the same bytes on every machine.
/// `UPDATE_GOLDEN=1` takes new pictures; look at them before committing.
#[test]
fn pictures_of_the_window_have_not_changed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ui");
    let bless = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut changed = Vec::new();
    for theme in [blockscope::session::Theme::Dark, blockscope::session::Theme::Light] {
        let mut session = stage::diverged();
        let stage = session.stage();
        stage.view.theme = theme;
        stage.view.overlays.extend([Overlay::Windows, Overlay::Outside]);
        let picture = window(session, (1280.0, 720.0)).render().expect("the window draws");
        let path = folder.join(format!("window-{theme}.png"));
        if bless {
            std::fs::create_dir_all(&folder).expect("the folder of pictures");
            let file = std::fs::File::create(&path).expect("a picture is written");
            let encoder = PngEncoder::new_with_quality(file, CompressionType::Best, FilterType::Adaptive);
            picture.write_with_encoder(encoder).expect("a picture is written");
            continue;
        }
        let golden = image::open(&path).expect("a golden picture; make it with UPDATE_GOLDEN=1").to_rgba8();
        if golden.as_raw() != picture.as_raw() {
            changed.push(theme.to_string());
        }
    }
    assert!(
        changed.is_empty(),
        "the window looks different in {}; see UPDATE_GOLDEN in this file",
        changed.join(" and ")
    );
}

/// Writes pictures for people to look at, when a folder is named: `BLOCKSCOPE_PICTURES=/some/folder`.
#[test]
fn every_tab_and_dialog_draws_in_both_themes_and_sizes() {
    let folder = std::env::var_os("BLOCKSCOPE_PICTURES").map(std::path::PathBuf::from);
    // Drawing is slow on purpose (plain code); the larger size is for eyes.
    let sizes = [("1280", (1280.0, 720.0)), ("1600", (1600.0, 900.0))];
    for (name, size) in sizes.into_iter().take(if folder.is_some() { 2 } else { 1 }) {
        for theme in [blockscope::session::Theme::Dark, blockscope::session::Theme::Light] {
            for (scene, session) in scenes() {
                let mut session = session;
                session.stage().view.theme = theme;
                let mut harness = window(session, size);
                let picture = harness.render().expect("the window draws");
                let colours: std::collections::BTreeSet<[u8; 4]> = picture.pixels().map(|p| p.0).collect();
                assert!(colours.len() > 60, "{scene} is more than an empty window");
                if let Some(folder) = &folder {
                    picture.save(folder.join(format!("{scene}-{name}-{theme}.png"))).expect("a picture is written");
                }
            }
        }
    }
}

/// States of the window that pictures show.
fn scenes() -> Vec<(String, Session)> {
    let mut all = Vec::new();
    let mut add = |name: &str, change: &dyn Fn(&mut Session)| {
        let mut session = stage::diverged();
        change(&mut session);
        all.push((name.to_owned(), session));
    };
    for &tab in Tab::ALL {
        add(tab.word(), &|session| session.stage().view.tab = tab);
    }
    for &dialog in Dialog::ALL {
        add(&format!("dialog-{dialog}"), &|session| *session.stage().dialog = Some(dialog));
    }
    add("difference", &|session| session.stage().view.mode = Mode::Difference);
    add("split", &|session| {
        let stage = session.stage();
        stage.view.mode = Mode::Split;
        stage.view.overlays.extend([
            Overlay::Windows,
            Overlay::Outside,
            Overlay::Valid,
            Overlay::Nan,
            Overlay::Mismatches,
        ]);
    });
    add("pair-near", &|session| {
        let stage = session.stage();
        stage.view.mode = Mode::SideBySide;
        stage.view.camera.zoom = Some(36.0);
        stage.view.camera.centre = (0.1, 0.1);
        stage.view.overlays.extend([
            Overlay::Windows,
            Overlay::Outside,
            Overlay::Tiles,
            Overlay::Nan,
            Overlay::Mismatches,
        ]);
    });
    add("tour", &|session| *session.stage().tour = 3);
    add("jobs", &|session| session.stage().jobs.push(stage::job()));
    all.push(("fresh".to_owned(), stage::fresh()));
    assert_eq!(stage::SIDES.len(), 2, "two sides");
    all
}
