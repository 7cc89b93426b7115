//! The real window on an X display, both shells, from outside: it opens, draws, survives a storm of sizes, and ends
//! cleanly when it is closed in the middle of a run.
//!
//! Needs `DISPLAY` (in the gate, a virtual one). Without it the tests say that they were skipped, unless
//! `BLOCKSCOPE_REQUIRE_DISPLAY` is set.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ClientMessageEvent, ConfigureWindowAux, ConnectionExt as _, EventMask, ImageFormat, Window,
};
use x11rb::rust_connection::RustConnection;

/// Windows hide each other on a display without a manager: one at a time.
static DISPLAY: Mutex<()> = Mutex::new(());
/// How long a window may take to open and to draw its first picture; a busy machine with software Vulkan is slow.
const PATIENCE: Duration = Duration::from_mins(2);

struct Running {
    child: Child,
    screen: RustConnection,
    window: Window,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only where a test failed half-way; after a clean end there is nothing to kill.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Opens the window; `None` without a display.
fn open(shell: &str, folder: &Path, more: &[&str]) -> Option<Running> {
    if std::env::var_os("DISPLAY").is_none() {
        let required = std::env::var_os("BLOCKSCOPE_REQUIRE_DISPLAY").is_some();
        assert!(!required, "BLOCKSCOPE_REQUIRE_DISPLAY is set, and there is no DISPLAY");
        println!("skipped: no DISPLAY; run the tests under xvfb-run");
        return None;
    }
    let (screen, _) = x11rb::connect(None).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_blockscope"))
        .args(["--shell", shell, "--session"])
        .arg(folder.join("session.json"))
        .args(more)
        .env_remove("WAYLAND_DISPLAY")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running { child, screen, window: 0 };
    let pid = running.child.id();
    until(&mut running, "a window of its own", |running| {
        running.window = find(&running.screen, pid)?;
        Some(())
    });
    Some(running)
}

/// Asks again and again; fails with what the program said when it ended or took too long.
fn until<T>(running: &mut Running, what: &str, mut ask: impl FnMut(&mut Running) -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask(running) {
            return answer;
        }
        let ended = running.child.try_wait().unwrap();
        assert!(ended.is_none(), "expected {what}; the program ended with {ended:?}: {}", said(running));
        assert!(begin.elapsed() < PATIENCE, "expected {what} within {} s", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn said(running: &mut Running) -> String {
    let mut text = String::new();
    if let Some(stderr) = &mut running.child.stderr {
        drop(std::io::Read::read_to_string(stderr, &mut text));
    }
    text
}

fn atom(screen: &RustConnection, name: &str) -> Atom {
    screen.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom
}

/// The top-level window of a process.
fn find(screen: &RustConnection, pid: u32) -> Option<Window> {
    let property = atom(screen, "_NET_WM_PID");
    let root = screen.setup().roots[0].root;
    let children = screen.query_tree(root).ok()?.reply().ok()?.children;
    children.into_iter().find(|&child| {
        let cookie = screen.get_property(false, child, property, AtomEnum::CARDINAL, 0, 1);
        let reply = cookie.ok().and_then(|cookie| cookie.reply().ok());
        reply.and_then(|reply| reply.value32()?.next()) == Some(pid)
    })
}

/// The window's pixels: its size and how many colours it shows.
fn look(running: &Running) -> Option<((u16, u16), usize)> {
    let geometry = running.screen.get_geometry(running.window).ok()?.reply().ok()?;
    let (width, height) = (geometry.width, geometry.height);
    let image = running.screen.get_image(ImageFormat::Z_PIXMAP, running.window, 0, 0, width, height, !0);
    let image = image.ok()?.reply().ok()?;
    let colours: BTreeSet<&[u8]> = image.data.chunks_exact(4).map(|pixel| &pixel[..3]).collect();
    Some(((width, height), colours.len()))
}

/// Waits for a picture: text, verdicts and a tensor make many colours.
fn drawn(running: &mut Running, size: Option<(u16, u16)>) {
    until(running, "a picture with many colours", |running| {
        look(running).filter(|(found, colours)| size.is_none_or(|size| size == *found) && *colours > 200)
    });
}

fn resize(running: &Running, width: u32, height: u32) {
    let aux = ConfigureWindowAux::new().width(width).height(height);
    running.screen.configure_window(running.window, &aux).unwrap();
    running.screen.flush().unwrap();
}

/// Asks the window to close, as a window manager does, and waits for the end.
fn close(mut running: Running) -> (ExitStatus, String) {
    let (protocols, delete) = (atom(&running.screen, "WM_PROTOCOLS"), atom(&running.screen, "WM_DELETE_WINDOW"));
    let message = ClientMessageEvent::new(32, running.window, protocols, [delete, 0, 0, 0, 0]);
    running.screen.send_event(false, running.window, EventMask::NO_EVENT, message).unwrap();
    running.screen.flush().unwrap();
    let begin = Instant::now();
    loop {
        if let Some(status) = running.child.try_wait().unwrap() {
            return (status, said(&mut running));
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "the window does not end within 30 s of closing");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Opens, draws, is resized thirty times while the network runs, and is closed in the middle of it.
fn lives(shell: &str, more: &[&str]) {
    let _one = DISPLAY.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let Some(mut running) = open(shell, folder.path(), more) else { return };
    drawn(&mut running, None);
    for turn in 0..30 {
        resize(&running, 700 + 29 * (turn % 11), 420 + 17 * (turn % 13));
        std::thread::sleep(Duration::from_millis(15));
    }
    resize(&running, 1180, 700);
    drawn(&mut running, Some((1180, 700)));
    let (status, said) = close(running);
    assert!(status.success(), "{shell} ended with {status}: {said}");
    assert!(folder.path().join("session.json").is_file(), "the session was saved on the way out");
}

#[test]
fn the_opengl_window_opens_draws_resizes_and_closes_during_a_run() {
    // The scalar reference takes far longer than this test: it is surely running when the window closes.
    lives("eframe", &["--subject", "reference", "--reference", "cpu"]);
}

#[test]
fn the_vulkan_window_opens_draws_resizes_and_closes_during_a_run() {
    lives("vulkan", &["--subject", "reference", "--reference", "cpu"]);
}

#[test]
fn two_windows_on_one_session_file_keep_a_session_each() {
    let _one = DISPLAY.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let Some(mut first) = open("eframe", folder.path(), &[]) else { return };
    drawn(&mut first, None);
    let Some(mut second) = open("eframe", folder.path(), &["--subject", "cpu", "--reference", "cpu"]) else { return };
    drawn(&mut second, None);
    assert!(close(first).0.success(), "the first ends cleanly");
    assert!(close(second).0.success(), "and so does the second");
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(text("session.json").contains("mask-outside"), "the first window's session");
    assert!(!text("session-2.json").contains("mask-outside"), "the second one's, beside it");
}
