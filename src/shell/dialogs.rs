//! File dialogs: on a thread of their own, behind a trait so that tests can answer.

use crate::session::{Browse, Command};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Asks a person for a path. Called on a thread; may block.
pub trait Picker: Send + Sync {
    /// The path, or `None` when the person gave none.
    fn pick(&self, what: Browse) -> Option<PathBuf>;
}

/// The desktop's own dialogs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Picker for Native {
    fn pick(&self, what: Browse) -> Option<PathBuf> {
        let dialog = rfd::FileDialog::new().set_title(format!("Blockscope: {}", what.title()));
        match what {
            Browse::Model | Browse::Subject | Browse::Reference | Browse::Watch | Browse::Spill => dialog.pick_folder(),
            Browse::Input => dialog.pick_file(),
            Browse::ExportCanvas => dialog.add_filter("PNG", &["png"]).set_file_name("canvas.png").save_file(),
            Browse::ExportTensor => dialog.add_filter("NumPy", &["npy"]).set_file_name("tensor.npy").save_file(),
            Browse::Report => dialog.set_file_name("report.html").save_file(),
            // A folder that is not there yet.
            Browse::Bundle | Browse::BundleWithoutWeights => dialog.set_file_name("repro-bundle").save_file(),
        }
    }
}

/// What a picked path means.
fn command(what: Browse, path: String) -> Command {
    match what {
        Browse::Model => Command::Model(path),
        Browse::Input => Command::Input(path),
        Browse::Subject => Command::Subject(path),
        Browse::Reference => Command::Reference(path),
        Browse::Watch => Command::Watch(path),
        Browse::Spill => Command::Spill(Some(path)),
        Browse::ExportCanvas => Command::ExportCanvas(path),
        Browse::ExportTensor => Command::ExportTensor(path),
        Browse::Report => Command::Report(path),
        Browse::Bundle => Command::Bundle { weights: true, path },
        Browse::BundleWithoutWeights => Command::Bundle { weights: false, path },
    }
}

/// Open dialogs and their answers.
pub struct Dialogs {
    picker: std::sync::Arc<dyn Picker>,
    sender: SyncSender<Command>,
    answers: Receiver<Command>,
}

impl std::fmt::Debug for Dialogs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Dialogs")
    }
}

impl Dialogs {
    /// Dialogs that ask through a picker.
    pub fn new(picker: impl Picker + 'static) -> Self {
        let (sender, answers) = sync_channel(8);
        Self { picker: std::sync::Arc::new(picker), sender, answers }
    }

    /// Opens a dialog; `wake` is called once it has an answer.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn open(&self, what: Browse, wake: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        let (picker, sender) = (std::sync::Arc::clone(&self.picker), self.sender.clone());
        let ask = move || {
            if let Some(path) = picker.pick(what) {
                drop(sender.try_send(command(what, path.display().to_string())));
                wake();
            }
        };
        std::thread::Builder::new().name("file dialog".to_owned()).spawn(ask).map(|_detached| ())
    }

    /// The answers since the last call.
    pub fn take(&self) -> Vec<Command> {
        self.answers.try_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct Canned(Option<&'static str>);

    impl Picker for Canned {
        fn pick(&self, _what: Browse) -> Option<PathBuf> {
            self.0.map(PathBuf::from)
        }
    }

    #[test]
    fn an_answer_becomes_the_command_of_its_dialog() {
        let dialogs = Dialogs::new(Canned(Some("some/model")));
        let (woken, wait) = sync_channel(1);
        dialogs.open(Browse::Model, move || woken.send(()).unwrap()).unwrap();
        wait.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(dialogs.take(), [Command::Model("some/model".to_owned())], "the canned answer");
    }
}
