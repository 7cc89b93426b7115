//! `blockscope bench --ui`: what the window costs a person, beside what was promised.

use super::{Exit, Failure, output};
use crate::geometry::Size;
use crate::shell::bench::{self, Measured, Part, Said, Times};
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
    /// How many were measured.
    count: usize,
}

impl Line {
    fn new(name: impl Into<String>, found: Duration, promised: f64) -> Self {
        Self { name: name.into(), found: found.as_secs_f64() * 1e3, promised, count: 1 }
    }

    /// The middle one of many.
    fn of(name: impl Into<String>, times: &Times, promised: f64) -> Self {
        Self::new(name, times.median(), promised).counted(times)
    }

    fn counted(self, times: &Times) -> Self {
        Self { count: times.0.len(), ..self }
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
    if loud {
        output::line(format_args!("a window of {}x{}", screen.width, screen.height));
    }
    let measured = bench::measure(screen, &PICTURES.map(|(size, _)| size), |said| match said {
        Said::Next(what) if loud => output::line(format_args!("measuring {what}")),
        // Of several sizes, the last is new.
        Said::Found(Part::Pictures, measured) if loud => lines(Part::Pictures, measured).iter().last().map_or((), tell),
        Said::Found(part, measured) if loud => lines(part, measured).iter().for_each(tell),
        Said::Next(_) | Said::Found(..) => {}
    })
    .map_err(Failure::ask)?;
    let parts = [Part::FirstFrame, Part::Running, Part::Gaps, Part::Idle, Part::Pictures];
    let lines: Vec<Line> = parts.into_iter().flat_map(|part| lines(part, &measured)).collect();
    let missed = lines.iter().filter(|line| !line.kept()).count();
    if loud {
        output::line(format_args!("{} of {} promises kept", lines.len() - missed, lines.len()));
    }
    if let Some(target) = json {
        output::text_to(target, &format!("{:#}\n", value(&measured, &lines, screen)))?;
    }
    Ok(Exit::Exact)
}

/// What was promised of a part, and what was found.
fn lines(part: Part, measured: &Measured) -> Vec<Line> {
    let Measured { first_frame, idle, running, whole, gaps, pictures } = measured;
    let frames = |name: &str, times: &Times| {
        let what = format!("own work per frame, {name}");
        let longest = Line::new(format!("{what}, longest"), times.max(), 16.0);
        vec![Line::of(format!("{what}, median"), times, 6.0), longest]
    };
    match part {
        Part::FirstFrame => vec![Line::new("start to first frame", *first_frame, 1500.0)],
        Part::Running => frames("network running", running),
        Part::Gaps => {
            let longest = Line::new("gap between frames, network running, longest", gaps.max(), 100.0);
            vec![longest.counted(gaps)]
        }
        Part::Idle => {
            let mut lines = frames("idle engines", idle);
            lines.push(Line::of("whole frame drawn, idle engines, median", whole, 33.0));
            lines
        }
        Part::Pictures => {
            let picture = |(found, (size, promised)): (&bench::Pictures, (Size, f64))| {
                Line::of(format!("selection to picture at {size}, median"), &found.waits, promised)
            };
            pictures.iter().zip(PICTURES).map(picture).collect()
        }
    }
}

fn tell(line: &Line) {
    let verdict = if line.kept() { "kept" } else { "MISSED" };
    let of = if line.count > 1 { format!("   of {}", line.count) } else { String::new() };
    output::line(format_args!(
        "  {:48} {:9.2} ms   promised {:6.0} ms   {verdict}{of}",
        line.name, line.found, line.promised
    ));
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
