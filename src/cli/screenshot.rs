//! `blockscope screenshot`: the standard pictures of the window, for the README and for looking at.
#![expect(clippy::print_stdout, reason = "a command's output")]

use crate::session::Sources;
use crate::shell::offscreen::Screen;
use crate::shell::play::{PlayError, Player};
use std::path::PathBuf;

/// The standard set: one script, a picture for each view.
const SCRIPT: &str = include_str!("screenshot.play");

/// Where to put the pictures.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The directory.
    #[arg(long)]
    pub out: PathBuf,
    /// Width in pixels.
    #[arg(long, default_value_t = 1600)]
    pub width: u32,
    /// Height in pixels.
    #[arg(long, default_value_t = 900)]
    pub height: u32,
    /// Pixels per point.
    #[arg(long, default_value_t = 1.0)]
    pub scale: f32,
}

/// Writes the pictures.
///
/// # Errors
/// When there is no Vulkan, or a picture cannot be written.
pub fn run(args: &Args) -> Result<(), PlayError> {
    let screen = Screen { width: args.width, height: args.height, scale: args.scale };
    let mut player = Player::new(Sources::first_start(), screen, args.out.clone(), true)?;
    player.run(SCRIPT, |_, text| {
        if let Some(name) = text.strip_prefix("screenshot ") {
            println!("{}", args.out.join(name).display());
        }
    })
}
