//! `blockscope play`: runs a script of commands against a window without a display.
#![expect(clippy::print_stdout, reason = "a command's output")]

use crate::session::Sources;
use crate::shell::offscreen::Screen;
use crate::shell::play::{PlayError, Player, read};
use std::path::PathBuf;

/// What to play.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The script: a command of the session on each line, and wait, screenshot, key, type, click, expect.
    pub file: PathBuf,
    /// Where relative paths of the script lie; without it, the current directory.
    #[arg(long, default_value = ".")]
    pub out: PathBuf,
    /// Width of the window in pixels.
    #[arg(long, default_value_t = 1600)]
    pub width: u32,
    /// Height of the window in pixels.
    #[arg(long, default_value_t = 900)]
    pub height: u32,
    /// Pixels per point.
    #[arg(long, default_value_t = 1.0)]
    pub scale: f32,
    /// Do not say each line.
    #[arg(long)]
    pub quiet: bool,
}

/// Plays a script.
///
/// # Errors
/// At the first line that fails.
pub fn run(args: &Args) -> Result<(), PlayError> {
    let script = read(&args.file)?;
    let drawn = script.lines().any(|line| line.trim_start().starts_with("screenshot"));
    let screen = Screen { width: args.width, height: args.height, scale: args.scale };
    let mut player = Player::new(Sources::first_start(), screen, args.out.clone(), drawn)?;
    player.run(&script, |line, text| {
        if !args.quiet {
            println!("{line:4}  {text}");
        }
    })
}
