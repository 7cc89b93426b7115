//! Commands as lines of text, both ways.

use super::command::{Browse, Command, CopyWhat, Select, Transport, ViewChange};
use super::{Range, Token};
use crate::diagnosis::trust::Depth;
use crate::engine::memory;
use std::fmt;
use std::str::FromStr;

/// How thorough a check of the machine is.
const DEPTHS: &[(Depth, &str)] = &[(Depth::Quick, "quick"), (Depth::Whole, "whole")];
/// Whether a bundle holds weights.
const WEIGHTS: &[(bool, &str)] = &[(true, "with-weights"), (false, "without-weights")];

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(path) => write!(f, "open {path}"),
            Self::Model(spec) => write!(f, "model {spec}"),
            Self::Input(spec) => write!(f, "input {spec}"),
            Self::Size(size) => write!(f, "size {size}"),
            Self::Subject(spec) => write!(f, "subject {spec}"),
            Self::Reference(spec) => write!(f, "reference {spec}"),
            Self::Watch(folder) => write!(f, "watch {folder}"),
            Self::Memory(None) => f.write_str("memory unlimited"),
            Self::Memory(Some(bytes)) => write!(f, "memory {}", memory::words(*bytes)),
            Self::Spill(None) => f.write_str("spill temporary"),
            Self::Spill(Some(folder)) => write!(f, "spill {folder}"),
            Self::Swap => f.write_str("swap"),
            Self::Browse(what) => write!(f, "browse {}", what.word()),
            Self::Run(transport) => f.write_str(transport.words()),
            Self::Select(select) => write!(f, "select {select}"),
            Self::View(change) => write!(f, "view {change}"),
            Self::Show(None) => f.write_str("show nothing"),
            Self::Show(Some(dialog)) => write!(f, "show {dialog}"),
            Self::Define(term) => write!(f, "define {term}"),
            Self::Tour(step) => write!(f, "tour {step}"),
            Self::Pin(name) => write!(f, "pin {name}"),
            Self::Unpin(pin) => write!(f, "unpin {pin}"),
            Self::RenamePin(pin, name) => write!(f, "rename-pin {pin} {name}"),
            Self::GoPin(pin) => write!(f, "go-pin {pin}"),
            Self::Bookmark(note) => write!(f, "bookmark {note}"),
            Self::GoBookmark(bookmark) => write!(f, "go-bookmark {bookmark}"),
            Self::NoteBookmark(bookmark, note) => write!(f, "note-bookmark {bookmark} {note}"),
            Self::RemoveBookmark(bookmark) => write!(f, "remove-bookmark {bookmark}"),
            Self::Undo => f.write_str("undo"),
            Self::Redo => f.write_str("redo"),
            Self::Copy(what) => write!(f, "copy {}", what.word()),
            Self::ExportCanvas(path) => write!(f, "export canvas {path}"),
            Self::ExportTensor(path) => write!(f, "export tensor {path}"),
            Self::Report(path) => write!(f, "report {path}"),
            Self::Bundle { weights, path } => write!(f, "bundle {} {path}", word_of(*weights, WEIGHTS)),
            Self::Diagnose => f.write_str("diagnose"),
            Self::Doctor(depth) => write!(f, "doctor {}", word_of(*depth, DEPTHS)),
            Self::Cancel(job) => write!(f, "cancel {job}"),
            Self::Dismiss(message) => write!(f, "dismiss {message}"),
            Self::Quit => f.write_str("quit"),
        }
    }
}

impl FromStr for Command {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let line = line.trim();
        let (word, rest) = split(line);
        let text = || rest.to_owned();
        let path = || if rest.is_empty() { Err(format!("\"{word}\" needs something after it")) } else { Ok(text()) };
        Ok(match word {
            "open" => Self::Open(path()?),
            "model" => Self::Model(path()?),
            "input" => Self::Input(path()?),
            "size" => Self::Size(rest.parse().map_err(|error: crate::geometry::GeometryError| error.to_string())?),
            "subject" => Self::Subject(path()?),
            "reference" => Self::Reference(path()?),
            "watch" => Self::Watch(path()?),
            "memory" if rest == "unlimited" => Self::Memory(None),
            "memory" => Self::Memory(Some(memory::bytes(rest)?)),
            "spill" if rest == "temporary" => Self::Spill(None),
            "spill" => Self::Spill(Some(path()?)),
            "swap" => Self::Swap,
            "browse" => Self::Browse(Browse::parse(rest)?),
            "first" | "back" | "step" | "run" | "stop" => Self::Run(Transport::parse(line)?),
            "select" => Self::Select(rest.parse()?),
            "view" => Self::View(rest.parse()?),
            "show" if rest == "nothing" => Self::Show(None),
            "show" => Self::Show(Some(rest.parse()?)),
            "define" => Self::Define(path()?),
            "tour" => Self::Tour(number(rest)?),
            "pin" => Self::Pin(text()),
            "unpin" => Self::Unpin(number(rest)?),
            "rename-pin" => numbered(rest).map(|(pin, name)| Self::RenamePin(pin, name))?,
            "go-pin" => Self::GoPin(number(rest)?),
            "bookmark" => Self::Bookmark(text()),
            "go-bookmark" => Self::GoBookmark(number(rest)?),
            "note-bookmark" => numbered(rest).map(|(bookmark, note)| Self::NoteBookmark(bookmark, note))?,
            "remove-bookmark" => Self::RemoveBookmark(number(rest)?),
            "undo" => Self::Undo,
            "redo" => Self::Redo,
            "copy" => Self::Copy(CopyWhat::parse(rest)?),
            "export" => match split(rest) {
                ("canvas", path) if !path.is_empty() => Self::ExportCanvas(path.to_owned()),
                ("tensor", path) if !path.is_empty() => Self::ExportTensor(path.to_owned()),
                _ => return Err(format!("expected \"export canvas|tensor FILE\"; found \"{line}\"")),
            },
            "report" => Self::Report(path()?),
            "bundle" => match split(rest) {
                (word, path) if !path.is_empty() => {
                    Self::Bundle { weights: among(word, WEIGHTS)?, path: path.to_owned() }
                }
                _ => return Err(format!("expected \"bundle with-weights|without-weights DIR\"; found \"{line}\"")),
            },
            "diagnose" => Self::Diagnose,
            "doctor" => Self::Doctor(among(rest, DEPTHS)?),
            "cancel" => Self::Cancel(number(rest)?),
            "dismiss" => Self::Dismiss(number(rest)?),
            "quit" => Self::Quit,
            _ => return Err(format!("no command starts with \"{word}\"; `blockscope play --help` lists them")),
        })
    }
}

/// The first word, and the rest without the blanks between.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// One number.
fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_bad| format!("expected a number; found \"{text}\""))
}

/// One number that is neither infinite nor none.
fn finite(text: &str) -> Result<f32, String> {
    let value: f32 = number(text)?;
    if value.is_finite() { Ok(value) } else { Err(format!("expected a finite number; found \"{text}\"")) }
}

/// Two numbers that are neither infinite nor none.
fn finite_pair(text: &str) -> Result<(f32, f32), String> {
    let [first, second]: [f32; 2] = numbers(text)?;
    if first.is_finite() && second.is_finite() {
        return Ok((first, second));
    }
    Err(format!("expected finite numbers; found \"{text}\""))
}

/// Exactly `N` numbers.
fn numbers<T: FromStr + Copy, const N: usize>(text: &str) -> Result<[T; N], String> {
    let all: Vec<T> = text.split_whitespace().map(number).collect::<Result<_, _>>()?;
    <[T; N]>::try_from(all).map_err(|all: Vec<T>| format!("expected {N} numbers; found {} in \"{text}\"", all.len()))
}

/// A number and the text behind it.
fn numbered(text: &str) -> Result<(usize, String), String> {
    let (first, rest) = split(text);
    Ok((number(first)?, rest.to_owned()))
}

/// `on`, `off`, or nothing for a toggle.
fn switch(text: &str) -> Result<Option<bool>, String> {
    match text {
        "" => Ok(None),
        "on" => Ok(Some(true)),
        "off" => Ok(Some(false)),
        _ => Err(format!("expected on, off or nothing; found \"{text}\"")),
    }
}

/// A toggle's ending.
fn switched(on: Option<bool>) -> &'static str {
    match on {
        None => "",
        Some(true) => " on",
        Some(false) => " off",
    }
}

fn among<T: Copy>(text: &str, all: &[(T, &'static str)]) -> Result<T, String> {
    let words: Vec<&str> = all.iter().map(|(_, word)| *word).collect();
    let found = all.iter().find(|(_, word)| *word == text).map(|(value, _)| *value);
    found.ok_or_else(|| format!("expected one of {}; found \"{text}\"", words.join(", ")))
}

fn word_of<T: Copy + PartialEq>(value: T, all: &[(T, &'static str)]) -> &'static str {
    all.iter().find(|(other, _)| *other == value).map_or("", |(_, word)| *word)
}

impl Transport {
    /// Every transport command with its words.
    pub const ALL: &'static [(Self, &'static str)] = &[
        (Self::First, "first"),
        (Self::Back, "back"),
        (Self::StepKernel, "step kernel"),
        (Self::StepBlock, "step block"),
        (Self::ToSelection, "run selection"),
        (Self::ToDivergence, "run divergence"),
        (Self::All, "run all"),
        (Self::Stop, "stop"),
    ];

    /// Its words.
    pub fn words(self) -> &'static str {
        word_of(self, Self::ALL)
    }

    fn parse(text: &str) -> Result<Self, String> {
        among(text, Self::ALL)
    }
}

impl Browse {
    /// Every kind with its word.
    pub const ALL: &'static [(Self, &'static str)] = &[
        (Self::Model, "model"),
        (Self::Input, "input"),
        (Self::Subject, "subject"),
        (Self::Reference, "reference"),
        (Self::Watch, "watch"),
        (Self::Spill, "spill"),
        (Self::ExportCanvas, "export-canvas"),
        (Self::ExportTensor, "export-tensor"),
        (Self::Report, "report"),
        (Self::Bundle, "bundle"),
        (Self::BundleWithoutWeights, "bundle-without-weights"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        word_of(self, Self::ALL)
    }

    fn parse(text: &str) -> Result<Self, String> {
        among(text, Self::ALL)
    }
}

impl CopyWhat {
    /// Every kind with its word.
    pub const ALL: &'static [(Self, &'static str)] = &[
        (Self::Probe, "probe"),
        (Self::Trace, "trace"),
        (Self::Verdict, "verdict"),
        (Self::CommandLine, "command-line"),
        (Self::Doctor, "doctor"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        word_of(self, Self::ALL)
    }

    fn parse(text: &str) -> Result<Self, String> {
        among(text, Self::ALL)
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(block) => write!(f, "block {block}"),
            Self::Step(step) => write!(f, "step {step}"),
            Self::Tensor(name) => write!(f, "tensor {name}"),
            Self::StepBy(by) => write!(f, "step-by {by}"),
            Self::BlockBy(by) => write!(f, "block-by {by}"),
            Self::Channel(channel) => write!(f, "channel {channel}"),
            Self::ChannelBy(by) => write!(f, "channel-by {by}"),
            Self::Rgb([r, g, b]) => write!(f, "rgb {r} {g} {b}"),
            Self::Token(None) => f.write_str("token none"),
            Self::Token(Some(token)) => write!(f, "token {} {}", token.x, token.y),
            Self::TokenBy(x, y) => write!(f, "token-by {x} {y}"),
            Self::Hover(None) => f.write_str("hover none"),
            Self::Hover(Some(token)) => write!(f, "hover {} {}", token.x, token.y),
            Self::Window(x, y) => write!(f, "window {x} {y}"),
            Self::Head(head) => write!(f, "head {head}"),
            Self::Query(query) => write!(f, "query {query}"),
            Self::Divergence => f.write_str("divergence"),
            Self::Difference => f.write_str("difference"),
        }
    }
}

fn token(text: &str) -> Result<Option<Token>, String> {
    if text == "none" {
        return Ok(None);
    }
    numbers::<usize, 2>(text).map(|[x, y]| Some(Token { x, y }))
}

impl FromStr for Select {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = split(text);
        Ok(match word {
            "block" => Self::Block(number(rest)?),
            "step" => Self::Step(number(rest)?),
            "tensor" if !rest.is_empty() => Self::Tensor(rest.into()),
            "step-by" => Self::StepBy(number(rest)?),
            "block-by" => Self::BlockBy(number(rest)?),
            "channel" => Self::Channel(number(rest)?),
            "channel-by" => Self::ChannelBy(number(rest)?),
            "rgb" => Self::Rgb(numbers(rest)?),
            "token" => Self::Token(token(rest)?),
            "token-by" => numbers::<isize, 2>(rest).map(|[x, y]| Self::TokenBy(x, y))?,
            "hover" => Self::Hover(token(rest)?),
            "window" => numbers::<usize, 2>(rest).map(|[x, y]| Self::Window(x, y))?,
            "head" => Self::Head(number(rest)?),
            "query" => Self::Query(number(rest)?),
            "divergence" => Self::Divergence,
            "difference" => Self::Difference,
            _ => return Err(format!("nothing can be selected by \"{text}\"")),
        })
    }
}

impl fmt::Display for ViewChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode(mode) => write!(f, "mode {mode}"),
            Self::Image(image) => write!(f, "image {image}"),
            Self::Basis(basis) => write!(f, "basis {basis}"),
            Self::Split(at) => write!(f, "split {at}"),
            Self::Flick(side) => write!(f, "flick {side}"),
            Self::Reduction(reduction) => write!(f, "reduction {reduction}"),
            Self::Map(map) => write!(f, "map {map}"),
            Self::Range(Range::Auto) => f.write_str("range auto"),
            Self::Range(Range::Percentile(percent)) => write!(f, "range percentile {percent}"),
            Self::Range(Range::Fixed(low, high)) => write!(f, "range fixed {low} {high}"),
            Self::Log(on) => write!(f, "log{}", switched(Some(*on))),
            Self::Difference(difference) => write!(f, "difference {difference}"),
            Self::Overlay(overlay, on) => write!(f, "overlay {overlay}{}", switched(*on)),
            Self::Zoom(None) => f.write_str("zoom fit"),
            Self::Zoom(Some(zoom)) => write!(f, "zoom {zoom}"),
            Self::ZoomBy(factor) => write!(f, "zoom-by {factor}"),
            Self::Centre(x, y) => write!(f, "centre {x} {y}"),
            Self::Tab(tab) => write!(f, "tab {tab}"),
            Self::Keys(order) => write!(f, "keys {order}"),
            Self::Numbers(numbers) => write!(f, "numbers {numbers}"),
            Self::Attention(part) => write!(f, "attention {part}"),
            Self::WhatIf(what, on) => write!(f, "what-if {what}{}", switched(*on)),
            Self::Event(kind, on) => write!(f, "event {kind}{}", switched(*on)),
            Self::Theme(theme) => write!(f, "theme {theme}"),
            Self::Scale(scale) => write!(f, "scale {scale}"),
        }
    }
}

impl FromStr for ViewChange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = split(text);
        let (first, second) = split(rest);
        Ok(match word {
            "mode" => Self::Mode(rest.parse()?),
            "image" => Self::Image(rest.parse()?),
            "basis" => Self::Basis(rest.parse()?),
            "split" => Self::Split(finite(rest)?),
            "flick" => Self::Flick(rest.parse()?),
            "reduction" => Self::Reduction(rest.parse()?),
            "map" => Self::Map(rest.parse()?),
            "range" => Self::Range(match first {
                "auto" => Range::Auto,
                "percentile" => Range::Percentile(finite(second)?),
                "fixed" => finite_pair(second).map(|(low, high)| Range::Fixed(low, high))?,
                _ => return Err(format!("expected auto, percentile P or fixed LOW HIGH; found \"{rest}\"")),
            }),
            "log" => Self::Log(switch(rest)?.ok_or("expected on or off")?),
            "difference" => Self::Difference(rest.parse()?),
            "overlay" => Self::Overlay(first.parse()?, switch(second)?),
            "zoom" if rest == "fit" => Self::Zoom(None),
            "zoom" => Self::Zoom(Some(finite(rest)?)),
            "zoom-by" => Self::ZoomBy(finite(rest)?),
            "centre" => finite_pair(rest).map(|(x, y)| Self::Centre(x, y))?,
            "tab" => Self::Tab(rest.parse()?),
            "keys" => Self::Keys(rest.parse()?),
            "numbers" => Self::Numbers(rest.parse()?),
            "attention" => Self::Attention(rest.parse()?),
            "what-if" => Self::WhatIf(first.parse()?, switch(second)?),
            "event" => Self::Event(first.parse()?, switch(second)?),
            "theme" => Self::Theme(rest.parse()?),
            "scale" => Self::Scale(finite(rest)?),
            _ => return Err(format!("the view has no \"{word}\"")),
        })
    }
}
