//! From the name of a file or array to the tensor of the plan that it means.
//!
//! Every port names its dumps its own way; nearly all say a block's number and, for what lies inside a block, a
//! kernel. What is not understood is not guessed: it is listed, and the mapping file can name it.

use crate::plan::{Plan, names};
use crate::tensor::TensorName;

/// Words that say that this is a dump, of which kind, or that it is the block's published result.
const NOISE: [&str; 26] = [
    "pub",
    "published",
    "out",
    "output",
    "result",
    "final",
    "boundary",
    "dump",
    "tensor",
    "buffer",
    "buf",
    "act",
    "activation",
    "data",
    "gpu",
    "cpu",
    "ref",
    "reference",
    "codes",
    "fp",
    "u",
    "f",
    "bf",
    "hwc",
    "chw",
    "bin",
];
/// Words in front of a block's number.
const BLOCK: [&str; 7] = ["block", "blk", "b", "layer", "lyr", "l", "dbg"];
/// Words in front of the two numbers of a transition.
const TRANSITION: [&str; 4] = ["transition", "trans", "tr", "t"];
/// Element formats: no part of a name.
const FORMATS: [&str; 16] = [
    "e4m3", "e4m3fn", "e4m3fnuz", "e5m2", "fnuz", "fp8", "f8", "u8", "f16", "fp16", "bf16", "f32", "fp32", "float16",
    "float32", "uint8",
];
/// Other words for a kernel's tensor.
const ALIASES: [(&str, &str); 14] = [
    ("attn", "attended"),
    ("attention", "attended"),
    ("att", "attended"),
    ("norm", "normalized"),
    ("normed", "normalized"),
    ("normalised", "normalized"),
    ("raw", "output_raw"),
    ("unpublished", "output_raw"),
    ("out_raw", "output_raw"),
    ("raw_output", "output_raw"),
    ("in", "input"),
    ("residual", "ffn_residual"),
    ("quantized", "ffn_quantized"),
    ("ffn_raw", "ffn_residual"),
];

/// The tensor that a name means: a path without its ending, or an array's name.
pub(super) fn resolve(plan: &Plan, text: &str) -> Option<TensorName> {
    let stem = text.rsplit(['/', '\\', ':']).next().unwrap_or(text);
    one(plan, &words(stem)).or_else(|| one(plan, &words(text)))
}

/// Lower-case words and numbers of a name, formats left out.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let mut words: Vec<String> = Vec::new();
    for segment in lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|s| !FORMATS.contains(s)) {
        let mut digits = None;
        for c in segment.chars() {
            match words.last_mut().filter(|_| digits == Some(c.is_ascii_digit())) {
                Some(word) => word.push(c),
                None => words.push(c.to_string()),
            }
            digits = Some(c.is_ascii_digit());
        }
    }
    words
}

fn one(plan: &Plan, words: &[String]) -> Option<TensorName> {
    exact(plan, words).or_else(|| {
        let useful = |word: &&String| !NOISE.contains(&word.as_str());
        let first = words.iter().position(|word| useful(&word))?;
        let last = words.iter().rposition(|word| useful(&word))?;
        let kept = &words[first..=last];
        exact(plan, kept).or_else(|| special(plan, kept)).or_else(|| numbered(plan, kept))
    })
}

/// A name of the plan, however its words are joined.
fn exact(plan: &Plan, found: &[String]) -> Option<TensorName> {
    let number = |word: &String| word.parse::<usize>().map_or_else(|_| word.clone(), |n| n.to_string());
    let found: Vec<String> = found.iter().map(number).collect();
    plan.tensors.keys().find(|name| words(name.as_str()) == found).cloned()
}

fn special(plan: &Plan, words: &[String]) -> Option<TensorName> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["input" | "inputs", "features"] | ["lanes" | "input" | "inputs" | "feature"] => Some(names::features()),
        ["head", ..] if words.len() == 2 => Some(names::HEAD.into()),
        [word, first, second] if TRANSITION.contains(word) => plan_name(plan, format!("transition-{first}-{second}")),
        ["pool" | "pooled", first, second] => plan_name(plan, format!("pooled-{first}-{second}")),
        ["pool" | "pooled", first] => plan_name(plan, format!("pooled-{first}-{}", first.parse::<usize>().ok()? + 1)),
        _ => None,
    }
}

/// A block's number, then perhaps a kernel.
fn numbered(plan: &Plan, words: &[String]) -> Option<TensorName> {
    let is_block = |at: &usize| BLOCK.contains(&words[*at].as_str()) && words[*at + 1].parse::<usize>().is_ok();
    let at = (0..words.len().saturating_sub(1)).rev().find(is_block).map_or(0, |at| at + 1);
    let block: usize = words.get(at)?.parse().ok()?;
    let rest: Vec<&str> = words[at + 1..].iter().map(String::as_str).collect();
    if let [next] = rest.as_slice()
        && let Ok(next) = next.parse::<usize>()
    {
        // Between two blocks: the transition if there is one, else what the first hands to the second.
        let between = (next == block + 1).then(|| plan_name(plan, format!("transition-{block}-{next}")));
        return between
            .map(|name| name.unwrap_or_else(|| names::block(block)))
            .filter(|n| plan.tensors.contains_key(n));
    }
    let kernel = rest.join("_");
    let kernel = ALIASES.iter().find(|(alias, _)| *alias == kernel).map_or(kernel.as_str(), |(_, name)| name);
    if kernel.is_empty() {
        let published = plan_name(plan, names::block(block).to_string());
        return published.or_else(|| plan_name(plan, format!("block-{block}/output")));
    }
    plan_name(plan, format!("block-{block}/{kernel}"))
}

fn plan_name(plan: &Plan, name: String) -> Option<TensorName> {
    plan.tensors.contains_key(name.as_str()).then(|| TensorName::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Geometry, Size};
    use crate::plan::Detail;

    #[test]
    fn names_of_many_ports_are_understood_and_others_are_not_guessed() {
        let plan = Plan::new(Geometry::new(Size::new(64, 64)).expect("a size that runs"), Detail::Raw);
        for (text, expected) in [
            ("block-12", Some("block-12")),
            ("block_12", Some("block-12")),
            ("b12", Some("block-12")),
            ("b12_pub", Some("block-12")),
            ("B012.f16", Some("block-12")),
            ("layer-12-out", Some("block-12")),
            ("dbg12_qkv", Some("block-12/qkv")),
            ("12_qkv", Some("block-12/qkv")),
            ("12", Some("block-12")),
            ("12-13", Some("block-12")),
            ("4-5", Some("transition-4-5")),
            ("12-14", None),
            ("run3/block12/qkv", Some("block-12/qkv")),
            ("run3/12", Some("block-12")),
            ("block_12_attn", Some("block-12/attended")),
            ("block_12_raw", Some("block-12/output_raw")),
            ("block-12-output-raw_f16", Some("block-12/output_raw")),
            ("block12_ffn_quantized", Some("block-12/ffn_quantized")),
            ("transition_4_5", Some("transition-4-5")),
            ("t4-5", Some("transition-4-5")),
            ("pooled-4-5", Some("pooled-4-5")),
            ("pool_8", Some("pooled-8-9")),
            ("head", Some("head")),
            ("head_f32", Some("head")),
            ("features", Some("features")),
            ("input_features", Some("features")),
            ("post_merge", Some("post merge")),
            ("post-merge-raw", Some("post merge raw")),
            ("block-70", Some("block-70/output")),
            ("block-71", None),
            ("weights", None),
            ("notes", None),
            ("block_12_whatever", None),
        ] {
            let found = resolve(&plan, text);
            assert_eq!(found.as_ref().map(TensorName::as_str), expected, "{text}");
        }
    }
}
