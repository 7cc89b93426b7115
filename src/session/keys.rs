//! The keys: one table for the window, the palette's hints and the help page.

use super::{Command, Dialog, Mode, Overlay, Select, Tab, Transport, ViewChange};

/// A key with what it does. Keys are written as people read them: `Ctrl+Shift+P`, `F10`, `Space`, `Left`.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The key.
    pub key: &'static str,
    /// The command.
    pub command: Command,
}

/// Every binding, grouped as the help page shows them.
pub fn bindings() -> Vec<Binding> {
    let run = Command::Run;
    let select = Command::Select;
    let view = Command::View;
    let overlay = |layer| view(ViewChange::Overlay(layer, None));
    let mode = |mode| view(ViewChange::Mode(mode));
    let tab = |tab| view(ViewChange::Tab(tab));
    let table = [
        ("Home", run(Transport::First)),
        ("Shift+Space", run(Transport::Back)),
        ("Shift+F11", run(Transport::Back)),
        ("Space", run(Transport::StepKernel)),
        ("F11", run(Transport::StepKernel)),
        ("F10", run(Transport::StepBlock)),
        ("Ctrl+F10", run(Transport::ToSelection)),
        ("F9", run(Transport::ToDivergence)),
        ("F5", run(Transport::All)),
        ("Shift+F5", run(Transport::Stop)),
        ("Right", select(Select::StepBy(1))),
        ("Left", select(Select::StepBy(-1))),
        ("Down", select(Select::BlockBy(1))),
        ("Up", select(Select::BlockBy(-1))),
        ("C", select(Select::ChannelBy(1))),
        ("Shift+C", select(Select::ChannelBy(-1))),
        ("L", select(Select::TokenBy(1, 0))),
        ("H", select(Select::TokenBy(-1, 0))),
        ("J", select(Select::TokenBy(0, 1))),
        ("K", select(Select::TokenBy(0, -1))),
        ("G", select(Select::Divergence)),
        ("D", select(Select::Difference)),
        ("1", mode(Mode::Subject)),
        ("2", mode(Mode::Reference)),
        ("3", mode(Mode::Difference)),
        ("4", mode(Mode::Split)),
        ("5", mode(Mode::SideBySide)),
        ("6", mode(Mode::Flick)),
        ("W", overlay(Overlay::Windows)),
        ("V", overlay(Overlay::Valid)),
        ("T", overlay(Overlay::Tiles)),
        ("O", overlay(Overlay::Outside)),
        ("M", overlay(Overlay::Mismatches)),
        ("N", overlay(Overlay::Nan)),
        ("Z", overlay(Overlay::MinusZero)),
        ("S", overlay(Overlay::Saturation)),
        ("E", overlay(Overlay::Explained)),
        ("Shift+M", overlay(Overlay::Minimap)),
        ("+", view(ViewChange::ZoomBy(1.25))),
        ("-", view(ViewChange::ZoomBy(0.8))),
        ("0", view(ViewChange::Zoom(None))),
        ("Shift+0", view(ViewChange::Zoom(Some(1.0)))),
        ("Alt+1", tab(Tab::Probe)),
        ("Alt+2", tab(Tab::Attention)),
        ("Alt+3", tab(Tab::Trace)),
        ("Alt+4", tab(Tab::Statistics)),
        ("Alt+5", tab(Tab::Events)),
        ("Alt+6", tab(Tab::Causes)),
        ("Alt+7", tab(Tab::Notes)),
        ("P", Command::Pin(String::new())),
        ("Ctrl+B", Command::Bookmark(String::new())),
        ("Ctrl+Z", Command::Undo),
        ("Ctrl+Y", Command::Redo),
        ("Ctrl+Shift+Z", Command::Redo),
        ("Ctrl+Shift+P", Command::Show(Some(Dialog::Palette))),
        ("Ctrl+O", Command::Show(Some(Dialog::Open))),
        ("Ctrl+R", Command::Show(Some(Dialog::Sources))),
        ("F1", Command::Show(Some(Dialog::Keys))),
        ("Escape", Command::Show(None)),
        ("Ctrl+D", Command::Diagnose),
        ("Ctrl+Q", Command::Quit),
    ];
    table.map(|(key, command)| Binding { key, command }).into()
}

/// The key whose holding flicks to the other side.
pub const FLICK: &str = "F";

/// The first key of a command.
pub fn key_of(command: &Command) -> Option<&'static str> {
    bindings().into_iter().find(|binding| binding.command == *command).map(|binding| binding.key)
}
