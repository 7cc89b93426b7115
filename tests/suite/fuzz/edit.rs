//! How valid files are damaged: as JSON values first, then as bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// A change of a JSON value. Nodes are counted from the root down.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    /// Another value in a node's place.
    Replace(Index, Value),
    /// A child of a node is gone.
    Remove(Index, Index),
    /// A node's value in another's place.
    Copy(Index, Index),
    /// A list has a child twice; an object has it under another name.
    Again(Index, Index, String),
    /// A number is a little different.
    Nudge(Index, i64),
}

/// A change of bytes.
#[derive(Clone, Debug)]
pub(super) enum Damage {
    /// Only the first bytes are left.
    Cut(Index),
    /// A byte is another.
    Byte(Index, u8),
    /// Bytes were put in.
    Insert(Index, Vec<u8>),
    /// Bytes were overwritten.
    Overwrite(Index, Vec<u8>),
    /// Bytes are gone.
    Remove(Index, usize),
}

/// Values that break readers.
fn odd_value() -> impl Strategy<Value = Value> {
    let odd = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(71),
        json!(64),
        json!(16_384),
        json!(65_535),
        json!(1_u64 << 32),
        json!(1_u64 << 60),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(0.5),
        json!(-0.0),
        json!(64.0),
        json!(9_007_199_254_740_993_u64),
        json!(1e300),
        json!([]),
        json!({}),
        json!([[]]),
        json!([64, 64]),
        json!([16_384, 16_384]),
        json!([1e300, -5]),
        json!({ "file": "x" }),
        json!({ "file": "../x", "width": 1, "height": 1_u64 << 60 }),
        json!([{ "block": 3, "file": "x" }]),
    ];
    prop_oneof![
        3 => select(odd.to_vec()),
        3 => text().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
    ]
}

/// Texts that are names, paths or digits elsewhere in these files, or anything.
pub(super) fn text() -> impl Strategy<Value = String> {
    let known = [
        "",
        ".",
        "..",
        "/",
        "/etc/passwd",
        "a/../..",
        "C:\\x",
        "\0",
        "\u{feff}",
        "e\u{301}\u{1f600}",
        "block-0",
        "block-12",
        "block-70",
        "block-9999999999999999999",
        "transition-0-1",
        "4-5",
        "head",
        "post merge raw",
        "features",
        "block-12/qkv",
        "f16",
        "f32",
        "e4m3",
        "u8",
        "boundaries",
        "output",
        "s00",
        "file",
        "sha256",
        "width",
        "00000000000000000000000000000000000000000000000000000000000000ff",
        "69527d6cce3e10cf",
        "stages/s00.bin",
        "nan",
        "inf",
        "-0",
        "1e999",
        "18446744073709551616",
    ];
    let long = (any::<char>(), 0_usize..3000).prop_map(|(c, n)| c.to_string().repeat(n));
    let any = vec(any::<char>(), 0..12).prop_map(|chars| chars.into_iter().collect());
    prop_oneof![6 => select(known.to_vec()).prop_map(str::to_owned), 2 => any, 1 => long]
}

pub(super) fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = any::<Index>;
    let edit = prop_oneof![
        4 => (at(), odd_value()).prop_map(|(i, value)| Edit::Replace(i, value)),
        2 => (at(), at()).prop_map(|(i, child)| Edit::Remove(i, child)),
        2 => (at(), at()).prop_map(|(from, to)| Edit::Copy(from, to)),
        2 => (at(), at(), text()).prop_map(|(i, child, name)| Edit::Again(i, child, name)),
        2 => (at(), -20_i64..20).prop_map(|(i, by)| Edit::Nudge(i, by)),
    ];
    vec(edit, 0..4)
}

/// Up to `most` changes of bytes.
pub(super) fn damage(most: usize) -> impl Strategy<Value = Vec<Damage>> {
    let at = any::<Index>;
    let bits = [0_u64, 1, 0x7fff_ffff, 0xffff_ffff, 1 << 40, 1 << 60, u64::MAX];
    let number = (select(bits.to_vec()), 1_usize..=8, any::<bool>()).prop_map(|(bits, n, little)| {
        if little { bits.to_le_bytes()[..n].to_vec() } else { bits.to_be_bytes()[8 - n..].to_vec() }
    });
    let digits = select(vec![
        "0",
        "-1",
        "99999999999999999999",
        "1152921504606846976",
        "4294967295",
        "(",
        ")",
        "'",
        "\"",
        ",",
        "{",
        "[",
    ]);
    let bytes = || {
        prop_oneof![number.clone(), digits.clone().prop_map(|text| text.as_bytes().to_vec()), vec(any::<u8>(), 1..9),]
    };
    let one = prop_oneof![
        1 => at().prop_map(Damage::Cut),
        4 => (at(), any::<u8>()).prop_map(|(i, byte)| Damage::Byte(i, byte)),
        2 => (at(), bytes()).prop_map(|(i, bytes)| Damage::Insert(i, bytes)),
        3 => (at(), bytes()).prop_map(|(i, bytes)| Damage::Overwrite(i, bytes)),
        1 => (at(), 1_usize..40).prop_map(|(i, n)| Damage::Remove(i, n)),
    ];
    vec(one, 0..=most)
}

/// The node with a number; the root is 0.
fn node<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|child| node(child, left)),
        Value::Object(map) => map.values_mut().find_map(|child| node(child, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn at(value: &mut Value, index: Index) -> &mut Value {
    let mut left = index.index(count(value));
    node(value, &mut left).expect("an index of a node")
}

/// A valid file with its changes.
pub(super) fn edited(valid: &Value, edits: &[Edit]) -> Value {
    let mut value = valid.clone();
    for edit in edits {
        match edit {
            Edit::Replace(i, other) => *at(&mut value, *i) = other.clone(),
            Edit::Copy(from, to) => {
                let other = at(&mut value, *from).clone();
                *at(&mut value, *to) = other;
            }
            Edit::Remove(i, child) => match at(&mut value, *i) {
                Value::Array(list) if !list.is_empty() => drop(list.remove(child.index(list.len()))),
                Value::Object(map) if !map.is_empty() => {
                    let key = map.keys().nth(child.index(map.len())).expect("a key").clone();
                    map.remove(&key);
                }
                other => *other = Value::Null,
            },
            Edit::Again(i, child, name) => match at(&mut value, *i) {
                Value::Array(list) if !list.is_empty() => list.push(list[child.index(list.len())].clone()),
                Value::Object(map) if !map.is_empty() => {
                    let other = map.values().nth(child.index(map.len())).expect("a value").clone();
                    map.insert(name.clone(), other);
                }
                other => *other = Value::from(name.as_str()),
            },
            Edit::Nudge(i, by) => {
                let target = at(&mut value, *i);
                if let Some(n) = target.as_u64() {
                    *target = Value::from(n.wrapping_add_signed(*by));
                }
            }
        }
    }
    value
}

/// Bytes with their changes.
pub(super) fn damaged(bytes: &[u8], damage: &[Damage]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for change in damage {
        let place = |i: &Index| i.index(bytes.len().max(1)).min(bytes.len());
        match change {
            Damage::Cut(i) => bytes.truncate(place(i)),
            Damage::Byte(i, byte) => {
                let i = place(i);
                bytes.splice(i..bytes.len().min(i + 1), [*byte]);
            }
            Damage::Insert(i, other) => drop(bytes.splice(place(i)..place(i), other.iter().copied())),
            Damage::Overwrite(i, other) => {
                let i = place(i);
                bytes.splice(i..bytes.len().min(i + other.len()), other.iter().copied());
            }
            Damage::Remove(i, n) => {
                let i = place(i);
                bytes.drain(i..bytes.len().min(i + n));
            }
        }
    }
    bytes
}
