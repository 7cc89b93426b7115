//! Words that people type: engines, causes, sizes, commands, digests. What is taken reads back from its own text.

use super::edit::{damage, damaged};
use super::fuzz;
use blockscope::diagnosis::{self, Profile};
use blockscope::engine::EngineSpec;
use blockscope::geometry::{Geometry, Size};
use blockscope::session::Command;
use blockscope::tensor::Digest;
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// A text that was damaged, or one that was never right.
fn line(valid: Vec<String>) -> impl Strategy<Value = String> {
    let damaged = (select(valid), damage(2)).prop_map(|(text, damage)| damaged(text.as_bytes(), &damage));
    prop_oneof![8 => damaged.prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()), 1 => super::edit::text()]
}

/// Whether a text was taken; then its own text means the same.
fn reads_back<T: FromStr + Display + PartialEq + Debug>(text: &str) -> super::Taken {
    let Ok(value) = text.parse::<T>() else { return Ok(false) };
    let again = value.to_string();
    prop_assert_eq!(again.parse::<T>().ok(), Some(value), "\"{}\" from \"{}\"", again, text);
    Ok(true)
}

#[test]
fn engines_read_back() {
    let mut valid: Vec<String> =
        ["reference", "cpu", "cpu:avx2", "vulkan", "vulkan:2:fused", "vulkan:coopmat"].map(str::to_owned).to_vec();
    let causes = diagnosis::variants().map(|(_, variant)| format!("cpu+{}@9-14,20/qkv", variant.id));
    valid.extend(causes);
    fuzz("engines", &line(valid), |text| {
        if let Ok(spec) = text.parse::<EngineSpec>()
            && let Ok(profile) = Profile::new(&spec.changes)
        {
            let shown = format!("cpu+{profile}");
            let again = shown.parse::<EngineSpec>().ok().and_then(|spec| Profile::new(&spec.changes).ok());
            let plain = spec.changes.is_empty();
            prop_assert_eq!(again.map(|p| p.to_string()), (!plain).then(|| profile.to_string()), "{}", text);
        }
        reads_back::<EngineSpec>(&text)
    });
}

#[test]
fn sizes_read_back_and_have_a_geometry_or_a_reason() {
    let valid = ["64x64", "512x384", "16384x1", "33x40", "18446744073709551615x2"].map(str::to_owned).to_vec();
    fuzz("sizes", &line(valid), |text| {
        if let Ok(size) = text.parse::<Size>()
            && let Ok(geometry) = Geometry::new(size)
        {
            prop_assert!(geometry.field.width >= size.width && geometry.field.height >= size.height, "{}", size);
        }
        reads_back::<Size>(&text)
    });
}

#[test]
fn digests_read_back() {
    let valid = vec!["69527d6cce3e10cf".to_owned(), "0000000000000000".to_owned(), "FFFFFFFFFFFFFFFF".to_owned()];
    fuzz("digests", &line(valid), |text| {
        let Some(digest) = Digest::parse(&text) else { return Ok(false) };
        prop_assert_eq!(Digest::parse(&digest.to_string()), Some(digest), "{}", text);
        Ok(true)
    });
}

#[test]
fn commands_read_back() {
    let mut valid: Vec<String> = Command::palette().iter().map(ToString::to_string).collect();
    let more = [
        "open a b.png",
        "size 512x256",
        "subject cpu+mask-outside@9",
        "tour 3",
        "unpin 2",
        "rename-pin 1 left edge",
        "note-bookmark 0 why",
        "export tensor b.npy",
        "cancel 7",
        "select block 12",
        "select rgb 3 2 1",
        "select token 4 5",
        "select token-by -1 0",
        "select window 2 3",
        "view split 0.25",
        "view range fixed -1.5 2",
        "view range percentile 99.5",
        "view overlay windows on",
        "view zoom 12.5",
        "view zoom-by 2",
        "view scale 1.5",
        "view centre 0.25 0.75",
    ];
    valid.extend(more.map(str::to_owned));
    fuzz("commands", &line(valid), |text| reads_back::<Command>(&text));
}
