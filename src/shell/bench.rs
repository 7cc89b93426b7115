//! What a person feels, measured without a display: our own work per frame, whole frames on the device, gaps
//! between frames while the network runs, the first frame, and the wait from a selection to its picture.
//!
//! Numbers only; `blockscope bench --ui` judges and prints them.

use super::offscreen::{FrameTime, Offscreen, Screen};
use super::{Desk, ShellError};
use crate::geometry::Size;
use crate::session::{Command, Session, Sources, Waker};
use egui::{Event, Pos2};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A frame of a 60 Hz display.
const VSYNC: Duration = Duration::from_micros(16_667);
/// Longest wait for the network to get somewhere.
const PATIENCE: Duration = Duration::from_mins(10);
/// What is looked at: commands, and then frames with a moving pointer.
const SCENES: [&[&str]; 9] = [
    &["view mode subject", "view tab probe", "view overlay windows on", "view overlay outside on"],
    &["view mode difference", "view tab statistics", "view overlay mismatches on"],
    &["view mode split", "view tab attention"],
    &["view mode side-by-side", "view zoom 30"],
    &["view mode subject", "view zoom 12", "view numbers code"],
    &["view zoom fit", "view tab trace", "view reduction rgb"],
    &["view tab events", "view reduction channel"],
    &["view tab causes", "view image output"],
    &["view image tensor", "show palette"],
];

/// Durations of one kind, in the order in which they were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times(pub Vec<Duration>);

impl Times {
    /// The middle one.
    pub fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        self.0.iter().max().copied().unwrap_or_default()
    }
}

/// Waits from a selection to its picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pictures {
    /// The valid size.
    pub size: Size,
    /// Each wait.
    pub waits: Times,
}

/// Everything measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// From nothing to the first drawn frame.
    pub first_frame: Duration,
    /// Our own work per frame with idle engines.
    pub idle: Times,
    /// The same while the network runs on every core.
    pub running: Times,
    /// Whole frames drawn with idle engines.
    pub whole: Times,
    /// From the end of one drawn frame to the end of the next, while the network runs on every core.
    pub gaps: Times,
    /// Waits for pictures, by size.
    pub pictures: Vec<Pictures>,
}

/// What is told while measuring.
#[derive(Clone, Copy, Debug)]
pub enum Said<'a> {
    /// What is measured next.
    Next(&'a str),
    /// A part is measured: everything so far.
    Found(Part, &'a Measured),
}

/// Parts of the measurement, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// [`Measured::first_frame`].
    FirstFrame,
    /// [`Measured::running`].
    Running,
    /// [`Measured::gaps`].
    Gaps,
    /// [`Measured::idle`] and [`Measured::whole`].
    Idle,
    /// The last one of [`Measured::pictures`].
    Pictures,
}

/// Measures. `said` is told what comes next, and each part as it is measured.
///
/// # Errors
/// When there is no Vulkan for drawing, or the network does not get where it should.
pub fn measure(screen: Screen, sizes: &[Size], mut said: impl FnMut(Said<'_>)) -> Result<Measured, ShellError> {
    let mut measured = Measured::default();
    said(Said::Next("the first frame"));
    let begin = Instant::now();
    let mut bench = Bench::new(Sources::first_start(), screen, true)?;
    bench.window.frame(Vec::new(), true)?;
    // Fonts arrive with the second frame: that is the one a person reads.
    bench.window.frame(Vec::new(), true)?;
    measured.first_frame = begin.elapsed();
    said(Said::Found(Part::FirstFrame, &measured));
    said(Said::Next("frames while the network runs"));
    bench.say("tour 0")?;
    bench.while_running(false, &mut measured.running)?;
    said(Said::Found(Part::Running, &measured));
    said(Said::Next("gaps between drawn frames while the network runs"));
    bench.while_running(true, &mut measured.gaps)?;
    said(Said::Found(Part::Gaps, &measured));
    said(Said::Next("frames with idle engines"));
    bench.say("select divergence")?;
    for scene in SCENES {
        bench.scene(scene, &mut measured)?;
    }
    drop(bench);
    said(Said::Found(Part::Idle, &measured));
    for &size in sizes {
        said(Said::Next(&format!("selection to picture at {size}")));
        let sources = Sources { size, ..Sources::first_start() };
        measured.pictures.push(Pictures { size, waits: pictures(sources, screen)? });
        said(Said::Found(Part::Pictures, &measured));
    }
    Ok(measured)
}

/// A window and its bell.
struct Bench {
    window: Offscreen,
    bell: Arc<(Mutex<bool>, Condvar)>,
    frames: usize,
    screen: Screen,
}

impl Bench {
    fn new(sources: Sources, screen: Screen, drawn: bool) -> Result<Self, ShellError> {
        let bell: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let rung = Arc::clone(&bell);
        let waker = Waker::new(move || {
            *rung.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            rung.1.notify_all();
        });
        let window = Offscreen::new(Desk::new(Session::new(sources, waker), None), screen, drawn)?;
        Ok(Self { window, bell, frames: 0, screen })
    }

    fn session(&self) -> &Session {
        &self.window.desk.session
    }

    /// Applies a command given as text.
    fn say(&mut self, line: &str) -> Result<(), ShellError> {
        let command = line.parse::<Command>().map_err(|message| ShellError::Window { message })?;
        self.window.desk.session.apply(command);
        Ok(())
    }

    /// One frame with the pointer on its way over the canvas.
    fn frame(&mut self, drawn: bool) -> Result<FrameTime, ShellError> {
        self.frames += 1;
        // To and fro, faster across than down.
        let swing = |share: f32| 4.0 * ((share.fract() - 0.5).abs() - 0.25);
        let turn = self.frames as f32 * 0.03;
        let (width, height) = (self.screen.width as f32, self.screen.height as f32);
        let at = Pos2::new(width * (0.47 + 0.2 * swing(turn)), height * (0.45 + 0.2 * swing(turn * 0.7)));
        let at = at / self.screen.scale;
        self.window.frame(vec![Event::PointerMoved(at)], drawn)
    }

    /// Sleeps until a worker rings, or for so long.
    fn rest(&self, longest: Duration) {
        let rung = self.bell.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.bell.1.wait_timeout_while(rung, longest, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }

    /// Frames until nothing runs.
    fn settle(&mut self) -> Result<(), ShellError> {
        let begin = Instant::now();
        while !self.session().is_idle() {
            self.window.frame(Vec::new(), false)?;
            self.rest(Duration::from_millis(20));
            if begin.elapsed() > PATIENCE {
                let message = format!("still busy after {} s", PATIENCE.as_secs());
                return Err(ShellError::Window { message });
            }
        }
        Ok(())
    }

    /// Frames until the network has run as far as it shall; what is looked for in the background may go on.
    fn ran(&mut self) -> Result<(), ShellError> {
        let begin = Instant::now();
        loop {
            self.window.frame(Vec::new(), false)?;
            let session = self.session();
            if session.is_loaded() && session.run().activity.is_none() && !session.canvas().subject.is_pending() {
                return Ok(());
            }
            self.rest(Duration::from_millis(20));
            if begin.elapsed() > PATIENCE {
                let message = format!("two blocks still run after {} s", PATIENCE.as_secs());
                return Err(ShellError::Window { message });
            }
        }
    }

    /// Runs the whole network on fresh sources, at 60 frames a second: own work, or gaps between drawn frames.
    fn while_running(&mut self, drawn: bool, times: &mut Times) -> Result<(), ShellError> {
        // Another seed, so that nothing kept is used.
        self.say(if drawn { "input synthetic:3" } else { "input synthetic:2" })?;
        self.frame(false)?;
        self.say("run all")?;
        let (begin, mut last) = (Instant::now(), None::<Instant>);
        loop {
            let time = self.frame(drawn)?;
            let end = Instant::now();
            if self.session().run().activity.is_some() {
                match (drawn, last) {
                    (false, _) => times.0.push(time.total()),
                    (true, Some(last)) => times.0.push(end - last),
                    (true, None) => {}
                }
                last = Some(end);
            } else if self.session().is_idle() {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                let message = format!("the network still runs after {} s", PATIENCE.as_secs());
                return Err(ShellError::Window { message });
            }
            std::thread::sleep(VSYNC.saturating_sub(end.elapsed() + time.total()));
        }
    }

    /// One thing to look at: its own work and whole frames.
    fn scene(&mut self, commands: &[&str], measured: &mut Measured) -> Result<(), ShellError> {
        for line in commands {
            self.say(line)?;
        }
        // The frames in which pictures arrive count too: that is where they are prepared.
        for _ in 0..20 {
            measured.idle.0.push(self.frame(false)?.total());
            self.rest(Duration::from_millis(5));
        }
        self.settle()?;
        for _ in 0..20 {
            measured.idle.0.push(self.frame(false)?.total());
        }
        for _ in 0..8 {
            let begin = Instant::now();
            self.frame(true)?;
            measured.whole.0.push(begin.elapsed());
        }
        Ok(())
    }
}

/// Selects channels and tensors of a size, and waits for each picture.
fn pictures(sources: Sources, screen: Screen) -> Result<Times, ShellError> {
    let mut bench = Bench::new(sources, screen, false)?;
    bench.say("tour 0")?;
    // Two blocks: the whole field.
    bench.say("select tensor block-1")?;
    bench.say("run selection")?;
    bench.ran()?;
    let mut times = Times::default();
    for turn in 0..12 {
        let tensor = ["block-0", "block-1"][turn / 2 % 2];
        let before = bench.session().canvas().subject.shown().map_or(0, |picture| picture.id);
        let begin = Instant::now();
        bench.say(&format!("select tensor {tensor}"))?;
        bench.say(&format!("select channel {turn}"))?;
        loop {
            bench.window.frame(Vec::new(), false)?;
            let canvas = &bench.session().canvas().subject;
            let there = canvas.shown().is_some_and(|picture| picture.id > before && picture.tensor.as_str() == tensor);
            if there && !canvas.is_pending() {
                break;
            }
            if begin.elapsed() > PATIENCE {
                return Err(ShellError::Window { message: format!("no picture of {tensor} came") });
            }
            bench.rest(Duration::from_millis(10));
        }
        times.0.push(begin.elapsed());
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_tell_the_middle_and_the_longest() {
        let times = Times([5, 1, 9, 3, 4].map(Duration::from_millis).into());
        assert_eq!(times.median(), Duration::from_millis(4), "the middle");
        assert_eq!(times.max(), Duration::from_millis(9), "the longest");
        assert_eq!(Times::default().median(), Duration::ZERO, "of nothing");
    }

    #[test]
    fn every_scene_is_made_of_commands() {
        for line in SCENES.iter().copied().flatten() {
            assert!(line.parse::<Command>().is_ok(), "{line}");
        }
    }
}
