//! The bundle's README: what each file is, and the arithmetic of its kernels in plain words.

use super::Labels;
use crate::plan::ops::{Activation, NormalizeKind};
use crate::plan::{Op, Step};
use crate::report::Material;
use serde_json::Value;
use std::fmt::Write as _;

/// How another program reads a bundle. The test suite cannot run it; it was run by hand with numpy.
const EXAMPLE: &str = r#"import json, numpy as np

m = json.load(open("manifest.json"))

def e4m3(codes):  # one byte -> its value
    c = np.asarray(codes, np.uint8).astype(int)
    s, e, f = np.where(c & 128, -1.0, 1.0), c >> 3 & 15, c & 7
    return s * np.where(c & 127 == 127, 0, np.where(e == 0, f * 2.0**-9, (8 + f) * 2.0 ** (e - 10.0)))

for want, have in zip(m["expected"], m["got"]):
    a, b = np.load(want["file"]), np.load(have["file"])
    tokens = np.concatenate([np.arange(*r) for r in want["rows"]])
    bad = np.argwhere((a.view(np.uint8) != b.view(np.uint8)).reshape(*a.shape, -1).any(-1))
    print(want["tensor"], a.shape, len(bad), "elements differ")
    for row, c in bad[:5]:
        x, y = (e4m3(v[row, c]) if want["element"] == "e4m3" else v[row, c] for v in (a, b))
        print("  y, x", divmod(int(tokens[row]), want["width"]), "channel", c, "expected", x, "got", y)
"#;

pub(super) fn text(material: &Material, labels: Labels<'_>, weights: bool, manifest: &Value) -> String {
    let steps: Vec<&Step> = material.steps.iter().map(|&i| &material.plan.steps[i]).collect();
    let mut out = format!("# Repro bundle: {}\n\n", material.last().name());
    let list = |key: &str| manifest[key].as_array().cloned().unwrap_or_default();
    let has_parameters = !list("parameters").is_empty();
    out += match (has_parameters, weights) {
        (true, true) => {
            "> **WARNING: this folder holds weights of the model that was run.** `parameters/` contains the weights, \
             priors and scales of the kernels below, copied from that model. If they are not yours to pass on, do not \
             publish this folder: write it again with `--without-weights`.\n\n"
        }
        (true, false) => {
            "> The weights were left out. To replay the bundle, name a model directory with `--model`; its digest is \
             in `manifest.json`.\n\n"
        }
        (false, _) => "> These kernels have no weights: nothing of the model is in this folder.\n\n",
    };
    let kernels = steps.iter().map(|step| format!("`{}`", step.name())).collect::<Vec<_>>().join(", then ");
    write!(
        out,
        "`{}` was compared with `{}` at {}. {}\n\nThe kernels here: {kernels}.\n\n",
        labels.subject, labels.reference, material.plan.geometry.valid, labels.conclusion
    )
    .expect("text grows");
    out += "Check it without anything else: `blockscope replay .` (with `--engine E` also on another engine).\n\n";
    out += "## Files\n\n| file | what |\n|---|---|\n";
    for (key, what) in [
        ("inputs", "read by the kernels"),
        ("expected", "what the reference's side gave"),
        ("got", "what the subject gave on the same inputs"),
    ] {
        for entry in list(key) {
            let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            let (file, tensor, element) = (text("file"), text("tensor"), text("element"));
            let (width, height, channels) = (&entry["width"], &entry["height"], &entry["channels"]);
            let pairs = entry["rows"].as_array().cloned().unwrap_or_default();
            let held: u64 = pairs.iter().map(|p| p[1].as_u64().unwrap_or(0) - p[0].as_u64().unwrap_or(0)).sum();
            writeln!(
                out,
                "| `{file}` | `{tensor}`: {what}; {element}, {held} tokens of {width}x{height}, {channels} channels |"
            )
            .expect("text grows");
        }
    }
    for entry in list("parameters") {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let file = entry["file"].as_str().map_or_else(|| "(left out)".to_owned(), |file| format!("`{file}`"));
        writeln!(out, "| {file} | `{}`: {} |", text("name"), text("axes")).expect("text grows");
    }
    out += "| `manifest.json` | all of this for programs, with SHA-256 of every file |\n\n";
    out += "Arrays are `.npy`, `[tokens held][channels]`; a token is `y * width + x`, and `rows` in the manifest lists \
            the tokens held as `[first, end)` pairs. E4M3 is stored as its code, one byte.\n\n";
    out += "## The arithmetic\n\n";
    out += GENERAL;
    let mut told: Vec<String> = Vec::new();
    for step in steps {
        let rules = rules(&step.op);
        if told.contains(&rules) {
            writeln!(out, "\n**{}** (`{}`): as above.", step.name(), step.op.word()).expect("text grows");
        } else {
            write!(out, "\n**{}** (`{}`): {rules}\n", step.name(), step.op.word()).expect("text grows");
            told.push(rules);
        }
    }
    write!(out, "\n## Reading it with numpy\n\n```python\n{EXAMPLE}```\n").expect("text grows");
    out
}

const GENERAL: &str = "\
- *E4M3*: sign, 4 bits of exponent (bias 7), 3 bits of fraction; largest value 448 (0x7e). 0x7f and 0xff are NaN and enter \
arithmetic as +0 and -0.\n\
- *half*: IEEE binary16. A half operation (`hadd`, `hmul`, `hfma`) rounds its exact result once, to nearest, ties to even; \
subnormals are kept.\n\
- *publish*: a half to E4M3, to nearest, ties to even, saturating at 448; NaN becomes 0x00, the sign of a zero stays.\n\
- *fp8 group*: 16 products of E4M3 and an accumulator. E is the largest of the accumulator's exponent (-21 if it is zero) and of \
the sums of both operands' exponents (each at least -6) over pairs without a zero. Every term is cut toward zero to a multiple of \
2^(E-13); the terms are added exactly, and the sum is rounded once to a half: the next group's accumulator. A zero sum is +0.\n\
- *half group*: the same with 8 products of halves, exponents at least -14, multiples of 2^(E-24).\n";

/// One op in plain words.
fn rules(op: &Op) -> String {
    match op {
        Op::Convert(_) => "every single of the input is rounded to a half.".to_owned(),
        Op::Gemm(op) => {
            let groups = if op.groups > 1 {
                format!(" The matrix is block-diagonal with {} parts.", op.groups)
            } else {
                String::new()
            };
            let seed = match &op.seed {
                Some(seed) => format!(
                    " The first accumulator is `half({} * scale)`, one scale per output channel, -0 taken as +0.",
                    seed.residual
                ),
                None => " The first accumulator is 0.".to_owned(),
            };
            let parts = if op.partition < op.k {
                format!(
                    " K is cut into parts of {}; each later part starts from zero, and the parts are added in order by half adds.",
                    op.partition
                )
            } else {
                " All of K is one chain.".to_owned()
            };
            let activation = match op.activation {
                Activation::None => " The result is published; a -0 becomes 0x00.",
                Activation::Silu => {
                    " Then `t = clamp(x, -4, 4)`, `p = hfma(-0.055908203125, |t|, 0.447265625)`, `p = hfma(t, p, 0.89453125)`, \
                     `y = hmul(x, p)`, and y is published; a y of zero gives 0x00."
                }
            };
            format!(
                "FP8 matrix product with K {}, N {}: `C[token][n] = sum over k of A[token][k] * W[k][n]` in fp8 groups, k ascending.{groups}{seed}{parts}{activation} A raw output is the half before all that.",
                op.k, op.n
            )
        }
        Op::GemmHalf(op) => {
            format!("half matrix product with K {}, N {}, in half groups, k ascending, from 0; published, or kept raw.", op.k, op.n)
        }
        Op::Normalize(op) => {
            let query = match op.kind {
                NormalizeKind::Window => "`q' = publish(hmul(hmul(q, n), half(scale)))`",
                NormalizeKind::Vit => "`q' = publish(hmul(hmul(hmul(q, n), half(sqrt(32))), half(scale)))`",
            };
            format!(
                "{} heads; head h has q at channel 96 h, k at 96 h + 32, v at 96 h + 64. Of a vector x of 32: \
                 `r[c] = hfma(x[c], x[c], hmul(x[c+16], x[c+16]))` for c below 16, then `r[c] = hadd(r[c], r[c+s])` for c below s, \
                 with s 8, 4, 2, 1; `n = half(1 / sqrt(r[0]))`. {query}, `k' = publish(hmul(k, n))`, `v' = publish(v)`.",
                op.heads
            )
        }
        Op::WindowAttention(op) => {
            let (x, y) = op.phase.shift();
            format!(
                "{} heads in windows of 8x8 tokens, the grid shifted by {x} to the left and {y} up. Inside a window tokens are in \
                 physical order: 4x4 tiles, row-major inside and among themselves. Tokens outside the plane are zero vectors: as \
                 keys they stay in the denominator. Score: two fp8 groups over the 32 channels, from the prior. Exponential: \
                 `x = clamp(half(0.044921875 s + 1.30078125), 1.03125, 1.5693359375)`, its bits shifted left by 5, plus 0x8000. Sum: \
                 `b[g][j] = hadd(e[g+16j], e[g+16j+8])`, `t[g] = hadd(hadd(hadd(b[g][0], b[g][1]), b[g][2]), b[g][3])`, \
                 t0, t2, t4, t6 added in order, t1, t3, t5, t7 likewise, then both. Weight: `publish(hmul(e, half(1 / sum)))`. \
                 Result: four fp8 groups of 16 keys from 0, published.",
                op.heads
            )
        }
        Op::GlobalAttention(op) => format!(
            "{} heads, every token attends to all; keys are padded with zero vectors to a multiple of 64. Score: two fp8 groups from \
             0. Exponential: `x = clamp(half(0.08953857421875 s + 1.708984375), 1.439453125, 1.9775390625)`, its bits shifted left by \
             4, plus 0x4000. Every 64 exponentials are summed as a window's (b, t, even and odd), the sums added in order; the \
             padding's share is subtracted as one half. Weights are the published exponentials; the fp8 product over the keys is \
             multiplied by `half(1 / sum)` and published.",
            op.heads
        ),
        Op::Pool(_) => "`publish(((a + b) + (c + d)) * 0.25)` in halves for every 2x2 block a b / c d; a block that leaves the plane gives 0.".to_owned(),
        Op::Merge(op) => format!(
            "`fma(skip, scale, low)` rounded once to a half, with low the plane below enlarged twofold (pixel x, y reads x / 2, y / 2){}; published, a -0 keeps its sign.",
            if op.low_scale.is_some() { ", first multiplied by its own scale and rounded" } else { "" }
        ),
    }
}
