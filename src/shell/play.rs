//! Play scripts: lines of commands against an offscreen window.
//!
//! ```text
//! # a comment                     wait [SECONDS]        until nothing runs and every picture is there
//! any command of the session      screenshot FILE.png   what a person would see now
//! key Ctrl+Shift+P                type TEXT             click X Y, move X Y (in points)
//! save FILE                       restore FILE          the session, as the window does at exit and start
//! expect ...                      fails the script when it is not so: see `expect`
//! ```

use super::offscreen::{Offscreen, Screen};
use super::{Desk, ShellError};
use crate::session::{Command, Requested, Session, Sources, Verdict, ViewChange, Waker};
use egui::{Event, Key, Modifiers, PointerButton, Pos2};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest wait of a `wait` without a number.
const PATIENCE: Duration = Duration::from_mins(5);

/// Why a script failed.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// A line is no command, or an expectation was not met.
    #[error("line {line}: \"{text}\": {problem}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The line.
        text: String,
        /// What is wrong.
        problem: String,
    },
    /// The offscreen window failed.
    #[error(transparent)]
    Shell(#[from] ShellError),
}

/// Runs scripts.
#[derive(Debug)]
pub struct Player {
    window: Offscreen,
    /// Where `screenshot` and other files go when their path is relative.
    folder: PathBuf,
    waiting: std::sync::Arc<(std::sync::Mutex<bool>, std::sync::Condvar)>,
    screen: Screen,
    drawn: bool,
}

impl Player {
    /// A player on fresh sources. `drawn` is false where no picture will be asked for.
    ///
    /// # Errors
    /// When there is no Vulkan for drawing.
    pub fn new(sources: Sources, screen: Screen, folder: PathBuf, drawn: bool) -> Result<Self, PlayError> {
        let waiting = std::sync::Arc::default();
        let session = Session::new(sources, waker(&waiting));
        let window = Offscreen::new(Desk::new(session, None), screen, drawn)?;
        Ok(Self { window, folder, waiting, screen, drawn })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.window.desk.session
    }

    /// The window.
    pub fn window(&mut self) -> &mut Offscreen {
        &mut self.window
    }

    /// Runs a whole script; calls `said` for each line before it runs.
    ///
    /// # Errors
    /// At the first line that fails.
    pub fn run(&mut self, script: &str, mut said: impl FnMut(usize, &str)) -> Result<(), PlayError> {
        self.frame(Vec::new())?;
        for (index, text) in script.lines().enumerate() {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            said(index + 1, text);
            match self.line(text) {
                Ok(()) => {}
                Err(Problem::Said(problem)) => {
                    return Err(PlayError::Line { line: index + 1, text: text.to_owned(), problem });
                }
                Err(Problem::Shell(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn frame(&mut self, events: Vec<Event>) -> Result<(), ShellError> {
        self.window.frame(events, false).map(drop)
    }

    fn line(&mut self, text: &str) -> Result<(), Problem> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim();
        match word {
            "wait" => self.wait(rest)?,
            "screenshot" => {
                let png = self.window.picture()?;
                self.write(rest, &png)?;
            }
            "key" => {
                for event in key(rest)? {
                    self.frame(vec![event])?;
                }
            }
            "type" => self.frame(vec![Event::Text(rest.to_owned())])?,
            "move" => self.frame(vec![Event::PointerMoved(point(rest)?)])?,
            "click" => self.click(point(rest)?)?,
            "save" => self.session().save(&self.path(rest)).map_err(|e| format!("cannot save: {e}"))?,
            "restore" => {
                let session = Session::restore(&self.path(rest), waker(&self.waiting), |_| {});
                self.window = Offscreen::new(Desk::new(session, None), self.screen, self.drawn)?;
                self.frame(Vec::new())?;
            }
            "expect" => self.expect(rest)?,
            _ => {
                let command = text.parse::<Command>()?;
                self.window.desk.session.apply(command);
                self.frame(Vec::new())?;
            }
        }
        Ok(())
    }

    fn path(&self, text: &str) -> PathBuf {
        self.folder.join(text)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Problem> {
        let path = self.path(name);
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, bytes));
        written.map_err(|error| Problem::Said(format!("cannot write: {error}; path {}", path.display())))
    }

    /// Frames until nothing runs, or for so many seconds.
    pub(super) fn wait(&mut self, text: &str) -> Result<(), Problem> {
        let seconds = if text.is_empty() {
            None
        } else {
            Some(text.parse::<f64>().map_err(|_bad| format!("expected seconds; found \"{text}\""))?)
        };
        let begin = Instant::now();
        let limit = seconds.map_or(PATIENCE, Duration::from_secs_f64);
        loop {
            self.frame(Vec::new())?;
            let over = begin.elapsed() > limit;
            if seconds.is_none() && self.session().is_idle() {
                // The last answers may have changed what is asked for.
                self.frame(Vec::new())?;
                if self.session().is_idle() {
                    return Ok(());
                }
            }
            if over {
                return if seconds.is_some() {
                    Ok(())
                } else {
                    Err(format!("still busy after {} s: {:?}", limit.as_secs(), self.session().run().activity).into())
                };
            }
            let (woken, bell) = &*self.waiting;
            let guard = woken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let rest = Duration::from_millis(50);
            let waited = bell.wait_timeout_while(guard, rest, |woken| !*woken);
            *waited.unwrap_or_else(std::sync::PoisonError::into_inner).0 = false;
        }
    }

    fn click(&mut self, at: Pos2) -> Result<(), ShellError> {
        let button = |pressed| Event::PointerButton {
            pos: at,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        self.frame(vec![Event::PointerMoved(at)])?;
        self.frame(vec![button(true)])?;
        self.frame(vec![button(false)])?;
        self.frame(Vec::new())
    }

    /// Checks one expectation.
    fn expect(&self, text: &str) -> Result<(), Problem> {
        let session = self.session();
        let words: Vec<&str> = text.split_whitespace().collect();
        let selection = session.selection();
        let tensor = |index: Option<usize>| {
            index.map_or_else(|| "none".to_owned(), |step| session.plan().steps[step].name().to_string())
        };
        let found = match words.as_slice() {
            ["view", ..] => return self.expect_view(text),
            ["selection", ..] => selection.tensor.to_string(),
            ["channel", _] => selection.channel.to_string(),
            ["token", ..] => selection.token.map_or("none".to_owned(), |token| format!("{} {}", token.x, token.y)),
            ["window", ..] => format!("{} {}", selection.window.0, selection.window.1),
            ["query", _] => selection.query.to_string(),
            ["playhead", _] => session.run().playhead.to_string(),
            ["steps-done", _] => session.run().steps.iter().filter(|s| s.subject.is_done()).count().to_string(),
            ["divergence", ..] => tensor(session.run().first_isolated),
            ["verdict", name, ..] => return self.expect_verdict(name, &words[2..]),
            ["pins", _] => session.pins().len().to_string(),
            ["bookmarks", _] => session.bookmarks().len().to_string(),
            ["dialog", _] => session.dialog().map_or("none", |dialog| dialog.word()).to_owned(),
            ["picture", _] => state(&session.canvas().subject),
            ["difference-picture", _] => state(&session.canvas().difference),
            ["attention", _] => state(session.attention()),
            ["statistics", _] => state(session.statistics()),
            ["diagnosis", _] => state(session.diagnosis()),
            ["cause", _] => {
                let best = session.diagnosis().shown().and_then(|found| found.causes.first().cloned());
                best.map_or("none".to_owned(), |cause| cause.ids.join("+"))
            }
            ["trace", _] => state(session.trace()),
            ["doctor", _] => {
                let found = session.examination();
                let over = if found.ended.is_some() { "cancelled" } else { "over" };
                let now = if found.is_running() { "running" } else { over };
                if found.depth.is_some() { now } else { "nothing" }.to_owned()
            }
            ["came", _] => session.came().0.to_string(),
            ["events", kind, wanted] => {
                let kind = kind.parse::<crate::session::EventKind>()?;
                let found = session.events().shown().filter(|events| events.step == selection.step);
                let count =
                    found.ok_or_else(|| format!("no events are known: {}", state(session.events())))?.count(kind);
                if *wanted == "some" && count > 0 { "some".to_owned() } else { count.to_string() }
            }
            ["counted", _] => session.counted().to_string(),
            ["run-events", kind, wanted] => {
                let kind = kind.parse::<crate::session::EventKind>()?;
                let count: u64 = session.run().steps.iter().filter_map(|step| step.events.get(&kind)).sum();
                if *wanted == "some" && count > 0 { "some".to_owned() } else { count.to_string() }
            }
            ["file", path] => {
                let there = self.path(path).is_file();
                return if there { Ok(()) } else { Err(format!("there is no file {path}").into()) };
            }
            ["message", ..] => {
                let wanted = text.trim_start_matches("message").trim();
                let all: Vec<&str> = session.messages().iter().map(|message| message.text.as_str()).collect();
                let there = all.iter().any(|message| message.contains(wanted));
                return if there { Ok(()) } else { Err(format!("found the messages {all:?}").into()) };
            }
            _ => return Err("nothing of this kind can be expected".to_owned().into()),
        };
        let wanted = match words[0] {
            "events" | "run-events" => words[2..].join(" "),
            _ => words[1..].join(" "),
        };
        if found == wanted { Ok(()) } else { Err(format!("expected {wanted}; found {found}").into()) }
    }

    fn expect_view(&self, text: &str) -> Result<(), Problem> {
        let change: ViewChange = text.trim_start_matches("view").trim().parse()?;
        let view = self.session().view();
        let same = crate::session::changed(view, &change) == *view;
        if same { Ok(()) } else { Err(format!("the view is {view:?}").into()) }
    }

    fn expect_verdict(&self, name: &str, wanted: &[&str]) -> Result<(), Problem> {
        let session = self.session();
        let step = session.plan().find_step(name).ok_or_else(|| format!("no step is called {name}"))?;
        let state = &session.run().steps[step];
        let [basis, verdict] = wanted else {
            return Err("expected \"verdict TENSOR accumulated|isolated WORD\"".to_owned().into());
        };
        let judgement = if *basis == "isolated" { &state.isolated } else { &state.accumulated };
        let wanted: Verdict = verdict.parse()?;
        let same = judgement.verdict == wanted;
        if same { Ok(()) } else { Err(format!("found {judgement:?}").into()) }
    }
}

/// What stops a line.
#[derive(Debug)]
pub(super) enum Problem {
    Said(String),
    Shell(ShellError),
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Self::Said(text)
    }
}

impl From<ShellError> for Problem {
    fn from(error: ShellError) -> Self {
        Self::Shell(error)
    }
}

fn state<T>(requested: &Requested<T>) -> String {
    match requested {
        Requested::Nothing => "nothing",
        Requested::Pending { .. } => "pending",
        Requested::Ready(_) => "ready",
        Requested::Unavailable { .. } => "unavailable",
    }
    .to_owned()
}

fn waker(waiting: &std::sync::Arc<(std::sync::Mutex<bool>, std::sync::Condvar)>) -> Waker {
    let waiting = std::sync::Arc::clone(waiting);
    Waker::new(move || {
        *waiting.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = true;
        waiting.1.notify_all();
    })
}

fn point(text: &str) -> Result<Pos2, Problem> {
    let parsed = text.split_once(' ').and_then(|(x, y)| Some(Pos2::new(x.parse().ok()?, y.trim().parse().ok()?)));
    parsed.ok_or_else(|| Problem::Said(format!("expected \"X Y\" in points; found \"{text}\"")))
}

/// A key pressed and released.
fn key(text: &str) -> Result<Vec<Event>, Problem> {
    let mut modifiers = Modifiers::NONE;
    let mut rest = text;
    while let Some((modifier, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty()) {
        modifiers |= match modifier {
            "Ctrl" => Modifiers::CTRL | Modifiers::COMMAND,
            "Shift" => Modifiers::SHIFT,
            "Alt" => Modifiers::ALT,
            _ => return Err(format!("no modifier is called {modifier}").into()),
        };
        rest = after;
    }
    let key = Key::from_name(rest).ok_or_else(|| format!("no key is called \"{rest}\""))?;
    let event = |pressed| Event::Key { key, physical_key: None, pressed, repeat: false, modifiers };
    Ok(vec![event(true), event(false)])
}

/// Reads a script.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: &Path) -> Result<String, PlayError> {
    std::fs::read_to_string(path).map_err(|error| PlayError::Line {
        line: 0,
        text: path.display().to_string(),
        problem: error.to_string(),
    })
}
