//! One frame of any shell: poll, draw, apply.

use super::ShellError;
use super::dialogs::{Dialogs, Native};
use crate::session::{Command, Effect, Place, Session, Severity};
use crate::ui;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often the session is saved while something changes.
const SAVE_EVERY: Duration = Duration::from_secs(10);

/// A session with everything that a shell keeps around it.
#[derive(Debug)]
pub struct Desk {
    /// What the window knows.
    pub session: Session,
    memory: ui::Memory,
    commands: Vec<Command>,
    dialogs: Dialogs,
    file: Option<PathBuf>,
    saved: Instant,
    dirty: bool,
    closing: bool,
}

impl Desk {
    /// A desk. The session is saved to `file`, if one is given.
    pub fn new(session: Session, file: Option<PathBuf>) -> Self {
        Self {
            session,
            memory: ui::Memory::default(),
            commands: Vec::new(),
            dialogs: Dialogs::new(Native),
            file,
            saved: Instant::now(),
            dirty: false,
            closing: false,
        }
    }

    /// Takes finished work and answers of dialogs.
    pub fn poll(&mut self) {
        for command in self.dialogs.take() {
            self.session.apply(command);
        }
        self.session.poll();
    }

    /// Draws the window and applies what the person did.
    pub fn draw(&mut self, ui: &mut egui::Ui) {
        ui::ui(ui, &self.session, &mut self.memory, &mut self.commands);
        let ctx = ui.ctx().clone();
        if !self.commands.is_empty() {
            self.dirty = true;
            for command in std::mem::take(&mut self.commands) {
                self.session.apply(command);
            }
            self.session.poll();
            // What a command changed shows in the very next frame.
            ctx.request_repaint();
        }
        if self.session.run().activity.is_some() {
            // Progress and time left; workers wake the shell for results.
            ctx.request_repaint_after(Duration::from_millis(200));
        }
        self.perform(&ctx);
        if self.dirty && self.file.is_some() {
            let left = SAVE_EVERY.saturating_sub(self.saved.elapsed());
            if left.is_zero() {
                // A failure is among the messages now.
                self.save().unwrap_or_default();
            } else {
                ctx.request_repaint_after(left);
            }
        }
    }

    fn perform(&mut self, ctx: &egui::Context) {
        for effect in self.session.take_effects() {
            match effect {
                Effect::Clipboard(text) => ctx.copy_text(text),
                Effect::Browse(what) => {
                    let waker = ctx.clone();
                    if let Err(error) = self.dialogs.open(what, move || waker.request_repaint()) {
                        let text = format!("cannot open a file dialog: {error}");
                        self.session.say(Severity::Error, Place::Window, text);
                    }
                }
                Effect::Quit => {
                    self.closing = true;
                    ctx.send_viewport_cmd(egui::ViewportCommand::Close);
                }
            }
        }
    }

    /// Whether the person asked to close.
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Saves the session; a failure becomes a message, and is handed back for a shell that shows no more messages.
    ///
    /// # Errors
    /// When the file cannot be written; the old one is then untouched.
    pub fn save(&mut self) -> Result<(), ShellError> {
        (self.saved, self.dirty) = (Instant::now(), false);
        let Some(file) = &self.file else { return Ok(()) };
        let outcome = self.session.save(file);
        outcome.map_err(|error| {
            let message = format!("{error}; path {}", file.display());
            let text = format!("cannot save the session: {message}");
            self.session.say(Severity::Warning, Place::Window, text);
            ShellError::Save { message }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Sources, Waker};

    #[test]
    fn a_session_that_cannot_be_saved_is_told_and_the_old_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("session.json");
        let session = || Session::new(Sources::default(), Waker::default());
        Desk::new(session(), Some(file.clone())).save().unwrap();
        let before = std::fs::read(&file).unwrap();
        // A file where a folder should be: nothing can be written below it, like on a full disk.
        let mut desk = Desk::new(session(), Some(file.join("session.json")));
        let error = desk.save().unwrap_err().to_string();
        assert!(error.contains("could not be saved"), "{error}");
        let said = &desk.session.messages()[0].text;
        assert!(said.contains("cannot save the session"), "{said}");
        assert_eq!(std::fs::read(&file).unwrap(), before, "untouched");
    }
}
