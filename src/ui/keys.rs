//! Keys to commands: the session's table, read from egui's events.

use crate::session::{Binding, Command, FLICK, bindings};
use egui::{Context, Key, Modifiers};

/// Commands of the keys pressed in this frame. Nothing while a text field or a focused control takes them.
pub(super) fn pressed(ctx: &Context) -> Vec<Command> {
    let typing = ctx.text_edit_focused();
    let focused = ctx.memory(|memory| memory.focused().is_some());
    let mut commands = Vec::new();
    ctx.input_mut(|input| {
        // Longer chords first, so that Shift+Space is not taken for Space.
        let mut table: Vec<(Modifiers, Key, Command)> = bindings()
            .into_iter()
            .filter_map(|Binding { key, command }| parse(key).map(|(m, k)| (m, k, command)))
            .collect();
        table.sort_by_key(|(modifiers, ..)| std::cmp::Reverse(weight(*modifiers)));
        for (modifiers, key, command) in table {
            let chord = modifiers.command || modifiers.alt || is_function(key);
            let walks = matches!(
                key,
                Key::Space | Key::Enter | Key::ArrowLeft | Key::ArrowRight | Key::ArrowUp | Key::ArrowDown
            );
            let taken = (typing && !chord && key != Key::Escape) || (focused && walks && !chord);
            if !taken && input.consume_key(modifiers, key) {
                commands.push(command);
            }
        }
    });
    commands
}

/// Whether the flick key is held.
pub(super) fn flicking(ctx: &Context) -> bool {
    let Some((_, key)) = parse(FLICK) else { return false };
    !ctx.text_edit_focused() && ctx.input(|input| input.key_down(key) && input.modifiers.is_none())
}

fn weight(modifiers: Modifiers) -> u32 {
    u32::from(modifiers.shift) + u32::from(modifiers.command) + u32::from(modifiers.alt)
}

fn is_function(key: Key) -> bool {
    key.name().starts_with('F') && key.name().len() > 1
}

/// A key as people write it.
pub(super) fn parse(text: &str) -> Option<(Modifiers, Key)> {
    let mut modifiers = Modifiers::NONE;
    let mut rest = text;
    loop {
        let lead = [("Ctrl+", Modifiers::COMMAND), ("Shift+", Modifiers::SHIFT), ("Alt+", Modifiers::ALT)];
        let Some((lead, modifier)) =
            lead.into_iter().find(|(lead, _)| rest.starts_with(lead) && rest.len() > lead.len())
        else {
            break;
        };
        modifiers |= modifier;
        rest = &rest[lead.len()..];
    }
    let key = match rest {
        "+" => Key::Plus,
        "-" => Key::Minus,
        "Left" => Key::ArrowLeft,
        "Right" => Key::ArrowRight,
        "Up" => Key::ArrowUp,
        "Down" => Key::ArrowDown,
        name => Key::from_name(name)?,
    };
    Some((modifiers, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_binding_is_a_key_and_no_two_collide() {
        let mut seen: Vec<(String, String)> = Vec::new();
        for Binding { key, command } in bindings() {
            assert!(parse(key).is_some(), "\"{key}\" is a key");
            let double = seen.iter().find(|(other, _)| other == key);
            assert!(double.is_none(), "\"{key}\" does {command:?} and {double:?}");
            seen.push((key.to_owned(), format!("{command:?}")));
        }
        assert!(parse(FLICK).is_some(), "the flick key is a key");
    }
}
