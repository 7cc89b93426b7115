//! `blockscope`: opens the window.

use crate::geometry::Size;
use crate::session::{Place, Session, Severity, Sources, Waker, store};
use crate::shell::{self, ShellError};
use std::path::PathBuf;

/// What the window opens with.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Args {
    /// A model directory, a capture, an image or features to open.
    pub path: Option<String>,
    /// A model directory, or synthetic or synthetic:SEED.
    #[arg(long)]
    pub model: Option<String>,
    /// synthetic or synthetic:SEED, an image, features or a capture.
    #[arg(long)]
    pub input: Option<String>,
    /// The valid size.
    #[arg(long)]
    pub size: Option<Size>,
    /// The subject: an engine, an engine with causes, or a capture.
    #[arg(long)]
    pub subject: Option<String>,
    /// A folder that a running port writes, as the subject: its dumps are compared as they come.
    #[arg(long, value_name = "DIR", conflicts_with = "subject")]
    pub watch: Option<PathBuf>,
    /// The reference.
    #[arg(long)]
    pub reference: Option<String>,
    /// Memory the window may take, such as 4GiB or 800MiB; boundaries beyond it lie in temporary files.
    #[arg(long, value_name = "BYTES", value_parser = crate::engine::memory::bytes)]
    pub memory: Option<u64>,
    /// The folder of these files; the system's temporary one without. It should be on a disk.
    #[arg(long, value_name = "DIR", requires = "memory")]
    pub spill: Option<String>,
    /// The window.
    #[arg(long, value_enum, default_value_t = Shell::Eframe)]
    pub shell: Shell,
    /// The file that the session is kept in; without one it lies in the user's state directory.
    #[arg(long)]
    pub session: Option<PathBuf>,
    /// Start afresh, and keep nothing.
    #[arg(long)]
    pub fresh: bool,
}

/// Which window.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// OpenGL.
    #[default]
    Eframe,
    /// Vulkan.
    Vulkan,
}

impl Args {
    /// Refuses a path that is not there, before any window opens: it may be a misspelt command.
    ///
    /// # Errors
    /// A sentence with what was given.
    pub fn check(&self) -> Result<(), String> {
        match &self.path {
            Some(path) if !path.starts_with("synthetic") && !std::path::Path::new(path).exists() => Err(format!(
                "unrecognized subcommand, or a file that is not there: \"{path}\"; `blockscope help` lists the commands"
            )),
            _ => Ok(()),
        }
    }

    /// Puts what the command line says over what was restored.
    pub fn apply(&self, sources: &mut Sources) {
        let text = |from: &Option<String>, to: &mut String| {
            if let Some(from) = from {
                to.clone_from(from);
            }
        };
        text(&self.model, &mut sources.model);
        text(&self.input, &mut sources.input);
        text(&self.subject, &mut sources.subject);
        text(&self.reference, &mut sources.reference);
        if let Some(folder) = &self.watch {
            sources.subject = Sources::watching(&folder.display().to_string());
        }
        if self.memory.is_some() {
            (sources.memory, sources.spill) = (self.memory, self.spill.clone());
        }
        if let Some(size) = self.size {
            sources.size = size;
        }
    }
}

/// Opens the window; returns when it is closed.
///
/// # Errors
/// When no window can be opened.
pub fn run(args: Args) -> Result<(), ShellError> {
    let wanted = args.session.clone().or_else(store::default_path).filter(|_| !args.fresh);
    // Held until the window is closed.
    let claim = wanted.as_deref().map(store::claim);
    let (file, start) = (claim.as_ref().map(|c| c.path.clone()), claim.as_ref().map(|c| c.start.clone()));
    let other = file.clone().filter(|file| wanted.as_ref() != Some(file));
    let shell = args.shell;
    let make = move |waker: Waker| {
        let mut session = if let Some(start) = start {
            Session::restore(&start, waker, |sources| args.apply(sources))
        } else {
            let mut sources = Sources::first_start();
            args.apply(&mut sources);
            Session::new(sources, waker)
        };
        if let Some(other) = other {
            let text = format!("another window keeps the session; this one is kept in {}", other.display());
            session.say(Severity::Info, Place::Window, text);
        }
        if let Some(path) = args.path {
            session.apply(crate::session::Command::Open(path));
        }
        session
    };
    match shell {
        Shell::Eframe => shell::eframe::run(file, make),
        Shell::Vulkan => shell::vulkan::run(file, make),
    }
}
