//! `blockscope bench --ui`: what the window costs a person, beside what was promised.

use super::{Exit, Failure, output};
use crate::geometry::Size;
use crate::shell::bench::{self, Measured, Times};
use crate::shell::offscreen::Screen;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// The sizes at which the wait for a picture is promised, with the promise in milliseconds.
const PICTURES: [(Size, f64); 2] =
    [(Size { width: 512, height: 512 }, 60.0), (Size { width: 3840, height: 2160 }, 250.0)];

/// One number beside its promise.
struct Line {
    name: String,
    found: f64,
    promised: f64,
}

impl Line {
    fn new(name: impl Into<String>, found: Duration, promised: f64) -> Self {
        Self { name: name.into(), found: found.as_secs_f64() * 1e3, promised }
    }

    fn kept(&self) -> bool {
        self.found <= self.promised
    }
}

pub(super) fn run(json: Option<&str>) -> Result<Exit, Failure> {
    if let Some(file) = json.filter(|file| *file != "-") {
        output::check_writable(Path::new(file))?;
    }
    let loud = json != Some("-");
    let screen = Screen::default();
    let measured = bench::measure(screen, &PICTURES.map(|(size, _)| size), |what| {
        if loud {
            output::line(format_args!("measuring {what}"));
        }
    })
    .map_err(Failure::ask)?;
    let lines = lines(&measured);
    if loud {
        tell(&measured, &lines, screen);
    }
    if let Some(target) = json {
        output::text_to(target, &format!("{:#}\n", value(&measured, &lines, screen)))?;
    }
    Ok(Exit::Exact)
}

/// What was promised, and what was found.
fn lines(measured: &Measured) -> Vec<Line> {
    let Measured { first_frame, idle, running, whole, gaps, pictures } = measured;
    let mut lines = vec![
        Line::new("start to first frame", *first_frame, 1500.0),
        Line::new("own work per frame, idle engines, median", idle.median(), 6.0),
        Line::new("own work per frame, idle engines, longest", idle.max(), 16.0),
        Line::new("own work per frame, network running, median", running.median(), 6.0),
        Line::new("own work per frame, network running, longest", running.max(), 16.0),
        Line::new("whole frame drawn, idle engines, median", whole.median(), 33.0),
        Line::new("gap between frames, network running, longest", gaps.max(), 100.0),
    ];
    for (found, (size, promised)) in pictures.iter().zip(PICTURES) {
        lines.push(Line::new(format!("selection to picture at {size}, median"), found.waits.median(), promised));
    }
    lines
}

fn tell(measured: &Measured, lines: &[Line], screen: Screen) {
    let Measured { idle, running, whole, gaps, .. } = measured;
    output::line(format_args!(
        "window of {}x{}: {} frames idle, {} running, {} drawn, {} gaps",
        screen.width,
        screen.height,
        idle.0.len(),
        running.0.len(),
        whole.0.len(),
        gaps.0.len()
    ));
    for line in lines {
        let verdict = if line.kept() { "kept" } else { "MISSED" };
        output::line(format_args!(
            "  {:48} {:9.2} ms   promised {:6.0} ms   {verdict}",
            line.name, line.found, line.promised
        ));
    }
}

fn value(measured: &Measured, lines: &[Line], screen: Screen) -> Value {
    let milliseconds = |times: &Times| times.0.iter().map(|time| time.as_secs_f64() * 1e3).collect::<Vec<_>>();
    let promise = |line: &Line| json!({ "name": line.name, "milliseconds": line.found, "promised": line.promised, "kept": line.kept() });
    let pictures: Vec<Value> = measured
        .pictures
        .iter()
        .map(|found| json!({ "size": found.size.to_string(), "milliseconds": milliseconds(&found.waits) }))
        .collect();
    json!({
        "window": format!("{}x{}", screen.width, screen.height),
        "promises": lines.iter().map(promise).collect::<Vec<_>>(),
        "firstFrameMilliseconds": measured.first_frame.as_secs_f64() * 1e3,
        "idleMilliseconds": milliseconds(&measured.idle),
        "runningMilliseconds": milliseconds(&measured.running),
        "wholeMilliseconds": milliseconds(&measured.whole),
        "gapMilliseconds": milliseconds(&measured.gaps),
        "pictures": pictures,
    })
}
